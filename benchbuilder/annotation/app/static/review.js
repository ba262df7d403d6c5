// Keys, sliders, drafts and offline submission for the page of a task. Everything works without this file too.
"use strict";
(() => {
  const form = document.getElementById("work");
  document.documentElement.classList.add("scripted");
  const undo = () => document.getElementById("undo")?.requestSubmit();
  const plain = (event) => !(event.ctrlKey || event.altKey || event.metaKey || event.isComposing);
  if (!form) return document.addEventListener("keydown", (event) => plain(event) && event.key === "u" && undo());
  const state = document.getElementById("state");
  const submit = form.querySelector("button[value=submit]");
  const help = document.getElementById("help");
  const questions = [...form.querySelectorAll("[data-step]")].sort((a, b) => a.dataset.step - b.dataset.step);
  const storeName = form.dataset.store ? "draft:" + form.dataset.store : "";

  // Answers
  const fieldsOf = (q) => [...q.querySelectorAll("[name]")];
  const answered = (q) => fieldsOf(q).some((f) => (f.type === "radio" ? f.checked : f.value.trim() !== ""));
  const open = (q) => "required" in q.dataset && !answered(q);
  const target = (q) =>
    q.querySelector("input:checked") || q.querySelector("[data-slider]:not([hidden]), input, textarea");
  const current = () => document.activeElement?.closest?.("[data-step]") || null;
  const go = (q) => {
    const element = q ? target(q) : submit;
    element.focus({ preventScroll: true });
    (q || element).scrollIntoView({ block: "nearest" });
  };
  const onward = (q) => {
    const at = questions.indexOf(q) + 1;
    go([...questions.slice(at), ...questions.slice(0, at)].find(open) || null);
  };
  const changed = (field) => field.dispatchEvent(new Event("change", { bubbles: true }));

  // Sliders: without a name, so that an untouched one submits nothing; the number field beside it is what counts
  const numberOf = (text) => {
    const plain = text.normalize("NFKC").trim().replace(",", ".");
    return /^\d*\.?\d+$|^\d+\.$/.test(plain) && +plain <= 1 ? +plain : null;
  };
  const showScalar = (q) => {
    const [slider, field] = [q.querySelector("[data-slider]"), q.querySelector(".number")];
    const value = numberOf(field.value);
    slider.classList.toggle("unset", value === null);
    slider.value = value ?? 0.5;
    slider.setAttribute("aria-valuetext", value === null ? q.querySelector("[data-unset]").textContent : field.value);
    q.querySelector("[data-unset]").hidden = field.value.trim() !== "";
    let found = false;
    for (const band of q.querySelectorAll("[data-low]")) {
      const here = !found && value !== null && value >= +band.dataset.low && value <= +band.dataset.high;
      band.classList.toggle("here", here);
      found ||= here;
    }
  };
  for (const q of questions.filter((each) => each.dataset.kind === "scalar")) {
    const [slider, field] = [q.querySelector("[data-slider]"), q.querySelector(".number")];
    slider.hidden = false;
    const take = () => {
      field.value = String(+(+slider.value).toFixed(6));
      showScalar(q);
    };
    slider.addEventListener("input", take);
    slider.addEventListener("change", take);
    slider.addEventListener("pointerup", () => (take(), changed(field)));
    field.addEventListener("input", () => showScalar(q));
    showScalar(q);
  }
  const counts = [...document.querySelectorAll("[data-count]")];
  const showCounts = () => {
    const names = new Map();
    for (const q of form.querySelectorAll(".evidence [data-step]")) {
      const wording = q.dataset.name.split(".")[2];
      names.set(wording, [...(names.get(wording) || []), q]);
    }
    [...names.values()].forEach((same, n) => {
      if (counts[n]) counts[n].textContent = `${same.filter(answered).length}/${same.length}`;
    });
  };

  // Keys
  let typed = "";
  const digit = (q, key) => {
    if (q.dataset.kind === "scalar") {
      if (current() !== q) go(q);
      typed = /^\d$|^[01]\.\d?$/.test(typed) ? typed + key : key;
      const value = typed.includes(".") ? +typed : /^100?$/.test(typed) ? 1 : +`0.${typed}`;
      q.querySelector(".number").value = String(Math.min(1, value));
      showScalar(q);
      changed(q.querySelector(".number"));
    } else {
      const choice = q.querySelector(`input[type=radio][value="${key}"]`);
      if (!choice) return;
      choice.checked = true;
      changed(choice);
      onward(q);
    }
  };
  const rest = form.querySelector("[data-rest]");
  rest?.addEventListener("click", () => {
    const left = questions.filter((q) => q.dataset.kind === "binary" && q.closest(".paragraph") && !answered(q));
    for (const q of left) q.querySelector("input[value='0']").checked = true;
    if (left.length) changed(target(left[0]));
    onward(left.at(-1) || current());
  });
  if (rest) rest.hidden = false;
  const press = (value) => form.querySelector(`.bar button[value=${value}]`)?.click();
  const step = (q, by) => {
    const at = q ? questions.indexOf(q) + by : by > 0 ? questions.findIndex(open) : questions.length - 1;
    go(questions[Math.max(0, Math.min(questions.length - 1, at))]);
  };
  const keys = {
    j: (q) => step(q, 1),
    k: (q) => step(q, -1),
    n: () => rest?.click(),
    u: undo,
    s: () => press("skip"),
    g: () => (press("flag"), press("unflag")),
    "?": () => help.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    const { key, target: at } = event;
    if (help.open || event.isComposing || event.altKey || event.metaKey) return;
    const typing = at.matches("textarea, input[type=text]");
    const q = current();
    if (key === "Enter" && event.ctrlKey) submit.click();
    else if (event.ctrlKey) return;
    else if (key === "Escape" && typing) q ? q.focus() : at.blur();
    else if (key === "Enter" && q && at.matches("input[type=text]")) onward(q);
    else if (typing) return;
    else if (key === "Enter" && q && !at.matches("button, a, summary")) onward(q);
    else if (/^\d$/.test(key) && (q || questions.find(open))) digit(q || questions.find(open), key);
    else if (key === "." && q?.dataset.kind === "scalar" && /^[01]$/.test(typed)) typed += ".";
    else if (key === "Backspace" && q?.dataset.kind === "scalar") {
      q.querySelector(".number").value = typed = "";
      showScalar(q);
      changed(q.querySelector(".number"));
    } else if (keys[key]) keys[key](q);
    else return;
    event.preventDefault();
  });
  let last = null;
  document.addEventListener("focusin", () => {
    if (current() !== last) typed = "";
    last = current();
  });
  const helpButton = form.querySelector("[data-help]");
  helpButton.hidden = false;
  helpButton.addEventListener("click", () => help.showModal());

  // Seconds in view
  let active = 0;
  let late = form.dataset.late === undefined ? null : +form.dataset.late;
  const began = Date.now();
  setInterval(() => {
    if (!document.hidden) form.elements.active.value = ++active;
    const banner = document.getElementById("late");
    if (banner && banner.hidden && (Date.now() - began) / 1000 >= late) banner.hidden = false;
  }, 1000);

  // Drafts: to the server soon after each change; in this browser until the server has them
  const say = (text, bad = false) => {
    state.textContent = text;
    state.classList.toggle("bad", bad);
  };
  const said = (name) => state.dataset[name];
  const entries = () => [...new FormData(form)].filter(([name]) => name.startsWith("v.") || name === "note");
  form.elements.page.value = [...crypto.getRandomValues(new Uint32Array(2))].map((n) => n.toString(36)).join("");
  const basis = { base: form.dataset.base, draft: form.elements.draft.value, page: form.elements.page.value };
  const remember = (at) => {
    try {
      localStorage.setItem(storeName, JSON.stringify({ at, ...basis, data: Object.fromEntries(entries()) }));
    } catch { /* a browser that keeps nothing: the server does */ }
  };
  const remembered = () => {
    try {
      return JSON.parse(localStorage.getItem(storeName));
    } catch {
      return null;
    }
  };
  const forget = (at) => {
    if (remembered()?.at === at) localStorage.removeItem(storeName);
  };
  const send = (action, options = {}) => {
    const body = new URLSearchParams([...new FormData(form), ["action", action]]);
    const headers = { Accept: "application/json" };
    const signal = AbortSignal.timeout(20000);
    return fetch(form.getAttribute("action"), { method: "POST", body, headers, signal, redirect: "manual", ...options });
  };
  const keptBy = (answer) => answer.headers.get("draft-kept") === "yes";
  const clock = (time) => new Date(time).toLocaleTimeString(document.documentElement.lang, { timeStyle: "short", hourCycle: "h23" });
  let timer = 0;
  let dirtyAt = 0;
  let leaving = false;
  let saving = null;
  const save = (options) => (saving = saveNow(options));
  const saveNow = async (options) => {
    clearTimeout(timer);
    const at = dirtyAt;
    if (!at || leaving) return;
    try {
      const answer = await send("draft", options);
      const changed = answer.status === 409; // the server may have kept it all the same
      if (answer.ok || (changed && keptBy(answer))) {
        forget(at);
        if (dirtyAt === at) dirtyAt = 0;
      }
      if (answer.ok) say(said("drafted").replace("{time}", clock(Date.now())));
      else if (changed) say(said(keptBy(answer) ? "changed" : "changedLost"), true);
      else say(said(answer.status === 403 ? "signedOut" : answer.status === 413 ? "tooBig" : "unsaved"), true);
      if (answer.status >= 500) timer = setTimeout(() => save(), 15000);
    } catch {
      say(said("unsaved"), true);
      timer = setTimeout(() => save(), 15000);
    }
  };
  const older = document.getElementById("older");
  const touched = () => {
    dirtyAt = Date.now();
    remember(dirtyAt);
    older.hidden = true;
    showCounts();
    clearTimeout(timer);
    timer = setTimeout(() => save(), 800);
  };
  form.addEventListener("input", touched);
  form.addEventListener("change", touched);
  addEventListener("pagehide", () => save({ keepalive: true }));
  addEventListener("online", () => save());

  const restore = () => {
    const kept = storeName ? remembered() : null;
    if (!kept) return;
    const ahead = Date.parse(form.dataset.now) - Date.now() + 2000; // by how much the server's clock is ahead, at most
    const late = form.dataset.drafted && Date.parse(form.dataset.drafted) > kept.at + ahead;
    const now = entries().filter(([, value]) => value !== "");
    const then = Object.entries(kept.data).filter(([, value]) => value !== "");
    const same = now.length === then.length && now.every(([name, value]) => kept.data[name] === value);
    if (late || same) return "lost" in form.dataset || localStorage.removeItem(storeName);
    const own = kept.draft === basis.draft || kept.page === form.dataset.writer;
    if (kept.base === basis.base && own) return fill(kept);
    older.hidden = false; // something was saved since, perhaps on another device: they choose
    older.querySelector("button").onclick = () => fill(kept);
  };
  const fill = (kept) => {
    for (const q of questions) {
      for (const field of fieldsOf(q)) {
        const value = kept.data[field.name] ?? "";
        if (field.type === "radio") field.checked = field.value === value;
        else field.value = value;
      }
      if (q.dataset.kind === "scalar") showScalar(q);
    }
    form.elements.note.value = kept.data.note ?? "";
    document.getElementById("restored").hidden = false;
    touched();
  };

  // Submitting: by fetch, so that a lost connection leaves the page as it is
  const fallback = (value) => {
    leaving = true;
    const action = Object.assign(document.createElement("input"), { type: "hidden", name: "action", value });
    form.append(action);
    HTMLFormElement.prototype.submit.call(form);
  };
  form.addEventListener("submit", async (event) => {
    const action = event.submitter?.value || "submit";
    event.preventDefault();
    if (leaving) return;
    clearTimeout(timer);
    const at = dirtyAt || Date.now();
    remember(at);
    say(said("sending"));
    leaving = true;
    await Promise.race([saving, new Promise((done) => setTimeout(done, 3000))]); // or a draft could overtake it
    try {
      const answer = await send(action, { redirect: "follow" });
      if (answer.status === 403) say(said("signedOut"), true);
      else if (answer.status >= 500) say(said("unsaved"), true);
      else if (answer.ok) {
        forget(at);
        return location.assign(answer.redirected ? answer.url : (await answer.json()).next);
      } else {
        if (keptBy(answer)) forget(at);
        return fallback(action);
      }
    } catch {
      say(said("unsaved"), true);
    }
    leaving = false;
  });

  restore();
  showCounts();
  const saved = form.dataset.drafted;
  if (saved && !dirtyAt) say(said("drafted").replace("{time}", clock(saved)));
  document.getElementById("errors")?.focus();
  addEventListener("pageshow", (event) => event.persisted && (leaving = false));
})();
