"""The scorer kind `similarity`: the similarity of an answer to the item's right and wrong statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.config import KindSpec, Slot
from benchbuilder.core import (
    Answer,
    DataError,
    Item,
    NotApplicable,
    StepContext,
    chrf,
    content_tokens,
    create_from_spec,
    relative_closeness,
    rouge_l,
    strip_reasoning,
    truncate_for_overlap,
)
from benchbuilder.evaluation.judges.base import Case, make_case
from benchbuilder.evaluation.scorers.base import AspectScore, Scorer, ScorerResult
from benchbuilder.retrieval import Tokenizer

SimilarityMeasure = Literal["chrf", "rouge_l"]


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
    spec_class: ClassVar[type[KindSpec]] = SimilaritySpec
    reasons: ClassVar[Mapping[str, str]] = {
        "no_reference": "The item has no right statement to compare with.",
        "missing": "The model has no answer to this item.",
    }

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self.spec: SimilaritySpec = spec
        self._tokenizer: Tokenizer | None = None
        if "rouge_l" in spec.measures:
            if spec.tokenizer is None:
                raise DataError(
                    "rouge_l has no tokenizer", where="evaluation.scorers", next="set tokenizer in the recipe"
                )
            self._tokenizer = create_from_spec("tokenizer", spec.tokenizer)

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of the metric libraries, and of the tokenizer."""
        known = {"sacrebleu": _installed("sacrebleu")} if "chrf" in self.spec.measures else {}
        return {**known, **(self._tokenizer.fingerprint() if self._tokenizer is not None else {})}

    def open(self) -> None:
        """Open the tokenizer."""
        if self._tokenizer is not None:
            self._tokenizer.open()

    def score(self, pairs: Sequence[tuple[Answer, Item[Any]]]) -> Iterable[ScorerResult]:
        """The similarities of each answer."""
        return [self._scored(answer, make_case(item, strip_reasoning(answer.text) or "")) for answer, item in pairs]

    def _scored(self, answer: Answer, case: Case) -> ScorerResult:
        if not case.right.strip():
            return NotApplicable("no_reference")
        if answer.outcome == "missing":
            return NotApplicable("missing")
        label = "" if answer.outcome == "complete" else answer.outcome
        text, cut = truncate_for_overlap(case.answer, self.spec.longest)
        marks: list[AspectScore] = []
        for measure in self.spec.measures:
            right = self._similar(measure, text, case.right)
            marks.append(AspectScore(f"{measure}_right", right, label, detail=cut))
            if case.wrong.strip():
                wrong = self._similar(measure, text, case.wrong)
                detail = f"{right:.3f} - {wrong:.3f}" + (f" ({cut})" if cut else "")
                marks.append(
                    AspectScore(f"{measure}_difference", relative_closeness(right, wrong), label, detail=detail)
                )
        return tuple(marks)

    def _similar(self, measure: SimilarityMeasure, text: str, reference: str) -> float:
        if measure == "chrf":
            return chrf(text, reference)
        assert self._tokenizer is not None
        return rouge_l(content_tokens(text, self._tokenizer.tokens), content_tokens(reference, self._tokenizer.tokens))


def _installed(name: str) -> str:
    from importlib.metadata import PackageNotFoundError

    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
