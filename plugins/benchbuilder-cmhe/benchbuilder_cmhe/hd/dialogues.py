"""The source kind `dialogues`: questions with their answers, one pair a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from benchbuilder.config import FileRef, Spec
from benchbuilder.core import Dropped, EndOfFile, Fact, Row, SourceUnit
from benchbuilder.sources import READING_REASONS, Column, RowSource, SourceFile, SourceSpec, TableSpec, cell_text

from benchbuilder_cmhe.hd.dialogue import Dialogue

_FACT = Fact[Dialogue]


class DialogueColumns(Spec):
    """Which column is what: for instance ``ask`` and ``answer``, or ``input`` and ``output`` of a JSON list."""

    question: Column
    answer: Column
    title: Column | None = None
    department: Column | None = None


class DialoguesSpec(TableSpec):
    """CSV, TSV, JSON, JSONL or Parquet; without a `path` there are no dialogues."""

    path: FileRef | None = None  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]
    columns: DialogueColumns


class Dialogues(RowSource[DialoguesSpec]):
    """Dialogues of one round from a table."""

    kind: ClassVar[str] = "dialogues"
    spec_class: ClassVar[type[SourceSpec]] = DialoguesSpec
    output: ClassVar[type[Row]] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        **READING_REASONS,
        "no_question": "An answer without a question.",
        "no_answer": "A question without an answer.",
    }
    shape_reasons: ClassVar[frozenset[str]] = RowSource.shape_reasons | {"no_question", "no_answer"}

    def files(self) -> list[FileRef]:
        """The files, if there are any."""
        return [] if self.spec.path is None else super().files()

    def check(self) -> None:
        """Look at the head of each file."""
        if self.spec.path is not None:
            super().check()

    def read(self) -> Iterator[SourceUnit | EndOfFile]:
        """The dialogues of all files."""
        if self.spec.path is not None:
            yield from super().read()

    def columns(self) -> Sequence[Column]:
        """Question and answer, and what else the recipe names."""
        return [column for column in self._columns_by_name().values() if column is not None]

    def _columns_by_name(self) -> dict[str, Column | None]:
        c = self.spec.columns
        return {"question": c.question, "answer": c.answer, "title": c.title, "department": c.department}

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The dialogue of one row."""
        names = [name for name, column in self._columns_by_name().items() if column is not None]
        cells: dict[str, str] = {}
        for name, value in zip(names, values, strict=True):
            text = cell_text(value)
            if text is None and value is not None:
                return Dropped("malformed", f"{name} is no text")
            cells[name] = text or ""
        if not cells["question"]:
            return Dropped("no_question" if cells["answer"] else "missing_field", "question")
        if not cells["answer"]:
            return Dropped("no_answer", "answer")
        said = Dialogue(
            question=cells["question"], answer=cells["answer"], title=cells.get("title", ""),
            department=cells.get("department", ""),
        )  # fmt: skip
        return _FACT.build(payload=said, **self.row_header(source_file, line))
