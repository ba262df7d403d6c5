"""One path through each page that people work with; the other files of this folder go through all of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from once import EVALUATED, Once

from benchbuilder.config import load_recipe
from benchbuilder.config.spec.annotation import ProjectSpec
from browser.measures import too_faint, too_wide
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


def test_the_bundled_questions_in_english_fit_beside_the_text(site: Site) -> None:
    """Six wordy questions, the guideline and a note, without scrolling, on the desk screen of the other tests."""
    bundled = load_recipe(["recipe=medicine_en", "annotation=app_en"]).whole.annotation
    assert isinstance(bundled, ProjectSpec)
    assert len(bundled.questions) == 6
    site.lay_out(bundled, claim_tasks(1, paragraphs=6))
    seat = site.seat("Ana")
    page = seat.enter()
    with seat.loading():
        page.get_by_role("link", name="Begin").click()
    bar = page.locator(".bar").bounding_box()
    last = page.locator(".panel .question").last.bounding_box()
    assert bar
    assert last
    assert last["y"] + last["height"] <= bar["y"]


def test_a_report_fits_two_screens_and_one_who_hears_it(chromium: Browser, once: Once) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    context = chromium.new_context()
    context.set_default_timeout(patience_ms())
    page = context.new_page()
    page.goto((once.after(EVALUATED) / "builds" / "care_mi" / "report.html").as_uri())
    for width, most in ((390, 5000), (1280, 2700)):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollHeight") < most
    assert len(page.locator("body").inner_text().split()) < 1300
    for link, language in (("中文", "zh"), ("English", "en")):
        page.get_by_role("link", name=link).click()
        assert page.locator("html").get_attribute("lang") == language
    page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert too_wide(page) == []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert too_faint(page) == []
    # its own look at contrast takes ten seconds a page, and leaves out what is half transparent
    options = {"preload": False, "resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": False}}}
    faults = axe.Axe().run(page, options=options).response["violations"]
    assert [(fault["id"], fault["nodes"][0]["html"][:160]) for fault in faults] == []
    context.close()


def test_a_report_prints_on_two_sheets_at_most(chromium: Browser, once: Once) -> None:
    context = chromium.new_context()
    page = context.new_page()
    for name in ("report.html", "report.zh.html"):
        page.goto((once.after(EVALUATED) / "builds" / "care_mi" / name).as_uri())
        sheets = re.findall(rb"/Type\s*/Page[^s]", page.pdf(format="A4", prefer_css_page_size=True))
        assert 1 <= len(sheets) <= 2
    context.close()


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
