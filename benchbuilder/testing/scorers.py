"""The contract of scorers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

from benchbuilder.core import Answer, Item
from benchbuilder.evaluation import AspectScore, Scorer, ScorerResult
from benchbuilder.testing.contract import require

AnswersWithItems = Sequence[tuple[Answer, Item[Any]]]


def check_scorer(make: Callable[[], Scorer], pairs: AnswersWithItems) -> list[ScorerResult]:
    """Check a scorer: each answer gets marks from 0 to 1 or a declared reason, the same in any batch.

    Args:
        make: Makes a new scorer.
        pairs: Example answers with their items.

    Returns:
        The marks or the dropped outcome of each answer; none for a scorer that asks a model, which is only pickled.

    Raises:
        ContractError: The scorer breaks a promise.
    """
    scorer = make()
    who = f"the scorer {scorer.kind!r}"
    pickle.dumps(scorer)
    if scorer.model_spec is not None:
        return []
    results = _score_in_batches(make(), pairs, len(pairs))
    for scored in results:
        if isinstance(scored, tuple):
            _check_marks(who, scored)
            continue
        require(scored.reason in scorer.reasons, f"{who} gives the undeclared reason {scored.reason!r}")
        require(not scored.slot, f"{who} gives a outcome of the slot {scored.slot!r}: an answer has one")
    for size in (1, 7):
        require(_score_in_batches(make(), pairs, size) == results, f"{who} gives other scores in batches of {size}")
    require(_score_in_batches(make(), pairs[::-1], 5) == results[::-1], f"{who} depends on the order of answers")
    require(_score_in_batches(make(), [], 1) == [], f"{who} gives scores for no answers")
    return results


def _check_marks(who: str, marks: tuple[AspectScore, ...]) -> None:
    aspects = [mark.aspect for mark in marks]
    require(bool(marks), f"{who} gives neither a mark nor a reason")
    require(len(set(aspects)) == len(aspects), f"{who} gives two marks for one aspect: {aspects}")
    for mark in marks:
        require(mark.aspect.isidentifier(), f"{who} has an aspect {mark.aspect!r}, which is not an identifier")
        require(mark.value is None or 0 <= mark.value <= 1, f"{who} gives the value {mark.value}")
        require(all(0 <= rating.value <= 1 for rating in mark.ratings), f"{who} gives a rating outside 0 to 1")


def _score_in_batches(scorer: Scorer, pairs: AnswersWithItems, size: int) -> list[ScorerResult]:
    scorer.open()
    results: list[ScorerResult] = []
    for start in range(0, len(pairs), max(1, size)):
        batch = pairs[start : start + size]
        scored = list(scorer.score(batch))
        require(len(scored) == len(batch), f"{scorer.kind!r} gives {len(scored)} results for {len(batch)} answers")
        results += scored
    return results
