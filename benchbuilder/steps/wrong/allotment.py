"""The wrong answers that rules find for a whole table of questions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rapidfuzz.fuzz import ratio
from rapidfuzz.process import cdist

from benchbuilder.core import Dropped, Fact, QuestionAnswer, Table, all_numbers, equality_key, split_gold, text_length
from benchbuilder.steps.language.changed_numbers import ChangedNumber, change_number
from benchbuilder.steps.language.gold import GoldPassages
from benchbuilder.steps.language.patterns import first_match
from benchbuilder.steps.wrong.known import (
    AnsweredRow,
    KnownAnswers,
    answer_key,
    answer_keys,
    answer_shape,
    asked_thing,
    question_key,
    same_length_class,
)
from benchbuilder.steps.wrong.spec import RowLoan, WrongAnswersSpec

_Row = Fact[QuestionAnswer]


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """Wrong answers, of which the first is shown, and where they come from."""

    texts: tuple[str, ...]
    source: str


class GoldTexts:
    """The evidence of facts as text: the passages that they name, or the text that they give."""

    def __init__(self, passages: Table[Any] | None, facts: Iterable[_Row]) -> None:
        named = dict.fromkeys(name for fact in facts for name in fact.payload.gold)
        self._texts: Mapping[str, str] = {name: split_gold(name)[1] for name in named}
        if passages is not None:
            gold, texts = GoldPassages(passages.arrow, named), passages.arrow.column("text")
            self._texts = {
                name: "\n".join([texts[place].as_py() for place in gold.positions(name)]) or text
                for name, text in self._texts.items()
            }

    def of(self, payload: QuestionAnswer) -> str:
        """The evidence of one fact; empty if it names none."""
        return "\n".join(self._texts[name] for name in payload.gold)


class Allotment:
    """What each question is given by rules, or why it is given nothing, by the id of its fact."""

    def __init__(self, spec: WrongAnswersSpec, seed: int, known: KnownAnswers, gold: GoldTexts) -> None:
        self._spec, self._seed, self._known, self._gold = spec, seed, known, gold
        self._rows: dict[str, AnsweredRow] = {}

    def allot(self, each: Iterable[_Row], pool: Iterable[_Row]) -> dict[str, WrongAnswer | Dropped]:
        """What the questions of `each` are given; those of `pool` lend."""
        waiting = {fact.id: fact for fact in each}
        lenders = {fact.id: fact for fact in pool}
        given: dict[str, WrongAnswer | Dropped] = {}
        for source in self._spec.order:
            found = self._lend(waiting, lenders) if source == "rows" else self._each_alone(source, waiting)
            for name, outcome in found.items():
                if isinstance(outcome, WrongAnswer):
                    given[name] = outcome
                    del waiting[name]
                else:
                    given.setdefault(name, outcome)
        return {name: Dropped("needs_model", fact.payload.question) for name, fact in waiting.items()} | given

    def fits(self, fact: _Row, proposal: str) -> bool:
        """Whether a model's answer looks like the right one, and neither the known answers nor the evidence hold it."""
        row, key = self._answered(fact), answer_key(proposal)
        if answer_shape(proposal) != row.shape or not same_length_class(row.answer, proposal):
            return False
        return key not in row.evidence and key not in row.asked and not self._known.says(row, key)

    def _each_alone(self, source: str, waiting: Mapping[str, _Row]) -> dict[str, WrongAnswer | Dropped]:
        """What each question is given by itself."""
        if source == "number":
            return {name: found for name, fact in waiting.items() if (found := self._changed(fact)) is not None}
        if source == "listed":
            return {name: self._listed(fact) for name, fact in waiting.items() if fact.payload.wrong}
        return {}

    def _listed(self, fact: _Row) -> WrongAnswer | Dropped:
        """The wrong answers of the source, without those that say a right answer: sources have such."""
        payload = fact.payload
        wrong = tuple(text for text in payload.wrong if not self._known.states(payload, text))
        return (
            WrongAnswer(wrong, payload.wrong_from or "listed") if wrong else Dropped("known_answer", payload.wrong[0])
        )

    def _changed(self, fact: _Row) -> WrongAnswer | Dropped | None:
        """The answer with one number changed, or why it cannot be; ``None`` for an answer without numbers."""
        payload = fact.payload
        answer = payload.answers[0]
        row, types = self._answered(fact), self._spec.number_types
        if types and (row.thing is None or row.thing.type not in types):
            return None
        if (bar := self._bar(answer)) is not None:
            return bar
        changed = change_number(answer, self._gold.of(payload), self._spec.number, f"{self._seed}:{fact.id}")
        if changed == "no_number":
            return None
        if not isinstance(changed, ChangedNumber):
            return Dropped(changed, answer)
        key = answer_key(changed.text)
        if key in row.evidence:
            return Dropped("in_gold", changed.text)
        return (
            Dropped("known_answer", changed.text)
            if self._known.has(row, key)
            else WrongAnswer((changed.text,), "number")
        )

    def _lend(self, waiting: Mapping[str, _Row], pool: Mapping[str, _Row]) -> dict[str, WrongAnswer | Dropped]:
        """What questions are lent by other rows."""
        given: dict[str, WrongAnswer | Dropped] = {}
        borrowers: list[AnsweredRow] = []
        for name, fact in waiting.items():
            answer = fact.payload.answers[0]
            row, bar = self._answered(fact), self._bar(answer)
            if bar is None and has_number(answer, self._spec.number.written_words()):
                bar = Dropped("vague_number", answer)
            if bar is None and not self._may_lend(row, fact.payload):
                bar = Dropped("no_type", fact.payload.question)
            if bar is None:
                borrowers.append(row)
            else:
                given[name] = bar
        lenders = [row for fact in pool.values() if (row := self._lender(fact)) is not None]
        for name, loan in Lending(self._spec.rows, self._known, self._seed).lend(borrowers, lenders).items():
            given[name] = WrongAnswer((loan.answer,), "rows") if isinstance(loan, Loan) else loan
        return given

    def _lender(self, fact: _Row) -> AnsweredRow | None:
        """A question that may lend its answer; ``None`` if its answer has a number, several parts or no type."""
        answer = fact.payload.answers[0]
        if self._bar(answer) is not None or has_number(answer, self._spec.number.written_words()):
            return None
        row = self._answered(fact)
        return row if self._may_lend(row, fact.payload) else None

    def _may_lend(self, row: AnsweredRow, payload: QuestionAnswer) -> bool:
        """Whether what a question asks for is known, and other rows may have an answer to it."""
        return row.thing is not None and first_match(self._spec.rows.not_questions, payload.question) is None

    def _bar(self, answer: str) -> Dropped | None:
        """Why no rule looks for a wrong answer; ``None`` if one may."""
        if text_length(answer) > self._spec.longest:
            return Dropped("answer_too_long", answer)
        return Dropped("answer_is_list", answer) if first_match(self._spec.lists, answer) is not None else None

    def _answered(self, fact: _Row) -> AnsweredRow:
        """The forms in which a question and its answers are compared."""
        if fact.id in self._rows:
            return self._rows[fact.id]
        payload = fact.payload
        answer = payload.answers[0]
        row = self._rows[fact.id] = AnsweredRow(
            fact.id, question_key(payload), answer, answer_keys(payload.answers), frozenset(payload.gold),
            equality_key(self._gold.of(payload)), asked_thing(payload.question, self._spec.rows.question_words),
            answer_shape(answer),
        )  # fmt: skip
        return row


def has_number(answer: str, written: Iterable[str]) -> bool:
    """Whether an answer has a digit, or is a number in words."""
    return bool(all_numbers(answer)) or answer in written


_BLOCK = 2_000
"""The most questions that are compared with each other at a time."""
_TRIED = 40
"""The most lenders, nearest first, that are looked at for each of the nearest that may lend."""


@dataclass(frozen=True, slots=True)
class Loan:
    """The answer of another question; `lender` is the id of its row."""

    answer: str
    lender: str


class Lending:
    """Lends answers between questions of one type whose answers have one shape.

    Large groups are cut into blocks at random, by the seed. In a block, questions with the fewest lenders choose first;
    each takes its nearest lender whose answer is still free. The order of the rows makes no difference.
    """

    def __init__(self, rules: RowLoan, known: KnownAnswers, seed: int) -> None:
        self._rules, self._known, self._seed = rules, known, seed
        self._uses: dict[str, int] = {}

    def lend(self, borrowers: Sequence[AnsweredRow], lenders: Sequence[AnsweredRow]) -> dict[str, Loan | Dropped]:
        """For each borrower, by its id, what it is lent, or why it is lent nothing."""
        found: dict[str, Loan | Dropped] = {}
        for asking, lending in self._blocks(borrowers, lenders):
            nearest = zip(asking, _near(asking, lending), strict=True)
            choices = [self._choices(row, lending, near) for row, near in nearest]
            for place in sorted(range(len(asking)), key=lambda place: len(choices[place][0])):
                row, (free, reason) = asking[place], choices[place]
                chosen = next((lender for lender in free if self._is_free(lender)), None)
                if chosen is None:
                    found[row.id] = reason or Dropped("none_left", row.answer)
                else:
                    self._uses[chosen.answer_key] = self._uses.get(chosen.answer_key, 0) + 1
                    found[row.id] = Loan(chosen.answer, chosen.id)
        return found

    def _is_free(self, lender: AnsweredRow) -> bool:
        return self._uses.get(lender.answer_key, 0) < self._rules.uses

    def _blocks(
        self, borrowers: Sequence[AnsweredRow], lenders: Sequence[AnsweredRow]
    ) -> Iterator[tuple[list[AnsweredRow], list[AnsweredRow]]]:
        """Borrowers and lenders of each group, in random order, cut where the group is large."""
        groups: dict[object, tuple[list[AnsweredRow], list[AnsweredRow]]] = {}
        for side, rows in enumerate((borrowers, lenders)):
            for row in sorted(rows, key=self._drawn):
                groups.setdefault(self._group(row), ([], []))[side].append(row)
        for group in sorted(groups, key=repr):
            asking, lending = groups[group]
            count = max(1, -(-max(len(asking), len(lending)) // _BLOCK))
            for number in range(count):
                yield asking[number::count], lending[number::count]

    def _group(self, row: AnsweredRow) -> object:
        thing = row.thing
        if thing is None:
            raise TypeError(f"{row.id} asks for nothing that is known")
        return (thing.type, thing.head, row.shape)

    def _drawn(self, row: AnsweredRow) -> bytes:
        return hashlib.blake2b(f"{self._seed}:{row.id}".encode(), digest_size=16).digest()

    def _choices(
        self, row: AnsweredRow, lending: Sequence[AnsweredRow], near: Sequence[int]
    ) -> tuple[list[AnsweredRow], Dropped | None]:
        """The nearest rows that may lend, and what bars the nearest of all."""
        free: list[AnsweredRow] = []
        barred: Dropped | None = None
        answers = set[str]()
        for place in near[: _TRIED * self._rules.nearest]:
            other = lending[place]
            if other.id == row.id or other.answer_key in answers or not self._fits(row, other):
                continue
            answers.add(other.answer_key)
            reason = self._bar(row, other)
            if reason is None:
                free.append(other)
                if len(free) == self._rules.nearest:
                    break
            elif barred is None:
                barred = Dropped(reason, f"{other.answer} | {other.id}")
        return free, None if free else barred

    def _fits(self, row: AnsweredRow, other: AnsweredRow) -> bool:
        """Whether length and document of another row are such that it may lend."""
        return row.gold.isdisjoint(other.gold) and same_length_class(row.answer, other.answer)

    def _bar(self, row: AnsweredRow, other: AnsweredRow) -> str | None:
        """Why the answer of another row may be right, or give itself away; ``None`` if nothing says so."""
        if ratio(row.asked, other.asked) >= self._rules.max_question_similarity * 100:
            return "question_too_alike"
        if self._known.says(row, other.answer_key):
            return "known_answer"
        if any(answer in row.asked for answer in other.right):
            return "in_question"
        return "in_gold" if any(answer in row.evidence for answer in other.right) else None


def _near(asking: Sequence[AnsweredRow], lending: Sequence[AnsweredRow]) -> Iterator[list[int]]:
    """The places of the lenders, nearest first, for each borrower."""
    if not asking or not lending:
        yield from ([] for _ in asking)
        return
    alike = cdist([row.asked for row in asking], [row.asked for row in lending], scorer=ratio, dtype=np.uint8)
    for line in alike:
        yield np.argsort(-line.astype(np.int16), kind="stable").tolist()
