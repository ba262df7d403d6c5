"""Passages that a fact names come before those that a retriever finds."""

from __future__ import annotations

from typing import Any

import pytest
from question_rows import question
from test_retrieve import BOOK, candidate, passage, stage

from benchbuilder.core.records.answered import QuestionAnswer
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.payloads import Fact, Support
from benchbuilder.core.records.roles import Passage


def find(folder: Any, *gold: str, **spec: Any) -> list[tuple[str, str]]:
    """Slot and text of each piece of evidence, or slot and reason of a drop."""
    fact = question("补充叶酸预防什么？", "神经管缺陷", gold=gold)
    rows = [passage("textbook", number, text) for number, text in enumerate(BOOK, 1)]
    made = stage(folder)
    made.spec = made.spec.model_copy(update={"gold": "first", **spec})
    made.open({"passages": Table.of(rows, Passage), "facts": Table.of([fact], Fact[QuestionAnswer])})
    row = candidate(fact=fact.id)
    outcomes = list(made.map(row, {}))
    found = [(o.slot, o.row.text if isinstance(o, Kept) else getattr(o, "reason", "")) for o in outcomes]
    batch = made.map_columns(Table.of([row], type(row)))
    assert batch is not None
    assert batch.slots.to_pylist() == [slot for slot, _ in found]
    assert [kept.model_dump() for kept in batch.rows] == [o.row.model_dump() for o in outcomes if isinstance(o, Kept)]
    assert batch.reasons.to_pylist() == [o.reason if isinstance(o, Dropped) else "" for o in outcomes]
    return found


@pytest.mark.parametrize("gold", ["textbook-5", "  补钙应当适量。", "补钙应当适量。\n"])
def test_a_passage_is_named_by_key_or_by_text(tmp_path, gold):
    first, *rest = find(tmp_path, gold)
    assert first == ("textbook:0-1", BOOK[4])
    assert [slot for slot, _ in rest] == ["textbook:1", "textbook:2"]


def test_a_named_passage_that_is_found_too_stands_there_once(tmp_path):
    found = find(tmp_path, "textbook-1")
    assert found[0] == ("textbook:0-1", BOOK[0])
    assert [text for _, text in found].count(BOOK[0]) == 1


def test_a_missing_passage_is_a_reason_and_nothing_else_is_lost(tmp_path):
    found = find(tmp_path, "textbook-9", "textbook-5")
    assert found[0] == ("textbook:0-1", BOOK[4])
    assert found[-1] == ("missing", "gold_missing")


def test_a_name_may_say_its_knowledge_base(tmp_path):
    assert find(tmp_path, "textbook::textbook-5")[0] == ("textbook:0-1", BOOK[4])
    assert find(tmp_path, f"textbook::{BOOK[4]}")[0] == ("textbook:0-1", BOOK[4])
    assert find(tmp_path, "atlas::textbook-5")[-1] == ("missing", "gold_missing")


def test_a_page_of_several_paragraphs_gives_those_with_the_answer_first(tmp_path):
    whole = "\n".join([BOOK[1], BOOK[3], BOOK[4]])
    assert [text for slot, text in find(tmp_path, whole, gold_most=2) if ":0-" in slot] == [BOOK[1], BOOK[3]]


def test_a_fact_that_names_nothing_has_what_is_retrieved(tmp_path):
    assert [slot for slot, _ in find(tmp_path)] == ["textbook:1", "textbook:2"]


def test_support_says_how_it_was_found():
    fields = {"passage": "p", "base": "b", "document": "d", "text": "t", "score": 0.0}
    assert [Support(**fields, rank=rank).found for rank in (0, 1)] == ["gold", "retrieved"]
