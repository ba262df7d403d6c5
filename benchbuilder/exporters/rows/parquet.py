"""The exporter kind `parquet`: rows as Parquet."""

from __future__ import annotations

import io
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from benchbuilder.config import KindSpec
from benchbuilder.core import flat_record_schema, flat_records, write_atomically
from benchbuilder.exporters.base import FinishedBuild, RowsExporter, RowsSpec


class ParquetSpec(RowsSpec):
    """Parquet."""


class Parquet(RowsExporter):
    """One Parquet file with the columns of the JSON lines; an empty table has the exact schema too."""

    kind: ClassVar[str] = "parquet"
    spec_class: ClassVar[type[KindSpec]] = ParquetSpec

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write the rows in table order."""
        table = self.table(finished)
        arrow = pa.Table.from_pylist(list(flat_records(table)), schema=flat_record_schema(table.row))
        buffer = io.BytesIO()
        pq.write_table(arrow, buffer, compression="zstd", version="2.6")
        return [write_atomically(folder / self.spec.file, buffer.getvalue())]
