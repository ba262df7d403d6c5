"""Reads the verdict of an answer to a yes/no question: yes, no, or none if unreliable. The last verdict counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from benchbuilder.core import (
    DataError,
    find_all,
    has_match,
    match_groups,
    may_begin_match,
    read_given_file,
    replace_all,
    truncate_code_points,
)
from benchbuilder.evaluation.parsing.formatting import strip_formatting
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
UnreadReason = Literal[
    "", "empty", "reasoning", "silent", "undecided", "abstained", "contradiction", "refusal", "runaway"
]
"""Why there is no verdict: no text, unfinished reasoning, no verdict given, undecided, said not to know, contradictory
verdicts, a refusal, or a pattern that timed out."""

_Says = Literal["yes", "no", "unsure", "abstain"]
_OTHER_WAY: dict[_Says, _Says] = {"yes": "no", "no": "yes", "unsure": "unsure", "abstain": "abstain"}
_CLASSES = ("plain", "direct", "evaluating", "weak", "restated")
_SIDES: tuple[_Says, ...] = ("no", "yes")
_GROUPS = ("deny", "affirm")
_WITHOUT_VERDICT: Mapping[str, tuple[_Says, str]] = {
    "abstain": ("abstain", "plain"),
    "abstain_alone": ("abstain", "alone"),
    "unsure.clause": ("unsure", "plain"),
    "unsure.caveat": ("unsure", "caveat"),
}
_STATED = ("restated", "weak")
_LESS = ("restated", "caveat")
_NEVER = "(?!)"
_JUDGING = ("evaluating", "weak")
_AFTER_STOP = r"(?:\A|(?<=[.!?。]\s))"
_KEPT = 1 << 14
"""How many clauses and how many questions a reader knows again, such as "it is wrong": models repeat themselves."""
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
    """The verdict of an answer, `why` there is none, the `words` it was read from, and all verdicts in order.

    It `is_restated` if the answer only states the claim or its contrary.
    """

    verdict: Verdict
    why: UnreadReason = ""
    words: str = ""
    verdicts: tuple[str, ...] = ()
    is_restated: bool = False


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
    declares: bool


class VerdictReader:
    """Reads answers by the tables of one or several languages; a match of any table counts."""

    def __init__(self, tables: Sequence[VerdictTable]) -> None:
        self._tables = tables
        self._texts = VerdictTexts(tables)
        self._without_verdict: list[tuple[tuple[str, ...], _Says, str]] = [
            (_table_patterns(tables, name), says, kind) for name, (says, kind) in _WITHOUT_VERDICT.items()
        ]
        self._unsure_anywhere, self._refuse = (
            joined_pattern(tables, "unsure.anywhere"),
            joined_pattern(tables, "refuse"),
        )
        self._rules = {
            (says, kind): _table_patterns(tables, f"{group}.{kind}")
            for kind in ("settled", "echo", *_CLASSES)
            for says, group in (("no", "deny"), ("yes", "affirm"))
        }
        # one pattern per table rules out most clauses quickly
        self._any = tuple(map(_any_verdict, tables))
        self._fits = lru_cache(maxsize=_KEPT)(_fits)
        self._known_question = lru_cache(maxsize=_KEPT >> 2)(self._question)

    def read(
        self, answer: str, yes_no_question: YesNoQuestion = _NOTHING_KNOWN, *, is_cut: bool = False
    ) -> VerdictReading:
        """Read the verdict of `answer`; if `yes_no_question` has no claim, it is derived from the question.

        Of an answer that `is_cut`, because the model reached its limit of tokens, the unfinished end does not count.
        """
        try:
            return self._read(answer, yes_no_question, is_cut)
        except DataError:  # a pattern that timed out on an unusual answer
            return VerdictReading("", "runaway")

    def _read(self, answer: str, yes_no_question: YesNoQuestion, is_cut: bool) -> VerdictReading:
        said = strip_formatting(answer)
        if said is None:
            return VerdictReading("", "reasoning")
        said = self._texts.convert_script(said.casefold())
        if not said:
            return VerdictReading("", "empty")
        question = self._known_question(yes_no_question)
        said = self._texts.mask_quotes(self._texts.first_speaker(said), question.masks)
        marks = sorted(self._marks(said, question, is_cut), key=lambda mark: mark.position)
        if not marks and self._refuse and has_match(self._refuse, said):
            return VerdictReading("", "refusal", words=_excerpt(truncate_code_points(said, 80)))
        return _final_reading(_without_echoes(marks, question.declares))

    def _question(self, yes_no_question: YesNoQuestion) -> _Question:
        question, claim, contrary = (
            self._texts.strip_marks(self._texts.convert_script((strip_formatting(text) or "").casefold()))
            for text in (yes_no_question.question, yes_no_question.claim, yes_no_question.contrary)
        )
        bare, asked = self._bare_claim(question)
        signs = {contrary: CONTRARY, claim: CLAIM, bare: CLAIM, asked: QUESTION, question: QUESTION}  # the later counts
        telling = [(text, sign) for text, sign in signs.items() if len(text) >= _LEAST and not self._is_verdict(text)]
        masks = sorted(telling, key=lambda mask: -len(mask[0]))
        negated, evaluates = self._asks_for("negated", bare), self._asks_for("evaluates", claim or bare)
        return _Question(tuple(masks), question, negated, evaluates, self._asks_for("declares", question))

    def _bare_claim(self, question: str) -> tuple[str, str]:
        """What `question` claims, without the words that ask, and its last sentence if that begins with such words."""
        bare, asked = question, ""
        for table in self._tables:
            if table.tail:
                bare = replace_all(f"(?:{table.expand_parts(table.tail)})\\Z", "", bare).strip()
            heads = find_all(f"{_AFTER_STOP}(?:{table.expand_parts(table.head)})", bare) if table.head else []
            if heads:
                asked = bare[heads[-1].start :] if heads[-1].start else asked
                bare = bare[heads[-1].end :].strip()
        return self._texts.strip_marks(bare), asked

    def _is_verdict(self, text: str) -> bool:
        """Whether `text` is a verdict itself."""
        return text in (TRUE, FALSE) or self._fits(self._any, text)

    def _asks_for(self, field: str, text: str) -> bool:
        """Whether the pattern `field` of a table is found in `text`."""
        patterns = [table.expand_parts(getattr(table, field)) for table in self._tables if getattr(table, field)]
        return any(has_match(pattern, text) for pattern in patterns)

    def _marks(self, text: str, question: _Question, is_cut: bool) -> Iterator[_FoundVerdict]:
        turned = False
        sentence = -1
        clauses = list(self._texts.clauses(text))
        for clause, behind in zip(clauses, [*clauses[1:], None], strict=True):
            turned = clause.is_retraction or (turned and clause.sentence == sentence)
            sentence = clause.sentence
            if clause.text and self._is_verdict(clause.text):
                mark = self._mark(clause, question, turned)
                if mark is not None and not self._is_unfinished(mark, clause, behind, clauses, is_cut):
                    yield mark
                    turned = False
        if self._unsure_anywhere:
            for span in find_all(self._unsure_anywhere, text):
                sentence = self._texts.sentence_number(text, span.start)
                yield _FoundVerdict("unsure", _excerpt(span.slice_of(text)), span.end, sentence)

    def _is_unfinished(
        self, mark: _FoundVerdict, clause: Clause, behind: Clause | None, clauses: Sequence[Clause], is_cut: bool
    ) -> bool:
        """Whether the answer ends in or right after `clause`, so that what is missing may change its verdict."""
        if not is_cut:
            return clause.is_open and mark.is_retraction and mark.kind == "direct"
        if clause.is_open:
            return mark.kind in _STATED or any(other.text for other in clauses if other is not clause)
        if mark.kind not in _STATED or behind is None or not behind.is_open or behind.sentence != clause.sentence:
            return False
        return behind.is_retraction or any(may_begin_match(pattern, behind.text) for pattern in self._any)

    def _mark(self, clause: Clause, question: _Question, turned: bool) -> _FoundVerdict | None:
        """The verdict of a clause on this question, if it has one."""

        def mark(says: _Says, kind: str = "plain") -> _FoundVerdict:
            if CONTRARY in clause.text:
                says = _OTHER_WAY[says]
            kind = "heading" if clause.is_heading else "weak" if clause.asks else kind
            return _FoundVerdict(says, _excerpt(clause.text), clause.position, clause.sentence, turned, kind)

        if clause.text in (TRUE, FALSE):
            return mark("yes" if clause.text == TRUE else "no")
        for says in _SIDES:
            if self._fits(self._rules[says, "settled"], clause.text):
                return mark(says, "settled")
            echoes = (match_groups(pattern, clause.text) for pattern in self._rules[says, "echo"])
            groups = next(filter(None, echoes), None)
            if groups and any(word and word in question.text for word in groups.values()):
                return mark("unsure" if question.negated else says)
        for patterns, says, kind in self._without_verdict:
            if self._fits(patterns, clause.text):
                return mark(says, kind)
        for kind in _CLASSES:
            fits: list[_Says] = [says for says in _SIDES if self._fits(self._rules[says, kind], clause.text)]
            if fits:
                left_open = question.negated if kind == "direct" else question.evaluates and kind in _JUDGING
                return mark("unsure" if left_open or len(fits) > 1 else fits[0], kind)
        return None


def _fits(patterns: tuple[str, ...], text: str) -> bool:
    return any(match_groups(pattern, text) is not None for pattern in patterns)


def _table_patterns(tables: Sequence[VerdictTable], name: str) -> tuple[str, ...]:
    """The pattern of each table that has one; it is already compiled by the check of that table."""
    return tuple(filter(None, (joined_pattern([table], name) for table in tables)))


def _any_verdict(table: VerdictTable) -> str:
    """One pattern for every clause that is a verdict by `table`."""
    names = [f"{group}.{kind}" for kind in ("settled", "echo", *_CLASSES) for group in _GROUPS]
    known = filter(None, (joined_pattern([table], name) for name in (*_WITHOUT_VERDICT, *names)))
    return "|".join(f"(?:{pattern.replace('(?P<echo>', '(?:')})" for pattern in known) or _NEVER


def _without_echoes(marks: Sequence[_FoundVerdict], declares: bool) -> Sequence[_FoundVerdict]:
    """`marks` without those that only repeat the question, or head items of a list, if another gives a verdict."""
    spoken = [mark for mark in marks if mark.kind not in ("heading", "restated", "caveat")]
    if not spoken:
        return marks
    settled = next((mark.position for mark in marks if mark.kind == "settled"), marks[-1].position)
    echoes = [mark for mark in marks if mark.kind == "restated" and mark.says == "yes"]
    left_out = [mark for mark in echoes if declares or mark.position > settled]
    return [mark for mark in marks if mark.kind != "heading" and mark not in left_out]


def _final_reading(marks: Sequence[_FoundVerdict]) -> VerdictReading:
    """The reading of an answer from its `marks`, in order."""
    if not marks:
        return VerdictReading("", "silent")
    verdicts = tuple(mark.says for mark in marks)
    tiers = (("weak", *_LESS, "alone"), (*_LESS, "alone"), _LESS, ())
    spoken = next(found for lower in tiers if (found := [mark for mark in marks if mark.kind not in lower]))
    last = spoken[-1]
    weak = last.kind in ("weak", "restated", "heading")
    clash = next((mark for mark in spoken if mark.contradicts(last)), None) if weak else _contradicted_mark(spoken)
    for mark in marks:
        lower = mark.kind == "restated" or (mark.kind == "weak" and mark.sentence == last.sentence)
        if lower and mark.position > last.position and mark.contradicts(last) and not mark.is_retraction:
            clash = mark
        elif mark.kind == "caveat" and mark.sentence == last.sentence and mark.position > last.position:
            last = mark if last.says != "abstain" else last
    if last.says in ("unsure", "abstain"):
        return VerdictReading("", "abstained" if last.says == "abstain" else "undecided", last.words, verdicts)
    if clash is not None:
        return VerdictReading("", "contradiction", f"{clash.words} / {last.words}", verdicts)
    return VerdictReading(last.says, "", last.words, verdicts, is_restated=last.kind == "restated")


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
    return _reader(tuple((path, read_given_file(path) if path.is_file() else b"") for path in paths))


@lru_cache(maxsize=8)
def _reader(files: tuple[tuple[Path, bytes], ...]) -> VerdictReader:
    return VerdictReader([_checked_table(path, content) for path, content in files])


@lru_cache(maxsize=32)
def _checked_table(path: Path, content: bytes) -> VerdictTable:  # noqa: ARG001 - new content is a new table
    table = read_verdict_table(path)
    alone = VerdictReader([table])

    def read(answer: str) -> str:
        found = alone.read(answer)
        return found.why if found.why == "abstained" else found.verdict

    check_examples(table, path, read)
    return table
