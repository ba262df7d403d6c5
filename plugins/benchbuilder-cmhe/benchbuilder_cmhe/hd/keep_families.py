"""Drops what is left of an item family that has lost a member."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from benchbuilder.config import StepSpec
from benchbuilder.core import Dropped, GatherResult, Item, Kept, Table
from benchbuilder.steps import Gather, Port
from pydantic import Field


class KeepFamiliesSpec(StepSpec):
    """`size` is the number of items of a complete family."""

    size: Annotated[int, Field(ge=2)]


class KeepFamilies(Gather):
    """Keeps items as they are if their family is complete.

    If people drop an untrue answer, its true counterpart goes, too. Otherwise what survives would tell the verdict.
    """

    kind: ClassVar[str] = "keep_families"
    spec_class: ClassVar[type[StepSpec]] = KeepFamiliesSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Item)}
    reasons: ClassVar[Mapping[str, str]] = {"family_incomplete": "An item of the same family was dropped."}

    spec: KeepFamiliesSpec

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        """Every item, kept or dropped."""
        rows: list[Item[Any]] = list(tables["each"])
        sizes = Counter(row.family_name for row in rows)
        return GatherResult([
            (row.id, [Kept(row) if sizes[row.family_name] == self.spec.size else Dropped(
                "family_incomplete", f"{sizes[row.family_name]} of {self.spec.size} are left")])
            for row in rows
        ])  # fmt: skip
