"""The exporter kinds `jsonl`, `parquet` and `tsv`: rows as files."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchbuilder.config import KindSpec
from benchbuilder.core import (
    DataError,
    Row,
    Table,
    atomic_path,
    cells_of,
    escape_cell,
    flat_names,
    flat_record_schema,
    flat_records,
)
from benchbuilder.exporters.base import Exporter, FileName, FinishedBuild
from benchbuilder.exporters.shuffled_rows import window_rows, windows_in_order


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

    def windows(self, finished: FinishedBuild, folder: Path) -> Iterator[Table[Any]]:
        """The rows in the order of the file, some at a time; an empty table is one window.

        Many rows in random order go through files in `folder`, which are removed.
        """
        table = self.table(finished)
        if self.spec.order == "table":
            yield from (window for _, window in table.windows(window_rows(table)))
        else:
            yield from windows_in_order(table, self._positions(table, finished.recipe["seed"]), folder)
        if not len(table):
            yield table

    def _positions(self, table: Table[Any], seed: int) -> NDArray[np.int64]:
        """The positions of the rows in the table, in the order of the file."""
        ids = table.ids()
        keys = [random_order_key(seed, row_id) for row_id in ids]
        return np.array(sorted(range(len(ids)), key=keys.__getitem__), np.int64)


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
        path = folder / self.spec.file
        with atomic_path(path, sync=False) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as stream:
            for window in self.windows(finished, folder):
                for record in flat_records(window):
                    stream.write(json.dumps(record, ensure_ascii=False) + "\n")
        return [path]


class Parquet(RowsExporter):
    """One Parquet file with the columns of the JSON lines; an empty table has the exact schema too."""

    kind: ClassVar[str] = "parquet"
    spec_class: ClassVar[type[KindSpec]] = RowsSpec

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write the rows in the chosen order."""
        path, schema = folder / self.spec.file, flat_record_schema(self.table(finished).row)
        with (
            atomic_path(path, sync=False) as temporary,
            pq.ParquetWriter(temporary, schema, compression="zstd", version="2.6") as writer,
        ):
            for window in self.windows(finished, folder):
                writer.write_table(pa.Table.from_pylist(list(flat_records(window)), schema=schema))
        return [path]


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
        columns = self._columns(self.table(finished).row)
        path = folder / self.spec.file
        with atomic_path(path, sync=False) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
            writer.writerow(columns)
            for window in self.windows(finished, folder):
                for row, record in zip(window, flat_records(window), strict=True):
                    cells = {**record, **cells_of(row)}
                    writer.writerow([escape_cell(str(cells[name])) for name in columns])
        return [path]

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
