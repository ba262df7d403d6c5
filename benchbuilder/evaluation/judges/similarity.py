"""The judge kind `similarity`: scores an answer by its similarity to the right and the wrong statement."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.config import KindSpec, Slot
from benchbuilder.core import DataError, chrf, create_from_spec, rouge_l, strip_reasoning
from benchbuilder.evaluation.judges.base import Case, JudgeSpec, ScoringJudge
from benchbuilder.evaluation.stats.overlap import (
    CHRF_OF,
    content_tokens,
    relative_closeness,
    truncate_for_overlap,
)
from benchbuilder.retrieval import Tokenizer

SimilarityMeasure = Literal["chrf", "rouge_l"]


class TextSimilarity:
    """The similarity of texts by ``chrf``, on characters, or ``rouge_l``, on the tokens of a tokenizer.

    `location` names the settings in errors.
    """

    def __init__(self, measures: Collection[SimilarityMeasure], tokenizer: KindSpec | None, location: str) -> None:
        self._tokenizer: Tokenizer | None = None
        if "rouge_l" in measures:
            if tokenizer is None:
                raise DataError("rouge_l has no tokenizer", where=location, next="set tokenizer in the recipe")
            self._tokenizer = create_from_spec("tokenizer", tokenizer)

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of the tokenizer, if there is one."""
        return {} if self._tokenizer is None else self._tokenizer.fingerprint()

    def open(self) -> None:
        """Open the tokenizer."""
        if self._tokenizer is not None:
            self._tokenizer.open()

    def compare(self, measure: SimilarityMeasure, text: str, reference: str) -> float:
        """The similarity of `text` to `reference`, from 0 to 1."""
        if measure == "chrf":
            return chrf(text, reference)
        assert self._tokenizer is not None
        tokens = self._tokenizer.tokens
        return rouge_l(content_tokens(text, tokens), content_tokens(reference, tokens))


class SimilarityJudgeSpec(JudgeSpec):
    """The similarity measure: ``chrf`` on characters, or ``rouge_l`` on the tokens of `tokenizer`.

    Paragraphs are not read, and only the first `longest` characters of an answer count.
    """

    evidence: bool = False
    measure: SimilarityMeasure
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None
    longest: Annotated[int, Field(ge=1000)] = 20_000


class SimilarityJudge(ScoringJudge):
    """Compares words only, without training.

    The score is the similarity to the right statement minus that to the wrong one, rescaled to 0..1. 0.5 means
    undecided, for example without statements. Without a wrong statement it is the similarity to the right one.
    """

    kind: ClassVar[str] = "similarity"
    version: ClassVar[int] = 2
    spec_class: ClassVar[type[JudgeSpec]] = SimilarityJudgeSpec

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.spec: SimilarityJudgeSpec = spec
        self._similarity = TextSimilarity([spec.measure], spec.tokenizer, "evaluation.judges")

    def fingerprint(self) -> Mapping[str, str]:
        """The library whose chrF is computed, or the version of the tokenizer."""
        return CHRF_OF if self.spec.measure == "chrf" else self._similarity.fingerprint()

    def open(self, folder: Path | None) -> None:  # noqa: ARG002
        """Open the tokenizer."""
        self._similarity.open()

    def score(self, cases: Sequence[Case]) -> list[float]:
        """The relative closeness of each answer to the right statement."""
        return [self._score(case) for case in cases]

    def _score(self, case: Case) -> float:
        answer, _ = truncate_for_overlap(strip_reasoning(case.answer) or "", self.spec.longest)
        right, wrong = (
            self._similarity.compare(self.spec.measure, answer, statement) for statement in (case.right, case.wrong)
        )
        return relative_closeness(right, wrong) if case.wrong.strip() or not case.right.strip() else right
