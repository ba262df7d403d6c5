"""Draw some of the rows by the recipe's seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.annotation import proportional_sample
from benchbuilder.config import StepSpec
from benchbuilder.core import Dropped, GatherResult, Kept, Outcome, Row, SpecIssue, Table, column_names
from benchbuilder.steps.base import Gather, Port


class SampleSpec(StepSpec):
    """`n` rows go on; ``null`` lets all go on.

    With `by`, a dotted column (``payload.department``), each of its values has as many as its share says.
    """

    n: Annotated[int | None, Field(ge=1)] = None
    by: str | None = None


class Sample(Gather):
    """Keeps `n` rows as they are, drawn by the recipe's seed and their ids only; a larger `n` holds most of a smaller.

    Rows that stand in the table of the port `without`, or of which something there was made, were drawn elsewhere and
    are not drawn again: samples of two steps have nothing in common.
    """

    kind: ClassVar[str] = "sample"
    spec_class: ClassVar[type[StepSpec]] = SampleSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Row), "without": Port(Row, mode="lookup", optional=True)}
    output: ClassVar[type[Row] | None] = None
    reasons: ClassVar[Mapping[str, str]] = {
        "not_drawn": "Not drawn for the sample, of which `n` says the size.",
        "drawn_elsewhere": "It is in another sample, with which this one has nothing in common.",
    }

    spec: SampleSpec

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:
        """A column to draw by which the rows do not have."""
        known = column_names(rows["each"])
        if self.spec.by is not None and self.spec.by not in known:
            yield SpecIssue("by", "the rows have no such column", self.spec.by, known)

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        """Every row, kept or dropped, in the order in which they came."""
        table, other = tables["each"], tables.get("without")
        taken: set[str] = set()
        if other is not None:
            taken = {*other.ids(), *(name for parents in other.column("parents") for name in parents)}
        ids = table.ids()
        groups = [""] * len(ids) if self.spec.by is None else [str(value) for value in table.column(self.spec.by)]
        free = [(name, group) for name, group in zip(ids, groups, strict=True) if name not in taken]
        size = len(free) if self.spec.n is None else self.spec.n
        drawn = proportional_sample(
            free, size, name=lambda pair: pair[0], group=lambda pair: pair[1], seed=self.context.seed
        )
        chosen = {name for name, _ in drawn}
        row_outcomes: list[tuple[str, list[Outcome]]] = []
        for row in table:
            if row.id in chosen:
                row_outcomes.append((row.id, [Kept(row)]))
            else:
                row_outcomes.append((row.id, [Dropped("drawn_elsewhere" if row.id in taken else "not_drawn")]))
        return GatherResult(row_outcomes)
