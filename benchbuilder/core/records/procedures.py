"""The payload `procedure`: steps in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Self

from pydantic import Field

from benchbuilder.core.records.payloads import Payload


class Procedure(Payload):
    """The steps of a procedure, in the order in which they are done."""

    kind: ClassVar[str] = "procedure"
    by_field: ClassVar[bool] = True

    title: str = ""
    steps: Annotated[tuple[str, ...], Field(min_length=2)]

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {"title": (self.title,), "steps": self.steps}

    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The payload with every text converted."""
        return self.model_copy(update={"title": convert(self.title), "steps": tuple(map(convert, self.steps))})

    def flat_cells(self) -> dict[str, str]:
        """One cell per column."""
        return {"title": self.title, "steps": " | ".join(self.steps)}

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        return (
            cls(title="Tea", steps=("Boil water.", "Add the leaves.", "Wait.", "Pour.")),
            cls(steps=("Look up.", "Find Venus.")),
        )
