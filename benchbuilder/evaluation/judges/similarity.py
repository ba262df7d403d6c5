"""The judge kind `similarity`: scores an answer by its similarity to the right and the wrong statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.config import KindSpec, Slot
from benchbuilder.core import (
    DataError,
    InstallationError,
    chrf,
    content_tokens,
    create_from_spec,
    relative_closeness,
    rouge_l,
    strip_reasoning,
    truncate_for_overlap,
)
from benchbuilder.evaluation.judges.base import Case, JudgeSpec, ScoringJudge
from benchbuilder.retrieval import Tokenizer


class SimilarityJudgeSpec(JudgeSpec):
    """The similarity measure: ``chrf`` on characters, or ``rouge_l`` on the tokens of `tokenizer`.

    Paragraphs are not read, and only the first `longest` characters of an answer count.
    """

    evidence: bool = False
    measure: Literal["chrf", "rouge_l"]
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None
    longest: Annotated[int, Field(ge=1000)] = 20_000


class SimilarityJudge(ScoringJudge):
    """Compares words only, without training.

    The score is the similarity to the right statement minus that to the wrong one, rescaled to 0..1. 0.5 means
    undecided, for example without statements.
    """

    kind: ClassVar[str] = "similarity"
    spec_class: ClassVar[type[JudgeSpec]] = SimilarityJudgeSpec

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.spec: SimilarityJudgeSpec = spec
        self._tokenizer: Tokenizer | None = None
        if spec.measure == "rouge_l":
            if spec.tokenizer is None:
                raise DataError(
                    "rouge_l has no tokenizer", where="evaluation.judges", next="set tokenizer in the recipe"
                )
            self._tokenizer = create_from_spec("tokenizer", spec.tokenizer)

    def ready(self) -> None:
        """InstallationError if sacrebleu is missing and needed."""
        if self.spec.measure == "chrf" and find_spec("sacrebleu") is None:
            raise InstallationError(
                "the judge `similarity` with measure chrf needs the package sacrebleu",
                next="pip install sacrebleu, or set measure: rouge_l",
            )

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of the metric library, and of the tokenizer."""
        if self._tokenizer is not None:
            return self._tokenizer.fingerprint()
        try:
            return {"sacrebleu": version("sacrebleu")}
        except PackageNotFoundError:
            return {}

    def open(self, folder: Path | None) -> None:  # noqa: ARG002
        """Open the tokenizer."""
        if self._tokenizer is not None:
            self._tokenizer.open()

    def score(self, cases: Sequence[Case]) -> list[float]:
        """The relative closeness of each answer to the right statement."""
        return [self._score(case) for case in cases]

    def _score(self, case: Case) -> float:
        answer, _ = truncate_for_overlap(strip_reasoning(case.answer) or "", self.spec.longest)
        return relative_closeness(self._similar(answer, case.right), self._similar(answer, case.wrong))

    def _similar(self, text: str, reference: str) -> float:
        if self._tokenizer is None:
            return chrf(text, reference)
        return rouge_l(content_tokens(text, self._tokenizer.tokens), content_tokens(reference, self._tokenizer.tokens))
