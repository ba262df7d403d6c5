"""The source kind `question_answer`: questions with the answers that are known to be right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import Spec
from benchbuilder.core import Dropped, Fact, Passage, QuestionAnswer, Row, name_gold
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.formats.cleaning import list_separator
from benchbuilder.sources.formats.files import SourceFile, wrong_shape
from benchbuilder.sources.formats.tables import Column, RawRow, TableSpec, cell_text
from benchbuilder.sources.unit_source import READING_REASONS, RowSource

Columns = Column | Annotated[tuple[Column, ...], Field(min_length=1)]
_SINGLE = ("question", "context", "answer_type")
_SEVERAL = ("answers", "wrong", "gold")


class KnownAnswerColumns(Spec):
    """The columns. `answers`, `wrong` and `gold` are a column, whose cell may be a list, or several columns."""

    question: Column
    answers: Columns
    """The right answers; the first one is shown, all count as known."""
    context: Column | None = None
    wrong: Columns | None = None
    """Wrong answers that the source lists."""
    gold: Columns | None = None
    """Keys of the passages that hold the answer (a passage's `document`), or their texts."""
    answer_type: Column | None = None


class QuestionAnswerSpec(TableSpec):
    """JSON, JSONL, CSV, TSV or Parquet with one question per row."""

    columns: KnownAnswerColumns
    gold_in: str = ""
    """The source whose passages `columns.gold` names; empty: any source of passages."""


class QuestionAnswers(RowSource[QuestionAnswerSpec]):
    """Questions with one or more right answers, without options."""

    kind: ClassVar[str] = "question_answer"
    spec_class: ClassVar[type[SourceSpec]] = QuestionAnswerSpec
    output: ClassVar[type[Row]] = Fact[QuestionAnswer]
    reasons: ClassVar[Mapping[str, str]] = READING_REASONS

    @classmethod
    def named_sources(cls, spec: Any) -> Mapping[str, tuple[str, type[Row]]]:
        """The source of the passages that show the answers."""
        return {"gold_in": (spec.gold_in, Passage)} if spec.gold_in else {}

    def columns(self) -> Sequence[Column]:
        """The columns that the recipe names."""
        return [column for _, column in self._named()]

    def _check_head(self, head: Sequence[RawRow], source_file: SourceFile) -> None:
        """DataError too if most cells of answers look like lists, and the recipe does not say what they are."""
        super()._check_head(head, source_file)
        rows = [raw.values for raw in head if not raw.reason]
        for place, (name, column) in enumerate(self._named()):
            if name == "gold" or name in _SINGLE or name in self.spec.separators:
                continue
            if separator := list_separator([values[place] for values in rows]):
                key = self.key(f"separators.{name}")
                raise wrong_shape(
                    self.key(f"columns.{name}"), source_file.name, expected="one answer in a cell",
                    found=f"lists with {separator!r} in the column {column}: {str(rows[0][place])[:80]!r}",
                    next=f"set {key}: '{separator}', or {key}: '' if this sign belongs to the answers",
                )  # fmt: skip

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The fact of one row, or its first problem."""
        found: dict[str, list[str]] = {name: [] for name in (*_SINGLE, *_SEVERAL)}
        for (name, _), value in zip(self._named(), values, strict=True):
            for cell in value if isinstance(value, list) and name in _SEVERAL else [value]:
                text = cell_text(cell)
                if text is None and cell is not None:
                    return Dropped("malformed", f"{name} is no text")
                if text:
                    found[name].append(text)
        for name in ("question", "answers"):
            if not found[name]:
                return Dropped("missing_field", name)
        single = {name: next(iter(found[name]), "") for name in _SINGLE}
        found["gold"] = [name_gold(name, self.spec.gold_in) for name in found["gold"]]
        several = {name: tuple(dict.fromkeys(found[name])) for name in _SEVERAL}
        wrong_from = "listed" if found["wrong"] else ""
        payload = QuestionAnswer.model_validate({**single, **several, "wrong_from": wrong_from})
        return self.output.build(payload=payload, **self.row_header(source_file, line))

    def _named(self) -> Iterator[tuple[str, Column]]:
        """Each column with the field that it fills, in the order of the fields."""
        for name in (*_SINGLE, *_SEVERAL):
            columns = getattr(self.spec.columns, name)
            for column in columns if isinstance(columns, tuple) else (columns,):
                if column is not None:
                    yield name, column
