"""The payload `procedure`: steps in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Self

from pydantic import Field

from benchbuilder.core.records.payload_base import FieldPayload


class Procedure(FieldPayload):
    """The steps of a procedure, in the order in which they are done."""

    kind: ClassVar[str] = "procedure"
    text_fields = ("title", "steps")
    cell_fields = {"title": "title", "steps": "steps"}

    title: str = ""
    steps: Annotated[tuple[str, ...], Field(min_length=2)]

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {"title": (self.title,), "steps": self.steps}

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        return (
            cls(title="Tea", steps=("Boil water.", "Add the leaves.", "Wait.", "Pour.")),
            cls(steps=("Look up.", "Find Venus.")),
        )
