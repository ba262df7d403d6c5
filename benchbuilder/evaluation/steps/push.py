"""Steps in which a person contradicts answers of models: who is told what, what models reply, which side they take."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from benchbuilder.config import FileRef, StepSpec, is_afresh
from benchbuilder.core import (
    Answer,
    Dropped,
    GatherPiece,
    GatherStream,
    Item,
    Kept,
    NotApplicable,
    Outcome,
    Row,
    Score,
    Table,
    fill_template,
    script_version,
    strip_reasoning,
)
from benchbuilder.evaluation.judges.base import make_case
from benchbuilder.evaluation.parsing.turns import Turn, TurnReader, turn_reader
from benchbuilder.evaluation.parsing.verdicts import VerdictReader, YesNoQuestion, verdict_reader
from benchbuilder.evaluation.scorers.verdict import yes_no_question
from benchbuilder.evaluation.steps.answer import AskModelStep, AskModelStepSpec
from benchbuilder.evaluation.steps.outcome_columns import outcome_columns
from benchbuilder.evaluation.steps.press import PRESSED, TOLD, Askable, Press, drawn_source
from benchbuilder.evaluation.steps.reword import asked_anew
from benchbuilder.models import Conversation, Message, Reply, Request
from benchbuilder.steps import Gather, Port

PUSHES, PUSHED, TURNS = f"{PRESSED}_pushes", f"{PRESSED}_pushed", f"{PRESSED}_turns"
"""The steps that draw pushes, and what the names of those begin with that push models and read their replies."""
UNTOLD = "none"
"""The side of a push that only doubts."""
FIRST_TURN = 2
"""The turn of the first push; the first answer is turn 1."""
_WINDOW = 2_000
_PART, _PARTS = re.compile(r"[^.,;:!?，。；：！？؟\n—]+[.,;:!?，。；：！？؟\n—]"), 12
"""A part of a reply up to a stop or a pause, and in how many parts a verdict is looked for."""
_READ = {"verdict": Port(Score, mode="lookup"), "support": Port(Score, mode="lookup")}
"""How the first answers were read: to yes/no questions, and to open ones."""


def _first_labels(lookups: Mapping[str, Table[Any]]) -> dict[str, str]:
    """The label of each item's first answer."""
    tables = [lookups[name] for name in _READ if name in lookups]
    return {item: label for one in tables for item, label in zip(one.column("item"), one.column("label"), strict=True)}


class Push(Press):
    """Draws the pushes of each item family, as `press` draws contexts: an item for each conversation.

    Pushes that end afresh are no part of the draw: every family has them. For these, an item needs no wrong answer; a
    right verdict will do.
    """

    kind: ClassVar[str] = "push"

    def _askable(self, row: Item[Any], reader: VerdictReader) -> Askable | Dropped | NotApplicable:
        found = super()._askable(row, reader)
        if isinstance(found, Askable) or not self._afresh or not getattr(row.payload, "expected", ""):
            return found
        return Askable(row.id, row.family_name, row.partition, "", 0)

    def _with_other(self, one: Askable, pool: Sequence[tuple[int, str, str]]) -> Askable | Dropped | NotApplicable:
        return super()._with_other(one, pool) if one.right else one

    @property
    def _afresh(self) -> tuple[str, ...]:
        return tuple(name for name, texts in self.spec.push_turns.items() if is_afresh(texts[-1]))

    def _conditions(self) -> tuple[list[str], int | None]:
        drawn = [name for name in self.spec.push_turns if name not in self._afresh]
        return drawn, self.spec.design.pushes if drawn else 0

    def _children(self, row: Item[Any], askable: Askable, contexts: Sequence[str]) -> Iterator[Outcome]:
        for name in (*(contexts if askable.right else ()), *self._afresh):
            yield asked_anew(row, self.produced_by(), name, make_case(row, "").question)


class AnswerPushedSpec(AskModelStepSpec):
    """The texts of the turns of each push, the sources that they name, and whether they contradict (`opposed`)."""

    pushes: dict[str, tuple[str, ...]]
    sources: tuple[str, ...] = ()
    opposed: bool = True


class AnswerPushed(AskModelStep):
    """Contradicts a model's first answer, turn by turn, and keeps each reply as an answer.

    The messages are those of a real conversation: the question, the first answer without its reasoning, the push, and
    so on. The slot of an answer is the push, the side that is told, and the turn: ``escalate.wrong.3``. A turn that is
    asked afresh has a conversation of its own, with the question and the first answer in its text.
    """

    kind: ClassVar[str] = "answer_pushed"
    spec_class: ClassVar[type[StepSpec]] = AnswerPushedSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Item), "first": Port(Answer, mode="lookup"), **_READ}
    slots = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        "no_first_answer": "The first answer was cut, empty, refused or filtered, so nobody can contradict it.",
        "conversation_ended": "An earlier reply of the conversation has no text, so nothing more was said.",
    }

    spec: AnswerPushedSpec  # pyright: ignore[reportIncompatibleVariableOverride]

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the prompts and the first answers."""
        super().open(lookups)
        self._first = {parent: answer for answer in lookups.get("first", ()) for parent in answer.parents}
        self._labels = _first_labels(lookups)

    def converse(self, row: Item[Any], parents: Mapping[str, Any]) -> Conversation:  # noqa: ARG002
        """One conversation, or two where the first answer takes no side."""
        first = self._first.get(str(row.of))
        said = "" if first is None or first.outcome != "complete" else (strip_reasoning(first.text) or "").strip()
        if not said:
            return [Dropped("no_first_answer", "" if first is None else first.outcome)]
        outcomes = list[Outcome]()
        for side in self._sides(row):
            outcomes += yield from self._conversation(row, said, side)
        return outcomes

    def _sides(self, row: Item[Any]) -> tuple[str, ...]:
        """What is told: the contrary of the first answer, or both."""
        if not any("{told}" in text for text in self.spec.pushes[row.slot]):
            return (UNTOLD,)
        first = self._labels.get(str(row.of))
        return tuple(side for side in TOLD if side != first) if self.spec.opposed and first in TOLD else TOLD

    def _conversation(self, row: Item[Any], first: str, side: str) -> Generator[Request, Reply, list[Outcome]]:
        *system, asked = self.opening(row)
        messages = (*system, asked, Message("assistant", first))
        outcomes = list[Outcome]()
        for turn, text in enumerate(self.spec.pushes[row.slot], FIRST_TURN):
            slot, last = f"{row.slot}.{side}.{turn}", messages[-1]
            if is_afresh(text):
                said = fill_template(text, {"question": asked.content, "answer": first})[0]
                messages = (*system, Message("user", said))
            elif not last.content:
                outcomes.append(Dropped("conversation_ended", slot=slot))
                continue
            else:
                _, said = pushed_text(text, row, side, self.spec.sources, self.context.seed)
                said = self.user_text(row, question=said) if "{question}" in text else said
                messages = (*messages, Message("user", said))
            answer = self.answer_of(row, (yield from self.replied(self.request(row, messages))), slot)
            outcomes.append(Kept(answer, slot))
            messages = (*messages, Message("assistant", answer.text))
        return outcomes


def pushed_text(
    text: str, row: Item[Any], side: str, sources: Sequence[str], seed: int, first: str = ""
) -> tuple[str, str]:
    """What is told in a turn of a push (empty if nothing is), and all that is said; `first` is the first answer."""
    case = make_case(row, "")
    told = {"wrong": case.wrong, "right": case.right}.get(side, "") if "{told}" in text else ""
    source = drawn_source(sources, seed, row.family_name)
    values = {"told": told, "source": source, "question": case.question, "answer": first}
    return told, fill_template(text, values)[0]


class ReadTurnsSpec(StepSpec):
    """The `tables` of verdicts and of `turns`, those for replies `afresh`, and what was said in each push."""

    name: str
    tables: tuple[FileRef, ...]
    turns: tuple[FileRef, ...] = ()
    afresh: tuple[FileRef, ...] = ()
    pushes: dict[str, tuple[str, ...]]
    sources: tuple[str, ...] = ()


class ReadTurns(Gather):
    """Reads which side each reply to a push takes, beginning with the first answer; a score's slot is its answer's."""

    kind: ClassVar[str] = "read_turns"
    version: ClassVar[int] = 3
    spec_class: ClassVar[type[StepSpec]] = ReadTurnsSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Answer), "item": Port(Item, mode="lookup"), **_READ}
    output: ClassVar[type[Row] | None] = Score

    spec: ReadTurnsSpec

    def fingerprint(self) -> Mapping[str, str]:
        """The version of the script converter."""
        return {"opencc": script_version()}

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the tables; DataError if one is invalid."""
        spec = self.spec
        verdicts, turns, afresh = (
            [table.file for table in tables] for tables in (spec.tables, spec.turns, spec.afresh or spec.tables)
        )
        self._reader: TurnReader = turn_reader(verdicts, turns)
        self._verdicts: VerdictReader = verdict_reader(afresh)
        self._items, self._labels = lookups["item"], _first_labels(lookups)

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """The readings of all replies, some at a time."""
        return GatherStream(self._pieces(tables["each"]))

    def _pieces(self, answers: Table[Answer]) -> Iterator[GatherPiece]:
        before = dict[tuple[str, str], Any]()
        for first, window in answers.windows(_WINDOW):
            items = {item.id: item for item in self._items.find({str(answer.of) for answer in window})}
            scored = [(place, self._read(one, items[str(one.of)], before)) for place, one in enumerate(window)]
            yield GatherPiece(first + np.arange(len(window)), window, outcome_columns(scored, Score))

    def _read(self, answer: Answer, item: Item[Any], before: dict[tuple[str, str], Any]) -> Outcome:
        """The side of a reply; `before` has the last side of each conversation, and gets the new one."""
        push, side, turn = answer.slot.rsplit(".", 2)
        key, text = (item.id, side), self.spec.pushes[push][int(turn) - FIRST_TURN]
        first = label if (label := self._labels.get(str(item.of), "")) in TOLD else ""
        last = before.setdefault(key, first)
        label, detail = answer.outcome, ""
        if answer.outcome in ("complete", "truncated"):
            label, detail = (
                self._read_afresh(answer, first) if is_afresh(text) else self._read_turn(answer, item, text, side, last)
            )
        before[key] = label if label in TOLD else last
        value = {"right": 1.0, "wrong": 0.0}.get(label)
        return Kept(
            Score.child(
                answer,
                produced_by=self.produced_by(),
                slot=answer.slot,
                item=str(item.of),
                model=answer.model,
                scorer=self.spec.name,
                aspect="turn",
                value=value,
                label=label,
                detail=detail,
            )
        )

    def _read_turn(self, answer: Answer, item: Item[Any], text: str, side: str, last: str) -> tuple[str, str]:
        """The label and detail of a reply in the conversation; `last` is the side of the answer before it."""
        told, sent = pushed_text(text, item, side, self.spec.sources, self.context.seed)
        case, expected = make_case(item, ""), getattr(item.payload, "expected", "")
        right, wrong = (case.right, case.wrong) if case.wrong else ("", "")
        question = yes_no_question(item, expected) if expected else YesNoQuestion(case.question)
        asked = Turn(question, right, wrong, expected, told, sent, side if told else "", last)  # pyright: ignore[reportArgumentType]
        read = self._reader.read(answer.text, asked, is_cut=answer.outcome == "truncated")
        label = read.side if read.side != "neither" else read.how
        return label, f"{read.how}: {read.words}" if read.words else read.how

    def _read_afresh(self, answer: Answer, first: str) -> tuple[str, str]:
        """The same of a reply that says whether the answer, whose side is `first` (empty: on no side), is right.

        The first verdict counts: what follows may be the verdict of the question ("No. The right answer is yes").
        """
        ends = [found.end() for found in _PART.finditer(answer.text)][:_PARTS]
        heads = (answer.text[:end] for end in ends if answer.text[end - 1] not in "?？؟")
        reads = (self._verdicts.read(head) for head in heads)
        read = next((read for read in reads if read.verdict), None)
        if read is None:
            read = self._verdicts.read(answer.text, is_cut=answer.outcome == "truncated")
        if not read.verdict or not first:
            return read.why or "neither", read.words
        label = first if read.verdict == "yes" else "wrong" if first == "right" else "right"
        return label, f"afresh: {read.words}"
