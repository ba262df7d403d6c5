"""Reports on items that a step sorted into classes of its own, that only some people judged, or in several votes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from finished_build import finished

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Claim, Item
from benchbuilder.exporters.base import FinishedBuild
from benchbuilder.exporters.report import funnel
from benchbuilder.exporters.report.dataset_card import DatasetCard, DatasetCardSpec
from benchbuilder.exporters.report.entries import ReportEntry, groups_of, item_entries, sources_of
from benchbuilder.exporters.report.report import Report, ReportSpec

TITLES = re.compile(r"<h[23][^>]*>(.*?)</h[23]>")


@pytest.fixture(scope="module")
def build() -> FinishedBuild:
    """Items of two classes, those of the second not judged; the last step is told twice, as two votes."""
    whole = finished(60)
    rows = [
        row.model_copy(
            update={"partition": "plain", "reviewed": True} if n % 3 else {"partition": "odd", "reviewed": False}
        )
        for n, row in enumerate(whole.tables["items"])
    ]
    *before, last = whole.step_counts
    counts = {("plain", "kept", ""): 30, ("odd", "kept", ""): 10, ("odd", "dropped", "not_accurate"): 4}
    votes = replace(last, counts=counts), replace(last, step="again", counts={("odd", "kept", ""): 10})
    return replace(whole, tables={**whole.tables, "items": Table.of(rows, Item[Claim])}, step_counts=(*before, *votes))


def page(build: FinishedBuild, folder: Path) -> str:
    spec = ReportSpec(kind="report", file="report.html", language="en", examples=5, cue_words=())
    return Report(spec).write(build, folder)[0].read_text(encoding="utf-8")


def test_items_count_under_their_classes(build: FinishedBuild, tmp_path: Path) -> None:
    assert set(groups_of(item_entries(build), sources_of(build))) == {"plain", "odd"}
    assert groups_of(item_entries(finished(60)), ["bios", "cpubmed", "medqa", "mlecqa", "none"])[-1] == "none"
    classes = [branch for branch in funnel.source_funnels(build, ["odd", "plain"]) if branch.role == "group"]
    assert [(b.source, [(s.step, s.outcomes.kept, s.outcomes.dropped) for s in b.steps]) for b in classes] == [
        ("odd", [("items", 10, 4), ("again", 10, 0)]), ("plain", [("items", 30, 0)]),
    ]  # fmt: skip
    text = page(build, tmp_path)
    assert "By class" in TITLES.findall(text)
    assert "14 → 10" in text
    holdings = text.partition('id="holdings"')[2].partition("</table>")[0]
    assert "odd</span>" in holdings
    assert "By class" not in TITLES.findall(page(finished(60), tmp_path))


def test_how_many_items_were_judged_is_told(build: FinishedBuild, tmp_path: Path) -> None:
    made = item_entries(build)
    told = f"People judged {sum(one.reviewed for one in made)} of {len(made)} items"
    assert told in page(build, tmp_path)
    spec: dict[str, Any] = {"kind": "card", "file": "README.md", "language": "en", "tags": (), "task_categories": ()}
    card = DatasetCard(DatasetCardSpec(**spec, cue_words=())).write(build, tmp_path)[0].read_text(encoding="utf-8")
    assert card.count(told) == 2
    assert "Nobody has judged" not in card
    assert "| odd |" in card


def test_each_vote_has_its_figures(build: FinishedBuild, tmp_path: Path) -> None:
    text = page(build, tmp_path)
    titles = TITLES.findall(text)
    assert titles.count("Agreement of annotators") == 2
    assert [title for title in titles if "<code>" in title] == ["<code>items</code>", "<code>again</code>"]


def test_an_answer_that_is_judged_is_not_called_the_right_one(build: FinishedBuild) -> None:
    row = item_entries(build)[0].row
    assert ReportEntry(row, {"question": "q", "answer": "a", "expected": "no"}).column("answer") == "item-answer"
    assert ReportEntry(row, {"answer": "a", "answer-wrong": "b", "expected": "no"}).column("answer") == "answer"
    assert ReportEntry(row, {"title": "t", "question": "q", "answer": "a"}).question == "q"
