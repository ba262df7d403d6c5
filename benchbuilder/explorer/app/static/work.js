// Tries rules while they are written, and judges rows by keys. Without this file, the buttons do the same.
"use strict";
(() => {
  const form = document.getElementById("bench-form");
  if (!form) return;
  const text = document.getElementById("bench-text");
  const status = document.getElementById("bench-status");
  const fault = document.getElementById("bench-fault");
  const WAIT_FIRST = 250, WAIT_ALL = 500;
  let timer = 0, controller = null, opened = false;

  function post(address, fields, signal) {
    return fetch(address, {
      method: "POST", body: new URLSearchParams(fields), signal,
      headers: { Accept: "application/json", "Content-Type": "application/x-www-form-urlencoded" },
    });
  }

  function show(id, html) {
    const place = document.getElementById(id);
    const open = new Map();
    for (const each of place.querySelectorAll("details[id]")) open.set(each.id, each.open);
    place.innerHTML = html;  // made by the server, which escapes every text
    for (const [name, isOpen] of open) {
      const each = document.getElementById(name);
      if (each) each.open = isOpen;
    }
  }

  async function tryRules(rows) {
    if (controller) controller.abort();
    controller = new AbortController();
    status.textContent = opened ? status.dataset.trying : status.dataset.opening;
    const begun = performance.now();
    try {
      const answer = await post(form.action, { text: text.value, rows }, controller.signal);
      const result = await answer.json();
      opened = true;
      if (result.state === "superseded") return;
      fault.hidden = result.state !== "fault" && result.state !== "refused";
      fault.textContent = result.message || "";
      if (result.state !== "tried") { status.textContent = ""; return; }
      show("bench-head", result.head);
      show("bench-groups", result.groups);
      show("bench-results", result.results);
      status.textContent = status.dataset.tried + " (" + Math.round(performance.now() - begun) + " ms)";
      if (!result.whole) timer = setTimeout(() => tryRules("all"), WAIT_ALL);
    } catch (error) {
      if (error.name !== "AbortError") status.textContent = status.dataset.failed;
    }
  }

  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => tryRules("first"), WAIT_FIRST);
  });
  form.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (button && button.hasAttribute("formaction")) return;
    event.preventDefault();
    clearTimeout(timer);
    tryRules("all");
  });
  text.addEventListener("keydown", (event) => {
    if (event.ctrlKey && event.key === "]") {
      event.preventDefault();
      text.setRangeText("  ", text.selectionStart, text.selectionEnd, "end");
      text.dispatchEvent(new Event("input"));
    }
  });

  document.addEventListener("submit", async (event) => {
    const own = event.target;
    if (own.matches(".bench-judge")) {
      event.preventDefault();
      const fields = Object.fromEntries(new FormData(own, event.submitter));
      const answer = await post(own.action, fields);
      const result = await answer.json();
      if (result.state !== "judged") {
        fault.hidden = false;
        fault.textContent = result.message || status.dataset.failed;
        return;
      }
      for (const form of document.querySelectorAll(".bench-judge")) {
        if (form.elements.row.value !== fields.row) continue;
        for (const each of form.querySelectorAll("button")) {
          each.setAttribute("aria-pressed", String(each.value === result.judged));
        }
      }
      status.textContent = status.dataset.judged;
    } else if (own.matches(".bench-add")) {
      event.preventDefault();
      const fields = Object.fromEntries(new FormData(own));
      const answer = await post(own.action, { ...fields, text: text.value });
      const result = await answer.json();
      if (result.state === "added") {
        text.value = result.text;
        showWords();
        clearTimeout(timer);
        tryRules("all");
      }
    }
  });

  function neighbour(row, step) {
    const rows = [...document.querySelectorAll(".tried-row[tabindex]")].filter((each) => each.offsetParent);
    return rows[rows.indexOf(row) + step];
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey && event.key === "Enter") {
      event.preventDefault();
      clearTimeout(timer);
      tryRules("all");
      return;
    }
    if (event.ctrlKey && event.key.toLowerCase() === "s") {
      event.preventDefault();
      form.action = form.dataset.difference;
      form.submit();
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, textarea, select")) return;
    const row = event.target.closest(".tried-row");
    if (event.key === "j" || event.key === "k") {
      const next = row ? neighbour(row, event.key === "j" ? 1 : -1) : document.querySelector(".tried-row[tabindex]");
      if (next) { event.preventDefault(); next.focus(); }
    } else if (row && ["1", "2", "3"].includes(event.key)) {
      const button = row.querySelector('.bench-judge button[title="' + event.key + '"]');
      if (button) { button.form.requestSubmit(button); (neighbour(row, 1) || row).focus(); }
    }
  });

  // the words of the line at the caret, for those who write no patterns: [是, 为] and 是|为
  const words = document.getElementById("bench-words");
  const WORD = "[\\p{L}\\p{N}][\\p{L}\\p{M}\\p{N}’ -]*";
  // alternatives of a pattern, each with the spaces that belong to it: (?:please |never )?
  const PATTERN = new RegExp("(?<=[(|']|\\(\\?:|^\\s*(?:- |[\\w-]+: )) ?" + WORD + "(?:\\| ?" + WORD + ")+(?=[)|']|$)", "gmu");
  const FLOW = new RegExp("(?<=^[^'\"#\\n]*(?:[\\w-]: |- ))\\[\\s*(?:" + WORD + "|'" + WORD + "')(?:,\\s*(?:" + WORD + "|'" + WORD + "'))*\\s*\\]", "gmu");
  const ODD = /^(?:y|n|yes|no|on|off|true|false|null|[\d.]+)$/i;  // YAML would not read these as words

  function listsOfLine() {
    const begin = text.value.lastIndexOf("\n", text.selectionStart - 1) + 1;
    const end = (text.value + "\n").indexOf("\n", text.selectionStart);
    const found = [];
    for (const [pattern, joint, each] of [[FLOW, ", ", /[^[\],\s][^[\],]*/gu], [PATTERN, "|", /[^|]+/gu]]) {
      for (const match of text.value.matchAll(pattern)) {
        if (match.index > end || match.index + match[0].length < begin) continue;
        const comment = text.value.slice(text.value.lastIndexOf("\n", match.index) + 1, match.index).search(/(?:^|\s)#/);
        if (comment >= 0) continue;
        const parts = [...match[0].matchAll(each)].map((one) => {
          const from = match.index + one.index, text = joint === "|" ? one[0] : one[0].trimEnd();
          return { from, end: from + text.length, text, said: text.trim().replace(/^'|'$/g, "") };
        });
        found.push({ joint, parts });
      }
    }
    return found;
  }

  function write(said, from, end) {
    text.setRangeText(said, from, end, "preserve");
    text.dispatchEvent(new Event("input"));
  }

  function remove({ parts }, place) {
    const last = place === parts.length - 1;
    write("", last ? parts[place - 1].end : parts[place].from, last ? parts[place].end : parts[place + 1].from);
  }

  function added({ joint, parts }, word) {
    const isWord = new RegExp("^" + WORD + "$", "u").test(word) && !parts.some((part) => part.said === word);
    const { end, text: last } = parts[parts.length - 1];
    const alike = last.match(/^ */)[0] + word + last.match(/ *$/)[0];  // a space may belong to each alternative
    if (isWord) write(joint + (joint === "|" ? alike : ODD.test(word) ? "'" + word + "'" : word), end, end);
    return isWord;
  }

  function showWords() {
    const lists = listsOfLine();
    words.hidden = !lists.length;
    words.replaceChildren(...lists.map((list, number) => {
      const row = document.createElement("div"), input = document.createElement("input");
      row.className = "bench-words-list";
      list.parts.forEach((part, place) => {
        const chip = document.createElement("button");
        chip.type = "button";
        chip.textContent = part.said + " ×";
        chip.setAttribute("aria-label", words.dataset.remove + " " + part.said);
        chip.disabled = list.parts.length < 2;
        chip.addEventListener("click", () => {
          remove(list, place);
          words.querySelectorAll("input")[number]?.focus();
        });
        row.append(chip);
      });
      input.setAttribute("aria-label", words.dataset.add);
      input.placeholder = words.dataset.add;
      input.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || event.ctrlKey) return;
        event.preventDefault();
        const done = added(list, input.value.trim());
        input.setAttribute("aria-invalid", String(!done));
        if (done) words.querySelectorAll("input")[number].focus();
      });
      row.append(input);
      return row;
    }));
  }

  for (const event of ["click", "keyup", "input"]) text.addEventListener(event, showWords);

  // the editor begins at the rules of the step
  const line = Number(text.dataset.line) - 1;
  const before = text.value.split("\n").slice(0, line).join("\n").length + (line ? 1 : 0);
  const whole = text.value, height = text.style.height;
  text.value = whole.slice(0, before);
  text.style.height = "0";
  const above = text.scrollHeight;
  text.style.height = height;
  text.value = whole;
  text.setSelectionRange(before, before);
  text.scrollTop = line ? above - parseFloat(getComputedStyle(text).lineHeight) : 0;
  tryRules("all");
})();
