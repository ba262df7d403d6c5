"""The scorer kind `verdict`: whether the answer to a yes/no question is the expected one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.config import FileRef, KindSpec, Name
from benchbuilder.core import Answer, DataError, Item, NotApplicable, StepContext, script_version, strip_reasoning
from benchbuilder.evaluation.judges.base import make_case
from benchbuilder.evaluation.parsing.verdicts import VerdictReader, VerdictReading, YesNoQuestion, verdict_reader
from benchbuilder.evaluation.scorers.base import AspectScore, Scorer, ScorerResult

_DETAILS = {
    "reasoning": "reasoning without an end",
    "silent": "no verdict",
    "undecided": "left open",
    "abstained": "no verdict given on purpose",
    "contradiction": "two verdicts that cannot both hold",
    "runaway": "a pattern ran out of time",
}
_LABELS = {"empty": "empty", "refusal": "refused", "abstained": "abstained"}


class VerdictSpec(KindSpec):
    """The `tables` by which answers are read, and the payload field with the right verdict (`expected`).

    Only the last `longest` characters of an answer are read, because the last verdict counts. Answers are read by all
    tables at once, so that an answer in another language than the question counts too.
    """

    tables: Annotated[tuple[FileRef, ...], Field(min_length=1)]
    aspect: Name = "verdict"
    expected: Name = "expected"
    longest: Annotated[int, Field(ge=1000)] = 20_000


class VerdictScorer(Scorer):
    """1 for the right verdict, 0 for the wrong one, and no value if no verdict is reliable: verdicts are never guessed.

    The last verdict counts. The label is ``right``, ``wrong`` or ``invalid``; ``abstained`` if the answer says that it
    does not know; or ``refused``, ``empty``, ``filtered`` or ``missing`` without an attempt to answer. The detail is
    the verdict with the words it was read from, or why there is none.
    """

    kind: ClassVar[str] = "verdict"
    version: ClassVar[int] = 2
    spec_class: ClassVar[type[KindSpec]] = VerdictSpec
    reasons: ClassVar[Mapping[str, str]] = {
        "no_verdict_asked": "The item is no yes/no question, or which verdict is right is not known."
    }

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self.spec: VerdictSpec = spec
        self._reader: VerdictReader | None = None

    def fingerprint(self) -> Mapping[str, str]:
        """The version of the script converter."""
        return {"opencc": script_version()}

    def open(self) -> None:
        """Read the tables; DataError if one is invalid."""
        if self._reader is None:
            self._reader = verdict_reader([table.file for table in self.spec.tables])

    def score(self, pairs: Sequence[tuple[Answer, Item[Any]]]) -> Iterable[ScorerResult]:
        """The score of each answer."""
        self.open()
        return [self._scored(answer, item) for answer, item in pairs]

    def _scored(self, answer: Answer, item: Item[Any]) -> ScorerResult:
        expected = _expected(getattr(item.payload, self.spec.expected, None), item, self.spec.expected)
        if not expected:
            return NotApplicable("no_verdict_asked")
        if answer.outcome not in ("complete", "truncated"):
            return (AspectScore(self.spec.aspect, None, answer.outcome),)
        assert self._reader is not None
        text, cut = self._final_text(answer.text)
        question, is_cut = yes_no_question(item, expected), answer.outcome == "truncated"
        read = VerdictReading("", "reasoning") if text is None else self._reader.read(text, question, is_cut=is_cut)
        if not read.verdict:
            label = _LABELS.get(read.why, "invalid")
            return (AspectScore(self.spec.aspect, None, label, detail=_detail(_DETAILS.get(read.why, ""), read) + cut),)
        right = read.verdict == expected
        detail = _detail(read.verdict, read) + cut
        return (AspectScore(self.spec.aspect, float(right), "right" if right else "wrong", detail),)

    def _final_text(self, text: str) -> tuple[str | None, str]:
        """The part of an answer to read (``None`` if it is only reasoning), and a remark if it was cut."""
        longest = self.spec.longest
        if len(text) <= longest:
            return text, ""
        bare = strip_reasoning(text)
        if bare is None or len(bare) <= longest:
            return bare, ""
        return bare[-longest:], f" (read: the last {longest:,} of {len(bare):,} characters)"


def _expected(value: Any, item: Item[Any], field: str) -> Literal["yes", "no", ""]:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == "":
        return ""
    if value not in ("yes", "no"):
        raise DataError(
            f"the field {field!r} of an item has no verdict", where=item.id, why=f"it is {str(value)[:40]!r}",
            next="name the field that has yes, no or nothing: evaluation.scorers.….expected",
        )  # fmt: skip
    return value


def yes_no_question(item: Item[Any], expected: str) -> YesNoQuestion:
    """The question, with what it claims: the right statement if yes is right, the wrong one otherwise."""
    case = make_case(item, "")
    question = "".join(item.payload.texts().get("question", ()))
    claim, contrary = (case.right, case.wrong) if expected == "yes" else (case.wrong, case.right)
    return YesNoQuestion(question, claim, contrary)


def _detail(what: str, read: VerdictReading) -> str:
    return f"{what}: {read.words}" if what and read.words else what or read.words
