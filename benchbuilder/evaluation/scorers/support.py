"""The scorer kind `support`: whether the answer to an open question supports the right statement or the wrong one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import FileRef, KindSpec
from benchbuilder.core import SET_FORM, Answer, Item, NotApplicable, StepContext, script_version
from benchbuilder.evaluation.judges.base import make_case
from benchbuilder.evaluation.parsing.supported_answers import CLOSENESS_MARGIN, SupportReader, support_reader
from benchbuilder.evaluation.scorers.base import AspectScore, Scorer, ScorerResult
from benchbuilder.evaluation.stats.overlap import CHRF_OF

SUPPORT = "support"
"""The aspect of its scores."""
_VALUES = {"right": 1.0, "wrong": 0.0}


class SupportSpec(KindSpec):
    """The verdict `tables` whose negations deny a word, and how far from 0.5 a closeness must be (`margin`)."""

    tables: Annotated[tuple[FileRef, ...], Field(min_length=1)]
    margin: Annotated[float, Field(ge=0, lt=0.5)] = CLOSENESS_MARGIN


class SupportScorer(Scorer):
    """1 for an answer that supports the right statement, 0 for the wrong one, and no value if it supports neither.

    The words in which the two statements differ decide: the answer names those of one side, and no negation denies
    them. An answer that names none supports the statement that it is nearer to by chrF, outside the `margin`. The label
    is ``right``, ``wrong`` or ``neither``, or the outcome of the request without an attempt to answer. The detail is
    what decided.
    """

    kind: ClassVar[str] = "support"
    version: ClassVar[int] = 3
    spec_class: ClassVar[type[KindSpec]] = SupportSpec
    reasons: ClassVar[Mapping[str, str]] = {
        "verdict_asked": "The item is a yes/no question; see `verdict`.",
        "no_two_statements": "The item has no right and wrong statement that an answer could support.",
    }

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self.spec: SupportSpec = spec
        self._reader: SupportReader | None = None

    def fingerprint(self) -> Mapping[str, str]:
        """The library whose chrF is computed, and the version of the script converter."""
        return {**CHRF_OF, "opencc": script_version()}

    def open(self) -> None:
        """Read the tables; DataError if one is invalid."""
        if self._reader is None:
            self._reader = support_reader([table.file for table in self.spec.tables], self.spec.margin)

    def score(self, pairs: Sequence[tuple[Answer, Item[Any]]]) -> Iterable[ScorerResult]:
        """The side that each answer supports."""
        self.open()
        return [self._scored(answer, item) for answer, item in pairs]

    def _scored(self, answer: Answer, item: Item[Any]) -> ScorerResult:
        case = make_case(item, answer.text)
        if getattr(item.payload, "expected", ""):
            return NotApplicable("verdict_asked")
        if item.form == SET_FORM or item.verdict_only or not (case.right.strip() and case.wrong.strip()):
            return NotApplicable("no_two_statements")
        if answer.outcome not in ("complete", "truncated"):
            return (AspectScore(SUPPORT, None, answer.outcome),)
        assert self._reader is not None
        side, why = self._reader.read(case.answer, case.right, case.wrong)
        return (AspectScore(SUPPORT, _VALUES.get(side), side, why),)
