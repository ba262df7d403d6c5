"""Items: what the finished benchmark holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, Literal, Self, TypeVar

from benchbuilder.records.envelope import Frozen, Row
from benchbuilder.records.payload import Payload

P = TypeVar("P", bound=Payload)


class Item(Row, Generic[P]):
    """A benchmark item. `reviewed` is false in a benchmark built without annotation."""

    name: ClassVar[str] = "item"
    identity: ClassVar[tuple[str, ...]] = ("payload",)

    payload: P
    candidate: str
    fact: str
    reviewed: bool


class Support(Frozen):
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

    def flat(self) -> dict[str, str]:
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
