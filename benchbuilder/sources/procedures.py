"""The source kind `procedures`: steps in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from benchbuilder.config import Spec
from benchbuilder.core import Dropped, Fact, Procedure, Row, equality_key
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.formats.files import SourceFile
from benchbuilder.sources.formats.tables import Column, TableSpec, cell_text
from benchbuilder.sources.question_answer import Columns
from benchbuilder.sources.unit_source import READING_REASONS, RowSource


class ProcedureColumns(Spec):
    """The columns. `steps` is a column, whose cell is a list, or several columns; both in order."""

    steps: Columns
    title: Column | None = None


class ProceduresSpec(TableSpec):
    """JSON, JSONL, CSV, TSV, Parquet or XLSX with one procedure per row."""

    columns: ProcedureColumns


class Procedures(RowSource[ProceduresSpec]):
    """Procedures with two steps or more."""

    kind: ClassVar[str] = "procedures"
    spec_class: ClassVar[type[SourceSpec]] = ProceduresSpec
    output: ClassVar[type[Row]] = Fact[Procedure]
    reasons: ClassVar[Mapping[str, str]] = {
        **READING_REASONS,
        "too_few_steps": "The procedure has fewer than two steps.",
        "repeated_step": "Two steps are alike, so nobody can tell which comes first.",
    }

    def columns(self) -> Sequence[Column]:
        """The columns that the recipe names."""
        steps, title = self.spec.columns.steps, self.spec.columns.title
        several = steps if isinstance(steps, tuple) else (steps,)
        return [*several, *(() if title is None else (title,))]

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The fact of one row, or its first problem."""
        title = ""
        if self.spec.columns.title is not None:
            *values, last = values
            title = cell_text(last) or ""
        steps: list[str] = []
        for value in values:
            for cell in value if isinstance(value, list) else [value]:
                text = cell_text(cell)
                if text is None and cell is not None:
                    return Dropped("malformed", "steps is no text")
                if text:
                    steps.append(text)
        if not steps:
            return Dropped("missing_field", "steps")
        if len(steps) == 1:
            return Dropped("too_few_steps", steps[0])
        if len({equality_key(step) for step in steps}) < len(steps):
            return Dropped("repeated_step", title or steps[0])
        payload = Procedure(title=title, steps=tuple(steps))
        return self.output.build(payload=payload, **self.row_header(source_file, line))
