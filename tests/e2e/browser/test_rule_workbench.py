"""The rule workbench in a browser: rules are tried while they are typed, judged by keys, and saved by keys."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from once import BUILT, Once
from own_rules import write_own_recipe
from patience import first_line

from benchbuilder.explorer.workbench.judged_rows import read_judged
from browser.measures import too_wide
from browser.sites import DESK, PHONE, patience_ms

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

STEP = "/b/own/work/state_choice"
SEAMS, MORE = "  seams: [是, 的,", "  seams: [是, 为, 的,"


@dataclass(frozen=True)
class Bench:
    """A running workbench of a recipe of the user's own, with the file of its rules."""

    address: str
    entrance: str
    chromium: Browser
    rules: Path

    def open(self, **options: Any) -> Page:
        """The page of the rules, after they were tried for the first time."""
        context = self.chromium.new_context(**{**DESK, "locale": "en-GB", **options})
        context.set_default_timeout(patience_ms())
        page = context.new_page()
        page.goto(self.entrance)
        page.goto(self.address + STEP)
        page.locator(".bench-counts").wait_for()
        return page


@pytest.fixture(scope="module")
def bench(chromium: Browser, once: Once, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("own")
    rules = write_own_recipe(folder)
    rules.write_text(rules.read_text("utf-8").replace(MORE, SEAMS, 1), "utf-8")
    shutil.copytree(once.after(BUILT) / "builds" / "care_mi", folder / "builds" / "own")
    words = [str(once.program), "view", "recipe=own", "--no-browser"]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        text = first_line(process)
        match = re.search(r"http://127\.0\.0\.1:\d+", text)
        assert match is not None, text
        yield Bench(match[0], text[match.start() :].split()[0], chromium, rules)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "", "the server has something to complain about"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_workbench_fits_a_phone(bench: Bench, scheme: str) -> None:
    page = bench.open(**PHONE, color_scheme=scheme)
    assert not too_wide(page)
    page.context.close()


def test_the_workbench_has_no_serious_fault_for_people_who_see_or_hear_it_otherwise(bench: Bench) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    for options in ({**PHONE, "color_scheme": "dark"}, {"color_scheme": "light", "locale": "zh-CN"}):
        page = bench.open(**options)
        for address in ("", "/rule?place=last&words=为"):
            if address:
                page.goto(bench.address + STEP + address)
            assert not too_wide(page)
            for fault in axe.Axe().run(page, options={"preload": False}).response["violations"]:
                assert fault["impact"] not in ("serious", "critical"), (fault["id"], fault["nodes"][0]["html"][:200])
        page.context.close()


@pytest.mark.full
def test_words_are_added_and_taken_out_without_writing_a_pattern(bench: Bench) -> None:
    page = bench.open()
    text, words = page.locator("#bench-text"), page.locator("#bench-words")
    show = "(area, part) => { const at = area.value.indexOf(part) + part.length; area.setSelectionRange(at, at); }"

    def line_of(part: str) -> str:
        return next(line for line in text.input_value().splitlines() if part in line)

    text.focus()
    text.evaluate(show, "seams: [")
    page.keyboard.press("ArrowLeft")
    assert words.get_by_role("button").first.inner_text() == "是 ×"
    add = words.get_by_role("textbox", name="add a word")
    for word in ("为", "on"):
        add.fill(word)
        add.press("Enter")
    assert "seams: [是, 的," in line_of("seams:")
    assert line_of("seams:").split("]")[0].endswith(", 为, 'on'"), "what YAML reads as true is quoted"
    add.fill("(a|b")
    add.press("Enter")
    assert add.get_attribute("aria-invalid") == "true"
    assert "(a" not in line_of("seams:")
    words.get_by_role("button", name="Take out 为").click()
    assert "为" not in line_of("seams:")
    for line, chips, after in (
        ("  - '^(?:please |never )?go'", ["please ×", "never ×"], "  - '^(?:please |never |soon )?go'"),
        ("  - '%prep% the|due to|called'", ["due to ×", "called ×"], "  - '%prep% the|due to|called|soon'"),
        ("  - '(?: [A-Z]|x)'", [], ""),
    ):
        text.evaluate("(area, line) => { area.value = line + '\\n'; area.setSelectionRange(3, 3); }", line)
        text.dispatch_event("keyup")
        assert words.get_by_role("button").all_inner_texts() == chips
        if chips:
            add.fill("soon")
            add.press("Enter")
            assert line_of("  - ") == after
    text.evaluate("area => { area.value = area.defaultValue; }")
    text.dispatch_event("input")
    page.locator(".badge.new strong, .bench-counts").first.wait_for()
    assert page.locator("#bench-fault").is_hidden()
    page.context.close()


@pytest.mark.full
def test_a_rule_is_written_judged_and_saved_by_keys_alone(bench: Bench) -> None:
    page = bench.open()
    text = page.locator("#bench-text")
    text.focus()
    place = text.evaluate("area => area.value.indexOf('seams: [') + 'seams: ['.length")
    text.evaluate("(area, place) => area.setSelectionRange(place, place)", place)
    page.keyboard.insert_text("为, ")
    page.locator(".badge.new strong", has_text="18").first.wait_for()
    page.locator(".bench-later").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "BUTTON", "the editor does not take the key"
    page.keyboard.press("j")
    for key in "123":
        page.keyboard.press(key)
    for value in ("good", "bad", "unsure"):  # each is kept by a request of its own
        page.locator(f'.bench-judge button[value="{value}"][aria-pressed="true"]').first.wait_for()
    judged = read_judged(bench.rules.with_name("own_claims_judged.tsv"))
    assert sorted(row.judged for row in judged) == ["bad", "good", "unsure"]
    page.keyboard.press("Control+s")
    page.locator("pre.bench-diff .added").first.wait_for()
    assert "seams: [为, 是, 的," in page.locator("pre.bench-diff .added").first.inner_text()
    assert SEAMS in bench.rules.read_text("utf-8"), "nothing is saved before the difference was shown"
    page.locator("button.primary").focus()
    page.keyboard.press("Enter")
    page.get_by_text("benchbuild recipe=own").wait_for()
    assert "  seams: [为, 是, 的," in bench.rules.read_text("utf-8")
    page.context.close()
