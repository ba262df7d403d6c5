// The pages of a release: list, search, facets, items, reports. Nothing is sent anywhere; all texts are set as text.
"use strict";
(() => {
  const loaded = new Map();
  const waiting = new Map();
  window.benchbuilderSite = (name, data) => loaded.set(name, data);
  // Data files are scripts, since a page that was opened from a folder may not fetch
  const load = (name) => {
    if (loaded.has(name)) return Promise.resolve(loaded.get(name));
    if (!waiting.has(name)) {
      waiting.set(name, new Promise((done, fail) => {
        const script = document.createElement("script");
        script.src = `data/${name}.js`;
        script.onload = () => (loaded.has(name) ? done(loaded.get(name)) : fail(new Error(name)));
        script.onerror = () => { waiting.delete(name); fail(new Error(name)); };
        document.head.append(script);
      }));
    }
    return waiting.get(name);
  };

  // Search: the same keys, shards and numbers as the files have
  const searchForm = (text) => text.normalize("NFKC").toLowerCase();
  const RUN = new RegExp("([SIGNS_OF_SCRIPTS]+)|((?:(?![SIGNS_OF_SCRIPTS])[\\p{L}\\p{N}\\p{M}])+)", "gu");
  const SIGN = new RegExp("^[SIGNS_OF_SCRIPTS]", "u");
  const shardOf = (name, shards) => {
    let value = 0x811c9dc5;
    for (const byte of new TextEncoder().encode(name)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
    return value % shards;
  };
  const shardKey = (key) => [...key].slice(0, SIGN.test(key) ? 1 : 2).join("");
  const unpacked = (text) => {
    let number = 0;
    return text === "" ? [] : text.split(" ").map((gap) => (number += parseInt(gap, 36)));
  };
  const keysOf = (term) => {
    const signs = [];
    const words = [];
    for (const run of term.matchAll(RUN)) {
      if (run[2]) words.push(run[2]);
      else {
        const marks = [...run[1]];
        if (marks.length === 1) signs.push({ key: marks[0], begin: true });
        for (let at = 0; at + 1 < marks.length; at += 1) signs.push({ key: marks[at] + marks[at + 1], begin: false });
      }
    }
    return signs.length ? { keys: signs, exact: signs.length === 1 && signs[0].key === term }
      : { keys: words.map((word) => ({ key: word, begin: true })), exact: words.length === 1 && words[0] === term };
  };
  const numbersOf = async ({ key, begin }, shards) => {
    const shard = await load(`s/${shardOf(shardKey(key), shards)}`);
    if (!begin) return new Set(unpacked(shard[key] ?? ""));
    const found = new Set();
    for (const [known, numbers] of Object.entries(shard)) {
      if (known.startsWith(key)) for (const number of unpacked(numbers)) found.add(number);
    }
    return found;
  };
  const both = (one, other) => {
    if (!one) return other;
    const found = new Set();
    for (const number of one) if (other.has(number)) found.add(number);
    return found;
  };
  const entryOf = async (meta, number) => (await load(`l/${Math.floor(number / meta.list)}`))[number % meta.list];
  const search = async (meta, state) => {
    let found = null;
    const checked = [];
    for (const term of searchForm(state.get("q") ?? "").split(/\s+/).filter(Boolean)) {
      const { keys, exact } = keysOf(term);
      for (const key of keys) found = both(found, await numbersOf(key, meta.shards.s));
      if (keys.length && !exact) checked.push(term);
    }
    for (const facet of meta.facets) {
      const value = state.get(facet.name);
      if (value) found = both(found, new Set(unpacked((await load(`f/${facet.name}`))[value] ?? "")));
    }
    if (!found) return null;
    const numbers = [...found].sort((one, other) => one - other);
    if (!checked.length) return numbers;
    const kept = [];
    for (const number of numbers) {
      const entry = await entryOf(meta, number);
      const text = searchForm(`${entry[1]}\n${entry[2]}`);
      if (checked.every((term) => text.includes(term))) kept.push(number);
    }
    return kept;
  };

  // Elements
  const make = (tag, settings = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(settings)) {
      if (name === "on") for (const [event, run] of Object.entries(value)) element.addEventListener(event, run);
      else if (value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  };
  const marked = (text, terms) => {
    if (!terms.length) return [text];
    const plain = [...text].map((sign) => searchForm(sign));
    const signs = [...text];
    const hit = new Array(signs.length).fill(false);
    const joined = plain.join("");
    const starts = [];
    plain.forEach((part, at) => { for (let n = 0; n < part.length; n += 1) starts.push(at); });
    for (const term of terms) {
      for (let at = joined.indexOf(term); at >= 0; at = joined.indexOf(term, at + term.length)) {
        for (let n = at; n < at + term.length; n += 1) hit[starts[n]] = true;
      }
    }
    const parts = [];
    signs.forEach((sign, at) => {
      const last = parts.at(-1);
      if (last && last.hit === hit[at]) last.text += sign;
      else parts.push({ hit: hit[at], text: sign });
    });
    return parts.map((part) => (part.hit ? make("mark", {}, part.text) : part.text));
  };

  const app = document.getElementById("app");
  const status = document.getElementById("status");
  const PAGE = 50;
  let run = 0;

  const start = async () => {
    const meta = loaded.get("meta");
    const t = (key, values = {}) =>
      Object.entries(values).reduce((text, [name, value]) => text.replace(`{${name}}`, value), meta.texts[key] ?? key);
    const count = (number) => new Intl.NumberFormat(meta.language).format(number);
    const title = document.title;
    const label = (facet, value) => meta.labels[facet]?.[value] ?? value;
    const stateOf = () => new URLSearchParams(location.hash.slice(1).startsWith("item-") ? "" : location.hash.slice(1));
    const addressOf = (state) => {
      const kept = new URLSearchParams([...state].filter(([, value]) => value));
      return `#${kept}`;
    };

    // The list
    const listView = () => {
      const state = stateOf();
      const field = make("input", { type: "search", id: "q", name: "q", value: state.get("q") ?? "", autocomplete: "off",
        spellcheck: "false", "aria-describedby": "hint" });
      const form = make("form", { role: "search", class: "search-line", on: { submit: (event) => { event.preventDefault(); go(); } } },
        make("label", { for: "q" }, t("search")), field, make("button", { class: "primary" }, t("find")));
      const selects = meta.facets.map((facet) => make("label", { class: "facet" }, make("span", {}, facet.label),
        make("select", { name: facet.name, on: { change: () => go() } }, make("option", { value: "" }, t("any")),
          ...facet.values.map(([value, name, n]) => make("option", { value, selected: state.get(facet.name) === value }, `${name} (${count(n)})`)))));
      const results = make("div", { id: "results" });
      const go = (push = true) => {
        const wanted = new URLSearchParams();
        wanted.set("q", field.value.trim());
        for (const select of app.querySelectorAll("select")) wanted.set(select.name, select.value);
        if (push) history.pushState(null, "", addressOf(wanted));
        show(wanted, results);
      };
      let timer = 0;
      field.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(() => { history.replaceState(null, "", addressOf(new URLSearchParams({ ...Object.fromEntries(stateOf()), q: field.value.trim() }))); show(stateOf(), results); }, 250);
      });
      document.title = title;
      app.replaceChildren(make("h1", {}, t("title", { n: count(meta.items) })), form,
        make("p", { id: "hint", class: "quiet" }, t("hint")), make("div", { class: "facets" }, ...selects), results);
      return show(state, results);
    };
    const show = async (state, results) => {
      const own = ++run;
      const numbers = await search(meta, state);
      if (own !== run) return;
      const total = numbers ? numbers.length : meta.items;
      const terms = searchForm(state.get("q") ?? "").split(/\s+/).filter(Boolean);
      const list = make("ol", { class: "results" });
      const more = make("button", { type: "button", hidden: true }, t("more"));
      let at = 0;
      const add = async () => {
        const first = at;
        const page = [];
        for (; at < Math.min(first + PAGE, total); at += 1) page.push(await entryOf(meta, numbers ? numbers[at] : at));
        if (own !== run) return;
        const rows = page.map(([id, asked, , type, source]) => make("li", {}, make("a", { href: `#${id}`, dir: "auto" }, ...marked(asked, terms)),
          make("span", { class: "quiet" }, make("span", { class: "badge" }, label("type", type)), ` ${source}`)));
        list.append(...rows);
        more.hidden = at >= total;
        if (first) rows[0]?.querySelector("a").focus();
      };
      more.addEventListener("click", add);
      await add();
      if (own !== run) return;
      const said = total ? t("found", { n: count(total), all: count(meta.items) }) : t("nothing");
      results.replaceChildren(make("p", { class: "found", "data-n": total, "data-q": state.get("q") ?? "" }, said), list, more);
      status.textContent = said;
    };

    // An item
    const reportBox = (item) => {
      const kind = make("select", { id: "kind" }, ...Object.entries(meta.kinds).map(([value, name]) => make("option", { value }, name)));
      const what = make("textarea", { id: "what", rows: 4 });
      const whole = make("textarea", { id: "report", rows: 3, readonly: true, "aria-label": t("report_text") });
      const said = make("p", { class: "quiet", role: "status" });
      const link = make("a", { class: "button primary", rel: "noopener noreferrer", target: "_blank" });
      const write = () => {
        const report = JSON.stringify({ item: item.id, version: meta.version, kind: kind.value, text: what.value.trim(), who: "" });
        const subject = `${meta.name} ${meta.version}: ${item.id}`;
        whole.value = report;
        if (meta.report.kind === "mail") link.href = `mailto:${encodeURIComponent(meta.report.address).replace("%40", "@")}?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(report)}`;
        else if (meta.report.kind === "issue") link.href = `${meta.report.address}?${new URLSearchParams({ [meta.report.title]: subject, [meta.report.text]: "```json\n" + report + "\n```" })}`;
        else link.href = meta.report.address;
      };
      const copy = async () => {
        try { await navigator.clipboard.writeText(whole.value); } catch { whole.select(); document.execCommand("copy"); }
        said.textContent = t("copied");
      };
      kind.addEventListener("change", write);
      what.addEventListener("input", write);
      write();
      link.textContent = t(`report_${meta.report.kind}`);
      return make("details", { class: "card report", id: "report-box" }, make("summary", {}, t("report")),
        make("p", { class: "quiet" }, t("report_note")),
        make("label", { for: "kind" }, t("report_kind")), kind, make("label", { for: "what" }, t("report_what")), what,
        make("details", {}, make("summary", {}, t("report_text")), whole),
        make("p", { class: "row" }, meta.report.kind === "none" ? null : link,
          make("button", { type: "button", on: { click: copy } }, t("copy"))), said);
    };
    const field = (name, text, kind = "") => (text ? make("div", { class: `field ${kind}` }, make("dt", {}, name), make("dd", { dir: "auto" }, text)) : null);
    const itemView = async (id) => {
      const own = ++run;
      let item = (await load(`i/${shardOf(id, meta.shards.i)}`))[id];
      let before = null;
      const seen = new Set([id]);
      for (let name = id; !item;) {
        const former = (await load(`m/${shardOf(name, meta.shards.m)}`))[name];
        if (!former) return own === run ? goneView(id, null) : null;
        if (!former[0] || seen.has(former[0])) return own === run ? goneView(id, former) : null;
        [name, before] = [former[0], former];
        seen.add(name);
        item = (await load(`i/${shardOf(name, meta.shards.i)}`))[name];
      }
      if (own !== run) return null;
      document.title = `${item.id} · ${title}`;
      const facts = make("dl", { class: "facts" });
      for (const [name, value] of [["id", item.id], ["version", meta.version], ["task", item.task], ["source", item.source], ["form", label("form", item.form ?? "")],
        ["split", item.split], ["tag", (item.tags ?? []).join(", ")], ["reviewed", label("reviewed", item.reviewed ? "yes" : "no")], ["origin", item.origin], ["licence", item.licence]]) {
        if (value) facts.append(make("dt", {}, t(`fact_${name}`)), make("dd", {}, value));
      }
      const evidence = (item.evidence ?? []).map(([name, base, text]) => make("li", {}, make("p", { class: "kicker" }, make("span", { dir: "auto" }, name), make("span", { class: "quiet" }, base)),
        make("p", { class: "text", dir: "auto", lang: item.language }, text)));
      const kin = (item.kin ?? []).map(([other, asked]) => make("li", {}, make("a", { href: `#${other}`, dir: "auto" }, asked)));
      const heading = make("h1", { dir: "auto", tabindex: "-1", lang: item.language }, item.question || item.answer || (item.texts ?? [["", item.id]])[0][1]);
      app.replaceChildren(
        make("p", {}, make("a", { href: "#", on: { click: back } }, t("back"))),
        before ? make("p", { class: "notice", role: "note" }, t("moved", { id, version: before[1], reason: before[2] })) : "",
        make("article", { class: "card item" },
          make("p", { class: "kicker" }, make("span", { class: "badge" }, label("type", item.type)), make("a", { class: "quiet", href: `#${item.id}` }, t("address"))),
          item.context ? make("p", { class: "context", dir: "auto", lang: item.language }, item.context) : "",
          heading,
          make("dl", { class: "material", lang: item.language },
            field(t("expected"), item.expected ? label("expected", item.expected) : "", "expected"),
            field(t("answer"), item.answer, "right"), field(t("answer_wrong"), item.answer_wrong, "wrong"),
            ...(item.texts ?? []).map(([name, text]) => field(name, text)))),
        ...(evidence.length ? [make("section", { class: "card" }, make("h2", {}, t("evidence")), make("ol", { class: "evidence" }, ...evidence))] : []),
        ...(kin.length ? [make("section", { class: "card" }, make("h2", {}, t("family")), make("ul", { class: "kin" }, ...kin))] : []),
        make("section", { class: "card" }, make("h2", {}, t("facts")), facts), reportBox(item));
      heading.focus({ preventScroll: true });
      scrollTo(0, 0);
      status.textContent = "";
      return item;
    };
    const goneView = (id, former) => {
      app.replaceChildren(make("p", {}, make("a", { href: "#" }, t("back"))), make("article", { class: "card" },
        make("h1", { tabindex: "-1" }, former ? t("withdrawn") : t("unknown")), make("p", {}, make("code", {}, id)),
        make("p", {}, former ? t("withdrawn_text", { version: former[1], reason: former[2] }) : t("unknown_text"))));
      app.querySelector("h1").focus({ preventScroll: true });
    };
    let came = false;
    const back = (event) => { if (came) { event.preventDefault(); history.back(); } };

    const route = async () => {
      app.setAttribute("aria-busy", "true");
      try {
        const hash = decodeURIComponent(location.hash.slice(1));
        await (/^[a-z]+-[0-9a-f]{8,}$/.test(hash) ? itemView(hash) : hash === "main" ? null : listView());
      } catch (error) {
        app.replaceChildren(make("p", { class: "notice", role: "alert" }, t("lost", { name: error.message })));
      }
      app.setAttribute("aria-busy", "false");
    };
    addEventListener("hashchange", () => { came = true; route(); });
    addEventListener("popstate", () => { if (!location.hash.slice(1).includes("-")) route(); });
    addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
      const field = document.getElementById("q");
      if (field) { event.preventDefault(); field.focus(); } else location.hash = "";
    });
    await route();
  };
  addEventListener("DOMContentLoaded", start);
})();
