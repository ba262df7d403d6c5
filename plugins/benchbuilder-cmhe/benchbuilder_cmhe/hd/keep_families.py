"""Drops what is left of an item family that has lost a member."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from benchbuilder.config import StepSpec
from benchbuilder.core import FilterResult, Item, Table
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

    def gather(self, tables: Mapping[str, Table[Any]]) -> FilterResult:
        """Every item, kept or dropped."""
        table = tables["each"]
        names = zip(*(table.column(name) for name in ("family", "fact", "id")), strict=True)
        families = [family or fact or row for family, fact, row in names]
        sizes = Counter(families)
        kept = [sizes[family] == self.spec.size for family in families]
        return FilterResult(
            [None if is_kept else "family_incomplete" for is_kept in kept],
            ["" if is_kept else f"{sizes[family]} of {self.spec.size} are left"
             for family, is_kept in zip(families, kept, strict=True)],
        )  # fmt: skip
