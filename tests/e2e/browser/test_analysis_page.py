"""The page of an analysis: on a phone and a desk, light and dark, by mouse and by keyboard, in print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from analysed_world import analysed

from benchbuilder.core import page_texts
from benchbuilder.evaluation.analysis.files import analysis_page
from browser.measures import is_dark, too_faint, too_wide

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 24 models with long names, whose answers are made up."""
    analysis = analysed(24, 480, invented=True, names="a-model-with-quite-a-long-name-" * 3)
    file = tmp_path_factory.mktemp("analysis") / "analysis.html"
    file.write_text(analysis_page(analysis, page_texts("en")), encoding="utf-8")
    return file


@pytest.mark.parametrize(("width", "colours"), [(360, "light"), (360, "dark"), (1200, "light")])
def test_it_fits_is_read_and_says_nothing_to_the_console(
    chromium: Browser, page_file: Path, width: int, colours: str
) -> None:
    context = chromium.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=colours,  # type: ignore[arg-type]
    )
    page, said = context.new_page(), list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(page_file.as_uri())
    page.evaluate("for (const closed of document.querySelectorAll('details')) closed.open = true")
    assert too_wide(page) == []
    assert too_faint(page) == []
    assert is_dark(page) == (colours == "dark")
    assert said == []
    context.close()


def test_the_map_leads_to_the_list_and_tables_open_by_keyboard_without_scripts(
    chromium: Browser, page_file: Path
) -> None:
    context = chromium.new_context(viewport={"width": 1200, "height": 800}, java_script_enabled=False)
    page = context.new_page()
    page.goto(page_file.as_uri())
    page.locator("#items a[href='#back-1'] .badge").click()
    assert page.url.endswith("#back-1")
    later = page.locator("#back-25")
    assert not later.is_visible()
    page.goto(f"{page_file.as_uri()}#back-25")
    assert later.is_visible()  # a link opens the list that it leads into
    table = page.locator("#model_ranks")
    assert not table.is_visible()
    page.locator("#ranks summary").focus()
    page.keyboard.press("Enter")
    assert table.is_visible()
    page.emulate_media(media="print")
    assert page.locator("#model_consistency").is_visible()  # what is closed is printed all the same
    assert not page.locator("nav").is_visible()
    context.close()
