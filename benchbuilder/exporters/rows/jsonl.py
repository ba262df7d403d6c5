"""Rows as JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

from benchbuilder.config.spec.base import KindSpec
from benchbuilder.core.atomic_write import write_whole
from benchbuilder.core.records.arrow.flatten import records
from benchbuilder.exporters.base import Finished, RowsExporter, RowsSpec


class JsonlSpec(RowsSpec):
    """JSON lines."""


class Jsonl(RowsExporter):
    """One JSON object a line, UTF-8, keys in a fixed order; paragraphs are a list of objects."""

    kind: ClassVar[str] = "jsonl"
    spec_class: ClassVar[type[KindSpec]] = JsonlSpec

    def write(self, finished: Finished, folder: Path) -> list[Path]:
        """Write the rows in table order."""
        lines = [json.dumps(record, ensure_ascii=False) for record in records(self.table(finished))]
        return [write_whole(folder / self.spec.file, "".join(f"{line}\n" for line in lines))]
