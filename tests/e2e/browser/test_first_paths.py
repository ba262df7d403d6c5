"""One path through each page that people work with; the other files of this folder go through all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from once import EVALUATED, Once

from browser.projects import claim_tasks, claims_spec
from browser.sites import DESK, Site, Watch, choose, patience_ms, subjects

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.push
SPEC = claims_spec()


def test_a_person_annotates_a_task(site: Site) -> None:
    site.lay_out(SPEC, claim_tasks(1))
    seat = site.seat("Ana")
    page = seat.enter()
    with seat.loading():
        page.get_by_role("link", name="Begin").click()
    wanted = dict.fromkeys(subjects(site.asked("Ana", 1).task, SPEC), 1)
    choose(page, wanted, lambda label: label.click())
    with seat.loading():
        page.get_by_role("button", name="Submit").click()
    assert page.get_by_role("heading", level=1).inner_text() == "All done. Thank you!"
    assert site.votes() == {"Ana": wanted}


@pytest.mark.parametrize("name", ["report.html", "evaluation/results.html"])
def test_a_report_opens_without_a_word_to_the_console(chromium: Browser, once: Once, name: str) -> None:
    context = chromium.new_context(**DESK)
    context.set_default_timeout(patience_ms())
    watch = Watch(context, "file://")
    page = context.new_page()
    page.goto((once.after(EVALUATED) / "builds" / "care_mi" / name).as_uri())
    assert page.get_by_role("heading", level=1).is_visible()
    assert page.locator("table").count() > 0
    assert watch.wrong() == []
    context.close()
