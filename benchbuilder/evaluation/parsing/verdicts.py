"""What an answer to a yes/no question says: yes, no, or nothing that could be relied on. The last verdict counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from benchbuilder.core.errors import DataError
from benchbuilder.core.text.lengths import cut
from benchbuilder.core.text.patterns import find_all, groups, replace_all
from benchbuilder.core.text.unmarked import undressed
from benchbuilder.evaluation.parsing.verdict_tables import (
    CLAIM,
    CONTRARY,
    FALSE,
    OTHER,
    QUESTION,
    TRUE,
    VerdictTable,
    prove,
    read_table,
)
from benchbuilder.evaluation.parsing.verdict_texts import Clause, VerdictTexts, joined

Verdict = Literal["yes", "no", ""]
Why = Literal["", "empty", "reasoning", "silent", "undecided", "contradiction", "refusal", "runaway"]
"""Why there is no verdict: no text; reasoning without an end; none was given; it was left open; two that cannot both
hold; a refusal; a pattern ran out of time."""

_Says = Literal["yes", "no", "unsure"]
_OTHER_WAY: dict[_Says, _Says] = {"yes": "no", "no": "yes", "unsure": "unsure"}
_CLASSES = ("plain", "direct", "evaluating", "weak", "restated")
_SIDES: tuple[_Says, ...] = ("no", "yes")
_GROUPS = ("deny", "affirm")
_NEVER = "(?!)"
_JUDGING = ("evaluating", "weak")
_LEAST = 4
"""Characters from which on a claim or a question is looked for in the answer."""
_SHOWN = {CLAIM: "[claim]", CONTRARY: "[contrary]", QUESTION: "[question]", TRUE: "true", FALSE: "false", OTHER: "[…]"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked: the question, and, where they are known, the statement it asks about and one that denies it."""

    question: str = ""
    claim: str = ""
    contrary: str = ""


_NOTHING_KNOWN = Asked()


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer says; `why` it says nothing; `words` it was read from; all verdicts `seen`, in order."""

    verdict: Verdict
    why: Why = ""
    words: str = ""
    seen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Mark:
    says: _Says
    words: str
    at: int
    sentence: int
    turned: bool = False
    kind: str = "plain"

    def against(self, other: _Mark) -> bool:
        return {self.says, other.says} == {"yes", "no"}


@dataclass(frozen=True, slots=True)
class _Question:
    """The question as its answer is compared with it."""

    masks: tuple[tuple[str, str], ...]
    text: str
    negated: bool
    evaluates: bool


class VerdictReader:
    """Reads answers by the tables of one or several languages: what any of them knows counts."""

    def __init__(self, tables: Sequence[VerdictTable]) -> None:
        self._tables = tables
        self._texts = VerdictTexts(tables)
        self._unsure, self._caveat = _each(tables, "unsure.clause"), _each(tables, "unsure.caveat")
        self._unsure_anywhere, self._refuse = joined(tables, "unsure.anywhere"), joined(tables, "refuse")
        self._rules = {
            (says, kind): _each(tables, f"{group}.{kind}")
            for kind in ("echo", *_CLASSES)
            for says, group in (("no", "deny"), ("yes", "affirm"))
        }
        # one look by each table tells that a clause is no verdict, as most are not
        self._any = tuple(map(_any_verdict, tables))

    def read(self, answer: str, asked: Asked = _NOTHING_KNOWN) -> Reading:
        """What `answer` says to the question of `asked`. Without a claim only the question's own tail tells it."""
        try:
            return self._read(answer, asked)
        except DataError:  # a pattern without end, in one answer of thousands
            return Reading("", "runaway")

    def _read(self, answer: str, asked: Asked) -> Reading:
        said = undressed(answer)
        if said is None:
            return Reading("", "reasoning")
        said = self._texts.converted(said.casefold())
        if not said:
            return Reading("", "empty")
        question = self._question(asked)
        said = self._texts.masked(self._texts.answered(said), question.masks)
        marks = sorted(self._marks(said, question), key=lambda mark: mark.at)
        if not marks and self._refuse and find_all(self._refuse, said):
            return Reading("", "refusal", words=_shown(cut(said, 80)))
        return _decided(marks)

    def _question(self, asked: Asked) -> _Question:
        question, claim, contrary = (
            self._texts.bare(self._texts.converted((undressed(text) or "").casefold()))
            for text in (asked.question, asked.claim, asked.contrary)
        )
        bare = question
        for table in self._tables:
            bare = replace_all(f"(?:{table.filled(table.tail)})\\Z", "", bare).strip() if table.tail else bare
            bare = replace_all(f"\\A(?:{table.filled(table.head)})", "", bare).strip() if table.head else bare
        found = {contrary: CONTRARY, claim: CLAIM, bare: CLAIM, question: QUESTION}  # the later one counts
        telling = [(text, sign) for text, sign in found.items() if len(text) >= _LEAST and not self._tells(text)]
        masks = sorted(telling, key=lambda mask: -len(mask[0]))
        negated, evaluates = self._asks_for("negated", bare), self._asks_for("evaluates", claim or bare)
        return _Question(tuple(masks), question, negated, evaluates)

    @staticmethod
    def _fits(patterns: Iterable[str], text: str) -> bool:
        return any(groups(pattern, text) is not None for pattern in patterns)

    def _tells(self, text: str) -> bool:
        """Whether `text` is a verdict itself."""
        return text in (TRUE, FALSE) or self._fits(self._any, text)

    def _asks_for(self, field: str, text: str) -> bool:
        """Whether the pattern `field` of a table is found in `text`."""
        patterns = [table.filled(getattr(table, field)) for table in self._tables if getattr(table, field)]
        return any(find_all(pattern, text) for pattern in patterns)

    def _marks(self, text: str, question: _Question) -> Iterator[_Mark]:
        turned = False
        sentence = -1
        for clause in self._texts.clauses(text):
            turned = clause.turned or (turned and clause.sentence == sentence)
            sentence = clause.sentence
            if clause.text and self._tells(clause.text):
                mark = self._mark(clause, question, turned)
                if mark is not None:
                    yield mark
                    turned = False
        if self._unsure_anywhere:
            for span in find_all(self._unsure_anywhere, text):
                sentence = self._texts.sentence(text, span.start)
                yield _Mark("unsure", _shown(span.of(text)), span.end, sentence)

    def _mark(self, clause: Clause, question: _Question, turned: bool) -> _Mark | None:
        """The verdict of a clause that holds one, if it is one of this question."""

        def mark(says: _Says, kind: str = "plain") -> _Mark:
            if CONTRARY in clause.text:
                says = _OTHER_WAY[says]
            kind = "weak" if clause.asks else kind
            return _Mark(says, _shown(clause.text), clause.at, clause.sentence, turned, kind)

        if clause.text in (TRUE, FALSE):
            return mark("yes" if clause.text == TRUE else "no")
        for says in _SIDES:
            echoes = (groups(pattern, clause.text) for pattern in self._rules[says, "echo"])
            found = next(filter(None, echoes), None)
            if found and any(word and word in question.text for word in found.values()):
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


def _each(tables: Sequence[VerdictTable], name: str) -> tuple[str, ...]:
    """The pattern of each table that has one: it was compiled for the proof of that table already."""
    return tuple(filter(None, (joined([table], name) for table in tables)))


def _any_verdict(table: VerdictTable) -> str:
    """One pattern for every clause that is a verdict by `table`."""
    said = [f"{group}.{kind}" for kind in ("echo", *_CLASSES) for group in _GROUPS]
    known = filter(None, (joined([table], name) for name in ("unsure.clause", "unsure.caveat", *said)))
    return "|".join(f"(?:{pattern.replace('(?P<echo>', '(?:')})" for pattern in known) or _NEVER


def _decided(marks: Sequence[_Mark]) -> Reading:
    """The reading that the `marks` of an answer, in order, amount to."""
    if not marks:
        return Reading("", "silent")
    seen = tuple(mark.says for mark in marks)
    tiers = (("weak", "restated", "caveat"), ("restated", "caveat"), ())
    spoken = next(found for lower in tiers if (found := [mark for mark in marks if mark.kind not in lower]))
    last = spoken[-1]
    weak = last.kind in ("weak", "restated")
    clash = next((mark for mark in spoken if mark.against(last)), None) if weak else _clash(spoken)
    for mark in marks:
        lower = mark.kind == "restated" or (mark.kind == "weak" and mark.sentence == last.sentence)
        if lower and mark.at > last.at and mark.against(last) and not mark.turned:
            clash = mark
        elif mark.kind == "caveat" and mark.sentence == last.sentence and mark.at > last.at:
            last = mark
    if last.says == "unsure":
        return Reading("", "undecided", last.words, seen)
    if clash is not None:
        return Reading("", "contradiction", f"{clash.words} / {last.words}", seen)
    return Reading(last.says, "", last.words, seen)


def _clash(marks: Sequence[_Mark]) -> _Mark | None:
    """A verdict of the last one's sentence that it contradicts without a word that takes back what was said."""
    for before, after in zip(reversed(marks[:-1]), reversed(marks), strict=False):
        if before.sentence != marks[-1].sentence or after.turned:
            return None
        if before.against(marks[-1]):
            return before
    return None


def _shown(text: str) -> str:
    for sign, name in _SHOWN.items():
        text = re.sub(f"{sign}+", name, text)
    return text.strip()


def verdict_reader(paths: Sequence[Path]) -> VerdictReader:
    """A reader by the tables in `paths`; DataError if one is wrong or does not read its own examples."""
    return VerdictReader([_proved(path, path.read_bytes() if path.is_file() else b"") for path in paths])


@lru_cache(maxsize=32)
def _proved(path: Path, held: bytes) -> VerdictTable:  # noqa: ARG001 - another content is another table
    table = read_table(path)
    alone = VerdictReader([table])
    prove(table, path, lambda answer: alone.read(answer).verdict)
    return table
