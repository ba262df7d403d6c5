"""The baseline kind `best_evidence`: the sentence of the evidence that best matches the question."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import FileRef, KindSpec, Slot
from benchbuilder.core import (
    AnswerOutcome,
    DataError,
    Fold,
    Item,
    compose_characters,
    create_from_spec,
    fold_text,
    load_words,
    split_sentences,
)
from benchbuilder.evaluation.baselines.base import Baseline, BaselineSpec
from benchbuilder.evaluation.judges.base import make_case
from benchbuilder.retrieval import Tokenizer


class BestEvidenceSpec(BaselineSpec):
    """How sentences are found (see `split_sentences`) and ranked.

    `k1` and `b` are the parameters of BM25: saturation of repeated words, and length normalisation. Words in
    `stop_words` and the differences that `fold` names (``case``, ``marks``) are ignored.
    """

    stops: tuple[str, ...]
    soft_stops: tuple[str, ...] = ()
    abbreviations: tuple[str, ...] = ()
    k1: Annotated[float, Field(ge=0)]
    b: Annotated[float, Field(ge=0, le=1)]
    stop_words: FileRef | None = None
    fold: tuple[Fold, ...] = ()
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None


class BestEvidenceBaseline(Baseline):
    """Answers with the sentence of the item's paragraphs that BM25 ranks highest for question and context.

    Word weights come from these sentences only: a word in all of them has the least weight. Ties go to the first
    sentence, with paragraphs in the item's order. Without evidence the answer is missing.
    """

    kind: ClassVar[str] = "best_evidence"
    spec_class: ClassVar[type[KindSpec]] = BestEvidenceSpec

    spec: BestEvidenceSpec

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        if self.spec.tokenizer is None:
            raise DataError(
                "best_evidence has no tokenizer", where="evaluation.baselines", next="set tokenizer in the recipe"
            )
        self._tokenizer: Tokenizer = create_from_spec("tokenizer", self.spec.tokenizer)
        self._stop: frozenset[str] = frozenset()

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of rank-bm25 and of the tokenizer."""
        return {"rank-bm25": version("rank-bm25"), **self._tokenizer.fingerprint()}

    def open(self, workplace: Path) -> None:  # noqa: ARG002
        """Load the dictionaries of the tokenizer, and the stop words."""
        self._tokenizer.open()
        if self.spec.stop_words is not None:
            self._stop = frozenset(fold_text(word, self.spec.fold) for word in load_words(self.spec.stop_words.file))

    def answer(self, item: Item[Any]) -> tuple[str, AnswerOutcome]:
        """The best sentence."""
        case, spec = make_case(item, ""), self.spec
        sentences = [
            sentence
            for paragraph in case.evidence
            for line in paragraph.splitlines()
            for sentence in split_sentences(line, spec.stops, spec.soft_stops, spec.abbreviations)
        ]
        if not sentences:
            return "", "missing"
        scores = self._scores(sentences, case.question)
        return sentences[max(range(len(sentences)), key=lambda place: (scores[place], -place))], "complete"

    def _scores(self, sentences: list[str], question: str) -> list[float]:
        from rank_bm25 import BM25Plus

        documents = [self._tokens(sentence) for sentence in sentences]
        if not any(documents):
            return [0.0] * len(sentences)
        model: Any = BM25Plus(documents, k1=self.spec.k1, b=self.spec.b, delta=0)
        return [float(score) for score in model.get_scores(self._tokens(question))]

    def _tokens(self, text: str) -> list[str]:
        tokens = self._tokenizer.tokens(compose_characters(text))
        folded = (fold_text(token, self.spec.fold) for token in tokens if token.strip())
        return [token for token in folded if token not in self._stop]
