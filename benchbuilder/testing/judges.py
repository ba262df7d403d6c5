"""The contract of judges."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

from benchbuilder.evaluation import Case, Example, Judge, ScoringJudge, TrainedJudge
from benchbuilder.testing.contract import require

TOLERANCE = 1e-4
"""How much two scores of one case may differ, because of floating point in other batches."""


def check_judge(
    make: Callable[[], Judge], cases: Sequence[Case], examples: Sequence[Example], folder: Path
) -> list[float]:
    """Check a judge: a case gets the same score from 0 to 1, alone, in a batch, and from a judge that was saved.

    Args:
        make: Makes a new judge.
        cases: Cases to score.
        examples: Examples to train on, for a judge that trains.
        folder: An empty folder for what the judge learns.

    Returns:
        The scores of `cases`; none for a judge that asks a model, which is only pickled.

    Raises:
        ContractError: The judge breaks a promise.
    """
    judge = make()
    who = f"the judge {judge.kind!r}"
    pickle.dumps(judge)
    if not isinstance(judge, ScoringJudge):
        return []
    require(judge.trains == isinstance(judge, TrainedJudge), f"{who} says trains: {judge.trains}")
    if isinstance(judge, TrainedJudge):
        (folder / "learned").mkdir()
        judge.train(examples, (), folder / "learned", 1, lambda _: None)
        require(not list((folder / "learned").rglob("*.pkl")), f"{who} saves what it learned in a pickle")
    else:
        judge.open(None)
    scores_together = judge.score(cases)
    require(len(scores_together) == len(cases), f"{who} gives {len(scores_together)} scores for {len(cases)} cases")
    require(all(0 <= score <= 1 for score in scores_together), f"{who} gives scores outside 0 to 1")
    require(judge.score([]) == [], f"{who} gives scores for no cases")
    _check_same_scores(who, "alone", [judge.score([case])[0] for case in cases], scores_together)
    _check_same_scores(who, "in another order", judge.score(cases[::-1])[::-1], scores_together)
    opened = make()
    assert isinstance(opened, ScoringJudge)
    opened.open(folder / "learned" if judge.trains else None)
    _check_same_scores(who, "when opened again", opened.score(cases), scores_together)
    return scores_together


def _check_same_scores(who: str, how: str, scores: Sequence[float], other_scores: Sequence[float]) -> None:
    difference = max((abs(score - other) for score, other in zip(scores, other_scores, strict=True)), default=0.0)
    require(difference <= TOLERANCE, f"{who} gives other scores {how}: they differ by up to {difference:.4f}")
