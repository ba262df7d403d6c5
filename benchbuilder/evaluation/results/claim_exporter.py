"""The exporter `claims`: every part of every answer as JSON Lines, and a page of the answers that are worst."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from benchbuilder.config import KindSpec
from benchbuilder.core import AnswerClaim, Row, atomic_path
from benchbuilder.evaluation.steps.claims import CLAIMS
from benchbuilder.exporters import Exporter, FileName, FinishedBuild, PageSpec, write_pages

COLUMNS = tuple(name for name in AnswerClaim.model_fields if name == "of" or name not in Row.model_fields)
"""What a line says of a part."""


class ClaimsPageSpec(PageSpec):
    """`file` is the first part of the file names. `most` is how many answers the page shows, the worst first."""

    file: FileName = "claims"
    most: Annotated[int, Field(ge=0, le=5_000)] = 200


class ClaimsExporter(Exporter):
    """The parts of answers with their verdicts: ``claims.jsonl`` has all, ``claims.html`` the worst answers in full."""

    kind: ClassVar[str] = "claims"
    spec_class: ClassVar[type[KindSpec]] = ClaimsPageSpec

    spec: ClaimsPageSpec

    def can_write(self, finished: FinishedBuild) -> bool:
        """Whether claims of answers were read."""
        return super().can_write(finished) and any(name.startswith(f"{CLAIMS}.") for name in finished.tables)

    def output_names(self) -> tuple[str, ...]:
        """The names of the page and of the data."""
        return (*self.spec.page_names(f"{self.spec.file}.html"), f"{self.spec.file}.jsonl")

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write the data, then the page in each language."""
        from benchbuilder.evaluation.results.claim_page import ClaimPage  # a build without claims does without

        path = folder / f"{self.spec.file}.jsonl"
        with atomic_path(path, sync=False) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
            stream.writelines(_lines(finished))
        page = ClaimPage.read(finished, self.spec.most)
        texts = self.spec.reader_texts()
        return [path, *write_pages(folder, f"{self.spec.file}.html", texts, partial(page.html, path.name), sync=False)]


def _lines(finished: FinishedBuild) -> Iterator[str]:
    """A line for each part, system by system."""
    for name, table in finished.tables.items():
        for batch in table.batches(COLUMNS) if name.startswith(f"{CLAIMS}.") else ():
            for row in batch.select(list(COLUMNS)).to_pylist():
                yield json.dumps(row, ensure_ascii=False) + "\n"
