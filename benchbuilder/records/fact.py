"""Facts: verified knowledge as a source states it, with the payloads of the core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, Self, TypeVar

from benchbuilder.records.envelope import Frozen, Row
from benchbuilder.records.payload import Payload

P = TypeVar("P", bound=Payload)


class Fact(Row, Generic[P]):
    """A piece of knowledge. `original` is the payload's text before script conversion, empty if nothing changed."""

    name: ClassVar[str] = "fact"
    identity: ClassVar[tuple[str, ...]] = ("payload",)

    payload: P
    original: str = ""


class Triple(Payload):
    """A knowledge-graph edge. `head_terms` and `tail_terms` are all names of the concept, the displayed one first."""

    kind: ClassVar[str] = "triple"
    by_field: ClassVar[bool] = True

    head: str
    relation: str
    tail: str
    head_type: str = ""
    tail_type: str = ""
    head_terms: tuple[str, ...] = ()
    tail_terms: tuple[str, ...] = ()

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {
            "head": (self.head,),
            "tail": (self.tail,),
            "head_terms": self.head_terms,
            "tail_terms": self.tail_terms,
        }

    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The payload with every text converted."""
        return self.model_copy(
            update={
                "head": convert(self.head),
                "relation": convert(self.relation),
                "tail": convert(self.tail),
                "head_type": convert(self.head_type),
                "tail_type": convert(self.tail_type),
                "head_terms": tuple(map(convert, self.head_terms)),
                "tail_terms": tuple(map(convert, self.tail_terms)),
            }
        )

    def flat(self) -> dict[str, str]:
        """One cell per column."""
        return {
            "head": self.head,
            "relation": self.relation,
            "tail": self.tail,
            "head_type": self.head_type,
            "tail_type": self.tail_type,
        }

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        return (
            cls(head="Earth", relation="orbits", tail="Sun", head_type="planet", tail_type="star",
                head_terms=("Earth", "Terra"), tail_terms=("Sun",)),
            cls(head="Moon", relation="orbits", tail="Earth", head_terms=("Moon",), tail_terms=("Earth",)),
        )  # fmt: skip


class Option(Frozen):
    """One option of a multiple-choice question."""

    key: str
    text: str


class Choice(Payload):
    """A multiple-choice question with one right option; `context` stands before the question."""

    kind: ClassVar[str] = "choice"
    by_field: ClassVar[bool] = True

    context: str = ""
    question: str
    options: tuple[Option, ...]
    answer_key: str
    answer: str
    category: str = ""
    split: str = ""

    def wrong_options(self) -> tuple[Option, ...]:
        """Every option but the right one, in order."""
        return tuple(option for option in self.options if option.key != self.answer_key)

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {
            "context": (self.context,),
            "question": (self.question,),
            "options": tuple(option.text for option in self.options),
            "answer": (self.answer,),
        }

    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The payload with every text converted."""
        return self.model_copy(
            update={
                "context": convert(self.context),
                "question": convert(self.question),
                "options": tuple(Option(key=o.key, text=convert(o.text)) for o in self.options),
                "answer": convert(self.answer),
            }
        )

    def flat(self) -> dict[str, str]:
        """One cell per column."""
        return {
            "context": self.context,
            "question": self.question,
            "options": " | ".join(f"{o.key}. {o.text}" for o in self.options),
            "answer": self.answer,
        }

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        options = (Option(key="A", text="Mars"), Option(key="B", text="Venus"))
        return (
            cls(question="The second planet is", options=options, answer_key="B", answer="Venus"),
            cls(context="Look up.", question="The red planet is", options=options, answer_key="A", answer="Mars"),
        )
