"""Items that share an answer, which another row lent as a wrong one, stay together in folds and splits."""

from __future__ import annotations

from typing import Any

from judge_world import item

from benchbuilder.evaluation.audit.subjects import benchmark_of_items
from benchbuilder.evaluation.judge_training.examples import GroupMember, item_families

CITIES = ("Oslo", "Rome", "Bern", "Wien")


def ring(wrong_from: str) -> list[Any]:
    """Each city is the wrong answer where the one before it is right; the last item lends nothing."""
    rows = [item(n, right, wrong, f"Which city is number {n * 7919}?")
            for n, (right, wrong) in enumerate(zip(CITIES, (*CITIES[1:], "Paris"), strict=True))]  # fmt: skip
    return [row.model_copy(update={"wrong_from": wrong_from}) for row in rows] + [item(9, "Kyiv", "Minsk", "Who?")]


def test_the_audit_divides_no_shared_answer():
    assert benchmark_of_items(ring("rows"), 100, 1).families == 2
    assert benchmark_of_items(ring("listed"), 100, 1).families == 5
    assert benchmark_of_items(ring("rows"), 100, 1, group="family").families == 5
    pairs = benchmark_of_items(ring("rows"), 100, 1).pairs
    assert len({pair.right.family for pair in pairs[:4]}) == 1
    assert {(pair.right.family == pair.wrong.family) for pair in pairs} == {True}


def test_the_splits_of_judges_divide_no_shared_answer():
    """Whatever its length: equal texts are near duplicates."""
    members = [GroupMember(row.id, row.fact, (row.payload.question, row.payload.answer, row.payload.answer_wrong))
               for row in ring("rows")]  # fmt: skip
    assert len(set(item_families(members, 1.0).values())) == 2


def test_answers_that_are_only_verdicts_are_no_pairs():
    """They would show how many items are yes."""
    verdicts = [row.model_copy(update={"verdict_only": True}) for row in ring("listed")]
    found = benchmark_of_items(verdicts, 100, 1)
    assert (len(found.pairs), found.items) == (0, 5)
