"""The contract of judges."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

from benchbuilder.evaluation.judges.base import Case, Example, Judge, ScoringJudge, TrainedJudge
from benchbuilder.testing.contract import require

TOLERANCE = 1e-4
"""How far two scores of one case may differ: floating point in other batches, not other judgements."""


def check_judge(
    make: Callable[[], Judge], cases: Sequence[Case], examples: Sequence[Example], folder: Path
) -> list[float]:
    """A case scores from 0 to 1, the same alone and in company, and after it was learned, saved and opened again.

    `folder` is empty, for what is learned. Judges that ask a model are only opened. Returns the scores of `cases`.
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
        require(not list((folder / "learned").rglob("*.pkl")), f"{who} keeps what it learned in a pickle")
    else:
        judge.open(None)
    found = judge.score(cases)
    require(len(found) == len(cases), f"{who} gives {len(found)} scores for {len(cases)} cases")
    require(all(0 <= score <= 1 for score in found), f"{who} gives scores outside 0 to 1")
    require(judge.score([]) == [], f"{who} scores something where there is nothing")
    _check_same_scores(who, "alone", [judge.score([case])[0] for case in cases], found)
    _check_same_scores(who, "in another order", judge.score(cases[::-1])[::-1], found)
    again = make()
    assert isinstance(again, ScoringJudge)
    again.open(folder / "learned" if judge.trains else None)
    _check_same_scores(who, "when it is opened again", again.score(cases), found)
    return found


def _check_same_scores(who: str, how: str, scores: Sequence[float], other_scores: Sequence[float]) -> None:
    apart = max((abs(one - other) for one, other in zip(scores, other_scores, strict=True)), default=0.0)
    require(apart <= TOLERANCE, f"{who} scores otherwise {how}: by up to {apart:.4f}")
