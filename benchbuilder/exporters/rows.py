"""The exporter kinds `jsonl`, `parquet` and `tsv`: rows as files."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from benchbuilder.config import KindSpec
from benchbuilder.core import (
    DataError,
    Row,
    Table,
    cells_of,
    escape_cell,
    flat_names,
    flat_record_schema,
    flat_records,
    write_atomically,
)
from benchbuilder.exporters.base import Exporter, FileName, FinishedBuild


class RowsSpec(KindSpec):
    """`step` is the step whose rows are written (``null``: the recipe's `items`), `file` the name of the file.

    `order` is the order of the rows. ``random`` is one fixed order, drawn by the recipe's seed and the ids: rows that
    were made together are not neighbours, and any part of the file is a random sample. ``table`` is the order in which
    the rows were made.
    """

    step: str | None = None
    file: FileName
    order: Literal["random", "table"] = "random"


class RowsExporter(Exporter):
    """An exporter of one table."""

    spec: RowsSpec

    def can_write(self, finished: FinishedBuild) -> bool:
        """Whether the step has rows to write yet."""
        return self.source_step(finished) in finished.tables

    def source_step(self, finished: FinishedBuild) -> str:
        """The step whose rows are written."""
        return self.spec.step or finished.items

    def table(self, finished: FinishedBuild) -> Table[Any]:
        """Its rows."""
        return finished.tables[self.source_step(finished)]

    def positions(self, finished: FinishedBuild) -> list[int]:
        """The positions of the rows in the table, in the order of the file."""
        ids = self.table(finished).ids()
        if self.spec.order == "table":
            return list(range(len(ids)))
        keys = [random_order_key(finished.recipe["seed"], row_id) for row_id in ids]
        return sorted(range(len(ids)), key=keys.__getitem__)


def random_order_key(seed: int, row_id: str) -> bytes:
    """Where a row stands in the random order of a benchmark.

    Samples use other hashes, so the head of a file is none of them.
    """
    return hashlib.blake2b(f"order:{seed}:{row_id}".encode(), digest_size=16).digest()


class Jsonl(RowsExporter):
    """One JSON object a line, UTF-8, keys in a fixed order; paragraphs are a list of objects."""

    kind: ClassVar[str] = "jsonl"
    spec_class: ClassVar[type[KindSpec]] = RowsSpec

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write the rows in the chosen order."""
        lines = [json.dumps(record, ensure_ascii=False) for record in flat_records(self.table(finished))]
        text = "".join(f"{lines[place]}\n" for place in self.positions(finished))
        return [write_atomically(folder / self.spec.file, text, sync=False)]


class Parquet(RowsExporter):
    """One Parquet file with the columns of the JSON lines; an empty table has the exact schema too."""

    kind: ClassVar[str] = "parquet"
    spec_class: ClassVar[type[KindSpec]] = RowsSpec

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write the rows in the chosen order."""
        table = self.table(finished)
        arrow = pa.Table.from_pylist(list(flat_records(table)), schema=flat_record_schema(table.row))
        arrow = arrow.take(pa.array(self.positions(finished), pa.int64())).combine_chunks()
        buffer = io.BytesIO()
        pq.write_table(arrow, buffer, compression="zstd", version="2.6")
        return [write_atomically(folder / self.spec.file, buffer.getvalue(), sync=False)]


_HEADER_COLUMNS = ("id", "source", "origin", "language", "produced-by")
_ROW_COLUMNS = ("family",)


class TsvSpec(RowsSpec):
    """`columns` names the columns in order; empty: id, source, and every cell of the payload."""

    columns: tuple[str, ...] = ()


class Tsv(RowsExporter):
    r"""One line per row under a header; cells as the payload flattens itself, several paragraphs joined by ``\n``.

    Every cell is escaped (see `benchbuilder.core.escape_cell`): it has no line break or tab and does not read as a
    formula. Cells with a quotation mark are quoted, as CSV readers expect by default.
    """

    kind: ClassVar[str] = "tsv"
    spec_class: ClassVar[type[KindSpec]] = TsvSpec

    def __init__(self, spec: TsvSpec) -> None:
        super().__init__(spec)
        self.columns = spec.columns

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write the rows in the chosen order; DataError if a column is not there."""
        table = self.table(finished)
        columns = self._columns(table.row)
        stream = io.StringIO(newline="")
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(columns)
        lines: list[list[str]] = []
        for row, record in zip(table, flat_records(table), strict=True):
            cells = {**record, **cells_of(row)}
            lines.append([escape_cell(str(cells[name])) for name in columns])
        writer.writerows(lines[place] for place in self.positions(finished))
        return [write_atomically(folder / self.spec.file, stream.getvalue(), sync=False)]

    def _columns(self, cls: type[Row]) -> Sequence[str]:
        own = [name for name in _ROW_COLUMNS if name in cls.model_fields]
        known = dict.fromkeys((*_HEADER_COLUMNS, *flat_names(cls), *own))
        if unknown := [name for name in self.columns if name not in known]:
            raise DataError(
                f"rows of {cls.name!r} have no column {unknown[0]!r}",
                where=f"the output {self.spec.file}",
                why=f"there are {', '.join(known)}",
                next="correct `columns` of this output in the recipe",
            )
        return self.columns or ("id", "source", *flat_names(cls))
