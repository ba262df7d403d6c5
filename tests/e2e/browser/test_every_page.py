"""Every page on a phone and in both colour schemes: nothing too wide, too small, too faint, and no errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from browser.measures import is_dark, too_faint, too_small, too_wide
from browser.projects import (
    GUIDELINE,
    claim_tasks,
    claims_spec,
    form_spec,
    form_tasks,
    rating_tasks,
    ratings_spec,
)
from browser.sites import PHONE, Site, answer

if TYPE_CHECKING:
    from playwright.sync_api import Page

CLAIMS = claims_spec(suggested_seconds=1, min_seconds=5)
RATINGS = ratings_spec()
FORMS = form_spec()


def filled(site: Site) -> None:
    """Projects in all states: disputes, decisions, drafts, flags, what is put off, and what is done."""
    for name in ("Ana", "Ben"):
        site.invite(name)
    site.invite("Judy", "adjudicator")
    site.invite("Lea", "lead")
    site.lay_out(CLAIMS, claim_tasks(5), name="claims", guideline=GUIDELINE)
    site.lay_out(RATINGS, rating_tasks(3), name="ratings", language="en")
    site.lay_out(FORMS, form_tasks(2), name="forms", language="en", guideline="Copy *word for word*.")
    site.lay_out(claims_spec(title="Done"), claim_tasks(1), name="done")
    ana, store = site.people["Ana"], site.store
    for number in (1, 2):
        answer(site, "Ana", number, CLAIMS, "claims", single=0, supports=number - 1)
    for number in range(1, 6):
        answer(site, "Ben", number, CLAIMS, "claims")
    store.skip(ana, site.asked("Ana", 3, "claims").task_id)
    store.flag(ana, site.asked("Ana", 4, "claims").task_id, True, "看不懂\n第二行")
    for number in (1, 2, 3):
        answer(site, "Ana", number, RATINGS, "ratings", correctness=0.1, tone=2)
        answer(site, "Ben", number, RATINGS, "ratings", correctness=0.9, tone=6)
    for name in ("Ana", "Ben"):
        answer(site, name, 1, CLAIMS, "done")


def tour(site: Site, **options: Any) -> Iterator[Page]:
    """Every page, as each of those sees it who may."""
    nobody = site.seat(**options)
    nobody.expects("status of 40[34]")
    for path in ("/", "/help", "/enter/nothing", "/nowhere"):
        yield nobody.go(path)
    ana = site.seat("Ana", **options)
    ana.expects("status of 4(04|09|22)")
    ana.page.goto(ana.link)
    yield ana.page
    yield ana.enter()
    for number in (1, 3, 4, 5):
        yield ana.go(f"/p/claims/{number}")
    ana.page.locator(".guide summary").click()
    yield ana.page
    yield ana.go("/p/claims/list")
    ana.go("/p/claims/5")
    with ana.loading():
        ana.page.locator("button[value=submit]").click()
    yield ana.page
    ana.page.locator("input[name=shown]").evaluate("field => field.value = 'something else'")
    with ana.loading():
        ana.page.locator("button[value=submit]").click()
    yield ana.page
    for path in ("/p/done", "/p/done/1", "/p/ratings/1", "/p/forms/1", "/lead"):
        ana.expects("status of 403")
        yield ana.go(path)
    yield from tour_of_judge(site, **options)
    lead = site.seat("Lea", **options)
    yield lead.enter()
    for path in ("claims", "claims/tasks", "ratings", "forms", "done", "forms/tasks"):
        yield lead.go(f"/lead/{path}")
    with lead.loading():
        lead.page.locator("form[action='/leave'] button").click()
    yield lead.page


def tour_of_judge(site: Site, **options: Any) -> Iterator[Page]:
    judge = site.seat("Judy", **options)
    judge.expects("status of 4(04|09|22)")
    yield judge.enter()
    for path in ("claims", "ratings", "done"):
        yield judge.go(f"/adjudicate/{path}")
    judge.go("/adjudicate/ratings")
    with judge.loading():
        judge.page.locator("button[value=submit]").click()
    yield judge.page
    judge.page.locator("input[name=shown]").evaluate("field => field.value = 'something else'")
    with judge.loading():
        judge.page.locator("button[value=submit]").click()
    yield judge.page


def page_errors(page: Page) -> list[str]:
    """All that is wrong with the looks of a page, in both colour schemes."""
    found = [*too_wide(page), *too_small(page)]
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert is_dark(page) == (scheme == "dark")
        found += [f"{scheme} {what}" for what in too_faint(page)]
    return [f"{urlsplit(page.url).path} ({page.title()}): {what}" for what in found]


def test_every_page_fits_and_can_be_hit_and_read(site: Site):
    filled(site)
    found: list[str] = []
    seen: set[str] = set()
    for page in tour(site, **PHONE):
        found += page_errors(page)
        seen.add(re.sub(r"\d+|enter/.*", "N", urlsplit(page.url).path))
    assert not found, "\n".join(sorted(set(found)))
    assert seen >= SHOWN


def test_so_does_work_in_chinese(site: Site):
    filled(site)
    found: list[str] = []
    pages = {"Ana": ["/", "/p/claims/5", "/p/claims/list"], "Judy": ["/adjudicate/claims"], "Lea": ["/lead/claims"]}
    for name, paths in pages.items():
        seat = site.seat(name, **PHONE, locale="zh-CN")
        seat.enter()
        for path in paths:
            page = seat.go(path)
            assert page.evaluate("document.documentElement.lang") == "zh"
            found += page_errors(page)
    assert not found, "\n".join(sorted(set(found)))


BROKEN = """() => [...document.querySelectorAll("table th, table td.number")].flatMap((cell) => {
  const found = [];
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parts = cell.tagName === "TD" ? /[^ \\n].*[^ \\n]|[^ \\n]/g : /[A-Za-z'’]+/g;
    for (const part of walker.currentNode.data.matchAll(parts)) {
      const range = document.createRange();
      range.setStart(walker.currentNode, part.index);
      range.setEnd(walker.currentNode, part.index + part[0].length);
      if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) found.push(part[0]);
    }
  }
  return found;
})"""


def test_no_word_and_no_figure_of_a_table_is_broken(site: Site):
    filled(site)
    seat = site.seat("Lea", viewport={"width": 1100, "height": 800})
    seat.enter()
    for width in (1100, 960, 800):
        seat.page.set_viewport_size({"width": width, "height": 800})
        for project in ("claims", "ratings"):
            page = seat.go(f"/lead/{project}")
            assert page.evaluate(BROKEN) == [], (project, width)
            assert too_wide(page) == [], (project, width)
    heads = seat.go("/lead/claims").locator("thead th").all_inner_texts()
    assert [text for text in heads if text[:1].islower()] == []


SHOWN = {
    "/", "/help", "/N", "/nowhere", "/p/claims/N", "/p/claims/list", "/p/done", "/p/done/N", "/p/ratings/N",
    "/p/forms/N", "/adjudicate/claims/N", "/adjudicate/ratings/N", "/adjudicate/done", "/lead", "/lead/claims",
    "/lead/claims/tasks", "/leave",
}  # fmt: skip
