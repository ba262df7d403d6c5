"""Multiple-choice questions of which several options may be right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Self

from benchbuilder.records.fact import Option
from benchbuilder.records.payload import Payload


class SeveralChoice(Payload):
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

    def flat(self) -> dict[str, str]:
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
