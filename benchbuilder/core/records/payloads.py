"""Payloads of facts and items: the built-in kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

from benchbuilder.core.records.payload_base import SPACED, FieldPayload, Payload
from benchbuilder.core.records.row import FrozenModel, Row

STATEMENT_FORM = "statement"
"""The form of items about a sentence that stands alone, without the question that it answers."""

ANSWER_FORM = "answer"
"""The form of statements that are the answer to a question which is shown."""


P = TypeVar("P", bound=Payload)


class Fact(Row, Generic[P]):
    """A piece of knowledge. `original` is the payload's text before script conversion; empty if nothing changed."""

    name: ClassVar[str] = "fact"
    identity: ClassVar[tuple[str, ...]] = ("payload",)

    payload: P
    original: str = ""


class Triple(FieldPayload):
    """A knowledge-graph edge. `head_terms` and `tail_terms` are all names of the concept, the displayed one first."""

    kind: ClassVar[str] = "triple"
    text_fields = ("head", "relation", "tail", "head_type", "tail_type", "head_terms", "tail_terms")
    cell_fields = {name: name for name in ("head", "relation", "tail", "head_type", "tail_type")}

    head: str
    relation: str
    tail: str
    head_type: str = ""
    tail_type: str = ""
    head_terms: tuple[str, ...] = ()
    tail_terms: tuple[str, ...] = ()

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        single = {"head": (self.head,), "tail": (self.tail,)}
        return {**single, "head_terms": self.head_terms, "tail_terms": self.tail_terms}

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


class _OptionsPayload(FieldPayload):
    """What multiple-choice questions have in common; `context` precedes the question."""

    text_fields = ("context", "question", "options.text")
    cell_fields = {name: name for name in ("context", "question", "options")}

    context: str = ""
    question: str
    options: tuple[Option, ...]

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        options = tuple(option.text for option in self.options)
        return {"context": (self.context,), "question": (self.question,), "options": options}


class Choice(_OptionsPayload):
    """A multiple-choice question with one right option; `context` precedes the question."""

    kind: ClassVar[str] = "choice"
    text_fields = (*_OptionsPayload.text_fields, "answer")
    cell_fields = {**_OptionsPayload.cell_fields, "answer": "answer"}

    answer_key: str
    answer: str
    category: str = ""
    split: str = ""

    @property
    def wrong_from(self) -> str:
        """Where its wrong answers come from: they are listed beside the right one."""
        return "listed"

    def right_answers(self) -> tuple[str, ...]:
        """The right answer."""
        return (self.answer,)

    def wrong_answers(self) -> tuple[str, ...]:
        """The texts of the wrong options, in order."""
        return tuple(option.text for option in self.wrong_options())

    def wrong_options(self) -> tuple[Option, ...]:
        """Every option but the right one, in order."""
        return tuple(option for option in self.options if option.key != self.answer_key)

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {**super().texts(), "answer": (self.answer,)}

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        options = (Option(key="A", text="Mars"), Option(key="B", text="Venus"))
        return (
            cls(question="The second planet is", options=options, answer_key="B", answer="Venus"),
            cls(context="Look up.", question="The red planet is", options=options, answer_key="A", answer="Mars"),
        )


class MultipleAnswerChoice(_OptionsPayload):
    """A multiple-choice question with one or several right options; `answer_keys` are in the order of the options.

    `context` precedes the question.
    """

    kind: ClassVar[str] = "several_choice"
    cell_fields = {**_OptionsPayload.cell_fields, "answers": f"answer_keys{SPACED}"}

    answer_keys: tuple[str, ...]
    category: str = ""
    split: str = ""

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        options = (Option(key="A", text="Mars"), Option(key="B", text="Sirius"), Option(key="C", text="Venus"))
        return (
            cls(question="Which are planets?", options=options, answer_keys=("A", "C")),
            cls(context="Look up.", question="Which is a star?", options=options, answer_keys=("B",)),
        )


class LabelledClaim(FieldPayload):
    """A sentence, or a yes/no question (`asked`), that is labelled as true, false or unknown.

    It is `about` the world, or about a text (`premise`). `gold` are keys of the passages that show the label, or their
    texts. `quote` is the part of such a passage that a claim was read from, `as_of` the date that it holds for.
    `contradicts` is the id of the true fact that a false claim was made of.
    """

    kind: ClassVar[str] = "labelled_claim"
    text_fields = ("text", "premise", "quote")
    cell_fields = {name: name for name in ("text", "label", "premise", "quote", "as_of")}

    text: str
    label: Literal["true", "false", "unknown"]
    gold: tuple[str, ...] = ()
    about: Literal["world", "text"] = "world"
    premise: str = ""
    asked: bool = False
    quote: str = ""
    as_of: str = ""
    contradicts: str = ""

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {"text": (self.text,), "premise": (self.premise,), "quote": (self.quote,)}

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        return (
            cls(text="Venus is the second planet.", label="true", gold=("atlas-1",), quote="Venus is second."),
            cls(text="The cat sleeps.", label="false", about="text", premise="A cat is awake."),
            cls(text="Is Mars a star?", label="false", asked=True),
        )


class Term(FieldPayload):
    """A word of one or several lists.

    Its text is converted; terms of the lists stay as they are. `original` is the term of the lists if it is in another
    language (several if terms were merged). `translated_by` is the name of the dictionary or model that translated it.
    """

    kind: ClassVar[str] = "term"
    text_fields = ("text",)
    cell_fields = {name: name for name in ("text", "original", "lists", "translated_by", "note")}

    text: str
    original: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    translated_by: tuple[str, ...] = ()
    note: str = ""

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {"text": (self.text,)}

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        return (
            cls(text="planet", lists=("glossary",), note="a body that orbits a star"),
            cls(text="star", original=("stella",), lists=("glossary", "own"), translated_by=("latin.tsv",)),
        )


class Item(Row, Generic[P]):
    """A benchmark item. `reviewed` is false in a benchmark built without annotation.

    `family` is the item family: items that share a fact, or whose facts lend each other their answers. Folds, samples
    and splits keep a family together. Without one, the item's fact is its family. `form`, `wrong_from`, `verdict_only`
    and `tags` are those of the candidate; they are no part of its identity.
    """

    name: ClassVar[str] = "item"
    identity: ClassVar[tuple[str, ...]] = ("payload",)

    payload: P
    candidate: str
    fact: str
    family: str = ""
    reviewed: bool
    form: str = STATEMENT_FORM
    wrong_from: str = ""
    verdict_only: bool = False
    tags: tuple[str, ...] = ()

    @property
    def family_name(self) -> str:
        """Its family, or else its fact, or else its id."""
        return self.family or self.fact or self.id


class Support(FrozenModel):
    """A paragraph that supports an item's answer. Rank 0 is for one that the source of the fact names."""

    passage: str
    base: str
    document: str
    title: str = ""
    text: str
    score: float
    rank: int

    @property
    def found(self) -> Literal["gold", "retrieved"]:
        """Whether the source of the fact names it, or a retriever found it."""
        return "gold" if self.rank == 0 else "retrieved"


def question_cells(row: Any) -> dict[str, str]:
    """The cells of a question with a right and a wrong answer, without its evidence."""
    return {
        "q-type": row.type.upper(),
        "expected": row.expected,
        "full-question": row.context + row.question,
        "answer": row.answer,
        "answer-wrong": row.answer_wrong,
    }


class Claim(Payload):
    """A question with a right and a wrong answer and the paragraphs that support the right one."""

    kind: ClassVar[str] = "claim"
    _SINGLE: ClassVar[tuple[str, ...]] = ("context", "question", "answer", "answer_wrong")

    type: Literal["tf", "oe"]
    expected: Literal["yes", "no", ""] = ""
    context: str = ""
    question: str
    answer: str
    answer_wrong: str
    evidence: tuple[Support, ...] = ()

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        single = {name: (getattr(self, name),) for name in self._SINGLE}
        return {**single, "evidence": tuple(support.text for support in self.evidence)}

    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The payload with every text converted."""
        single = {name: convert(getattr(self, name)) for name in self._SINGLE}
        evidence = tuple(s.model_copy(update={"text": convert(s.text)}) for s in self.evidence)
        return self.model_copy(update={**single, "evidence": evidence})

    def flat_cells(self) -> dict[str, str]:
        """One cell per column."""
        return {**question_cells(self), "evidence": "\n".join(support.text for support in self.evidence)}

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
