"""The base class of verifiers, which say of each claim in an answer what the paragraphs of its item say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.config import FileRef, KindSpec
from benchbuilder.core import ClaimVerdict, PartKind, Stance
from benchbuilder.evaluation.claims.clauses import AnswerClause
from benchbuilder.evaluation.claims.words import ClaimWords, open_claim_words, table_of
from benchbuilder.evaluation.judges.base import Case
from benchbuilder.models import Reply, Request


@dataclass(frozen=True, slots=True)
class VerifiedPart:
    """What is said of one clause; see `AnswerClaim`. `quote` is a paragraph's place and the range in it."""

    clause: AnswerClause
    kind: PartKind = "claim"
    verdict: ClaimVerdict = ""
    right: Stance = "none"
    wrong: Stance = "none"
    quote: tuple[int, int, int] | None = None
    near: float | None = None
    taken_back_by: int | None = None
    reason: str = ""
    note: str = ""


VerifyingConversation = Generator[Request, Reply, list[VerifiedPart]]
"""A generator that verifies one answer: yields requests, receives replies, returns the parts in order."""


class VerifierSpec(KindSpec):
    """How answers are cut into clauses, whoever verifies them.

    `types` are the types of the items whose answers are read. `words` are word lists of languages, the one of the items
    first. Only the first `most` clauses of an answer are read; of an answer of more than `longest` characters none is.
    """

    types: Annotated[tuple[Literal["oe", "tf"], ...], Field(min_length=1)] = ("oe",)
    words: tuple[FileRef, ...] = ()
    most: Annotated[int, Field(ge=1, le=2_000)] = 200
    longest: Annotated[int, Field(ge=100, le=200_000)] = 20_000


class ClaimVerifier(ABC):
    """Verifies the claims of answers. It is made from its spec without I/O; `open` reads what it needs.

    `by_rule` says that figures from it are a floor. `reasons` are those of claims without a verdict.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[VerifierSpec]]
    by_rule: ClassVar[bool] = False
    reasons: ClassVar[Mapping[str, str]] = {}

    def __init__(self, spec: Any) -> None:
        self.spec = spec
        self.words: tuple[ClaimWords, ...] = ()

    @property
    def model_spec(self) -> KindSpec | None:
        """The model that it asks; ``None`` if it asks none."""
        return None

    def fingerprint(self) -> Mapping[str, str]:
        """Everything besides the spec that affects verdicts, for the key."""
        return {}

    def open(self) -> None:
        """Read the word lists; DataError if one is invalid."""
        self.words = tuple(open_claim_words(ref.file) for ref in self.spec.words)

    def words_of(self, text: str) -> ClaimWords:
        """The word list by whose marks a text is cut; without any, stops of all languages."""
        return self.words[table_of(text, self.words)] if self.words else ClaimWords()

    @abstractmethod
    def verify(self, case: Case, clauses: Sequence[AnswerClause]) -> VerifyingConversation:
        """Say of each clause of an answer what it is, in order."""
