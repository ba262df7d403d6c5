"""Which scorer counts for an item: all answers to one item are scored by the same one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchbuilder.config import EvaluationSpec, KindSpec
from benchbuilder.evaluation.results.page_spec import ResultsSpec
from benchbuilder.evaluation.results.run import VERDICT, ScorerRole

_LAST = 9


class Measure(NamedTuple):
    """An aspect as one scorer scores it."""

    scorer: str
    aspect: str


@dataclass(frozen=True)
class ScorerChoice:
    """The measures that may count, by rank: 0 is the best.

    The verdict comes first. Then comes the first aspect of the results page: by people, by judges, by rules. Then come
    the aspects of other rules, and last a judge that compares words only. Claims say nothing of how hard an item is.
    """

    spec: EvaluationSpec
    wanted: Sequence[str] = ()

    def rank(self, measure: Measure) -> int | None:
        """The rank of a measure; None if it never counts."""
        if self.wanted:
            return self.wanted.index(measure.scorer) if measure.scorer in self.wanted else None
        if measure.aspect == VERDICT:
            return 0
        kind = self._kind(measure.scorer)
        if kind in ("similarity", "claims") or (kind == "set_answer" and measure.aspect != "set_recall"):
            return None
        others = self._aspects()
        if measure.aspect not in others:
            return 4
        if measure.aspect != others[0]:
            return None
        return {"ratings": 1, "judged": 2}.get(kind, _LAST if self.compares_words_only(measure.scorer) else 3)

    def compares_words_only(self, scorer: str) -> bool:
        """Whether a scorer is an untrained judge that compares words only."""
        judge = self.spec.judges.get(scorer.removeprefix("judge_"))
        return isinstance(judge, KindSpec) and judge.kind == "similarity"

    def role(self, scorer: str) -> ScorerRole:
        """Whether people, a judge or a rule scored."""
        if self._kind(scorer) == "ratings":
            return "people"
        return "judge" if scorer.removeprefix("judge_") in self.spec.judges else "rule"

    def _kind(self, scorer: str) -> str:
        if scorer in self.spec.scorers:
            return str(self.spec.scorers[scorer].kind)
        judge = scorer.removeprefix("judge_") in self.spec.judges
        return "judged" if judge and not self.compares_words_only(scorer) else "rule"

    def _aspects(self) -> tuple[str, ...]:
        outputs: Mapping[str, Any] = self.spec.outputs
        found = (output.aspects for output in outputs.values() if isinstance(output, ResultsSpec))
        return next(found, ("correctness",)) or ("correctness",)
