"""Converts facts to one script and one Unicode normal form, and keeps the original text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Conversion,
    Fact,
    Kept,
    Outcome,
    OutcomeBatch,
    Payload,
    ProducedBy,
    Table,
    cell_texts,
    child_rows,
    combined_column,
    constant_column,
    convert_script,
    convert_texts,
    is_by_field,
    script_version,
)
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.normal_form import NormalForm, rewrite_texts, to_normal_form

_compute: Any = pc
_CELL_MARK = "\t"


def kept_batch(table: Table[Any], positions: NDArray[np.int64], rows: Table[Any]) -> OutcomeBatch:
    """The branches of a table whose rows all are kept, under the one slot "".

    They pass unchanged, except those at `positions` (rising): `rows` take their places.
    """
    count = len(table)
    kept = rows if len(positions) == count else table
    if 0 < len(positions) < count:
        places = np.arange(count)
        places[positions] = count + np.arange(len(positions))
        order: Any = pa.array(places)
        kept = Table(pa.concat_tables([table.arrow, rows.arrow]).take(order), table.row)
    empty = constant_column("", count)
    return OutcomeBatch(pa.array(np.arange(count)), empty, constant_column("kept", count), empty, empty, kept)


class ConvertScriptSpec(StepSpec):
    """`convert` names an OpenCC configuration (``t2s``: traditional to simplified), `normal_form` a Unicode normal form
    (``NFC``: a letter and its marks as one character if there is one); ``null`` changes nothing."""

    convert: Conversion | None
    normal_form: NormalForm | None = None

    def part_names(self) -> tuple[str, ...]:
        """The names of the conversions, in order."""
        return tuple(name for name in (self.normal_form, self.convert) if name is not None)

    def convert_text(self, text: str) -> str:
        """`text` in the normal form and the script."""
        text = text if self.normal_form is None else to_normal_form(text, self.normal_form)
        return text if self.convert is None else convert_script(text, self.convert)


class ConvertScript(Map):
    """Converts every text of a fact.

    An unchanged fact stays the same row. A changed one has its former text in `original`: the cells of its flat form,
    joined by tabs.
    """

    kind: ClassVar[str] = "convert_script"
    spec_class: ClassVar[type[StepSpec]] = ConvertScriptSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact)}

    spec: ConvertScriptSpec

    def fingerprint(self) -> Mapping[str, str]:
        """The version of OpenCC, if it is used."""
        return {} if self.spec.convert is None else {"opencc": script_version()}

    def map_columns(self, table: Table[Any]) -> OutcomeBatch | None:
        """The rows with changed texts as new ones; all others stay as they are."""
        if not self.spec.part_names():
            return kept_batch(table, np.zeros(0, np.int64), table)
        payload: Any = table.row.model_fields["payload"].annotation
        if not is_by_field(payload):
            return None
        facts = table.arrow
        converted, places = convert_texts(payload, combined_column(facts, "payload"), self._convert)
        if not len(places):
            return kept_batch(table, places, table)
        changed: Any = pa.array(places)
        facts = facts.take(changed)
        original: Any = combined_column(facts, "original")
        cells = cell_texts(payload, combined_column(facts, "payload"), _CELL_MARK)
        fields = {
            "payload": converted.take(changed),
            "original": _compute.if_else(_compute.equal(original, ""), cells, original),
        }
        slots = constant_column("", len(places))
        return kept_batch(table, places, child_rows(table.row, facts, self._rule(), slots, fields))

    def _convert(self, texts: Sequence[str]) -> list[str]:
        return rewrite_texts(texts, self.spec.convert_text)

    def _rule(self) -> ProducedBy:
        return self.produced_by("+".join(self.spec.part_names()))

    def map(self, row: Fact[Any], parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The converted fact."""
        if not self.spec.part_names():
            return [Kept(row)]
        payload: Payload = row.payload.map_texts(self.spec.convert_text)
        if payload == row.payload:
            return [Kept(row)]
        original = row.original or _CELL_MARK.join(row.payload.flat_cells().values())
        return [Kept(type(row).child(row, produced_by=self._rule(), payload=payload, original=original))]
