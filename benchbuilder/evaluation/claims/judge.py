"""The judge kind `claims`: what the claims of an answer come to, as one score."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from benchbuilder.config import KindSpec, Slot
from benchbuilder.core import DataError, Dropped, create_from_spec
from benchbuilder.evaluation.claims.base import ClaimVerifier
from benchbuilder.evaluation.claims.clauses import split_clauses
from benchbuilder.evaluation.claims.counts import count_claims
from benchbuilder.evaluation.judges.base import AskingJudge, Case, JudgeSpec, ScoringJudge
from benchbuilder.models import Reply, Request
from benchbuilder.steps import model_identity


class ClaimsJudgeSpec(JudgeSpec):
    """The verifier; in recipes that of ``evaluation.answer_claims``, so that both send the same requests."""

    verifier: Annotated[KindSpec, Slot("verifier")]


class ClaimsJudge(AskingJudge, ScoringJudge):
    """Lets a verifier read the claims of an answer, and scores what they assert.

    The score is 1 if some claim says the right statement and the paragraphs contradict none, 0.5 if they contradict
    another claim, and 0 if no claim says the right statement. It asks a model if its verifier does; with a verifier by
    rule its scores are a floor.
    """

    kind: ClassVar[str] = "claims"
    spec_class: ClassVar[type[JudgeSpec]] = ClaimsJudgeSpec
    reasons: ClassVar[Mapping[str, str]] = {
        "too_long": "The answer is too long for its claims to be read.",
        "too_many": "The answer has more parts than are read.",
    }

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.spec: ClaimsJudgeSpec = spec
        self._verifier: ClaimVerifier = create_from_spec("verifier", spec.verifier)
        self.reasons = {**type(self).reasons, **self._verifier.reasons}  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def model_spec(self) -> KindSpec | None:
        """The model that the verifier asks."""
        return self._verifier.model_spec

    @property
    def lacks_model(self) -> bool:
        """Whether the verifier is to ask a model and has none."""
        return self.model_spec is None and not self._verifier.by_rule

    def fingerprint(self) -> Mapping[str, str]:
        """The version of the verifier, and the identity of its model."""
        model = {} if self.model_spec is None else model_identity(self.model_spec)
        kind = f"{self._verifier.kind} {self._verifier.version}"
        return {"verifier": kind, **self._verifier.fingerprint(), **model}

    def open(self, folder: Path | None) -> None:  # noqa: ARG002
        """Open the verifier."""
        self._verifier.open()

    def reads(self, type: str) -> bool:
        """Whether the verifier reads answers to items of this type, as it does where they have none."""
        return (type or "oe") in self._verifier.spec.types

    def converse(self, case: Case) -> Generator[Request, Reply, float | Dropped]:
        """The score of an answer, once all its parts have a verdict that could change it."""
        spec = self._verifier.spec
        if len(case.answer) > spec.longest:
            return Dropped("too_long", f"{len(case.answer)} characters")
        clauses = split_clauses(case.answer, self._verifier.words_of(case.answer))
        if len(clauses) > spec.most:
            return Dropped("too_many", f"{len(clauses)} parts")
        parts = yield from self._verifier.verify(case, clauses)
        if open_parts := [part for part in parts if part.kind == "claim" and not part.verdict]:
            return Dropped(open_parts[0].reason)
        found = count_claims(parts)
        if not found.asserts_right:
            return 0.0
        return 0.5 if found.asserts_wrong or found.contradicted else 1.0

    def score(self, cases: Sequence[Case]) -> list[float]:
        """The scores by a verifier that asks no model; DataError for an answer that it does not read."""
        return [self._score(case) for case in cases]

    def _score(self, case: Case) -> float:
        try:
            next(self.converse(case))
        except StopIteration as ended:
            if not isinstance(ended.value, Dropped):
                return ended.value
            dropped: Dropped = ended.value
            raise DataError(
                "the claims of an answer cannot be read",
                where=f"the answer to {case.question[:80]!r}",
                why=f"{self.reasons[dropped.reason]} {dropped.detail}".rstrip(),
                next="shorten it, or set `longest` and `most` of the verifier",
            ) from None
        raise TypeError("this judge asks a model: it is driven by conversations")
