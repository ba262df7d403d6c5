"""Payloads: a dialogue of one round between patient and doctor, and the question whether its answer is true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Self

from benchbuilder.core import Fact, FrozenModel, Payload


class AnswerChange(FrozenModel):
    """What was altered in an answer: by which rule (``model`` where a model did), and the texts before and after."""

    rule: str
    before: str
    after: str

    def summary(self) -> str:
        """The change in one line."""
        return f"{self.rule}: {self.before} → {self.after}"


class Dialogue(Payload):
    """What a patient asks and a doctor answers. `title` is a short form of the question, where the source has one.

    `changes` are what a step altered in the answer of the source; people who judge the dialogue do not see them.
    `partner` is the id of the dialogue that exchanges a part of its answer with this one, whether altered or not.
    """

    kind: ClassVar[str] = "dialogue"

    department: str = ""
    title: str = ""
    question: str
    answer: str
    changes: tuple[AnswerChange, ...] = ()
    partner: str = ""

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {
            "question": (self.question,),
            "answer": (self.answer,),
            "title": (self.title,),
            "department": (self.department,),
        }

    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The payload with every text converted."""
        return self.model_copy(update={**_converted(self, convert), "changes": _changes(self.changes, convert)})

    def flat_cells(self) -> dict[str, str]:
        """One cell per column."""
        return {
            "department": self.department,
            "title": self.title,
            "question": self.question,
            "answer": self.answer,
            "changes": " | ".join(change.summary() for change in self.changes),
            "partner": self.partner,
        }

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        return (
            cls(department="sleep", title="Tea at night", question="May I drink tea at night?",
                answer="Rather not: it keeps many people awake."),
            cls(question="How much water is enough?", answer="About 15 litres a day.",
                changes=(AnswerChange(rule="number", before="1.5", after="15"),)),
        )  # fmt: skip


class DialogueCheck(Payload):
    """A dialogue of which is asked whether the doctor's answer holds untrue information; ``yes``: it does."""

    kind: ClassVar[str] = "dialogue_check"

    department: str = ""
    title: str = ""
    question: str
    answer: str
    expected: Literal["yes", "no"]
    changes: tuple[AnswerChange, ...] = ()
    partner: str = ""

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {
            "question": (self.question,),
            "answer": (self.answer,),
            "title": (self.title,),
            "department": (self.department,),
        }

    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The payload with every text converted."""
        return self.model_copy(update={**_converted(self, convert), "changes": _changes(self.changes, convert)})

    def prompt_fields(self) -> dict[str, Any]:
        """Question and answer of the dialogue; what is right is not among them, nor what was changed."""
        return {"question": self.question, "answer": self.answer}

    def flat_cells(self) -> dict[str, str]:
        """One cell per column."""
        return {
            "department": self.department,
            "question": self.question,
            "answer": self.answer,
            "expected": self.expected,
            "changes": " | ".join(change.summary() for change in self.changes),
            "partner": self.partner,
        }

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        return (
            cls(department="sleep", title="Tea at night", question="May I drink tea at night?",
                answer="Rather not: it keeps many people awake.", expected="no"),
            cls(question="How much water is enough?", answer="About 15 litres a day.", expected="yes",
                changes=(AnswerChange(rule="number", before="1.5", after="15"),)),
        )  # fmt: skip


def _converted(payload: Dialogue | DialogueCheck, convert: Callable[[str], str]) -> dict[str, str]:
    return {name: convert(getattr(payload, name)) for name in ("department", "title", "question", "answer")}


def _changes(changes: Sequence[AnswerChange], convert: Callable[[str], str]) -> tuple[AnswerChange, ...]:
    return tuple(
        AnswerChange(rule=change.rule, before=convert(change.before), after=convert(change.after)) for change in changes
    )


def source_dialogue(row: Fact[Dialogue]) -> str:
    """The id of the dialogue of the source that `row` was made of."""
    return row.parents[-1] if row.parents else row.id


def dialogue_family(row: Fact[Dialogue]) -> str:
    """The item family of a dialogue: itself, and the one that it exchanges a part of its answer with."""
    return "+".join(sorted(filter(None, (source_dialogue(row), row.payload.partner))))
