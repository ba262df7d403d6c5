"""The verifier kind `lexical`: by words, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import field_validator

from benchbuilder.config import FileRef, KindSpec
from benchbuilder.core import Problem, RecipeError
from benchbuilder.evaluation.claims.base import ClaimVerifier, VerifierSpec, VerifyingConversation
from benchbuilder.evaluation.claims.clauses import AnswerClause
from benchbuilder.evaluation.claims.lexical import LexicalVerifier, check_claim_words
from benchbuilder.evaluation.claims.words import open_claim_words
from benchbuilder.evaluation.judges.base import Case


class LexicalVerifierSpec(VerifierSpec):
    """The word lists, one at least."""

    @field_validator("words")
    @classmethod
    def _some(cls, words: tuple[FileRef, ...]) -> tuple[FileRef, ...]:
        if not words:
            raise ValueError(
                "a word list is needed for the language, as recipes/claims/en.yaml is: write one, or "
                "choose a verifier that asks a model (kind: prompted)"
            )
        return words


def check_language(spec: KindSpec, language: str, key: str) -> None:
    """RecipeError if a rule is to read the answers and none of its word lists is of the language of the items.

    `key` leads to the verifier.
    """
    if not isinstance(spec, LexicalVerifierSpec):
        return
    known = [open_claim_words(ref.file).language for ref in spec.words]
    if language.partition("-")[0] not in known:
        raise RecipeError(
            [
                Problem(
                    "no word list is in the language of the items, so the rule cannot read their answers",
                    key=f"{key}.words",
                    actual=language,
                    allowed=", ".join(known),
                    hint="write one as recipes/claims/en.yaml is and name it first, or let a model verify",
                )
            ]
        )


class RuleVerifier(ClaimVerifier):
    """Compares words: a floor and a smoke test, at no cost.

    It reads neither paraphrase without common words ("asleep" for "sleeps"), nor order ("insulin first"), nor who "it"
    is; what it misses counts as not said.
    """

    kind: ClassVar[str] = "lexical"
    version: ClassVar[int] = 2
    spec_class: ClassVar[type[VerifierSpec]] = LexicalVerifierSpec
    by_rule: ClassVar[bool] = True
    _reader: LexicalVerifier | None = None

    def open(self) -> None:
        """Read the word lists."""
        super().open()
        for ref in self.spec.words:
            check_claim_words(ref.file)
        self._reader = LexicalVerifier(self.words)

    def verify(self, case: Case, clauses: Sequence[AnswerClause]) -> VerifyingConversation:
        """The parts, at once."""
        yield from ()
        assert self._reader is not None
        return self._reader.verify(case, clauses)
