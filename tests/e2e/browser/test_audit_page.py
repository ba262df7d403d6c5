"""The page of an audit: on a phone and a desk, without scripts, by keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchbuilder.config import load_recipe, read_kind_spec
from benchbuilder.core import Claim, Item, Origin, ProducedBy, page_texts
from benchbuilder.evaluation.audit.auditor import BenchmarkAuditor
from benchbuilder.evaluation.audit.built import AuditOfTask
from benchbuilder.evaluation.audit.page import audit_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of an audit with leaks."""
    items = [
        Item[Claim].build(
            origin=Origin(file="f", line=n), produced_by=ProducedBy(rule="test"), language="zh", candidate="",
            partition="a_source_with_quite_a_long_name", fact=f"{n}", reviewed=False,
            payload=Claim(type="tf", expected="no" if n % 2 else "yes", question=f"第{n}{'不' if n % 2 else ''}能？",
                          answer=f"{n}能", answer_wrong=f"{n}不能"),
        )
        for n in range(40)
    ]  # fmt: skip
    loaded = load_recipe(["recipe=care_mi"])
    views = {
        kind: read_kind_spec("view", {"kind": kind}) for kind in ("length", "negation", "question_words", "letter")
    }
    spec = loaded.recipe.audit.model_copy(update={"permutations": 99, "views": views})
    folder = tmp_path_factory.mktemp("audit")
    audit = AuditOfTask(loaded, "A benchmark", folder, BenchmarkAuditor(spec, 1).audit_items(items), items)
    file = folder / "audit.html"
    file.write_text(audit_page(audit, page_texts("zh")), encoding="utf-8")
    return file


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_nothing_is_wider_than_the_screen_and_details_open_by_keyboard(
    chromium: Browser, page_file: Path, width: int, colours: str
) -> None:
    context = chromium.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=colours,
        java_script_enabled=False,  # type: ignore[arg-type]
    )
    page = context.new_page()
    page.goto(page_file.as_uri())
    table = page.locator("#verdict table")
    assert not table.is_visible()
    page.locator("#verdict summary").focus()
    page.keyboard.press("Enter")
    assert table.is_visible()
    boxes = [found.bounding_box() for found in page.locator("h1, h2, h3, p, ul, nav, svg.chart, .scroll, .tiles").all()]
    assert [box for box in boxes if box is not None and box["x"] + box["width"] > width + 1] == []
    assert page.get_by_text("闸门关闭").first.is_visible()
    assert page.locator("svg.chart line.limit").count() == page.locator("svg.chart").count() == 2
    context.close()
