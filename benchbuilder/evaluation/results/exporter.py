"""Results of an evaluation: a page, Markdown, data, and every table as CSV and LaTeX."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from benchbuilder.config import KindSpec
from benchbuilder.core import atomic_path
from benchbuilder.evaluation.results.page_spec import ResultsSpec
from benchbuilder.exporters import (
    Exporter,
    FinishedBuild,
)


class ResultsExporter(Exporter):
    """The scores of models: a self-contained page with sortable tables, and the same data as files.

    Figures are computed from the answers and scores, whatever the names of their steps.
    """

    kind: ClassVar[str] = "results"
    version: ClassVar[int] = 4
    spec_class: ClassVar[type[KindSpec]] = ResultsSpec

    spec: ResultsSpec

    def can_write(self, finished: FinishedBuild) -> bool:
        """Whether there are items with answers."""
        return super().can_write(finished) and any(name.startswith("answer.") for name in finished.tables)

    def output_names(self) -> tuple[str, ...]:
        """The names of the page, Markdown, data and scores, and of the folder of tables."""
        names = (f"{self.spec.file}{end}" for end in (".md", ".json", "_scores.csv", "_pressure.csv", "_tables"))
        return (*self.spec.page_names(f"{self.spec.file}.html"), *names)

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write the page, Markdown, data, scores and tables."""
        from benchbuilder.evaluation.results.files import results_files  # a build without results does without

        written: list[Path] = []
        for name, pieces in results_files(self.spec, finished):
            with (
                atomic_path(folder / name, sync=False) as temporary,
                temporary.open("w", encoding="utf-8", newline="") as stream,
            ):
                stream.writelines(pieces)
            written.append(folder / name)
        return written
