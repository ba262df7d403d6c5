// Keys, counts and progress for the pages of the explorer. Everything can be read without this file.
"use strict";
(() => {
  // Keys: none acts in a field, or with a modifier
  const rows = [...document.querySelectorAll("[data-row]")];
  let at = -1;
  let before = "";
  const go = (address) => {
    if (address) location.assign(address);
  };
  const move = (by) => {
    if (!rows.length) return;
    if (at >= 0) rows[at].classList.remove("here");
    at = Math.min(rows.length - 1, Math.max(0, at + by));
    rows[at].classList.add("here");
    rows[at].scrollIntoView({ block: "nearest" });
    rows[at].querySelector("a")?.focus({ preventScroll: true });
  };
  const part = (name) => document.querySelector(`nav.parts a[data-part="${name}"]`)?.href;
  const actions = {
    "/": () => (document.querySelector("input[name=q]:not(#find)") || document.getElementById("find"))?.focus(),
    j: () => move(1),
    k: () => move(-1),
    n: () => go(document.getElementById("next")?.href),
    u: () => go(document.getElementById("up")?.href),
    "?": () => go("/keys"),
  };
  const parts = { f: "flow", r: "rows", i: "items", a: "answers", w: "work" };
  document.addEventListener("keydown", (event) => {
    const field = event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (event.key === "Escape" && field) return field.blur();
    if (field || event.ctrlKey || event.altKey || event.metaKey) return;
    const second = before === "g" ? parts[event.key] : "";
    before = event.key;
    const act = second ? () => go(part(second)) : actions[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  // How many rows hold a search: counted part by part, until the page goes
  const hits = document.getElementById("hits");
  if (hits) {
    const stop = new AbortController();
    addEventListener("pagehide", () => stop.abort());
    const number = new Intl.NumberFormat(document.documentElement.lang);
    const count = async () => {
      let [sum, next] = [0, 0];
      while (next !== null) {
        const answer = await fetch(`${hits.dataset.count}&part=${next}`, { signal: stop.signal });
        if (!answer.ok) return;
        const found = await answer.json();
        [sum, next] = [sum + found.count, found.next];
        const text = next === null ? hits.dataset.all : hits.dataset.some;
        hits.textContent = text.replace("{n}", number.format(sum));
      }
    };
    count().catch(() => {});
  }

  // A build at work: its progress every two seconds while the page is seen; the whole page when a step is done
  const live = document.getElementById("live");
  if (live) {
    const parts = document.getElementById("live-parts");
    const finished = () => parts.querySelector("dd")?.textContent;
    const look = async () => {
      if (document.hidden) return;
      const before = finished();
      const answer = await fetch(live.dataset.progress);
      if (answer.status === 204) return location.reload();
      if (!answer.ok) return;
      parts.innerHTML = await answer.text();
      if (finished() !== before && scrollY < 200) location.reload();
    };
    setInterval(() => look().catch(() => {}), 2000);
  }
})();
