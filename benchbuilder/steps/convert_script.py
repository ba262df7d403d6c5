"""Converts facts to one script and one Unicode normal form, and keeps the original text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Conversion,
    Fact,
    Kept,
    NormalForm,
    Outcome,
    OutcomeBatch,
    Payload,
    Table,
    combined_column,
    convert_script,
    pass_through_batch,
    script_version,
    text_leaves,
    to_normal_form,
)
from benchbuilder.steps.base import Map, Port

_END = "\0"
"""Possibly the end of a text for OpenCC."""
_LINE = "\n"
"""Separates texts that are converted at once: no entry of a dictionary of OpenCC (a line of a file) contains it, and it
combines with no mark."""


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
        """The rows with changed texts, one by one; all others stay as they are."""
        if not self.spec.part_names():
            return pass_through_batch(table, [], [])
        payload: Any = table.row.model_fields["payload"].annotation
        if not (isinstance(payload, type) and issubclass(payload, Payload) and payload.by_field):
            return None
        places = self._changed_positions(combined_column(table.arrow, "payload"))
        rows = Table(table.arrow.take(pa.array(places)), table.row) if len(places) else ()
        return pass_through_batch(table, places.tolist(), [list(self.map(row, {})) for row in rows])

    def _changed_positions(self, payloads: pa.Array[Any]) -> Any:
        """The positions of payloads with a text that changes."""
        leaves = list(text_leaves(payloads))
        texts: Any = pa.chunked_array([part for _, part in leaves], pa.string()).unique().drop_null()
        changed = pa.array(_changing_texts(texts.to_pylist(), self.spec.convert_text), pa.string())
        if not len(changed):
            return np.zeros(0, np.int64)
        masks: list[Any] = [pc.is_in(part, value_set=changed) for _, part in leaves]
        return np.unique(np.concatenate([
            rows[mask.to_numpy(zero_copy_only=False)] for (rows, _), mask in zip(leaves, masks, strict=True)
        ]))  # fmt: skip

    def map(self, row: Fact[Any], parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The converted fact."""
        if not self.spec.part_names():
            return [Kept(row)]
        payload: Payload = row.payload.map_texts(self.spec.convert_text)
        if payload == row.payload:
            return [Kept(row)]
        original = row.original or "\t".join(row.payload.flat_cells().values())
        produced_by = self.produced_by("+".join(self.spec.part_names()))
        return [Kept(type(row).child(row, produced_by=produced_by, payload=payload, original=original))]


def _changing_texts(texts: list[str], convert: Callable[[str], str]) -> list[str]:
    """Those of `texts` that `convert` changes."""
    plain = [text for text in texts if _LINE not in text and _END not in text]
    joined = _LINE.join(plain)
    converted = convert(joined)
    changed: list[str] = []
    if converted != joined:
        changed = [text for text, new in zip(plain, converted.split(_LINE), strict=True) if text != new]
    return changed + [text for text in texts if (_LINE in text or _END in text) and text != convert(text)]
