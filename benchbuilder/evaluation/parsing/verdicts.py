"""Reads the verdict of an answer to a yes/no question: yes, no, or none if unreliable. The last verdict counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from benchbuilder.core import DataError, find_all, match_groups, replace_all, strip_formatting, truncate_code_points
from benchbuilder.evaluation.parsing.verdict_tables import (
    CLAIM,
    CONTRARY,
    FALSE,
    OTHER,
    QUESTION,
    TRUE,
    VerdictTable,
    check_examples,
    read_verdict_table,
)
from benchbuilder.evaluation.parsing.verdict_texts import Clause, VerdictTexts, joined_pattern

Verdict = Literal["yes", "no", ""]
UnreadReason = Literal["", "empty", "reasoning", "silent", "undecided", "contradiction", "refusal", "runaway"]
"""Why there is no verdict: no text, unfinished reasoning, no verdict given, undecided, contradictory verdicts, a
refusal, or a pattern that timed out."""

_Says = Literal["yes", "no", "unsure"]
_OTHER_WAY: dict[_Says, _Says] = {"yes": "no", "no": "yes", "unsure": "unsure"}
_CLASSES = ("plain", "direct", "evaluating", "weak", "restated")
_SIDES: tuple[_Says, ...] = ("no", "yes")
_GROUPS = ("deny", "affirm")
_NEVER = "(?!)"
_JUDGING = ("evaluating", "weak")
_LEAST = 4
"""Shorter claims and questions are not searched for in the answer."""
_SHOWN = {CLAIM: "[claim]", CONTRARY: "[contrary]", QUESTION: "[question]", TRUE: "true", FALSE: "false", OTHER: "[…]"}


@dataclass(frozen=True, slots=True)
class YesNoQuestion:
    """A yes/no question with, if known, the statement that it asks about and one that denies it."""

    question: str = ""
    claim: str = ""
    contrary: str = ""


_NOTHING_KNOWN = YesNoQuestion()


@dataclass(frozen=True, slots=True)
class VerdictReading:
    """The verdict of an answer, `why` there is none, the `words` it was read from, and all verdicts in order."""

    verdict: Verdict
    why: UnreadReason = ""
    words: str = ""
    verdicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _FoundVerdict:
    says: _Says
    words: str
    position: int
    sentence: int
    is_retraction: bool = False
    kind: str = "plain"

    def contradicts(self, other: _FoundVerdict) -> bool:
        return {self.says, other.says} == {"yes", "no"}


@dataclass(frozen=True, slots=True)
class _Question:
    """The question in the form in which answers are compared with it."""

    masks: tuple[tuple[str, str], ...]
    text: str
    negated: bool
    evaluates: bool


class VerdictReader:
    """Reads answers by the tables of one or several languages; a match of any table counts."""

    def __init__(self, tables: Sequence[VerdictTable]) -> None:
        self._tables = tables
        self._texts = VerdictTexts(tables)
        self._unsure, self._caveat = _table_patterns(tables, "unsure.clause"), _table_patterns(tables, "unsure.caveat")
        self._unsure_anywhere, self._refuse = (
            joined_pattern(tables, "unsure.anywhere"),
            joined_pattern(tables, "refuse"),
        )
        self._rules = {
            (says, kind): _table_patterns(tables, f"{group}.{kind}")
            for kind in ("echo", *_CLASSES)
            for says, group in (("no", "deny"), ("yes", "affirm"))
        }
        # one pattern per table rules out most clauses quickly
        self._any = tuple(map(_any_verdict, tables))

    def read(self, answer: str, yes_no_question: YesNoQuestion = _NOTHING_KNOWN) -> VerdictReading:
        """Read the verdict of `answer`; if `yes_no_question` has no claim, it is derived from the question."""
        try:
            return self._read(answer, yes_no_question)
        except DataError:  # a pattern that timed out on an unusual answer
            return VerdictReading("", "runaway")

    def _read(self, answer: str, yes_no_question: YesNoQuestion) -> VerdictReading:
        said = strip_formatting(answer)
        if said is None:
            return VerdictReading("", "reasoning")
        said = self._texts.convert_script(said.casefold())
        if not said:
            return VerdictReading("", "empty")
        question = self._question(yes_no_question)
        said = self._texts.mask_quotes(self._texts.first_speaker(said), question.masks)
        marks = sorted(self._marks(said, question), key=lambda mark: mark.position)
        if not marks and self._refuse and find_all(self._refuse, said):
            return VerdictReading("", "refusal", words=_excerpt(truncate_code_points(said, 80)))
        return _final_reading(marks)

    def _question(self, yes_no_question: YesNoQuestion) -> _Question:
        question, claim, contrary = (
            self._texts.strip_marks(self._texts.convert_script((strip_formatting(text) or "").casefold()))
            for text in (yes_no_question.question, yes_no_question.claim, yes_no_question.contrary)
        )
        bare = question
        for table in self._tables:
            bare = replace_all(f"(?:{table.expand_parts(table.tail)})\\Z", "", bare).strip() if table.tail else bare
            bare = replace_all(f"\\A(?:{table.expand_parts(table.head)})", "", bare).strip() if table.head else bare
        signs = {contrary: CONTRARY, claim: CLAIM, bare: CLAIM, question: QUESTION}  # the later one counts
        telling = [(text, sign) for text, sign in signs.items() if len(text) >= _LEAST and not self._is_verdict(text)]
        masks = sorted(telling, key=lambda mask: -len(mask[0]))
        negated, evaluates = self._asks_for("negated", bare), self._asks_for("evaluates", claim or bare)
        return _Question(tuple(masks), question, negated, evaluates)

    @staticmethod
    def _fits(patterns: Iterable[str], text: str) -> bool:
        return any(match_groups(pattern, text) is not None for pattern in patterns)

    def _is_verdict(self, text: str) -> bool:
        """Whether `text` is a verdict itself."""
        return text in (TRUE, FALSE) or self._fits(self._any, text)

    def _asks_for(self, field: str, text: str) -> bool:
        """Whether the pattern `field` of a table is found in `text`."""
        patterns = [table.expand_parts(getattr(table, field)) for table in self._tables if getattr(table, field)]
        return any(find_all(pattern, text) for pattern in patterns)

    def _marks(self, text: str, question: _Question) -> Iterator[_FoundVerdict]:
        turned = False
        sentence = -1
        for clause in self._texts.clauses(text):
            turned = clause.is_retraction or (turned and clause.sentence == sentence)
            sentence = clause.sentence
            if clause.text and self._is_verdict(clause.text):
                mark = self._mark(clause, question, turned)
                if mark is not None:
                    yield mark
                    turned = False
        if self._unsure_anywhere:
            for span in find_all(self._unsure_anywhere, text):
                sentence = self._texts.sentence_number(text, span.start)
                yield _FoundVerdict("unsure", _excerpt(span.slice_of(text)), span.end, sentence)

    def _mark(self, clause: Clause, question: _Question, turned: bool) -> _FoundVerdict | None:
        """The verdict of a clause on this question, if it has one."""

        def mark(says: _Says, kind: str = "plain") -> _FoundVerdict:
            if CONTRARY in clause.text:
                says = _OTHER_WAY[says]
            kind = "weak" if clause.asks else kind
            return _FoundVerdict(says, _excerpt(clause.text), clause.position, clause.sentence, turned, kind)

        if clause.text in (TRUE, FALSE):
            return mark("yes" if clause.text == TRUE else "no")
        for says in _SIDES:
            echoes = (match_groups(pattern, clause.text) for pattern in self._rules[says, "echo"])
            groups = next(filter(None, echoes), None)
            if groups and any(word and word in question.text for word in groups.values()):
                return mark("unsure" if question.negated else says)
        if self._fits(self._unsure, clause.text):
            return mark("unsure")
        if self._fits(self._caveat, clause.text):
            return mark("unsure", "caveat")
        for kind in _CLASSES:
            fits: list[_Says] = [says for says in _SIDES if self._fits(self._rules[says, kind], clause.text)]
            if fits:
                left_open = question.negated if kind == "direct" else question.evaluates and kind in _JUDGING
                return mark("unsure" if left_open or len(fits) > 1 else fits[0], kind)
        return None


def _table_patterns(tables: Sequence[VerdictTable], name: str) -> tuple[str, ...]:
    """The pattern of each table that has one; it is already compiled by the check of that table."""
    return tuple(filter(None, (joined_pattern([table], name) for table in tables)))


def _any_verdict(table: VerdictTable) -> str:
    """One pattern for every clause that is a verdict by `table`."""
    names = [f"{group}.{kind}" for kind in ("echo", *_CLASSES) for group in _GROUPS]
    known = filter(None, (joined_pattern([table], name) for name in ("unsure.clause", "unsure.caveat", *names)))
    return "|".join(f"(?:{pattern.replace('(?P<echo>', '(?:')})" for pattern in known) or _NEVER


def _final_reading(marks: Sequence[_FoundVerdict]) -> VerdictReading:
    """The reading of an answer from its `marks`, in order."""
    if not marks:
        return VerdictReading("", "silent")
    verdicts = tuple(mark.says for mark in marks)
    tiers = (("weak", "restated", "caveat"), ("restated", "caveat"), ())
    spoken = next(found for lower in tiers if (found := [mark for mark in marks if mark.kind not in lower]))
    last = spoken[-1]
    weak = last.kind in ("weak", "restated")
    clash = next((mark for mark in spoken if mark.contradicts(last)), None) if weak else _contradicted_mark(spoken)
    for mark in marks:
        lower = mark.kind == "restated" or (mark.kind == "weak" and mark.sentence == last.sentence)
        if lower and mark.position > last.position and mark.contradicts(last) and not mark.is_retraction:
            clash = mark
        elif mark.kind == "caveat" and mark.sentence == last.sentence and mark.position > last.position:
            last = mark
    if last.says == "unsure":
        return VerdictReading("", "undecided", last.words, verdicts)
    if clash is not None:
        return VerdictReading("", "contradiction", f"{clash.words} / {last.words}", verdicts)
    return VerdictReading(last.says, "", last.words, verdicts)


def _contradicted_mark(marks: Sequence[_FoundVerdict]) -> _FoundVerdict | None:
    """A verdict in the last sentence that the last verdict contradicts without a retraction."""
    for before, after in zip(reversed(marks[:-1]), reversed(marks), strict=False):
        if before.sentence != marks[-1].sentence or after.is_retraction:
            return None
        if before.contradicts(marks[-1]):
            return before
    return None


def _excerpt(text: str) -> str:
    for sign, name in _SHOWN.items():
        text = re.sub(f"{sign}+", name, text)
    return text.strip()


def verdict_reader(paths: Sequence[Path]) -> VerdictReader:
    """Make a reader from the tables in `paths`; DataError if one is invalid, or misreads its own examples."""
    return VerdictReader([_checked_table(path, path.read_bytes() if path.is_file() else b"") for path in paths])


@lru_cache(maxsize=32)
def _checked_table(path: Path, content: bytes) -> VerdictTable:  # noqa: ARG001 - new content is a new table
    table = read_verdict_table(path)
    alone = VerdictReader([table])
    check_examples(table, path, lambda answer: alone.read(answer).verdict)
    return table
