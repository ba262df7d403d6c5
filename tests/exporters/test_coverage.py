"""The report says what was read from each section of the documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Claim, Fact, Item, LabelledClaim
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.exporters.base import FinishedBuild, StepCounts
from benchbuilder.exporters.report.coverage import SectionCoverage, claim_dates, section_coverage

RULE = ProducedBy(rule="test")


def page(text: str, title: str, line: int = 1) -> Passage:
    return Passage.build(
        base="guide", document="guide", title=title, text=text, origin=Origin(file="guide.jsonl", line=line),
        produced_by=RULE, language="zh", partition="guide",
    )  # fmt: skip


def _step(name: str, role: str, rows: int, inputs: dict[str, tuple[str, ...]]) -> StepCounts:
    return StepCounts(name, name, role, rows, inputs, {}, {}, {}, {}, {})


def _finished(tables: dict[str, Table[Any]], steps: tuple[StepCounts, ...]) -> FinishedBuild:
    return FinishedBuild(tables, steps, {}, "", Path("ledger.tsv"), "items", "done")


def test_sections_count_paragraphs_facts_and_items():
    pages = [page("甲。", "指南 > 一"), page("乙。", "指南 > 一", 2), page("丙。", "指南 > 二", 3)]
    facts = [
        Fact[LabelledClaim].child(
            pages[0], produced_by=RULE, slot=str(n), payload=LabelledClaim(text=f"{n}", label="true", as_of="2024年")
        )
        for n in range(2)
    ]
    claim = Claim(type="tf", expected="yes", question="对吗？", answer="甲。", answer_wrong="乙。")
    item = Item[Claim].child(facts[0], produced_by=RULE, payload=claim, candidate="c", fact=facts[0].id, reviewed=False)
    tables = {
        "paragraphs": Table.of(pages, Passage),
        "read": Table.of(facts, Fact[LabelledClaim]),
        "items": Table.of([item], Item[Claim]),
    }
    steps = (_step("paragraphs", "passage", 3, {}), _step("read", "fact", 2, {"each": ("paragraphs",)}))
    finished = _finished(tables, steps)
    assert section_coverage(finished) == [
        SectionCoverage("指南 > 一", 2, 1, 2, 1),
        SectionCoverage("指南 > 二", 1, 1, 0, 0),
    ]
    assert claim_dates(finished) == [("2024年", 1)]
    assert section_coverage(_finished(tables, steps[:1])) == []
