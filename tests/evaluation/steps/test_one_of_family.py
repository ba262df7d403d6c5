"""An evaluation that asks one question of each family: what is drawn, what it says, and what it asks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from gathered import outcomes_of

from benchbuilder.core.context import StepContext
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.payloads import Claim, Item
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.evaluation.steps.one_of_family import OneOfFamily, OneOfFamilySpec, draw_one_of_family


def item(family: str, expected: Any, line: int, source: str = "graph") -> Item[Claim]:
    payload = Claim(type="tf" if expected else "oe", expected=expected, question=f"{family}-{line}？", answer="对。",
                    answer_wrong="错。")  # fmt: skip
    return Item[Claim].build(
        origin=Origin(file="f", line=line), produced_by=ProducedBy(rule="test"), language="zh", partition=source,
        payload=payload, candidate="c", fact=f"fact-{line}", family=family, reviewed=True,
    )  # fmt: skip


def quads(count: int) -> list[Item[Claim]]:
    verdicts = ("yes", "no", "yes", "no", "", "")
    rows = [item(f"q{n}", verdict, 10 * n + place) for n in range(count) for place, verdict in enumerate(verdicts)]
    return [*rows, *(item(f"s{n}", "yes", 10_000 + n) for n in range(count // 4))]


def test_the_draw_is_flat_in_types_and_verdicts_and_does_not_depend_on_the_order():
    rows = quads(120)
    drawn = draw_one_of_family(rows, 11)
    assert drawn == draw_one_of_family(rows[::-1], 11)
    assert drawn != draw_one_of_family(rows, 12)
    by_id = {row.id: row for row in rows}
    assert all(by_id[name].family_name == family for family, name in drawn.items())
    verdicts = Counter(by_id[name].payload.expected for name in drawn.values())
    assert len(drawn) == 150
    assert verdicts == {"": 75, "yes": 38, "no": 37}


def test_an_item_without_a_family_is_asked_with_its_fact():
    first, other = item("", "yes", 1), item("", "no", 2)
    assert set(draw_one_of_family([first, other], 1).values()) == {first.id, other.id}


def test_an_item_that_is_not_asked_names_the_one_that_is():
    rows = quads(4)
    step = OneOfFamily(
        OneOfFamilySpec.model_validate({"kind": "one_of_family", "from": "sources.benchmark"}),
        StepContext(11, "zh", "asked", Path("cache"), Path("people")),
    )
    asked: set[str] = set()
    names: set[str] = set()
    found, _ = outcomes_of(step, {"each": Table.of(rows, Item[Claim])}, Item[Claim])
    assert list(found) == [row.id for row in rows]
    for outcome in found.values():
        if isinstance(outcome, Kept):
            asked.add(outcome.row.id)
        else:
            assert isinstance(outcome, Dropped)
            assert outcome.reason == "family_is_asked"
            names.add(outcome.detail)
    assert len(asked) == 5
    assert names <= asked
