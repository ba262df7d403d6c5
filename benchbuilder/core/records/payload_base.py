"""What payloads are: their base class, and that of payloads which are described by the names of their fields."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

from benchbuilder.core.records.row import FrozenModel

LIST_MARK = " | "
"""Stands between the elements of a list in a cell."""
PART_MARK = ". "
"""Stands between the fields of a nested record in a cell."""
FIRST = "[0]"
"""Ends the name of a list field of which a cell shows the first element."""
SPACED = "[ ]"
"""Ends the name of a list field whose elements stand in the cell with spaces between them."""


class Payload(FrozenModel):
    """Domain data inside a Fact or an Item; a frozen model registered as a kind of the slot `payload`.

    Fields are strings, numbers, booleans, nested frozen models or tuples of these. Only optional fields have defaults.
    A table of payloads therefore has one exact Arrow schema.
    """

    kind: ClassVar[str]

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
        """The variables of prompts for models that answer the item: plain data, never the answer.

        Every row has the same keys.
        """
        texts = self.texts()
        question = "".join((*texts.get("context", ()), *texts.get("question", ())))
        return {"question": question, "type": str(getattr(self, "type", ""))}

    def display_fields(self) -> tuple[tuple[str, str], ...]:
        """Names and texts of the fields that annotators see; the first is the subject."""
        fields = ((name, "\n".join(filter(None, parts))) for name, parts in self.texts().items())
        return tuple((name, text) for name, text in fields if text)

    @classmethod
    @abstractmethod
    def examples(cls) -> Sequence[Self]:
        """A few rows for the contract suite."""


class FieldPayload(Payload):
    """A payload whose texts are converted and shown field by field, so that tables of them are treated by column."""

    text_fields: ClassVar[tuple[str, ...]]
    """The fields that are converted, each text as a whole; those of nested records by dots (``options.text``)."""
    cell_fields: ClassVar[Mapping[str, str]]
    """The field that each cell shows. A cell joins the elements of a list; ``answers[0]`` is the first of them,
    ``answers[ ]`` all of them with spaces."""

    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The payload with every text converted."""
        return self.model_copy(update=_converted_fields(self, self.text_fields, convert))

    def flat_cells(self) -> dict[str, str]:
        """One cell per column."""
        return {name: _cell(self, field) for name, field in self.cell_fields.items()}


def _converted_fields(model: FrozenModel, fields: Sequence[str], convert: Callable[[str], str]) -> dict[str, Any]:
    """The fields of `model` that change, converted."""
    inner: dict[str, list[str]] = {}
    for field in fields:
        name, _, rest = field.partition(".")
        inner.setdefault(name, []).extend([rest] if rest else [])

    def converted(value: Any, parts: Sequence[str]) -> Any:
        if isinstance(value, tuple):
            elements: tuple[Any, ...] = value
            return tuple(converted(element, parts) for element in elements)
        if isinstance(value, FrozenModel):
            return value.model_copy(update=_converted_fields(value, parts, convert))
        return convert(value)

    return {name: converted(getattr(model, name), parts) for name, parts in inner.items()}


def _cell(payload: Payload, field: str) -> str:
    value = getattr(payload, field.removesuffix(FIRST).removesuffix(SPACED))
    if field.endswith(SPACED):
        return " ".join(map(_shown, value))
    return _shown(value[0] if field.endswith(FIRST) else value)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        elements: tuple[Any, ...] = value
        return LIST_MARK.join(map(_shown, elements))
    if isinstance(value, FrozenModel):
        return PART_MARK.join(getattr(value, name) for name in type(value).model_fields)
    return str(value)
