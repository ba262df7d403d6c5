"""Payloads of facts and items: what the core asks of every payload, and the kinds that it brings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

from benchbuilder.core.records.row import FrozenModel, Row


class Payload(FrozenModel):
    """Domain data inside a Fact or an Item; a frozen model registered as a kind of the slot `payload`.

    All fields must be strings, numbers, booleans, nested frozen models or tuples of these, with defaults only for
    what may be absent, so that a table of them has one exact Arrow schema.
    """

    kind: ClassVar[str]
    by_field: ClassVar[bool] = False
    """Whether `map_texts` converts texts as they stand in the fields, never parts of them or several joined: rows in
    which no field would change then need not be looked at one by one."""

    @abstractmethod
    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name, for topic filters, screens and script conversion."""

    @abstractmethod
    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The same payload with `convert` applied to every natural-language text."""

    @abstractmethod
    def flat_cells(self) -> dict[str, str]:
        """One cell per column of a TSV or CSV."""

    def prompt_fields(self) -> dict[str, Any]:
        """What a model that answers an item of this payload may be shown: plain data for prompts, never the answer.

        The same keys for every row: they are the variables that a prompt may use.
        """
        texts = self.texts()
        question = "".join((*texts.get("context", ()), *texts.get("question", ())))
        return {"question": question, "type": str(getattr(self, "type", ""))}

    def display_fields(self) -> tuple[tuple[str, str], ...]:
        """What people who judge a row see of it: names of fields and their texts, the first is what it is about."""
        fields = ((name, "\n".join(filter(None, parts))) for name, parts in self.texts().items())
        return tuple((name, text) for name, text in fields if text)

    @classmethod
    @abstractmethod
    def examples(cls) -> Sequence[Self]:
        """A few rows for the contract suite."""


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

    def flat_cells(self) -> dict[str, str]:
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


class Option(FrozenModel):
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

    def flat_cells(self) -> dict[str, str]:
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


class MultipleAnswerChoice(Payload):
    """A multiple-choice question with one right option or more; `answer_keys` are theirs, in the order of the options.

    `context` stands before the question.
    """

    kind: ClassVar[str] = "several_choice"

    context: str = ""
    question: str
    options: tuple[Option, ...]
    answer_keys: tuple[str, ...]
    category: str = ""
    split: str = ""

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {
            "context": (self.context,),
            "question": (self.question,),
            "options": tuple(option.text for option in self.options),
        }

    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The payload with every text converted."""
        return self.model_copy(
            update={
                "context": convert(self.context),
                "question": convert(self.question),
                "options": tuple(Option(key=o.key, text=convert(o.text)) for o in self.options),
            }
        )

    def flat_cells(self) -> dict[str, str]:
        """One cell per column."""
        return {
            "context": self.context,
            "question": self.question,
            "options": " | ".join(f"{o.key}. {o.text}" for o in self.options),
            "answers": " ".join(self.answer_keys),
        }

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        options = (Option(key="A", text="Mars"), Option(key="B", text="Sirius"), Option(key="C", text="Venus"))
        return (
            cls(question="Which are planets?", options=options, answer_keys=("A", "C")),
            cls(context="Look up.", question="Which is a star?", options=options, answer_keys=("B",)),
        )


class Term(Payload):
    """A word of one or several lists.

    `original` is what the lists say, where that is another language (several terms, where several were merged);
    `translated_by` what put it into this one: the name of a dictionary or of a model.
    """

    kind: ClassVar[str] = "term"

    text: str
    original: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    translated_by: tuple[str, ...] = ()
    note: str = ""

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {"text": (self.text,)}

    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The payload with its word converted; what the lists say stays as it is."""
        return self.model_copy(update={"text": convert(self.text)})

    def flat_cells(self) -> dict[str, str]:
        """One cell per column."""
        return {
            "text": self.text, "original": " | ".join(self.original), "lists": " | ".join(self.lists),
            "translated_by": " | ".join(self.translated_by), "note": self.note,
        }  # fmt: skip

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        return (
            cls(text="planet", lists=("glossary",), note="a body that orbits a star"),
            cls(text="star", original=("stella",), lists=("glossary", "own"), translated_by=("latin.tsv",)),
        )


class Item(Row, Generic[P]):
    """A benchmark item. `reviewed` is false in a benchmark built without annotation."""

    name: ClassVar[str] = "item"
    identity: ClassVar[tuple[str, ...]] = ("payload",)

    payload: P
    candidate: str
    fact: str
    reviewed: bool


class Support(FrozenModel):
    """A paragraph that supports an item's answer."""

    passage: str
    base: str
    document: str
    title: str = ""
    text: str
    score: float
    rank: int


class Claim(Payload):
    """A question with a right and a wrong answer and the paragraphs that support the right one."""

    kind: ClassVar[str] = "claim"

    type: Literal["tf", "oe"]
    expected: Literal["yes", "no", ""] = ""
    context: str = ""
    question: str
    answer: str
    answer_wrong: str
    evidence: tuple[Support, ...] = ()

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {
            "context": (self.context,),
            "question": (self.question,),
            "answer": (self.answer,),
            "answer_wrong": (self.answer_wrong,),
            "evidence": tuple(support.text for support in self.evidence),
        }

    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The payload with every text converted."""
        return self.model_copy(
            update={
                **{name: convert(getattr(self, name)) for name in ("context", "question", "answer", "answer_wrong")},
                "evidence": tuple(s.model_copy(update={"text": convert(s.text)}) for s in self.evidence),
            }
        )

    def flat_cells(self) -> dict[str, str]:
        """One cell per column."""
        return {
            "q-type": self.type.upper(),
            "expected": self.expected,
            "full-question": self.context + self.question,
            "answer": self.answer,
            "answer-wrong": self.answer_wrong,
            "evidence": "\n".join(support.text for support in self.evidence),
        }

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        support = Support(passage="passage-0", base="atlas", document="1", text="Venus is second.", score=1.5, rank=1)
        return (
            cls(type="tf", expected="yes", question="Is Venus the second planet?", answer="Venus is the second planet.",
                answer_wrong="Venus is not the second planet.", evidence=(support,)),
            cls(type="oe", question="What is the second planet?", answer="Venus is the second planet.",
                answer_wrong="Mars is the second planet."),
        )  # fmt: skip
