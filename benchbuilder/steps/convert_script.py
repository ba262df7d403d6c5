"""Bring facts into one script and one form of Unicode, the original text kept."""

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
    Row,
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
"""Where OpenCC may take a text to end."""
_LINE = "\n"
"""Stands between texts that are converted at one go: no entry of a dictionary of OpenCC, which are lines of a file,
holds it, and it joins with no mark."""


class ConvertScriptSpec(StepSpec):
    """`convert` names an OpenCC configuration (``t2s``: traditional to simplified), `normal_form` a form of Unicode
    (``NFC``: a letter and its marks as one character where there is one); ``null`` changes nothing."""

    convert: Conversion | None
    normal_form: NormalForm | None = None

    def part_names(self) -> tuple[str, ...]:
        """The names of what is done, in order."""
        return tuple(name for name in (self.normal_form, self.convert) if name is not None)

    def convert_text(self, text: str) -> str:
        """`text` in the form and the script."""
        text = text if self.normal_form is None else to_normal_form(text, self.normal_form)
        return text if self.convert is None else convert_script(text, self.convert)


class ConvertScript(Map):
    """Converts every text of a fact.

    A fact that the conversion does not change passes as the very row that it is. A changed one carries its text from
    before in `original`: the cells of its flat form, joined by tabs.
    """

    kind: ClassVar[str] = "convert_script"
    spec_class: ClassVar[type[StepSpec]] = ConvertScriptSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact)}
    output: ClassVar[type[Row] | None] = None

    spec: ConvertScriptSpec

    def fingerprint(self) -> Mapping[str, str]:
        """The version of OpenCC, where it is used."""
        return {} if self.spec.convert is None else {"opencc": script_version()}

    def map_columns(self, table: Table[Any]) -> OutcomeBatch | None:
        """The rows in which a text changes, one by one; the others pass as they are."""
        if not self.spec.part_names():
            return pass_through_batch(table, [], [])
        payload: Any = table.row.model_fields["payload"].annotation
        if not (isinstance(payload, type) and issubclass(payload, Payload) and payload.by_field):
            return None
        places = self._changed_positions(combined_column(table.arrow, "payload"))
        rows = Table(table.arrow.take(pa.array(places)), table.row) if len(places) else ()
        return pass_through_batch(table, places.tolist(), [list(self.map(row, {})) for row in rows])

    def _changed_positions(self, payloads: pa.Array[Any]) -> Any:
        """The places of the payloads that hold a text which changes."""
        found = list(text_leaves(payloads))
        texts: Any = pa.chunked_array([part for _, part in found], pa.string()).unique().drop_null()
        changed = pa.array(_changing_texts(texts.to_pylist(), self.spec.convert_text), pa.string())
        if not len(changed):
            return np.zeros(0, np.int64)
        marks: list[Any] = [pc.is_in(part, value_set=changed) for _, part in found]
        return np.unique(np.concatenate([
            rows[mark.to_numpy(zero_copy_only=False)] for (rows, _), mark in zip(found, marks, strict=True)
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


def _changing_texts(texts: list[str], write: Callable[[str], str]) -> list[str]:
    """Those of `texts` that `convert_text` changes."""
    alone = [text for text in texts if _LINE in text or _END in text]
    plain = [text for text in texts if _LINE not in text and _END not in text]
    joined = _LINE.join(plain)
    written = write(joined)
    changed: list[str] = []
    if written != joined:
        after = written.split(_LINE)
        changed = [text for text, other in zip(plain, after, strict=True) if text != other]
    return changed + [text for text in alone if text != write(text)]
