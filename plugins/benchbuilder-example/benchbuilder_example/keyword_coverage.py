"""The judge kind `keyword_coverage`: does an answer say what only the right statement says?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from benchbuilder.config import KindSpec, Slot
from benchbuilder.core import create_from_spec
from benchbuilder.evaluation import Case, JudgeSpec, ScoringJudge
from benchbuilder.retrieval import Tokenizer


class KeywordCoverageSpec(JudgeSpec):
    """The tokenizer that makes words; without one, that of the recipe. It reads no paragraphs."""

    evidence: bool = False
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None


class KeywordCoverage(ScoringJudge):
    """The share of keywords of the right statement that an answer has, minus that of the wrong one, moved to 0..1.

    Keywords are what one statement says, and neither the other statement nor the question. 0.5 says that it cannot
    tell. It needs no training, and takes an answer that denies a keyword for one that states it.
    """

    kind: ClassVar[str] = "keyword_coverage"
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[JudgeSpec]] = KeywordCoverageSpec

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self._tokenizer: Tokenizer = create_from_spec("tokenizer", spec.tokenizer)

    def fingerprint(self) -> Mapping[str, str]:
        """What shapes its scores besides its spec: the versions behind the tokenizer."""
        return self._tokenizer.fingerprint()

    def open(self, folder: Path | None) -> None:  # noqa: ARG002
        """Open the tokenizer."""
        self._tokenizer.open()

    def score(self, cases: Sequence[Case]) -> list[float]:
        """A score for each case, in order."""
        return [self._score(case) for case in cases]

    def _score(self, case: Case) -> float:
        answer, question = self._words(case.answer), self._words(case.question)
        right, wrong = self._words(case.right) - question, self._words(case.wrong) - question
        return (1 + _proportion(right - wrong, answer) - _proportion(wrong - right, answer)) / 2

    def _words(self, text: str) -> frozenset[str]:
        tokens = self._tokenizer.tokens(text.casefold())
        return frozenset(token for token in tokens if any(map(str.isalnum, token)))


def _proportion(keywords: frozenset[str], answer: frozenset[str]) -> float:
    return len(keywords & answer) / len(keywords) if keywords else 0.0
