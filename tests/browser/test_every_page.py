"""Every page on a phone and in both colour schemes: nothing too wide, too small, too faint, and no errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

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
from browser.sites import DESK, PHONE, Site, answer

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
    ana, ballots = site.people["Ana"], site.ballots
    for number in (1, 2):
        answer(site, "Ana", number, CLAIMS, "claims", single=0, supports=number - 1)
    for number in range(1, 6):
        answer(site, "Ben", number, CLAIMS, "claims")
    ballots.skip(ana, site.asked("Ana", 3, "claims").task_id)
    ballots.flag(ana, site.asked("Ana", 4, "claims").task_id, True, "看不懂\n第二行")
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


@pytest.mark.parametrize(
    ("options", "scheme", "locale"),
    [(PHONE, "light", "en-GB"), (PHONE, "dark", "zh-CN"), (DESK, "dark", "en-GB")],
    ids=["phone-light-en", "phone-dark-zh", "desk-dark-en"],
)
def test_every_page_fits_and_can_be_hit_and_read(site: Site, options: Any, scheme: str, locale: str):
    filled(site)
    found: list[tuple[str, str]] = []
    seen: set[str] = set()
    for page in tour(site, **options, color_scheme=scheme, locale=locale, reduced_motion="reduce"):
        small = too_small(page) if options is PHONE else []
        where = urlsplit(page.url).path
        found += [(where, f"{page.title()}: {what}") for what in [*too_wide(page), *small, *too_faint(page)]]
        assert is_dark(page) == (scheme == "dark")
        assert page.evaluate("document.documentElement.lang") == locale[:2]
        seen.add(re.sub(r"\d+|enter/.*", "N", where))
    assert not found, "\n".join(sorted({f"{where} {what}" for where, what in found}))
    assert seen >= SHOWN


SHOWN = {
    "/", "/help", "/N", "/nowhere", "/p/claims/N", "/p/claims/list", "/p/done", "/p/done/N", "/p/ratings/N",
    "/p/forms/N", "/adjudicate/claims/N", "/adjudicate/ratings/N", "/adjudicate/done", "/lead", "/lead/claims",
    "/lead/claims/tasks", "/leave",
}  # fmt: skip
