"""Every page of the explorer in a browser: desktop, phone, dark, without script, by keyboard alone."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from once import EVALUATED, Once
from patience import first_line

from browser.measures import too_wide
from browser.sites import DESK, PHONE, Watch, patience_ms

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

QUIET = {"preload": False}
"""Options of axe: it asks for no style sheet again, which the security policy of the pages forbids."""
_LINKS = "links => links.map(link => new URL(link.getAttribute('href'), location).href)"
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
_MOST_PAGES = 25


@dataclass(frozen=True)
class Explorer:
    """A running explorer of the sample's build: its address, and the address that lets a browser in."""

    address: str
    entrance: str
    chromium: Browser

    def context(self, **options: Any) -> BrowserContext:
        """A browser that was let in."""
        context = self.chromium.new_context(**{**DESK, "locale": "en-GB", **options})
        context.set_default_timeout(patience_ms())
        page = context.new_page()
        page.goto(self.entrance)
        page.close()
        return context


@pytest.fixture(scope="module")
def explorer(chromium: Browser, once: Once) -> Iterator[Explorer]:
    folder = once.after(EVALUATED)
    words = [str(once.program), "view", "recipe=care_mi", "--no-browser"]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        text = first_line(process)
        match = _ADDRESS.search(text)
        assert match is not None, text
        entrance = text[match.start() :].split()[0]
        yield Explorer(match[0], entrance, chromium)
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in process.stderr.read(), "the server has something to complain about"


def shape_of(address: str) -> str:
    """An address without what names one row, item or step."""
    path = urlsplit(address).path
    path = re.sub(r"/[a-z]+-[0-9a-f]{12,}", "/ID", path)
    return re.sub(r"/(row|unit|work)/.+", r"/\1/ONE", path)


@pytest.fixture(scope="module")
def pages(explorer: Explorer) -> list[str]:
    """One address of each kind of page, as links lead to them from the first page."""
    context = explorer.context()
    page = context.new_page()
    found = {"/": explorer.address + "/"}
    waiting = [explorer.address + "/"]
    while waiting and len(found) < _MOST_PAGES:
        page.goto(waiting.pop(0))
        for link in page.locator("a[href]").evaluate_all(_LINKS):
            address = link.partition("#")[0]
            shape = shape_of(address)
            skipped = shape.startswith(("/language/", "/static/", "/enter/")) or address.endswith((".csv", ".jsonl"))
            if address.startswith(explorer.address + "/") and not skipped and shape not in found:
                found[shape] = address
                waiting.append(address)
    context.close()
    build = explorer.address + "/b/care_mi"
    for path in (
        "/compare/care_mi",
        "/answers?wrong=all",
        "/items?q=糖尿病",
        "/answers?left=model_jia&right=model_bing",
    ):
        found[path] = build + path
    assert {"/b/care_mi/items", "/b/care_mi/items/ID", "/b/care_mi/answers", "/b/care_mi/answers/ID"} <= set(found)
    return list(found.values())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_fault_for_people_who_see_or_hear_it_otherwise(
    explorer: Explorer, pages: list[str], scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    context = explorer.context(color_scheme=scheme)
    watch = Watch(context, explorer.address)
    page = context.new_page()
    faults: list[str] = []
    for address in pages:
        page.goto(address)
        for fault in axe.Axe().run(page, options=QUIET).response["violations"]:
            if fault["impact"] in ("serious", "critical"):
                where = [node["html"][:160] for node in fault["nodes"][:3]]
                faults.append(f"{urlsplit(address).path} {fault['id']}: {where}")
    context.close()
    assert faults == []
    assert watch.wrong() == []


def test_every_page_fits_a_phone(explorer: Explorer, pages: list[str]) -> None:
    context = explorer.context(**PHONE)
    watch = Watch(context, explorer.address)
    page = context.new_page()
    wide = {}
    for address in pages:
        page.goto(address)
        if found := too_wide(page):
            wide[urlsplit(address).path] = found
    context.close()
    assert wide == {}
    assert watch.wrong() == []


def test_every_page_can_be_read_without_scripts(explorer: Explorer, pages: list[str]) -> None:
    context = explorer.context(java_script_enabled=False)
    page = context.new_page()
    for address in pages:
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 200, address
        assert page.locator("h1").count() == 1, address
        assert page.locator("html").get_attribute("lang")
    page.goto(explorer.address + "/b/care_mi/items")
    page.get_by_label("Search questions, answers and ids").fill("糖尿病")
    page.get_by_role("button", name="Search").click()
    marks = page.locator("mark.hit").all_inner_texts()
    assert marks
    assert set(marks) == {"糖尿病"}
    page.goto(explorer.address + "/b/care_mi/answers")
    page.locator("select[name=wrong]").select_option("all")
    page.get_by_role("button", name="Show").click()
    assert "all models wrong" in page.locator("main").inner_text()
    context.close()


def tab_to(page: Page, wanted: str, most: int = 80) -> None:
    """Press Tab until an element that `wanted` selects has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("wanted => document.activeElement?.matches(wanted)", wanted):
            return
    raise AssertionError(f"Tab does not lead to {wanted}")


@pytest.mark.full
def test_items_and_answers_are_reached_by_keyboard_alone(explorer: Explorer) -> None:
    context = explorer.context()
    page = context.new_page()
    page.goto(explorer.address + "/")
    for path in ("/b/care_mi/", "/b/care_mi/items"):
        tab_to(page, f"a[href='{path}']")
        with page.expect_event("load"):
            page.keyboard.press("Enter")
        assert page.url == explorer.address + path
    tab_to(page, "#q")
    page.keyboard.type("糖尿病")
    with page.expect_event("load"):
        page.keyboard.press("Enter")
    tab_to(page, ".results a")
    with page.expect_event("load"):
        page.keyboard.press("Enter")
    assert "/items/item-" in page.url
    tab_to(page, "a[href*='/answers/item-']")
    with page.expect_event("load"):
        page.keyboard.press("Enter")
    assert "/answers/item-" in page.url
    assert page.locator("ul.answers > li").count() == 10
    context.close()


def test_tab_goes_through_every_page_and_out_again(explorer: Explorer, pages: list[str]) -> None:
    context = explorer.context()
    page = context.new_page()
    for address in pages:
        page.goto(address)
        seen: list[int] = []
        count = page.evaluate(
            "() => { const all = [...document.querySelectorAll('*')]; window.placeOf = e => all.indexOf(e);"
            " return [...document.querySelectorAll('a[href], button, input, select, textarea, summary')]"
            ".filter(e => e.checkVisibility() && !e.disabled && e.type !== 'hidden').length; }"
        )
        for _ in range(min(count, 40)):
            page.keyboard.press("Tab")
            seen.append(page.evaluate("() => window.placeOf(document.activeElement)"))
        assert len(set(seen)) >= min(count, 40) * 0.9, f"the focus is caught in {address}"
    context.close()


def site_of(once: Once, folder: Path) -> Path:
    """The static pages of a release of the sample."""
    once.copied(EVALUATED, folder)
    release = [str(once.program), "release", "recipe=care_mi", "version=1.0.0", "--despite", "a trial"]
    subprocess.run(release, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    words = [str(once.program), "view", "--export", "site", "recipe=care_mi"]
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / "site"


@pytest.fixture(scope="module")
def site_folder(once: Once, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site_of(once, tmp_path_factory.mktemp("released"))


_SEARCH = """async ([words, patience]) => {
  const found = {};
  for (const word of words) {
    location.hash = `#q=${encodeURIComponent(word)}`;
    for (const last = performance.now() + patience; performance.now() < last;) {
      await new Promise(done => setTimeout(done, 5));
      const line = document.querySelector('.found');
      if (line && line.dataset.q === word) { found[word] = +line.dataset.n; break; }
    }
  }
  return found;
}"""


def test_a_site_in_a_folder_finds_what_a_substring_finds(chromium: Browser, site_folder: Path) -> None:
    lines = [json.loads(line) for line in (site_folder / "items.jsonl").read_text("utf-8").splitlines()]
    texts = ["\n".join((row["context"] + row["question"], row["answer"], row["answer_wrong"])) for row in lines]
    drawn = random.Random(5)
    words: set[str] = set()
    while len(words) < 200:
        text = drawn.choice(texts)
        at, length = drawn.randrange(len(text)), drawn.choice((2, 2, 3, 4, 8))
        if re.fullmatch(r"[\u4e00-\u9fff]{2,}", word := text[at : at + length]):
            words.add(word)
    context = chromium.new_context(**DESK)
    context.set_default_timeout(patience_ms())
    watch = Watch(context, "file://")
    page = context.new_page()
    page.goto((site_folder / "index.html").as_uri())
    page.locator(".results li").first.wait_for()
    found = page.evaluate(_SEARCH, [sorted(words), patience_ms()])
    assert found == {word: sum(word in text for text in texts) for word in words}
    assert watch.wrong() == []
    context.close()


def test_a_site_shows_items_at_their_addresses_on_any_screen(chromium: Browser, site_folder: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    row = json.loads((site_folder / "items.jsonl").read_text("utf-8").splitlines()[0])
    index = (site_folder / "index.html").as_uri()
    faults: list[str] = []
    for options in (DESK, {**DESK, "color_scheme": "dark"}, PHONE):
        context = chromium.new_context(**options)
        watch = Watch(context, "file://")
        page = context.new_page()
        for address in (
            index,
            f"{index}#{row['id']}",
            index.replace("index", "card"),
            index.replace("index", "list/1"),
        ):
            page.goto("about:blank")
            page.goto(address)
            page.locator("#app[aria-busy=false], article, .plain-list").first.wait_for()
            if address.endswith(row["id"]):
                assert page.get_by_role("heading", level=1).inner_text() == row["question"]
                page.get_by_text("报告本题的错误").click()
            assert not too_wide(page)
            faults += [f"{address} {fault['id']}: {[node['html'][:200] for node in fault['nodes'][:3]]}"
                       for fault in axe.Axe().run(page, options=QUIET).response["violations"]
                       if fault["impact"] in ("serious", "critical")]  # fmt: skip
        assert watch.wrong() == []
        context.close()
    assert faults == []


def test_a_site_without_scripts_has_every_item(chromium: Browser, site_folder: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site_folder / "index.html").as_uri())
    page.locator("noscript a", has_text="全部题目").click()
    assert page.locator(".plain-list li").count() == 200
    page.locator("a[rel=next]").first.click()
    assert page.locator(".plain-list li").count() > 100
    context.close()
