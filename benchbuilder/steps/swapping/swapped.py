"""The statements that two facts exchange their answers in, made some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchbuilder.core import (
    STATEMENT_FORM,
    Dropped,
    GatherPiece,
    NotApplicable,
    OutcomeBatch,
    ProducedBy,
    Statement,
    Table,
    child_rows,
    combined_column,
    constant_column,
    content_id,
    schema_of,
    take_rows,
)
from benchbuilder.steps.language.lineages import joined_ancestors

_WINDOW = 16_384


class SwappedStatements:
    """What became of all statements: `outcomes` of those that have no partner, and `partners` by position (-1: none).

    `checks` gives what the false statement of the fact at a position passed.
    """

    def __init__(
        self, table: Table[Statement], outcomes: Sequence[Dropped | NotApplicable | None], partners: NDArray[np.int64],
        produced_by: ProducedBy, checks: Callable[[int], Sequence[str]],
    ) -> None:  # fmt: skip
        self._table, self._outcomes, self._partners = table, outcomes, partners
        self._produced_by, self._checks = produced_by, checks

    def pieces(self) -> Iterator[GatherPiece]:
        """The statements with their false ones, in the order of the input."""
        for first, window in self._table.windows(_WINDOW):
            places = np.arange(first, first + len(window))
            partners = self._partners[places]
            made = self._rows(window.arrow.filter(pa.array(partners >= 0)), places[partners >= 0])
            yield GatherPiece(places, window, self._branches(first, partners >= 0, made))

    def _rows(self, true: pa.Table, places: NDArray[np.int64]) -> Table[Any]:
        """The false statement of each of some facts, with the answer of its partner."""
        partner = take_rows(self._table.arrow, self._partners[places])
        columns = [side.select(["text", "answer", "fact"]).to_pylist() for side in (true, partner)]
        fields: dict[str, list[Any]] = {"text": [], "answer": [], "family": []}
        for own, other in zip(*columns, strict=True):
            span, lent = own["answer"], other["text"][other["answer"]["start"] : other["answer"]["end"]]
            fields["text"].append(own["text"][: span["start"]] + lent + own["text"][span["end"] :])
            fields["answer"].append({"start": span["start"], "end": span["start"] + len(lent)})
            fields["family"].append(content_id("family", sorted((own["fact"], other["fact"])), ""))
        count, schema = len(places), schema_of(Statement)
        made: dict[str, Any] = {name: pa.array(values, schema.field(name).type) for name, values in fields.items()}
        made |= {name: combined_column(true, name) for name in ("context", "fact")}
        constants = {"polarity": "false", "joined": "replacement", "form": STATEMENT_FORM, "wrong_from": ""}
        made |= {name: constant_column(value, count) for name, value in constants.items()}
        made |= {
            "seam": pa.array([None] * count, schema.field("seam").type),
            "negated": pa.array(np.zeros(count, bool)),
            "checks": pa.array([list(self._checks(place)) for place in places.tolist()], schema.field("checks").type),
            "tags": pa.array([[]] * count, schema.field("tags").type),
        }
        slots, lineage = constant_column("", count), joined_ancestors(true, partner)
        return child_rows(Statement, true, self._produced_by, slots, made, lineage)

    def _branches(self, first: int, kept: NDArray[np.bool_], rows: Table[Any]) -> OutcomeBatch:
        outcomes = [_KEPT if is_kept else _told(self._outcomes[place]) for place, is_kept in enumerate(kept, first)]
        names, reasons, details = (pa.array(list(texts), pa.string()) for texts in zip(*outcomes, strict=True))
        empty = constant_column("", len(kept))
        return OutcomeBatch(pa.array(np.arange(len(kept))), empty, names, reasons, details, rows)


_KEPT = ("kept", "", "")


def _told(outcome: Dropped | NotApplicable | None) -> tuple[str, str, str]:
    if isinstance(outcome, Dropped):
        return "dropped", outcome.reason, outcome.detail
    if outcome is None:
        raise TypeError("a statement has neither a partner nor a reason")
    return "not_applicable", outcome.reason, ""
