"""The payload `term`: a word that may come into a word list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Self

from benchbuilder.records.payload import Payload


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

    def flat(self) -> dict[str, str]:
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
