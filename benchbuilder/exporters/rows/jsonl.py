"""The exporter kind `jsonl`: rows as JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

from benchbuilder.config import KindSpec
from benchbuilder.core import flat_records, write_atomically
from benchbuilder.exporters.base import FinishedBuild, RowsExporter, RowsSpec


class JsonlSpec(RowsSpec):
    """JSON lines."""


class Jsonl(RowsExporter):
    """One JSON object a line, UTF-8, keys in a fixed order; paragraphs are a list of objects."""

    kind: ClassVar[str] = "jsonl"
    spec_class: ClassVar[type[KindSpec]] = JsonlSpec

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write the rows in table order."""
        lines = [json.dumps(record, ensure_ascii=False) for record in flat_records(self.table(finished))]
        return [write_atomically(folder / self.spec.file, "".join(f"{line}\n" for line in lines))]
