"""Payloads: a concept of a terminology tree, and a question about it with options to recognise it by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from benchbuilder.core import FrozenModel, Option, Payload


class NearbyConcept(FrozenModel):
    """A concept that stands beside another as an option; `steps` is the shortest path between them in the tree."""

    code: str
    name: str
    steps: int


class Concept(Payload):
    """A concept of a vocabulary. `names` are all its names, `name` first; `tree_numbers` its places in the tree.

    `concept_class` is its class and `options` are the concepts that it may be mistaken for, once a step has found them.
    """

    kind: ClassVar[str] = "concept"

    code: str
    name: str
    names: tuple[str, ...]
    tree_numbers: tuple[str, ...]
    concept_class: str = ""
    options: tuple[NearbyConcept, ...] = ()

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {"name": (self.name,), "names": self.names, "options": tuple(near.name for near in self.options)}

    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The payload with every text converted."""
        return self.model_copy(
            update={
                "name": convert(self.name),
                "names": tuple(map(convert, self.names)),
                "options": tuple(near.model_copy(update={"name": convert(near.name)}) for near in self.options),
            }
        )

    def flat_cells(self) -> dict[str, str]:
        """One cell per column."""
        return {
            "name": self.name,
            "code": self.code,
            "names": " | ".join(self.names),
            "tree-numbers": " ".join(self.tree_numbers),
            "concept-class": self.concept_class,
        }

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        return (
            cls(code="T1", name="Oak", names=("Oak", "Quercus"), tree_numbers=("B01.100", "B01.300.5"),
                concept_class="plant", options=(NearbyConcept(code="T2", name="Beech", steps=2),)),
            cls(code="T2", name="Beech", names=("Beech",), tree_numbers=("B01.200",)),
        )  # fmt: skip


class ConceptQuestion(Payload):
    """A question about a concept, and the options among which it is to be recognised from the masked answer.

    `names` are what is masked in the answer, by `mask`. `aspect` is what the question asks about.
    """

    kind: ClassVar[str] = "concept_question"

    concept: str
    concept_class: str
    aspect: str
    names: tuple[str, ...]
    mask: str
    question: str
    options: tuple[Option, ...]
    answer_key: str
    answer: str

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {
            "question": (self.question,),
            "options": tuple(option.text for option in self.options),
            "answer": (self.answer,),
            "names": self.names,
            "mask": (self.mask,),
        }

    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The payload with every text converted."""
        return self.model_copy(
            update={
                **{name: convert(getattr(self, name)) for name in ("question", "answer", "mask")},
                "names": tuple(map(convert, self.names)),
                "options": tuple(Option(key=o.key, text=convert(o.text)) for o in self.options),
            }
        )

    def flat_cells(self) -> dict[str, str]:
        """One cell per column."""
        return {
            "question": self.question,
            "concept": self.concept,
            "concept-class": self.concept_class,
            "aspect": self.aspect,
            "options": " | ".join(f"{option.key}. {option.text}" for option in self.options),
            "answer-key": self.answer_key,
            "answer": self.answer,
            "names": " | ".join(self.names),
        }

    def prompt_fields(self) -> dict[str, Any]:
        """The question, the options and what stands in place of the concept; not which option it is."""
        options = [{"key": option.key, "text": option.text} for option in self.options]
        return {"question": self.question, "type": self.aspect, "options": options, "mask": self.mask}

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        options = (Option(key="A", text="Beech"), Option(key="B", text="Oak"))
        return (
            cls(concept="T1", concept_class="plant", aspect="place", names=("Oak", "Quercus"), mask="[a plant]",
                question="Where does Oak grow?", options=options, answer_key="B", answer="Oak"),
            cls(concept="T2", concept_class="plant", aspect="use", names=("Beech",), mask="[a plant]",
                question="What is Beech used for?", options=options, answer_key="A", answer="Beech"),
        )  # fmt: skip
