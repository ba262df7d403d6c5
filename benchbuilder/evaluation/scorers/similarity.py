"""The scorer kind `similarity`: the similarity of an answer to the item's right and wrong statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import KindSpec, Slot
from benchbuilder.core import SET_FORM, Answer, Item, NotApplicable, StepContext
from benchbuilder.evaluation.judges.base import Case, make_case
from benchbuilder.evaluation.judges.similarity import SimilarityMeasure, TextSimilarity
from benchbuilder.evaluation.scorers.base import AspectScore, Scorer, ScorerResult
from benchbuilder.evaluation.stats.overlap import CHRF_OF, relative_closeness, truncate_for_overlap


class SimilaritySpec(KindSpec):
    """The `measures`, the tokenizer of ``rouge_l``, and how many characters of an answer count (`longest`)."""

    measures: Annotated[tuple[SimilarityMeasure, ...], Field(min_length=1)]
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None
    longest: Annotated[int, Field(ge=1000)] = 20_000


class SimilarityScorer(Scorer):
    """Scores two aspects per measure.

    ``MEASURE_right`` is the similarity to the right statement. If the item has a wrong statement,
    ``MEASURE_difference`` is the first similarity minus that to the wrong statement, rescaled to 0..1; 0.5 is no
    difference.

    An answer without text scores 0 and 0.5. The label is the outcome of the request if it was not a complete answer.
    Reasoning is removed. Only the first `longest` characters of an answer count; the detail says if it was cut.
    """

    kind: ClassVar[str] = "similarity"
    version: ClassVar[int] = 2
    spec_class: ClassVar[type[KindSpec]] = SimilaritySpec
    reasons: ClassVar[Mapping[str, str]] = {
        "no_reference": "The item has no right statement to compare with.",
        "name_set": "The right answer is a set of names, whose order means nothing; see `set_answer`.",
        "verdict_only": "Both answers of the item are verdicts, so words show nothing.",
        "missing": "The model has no answer to this item.",
    }

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self.spec: SimilaritySpec = spec
        self._similarity = TextSimilarity(spec.measures, spec.tokenizer, "evaluation.scorers")

    def fingerprint(self) -> Mapping[str, str]:
        """The library whose chrF is computed, and the version of the tokenizer."""
        return {**(CHRF_OF if "chrf" in self.spec.measures else {}), **self._similarity.fingerprint()}

    def open(self) -> None:
        """Open the tokenizer."""
        self._similarity.open()

    def score(self, pairs: Sequence[tuple[Answer, Item[Any]]]) -> Iterable[ScorerResult]:
        """The similarities of each answer."""
        return [self._scored(answer, item, make_case(item, answer.text)) for answer, item in pairs]

    def _scored(self, answer: Answer, item: Item[Any], case: Case) -> ScorerResult:
        if item.verdict_only or item.form == SET_FORM:
            return NotApplicable("verdict_only" if item.verdict_only else "name_set")
        if not case.right.strip():
            return NotApplicable("no_reference")
        if answer.outcome == "missing":
            return NotApplicable("missing")
        label = "" if answer.outcome == "complete" else answer.outcome
        text, cut = truncate_for_overlap(case.answer, self.spec.longest)
        marks: list[AspectScore] = []
        for measure in self.spec.measures:
            right = self._similarity.compare(measure, text, case.right)
            marks.append(AspectScore(f"{measure}_right", right, label, detail=cut))
            if case.wrong.strip():
                wrong = self._similarity.compare(measure, text, case.wrong)
                detail = f"{right:.3f} - {wrong:.3f}" + (f" ({cut})" if cut else "")
                marks.append(
                    AspectScore(f"{measure}_difference", relative_closeness(right, wrong), label, detail=detail)
                )
        return tuple(marks)
