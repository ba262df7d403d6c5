"""The source kinds `benchmark` (items of an external benchmark) and `built_items` (items of a build)."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from benchbuilder.config import FileRef, Spec
from benchbuilder.core import (
    SET_FORM,
    STATEMENT_FORM,
    Claim,
    DataError,
    Dropped,
    EndOfFile,
    GivenParquet,
    Item,
    Kept,
    Origin,
    Row,
    SourceUnit,
    Support,
    Table,
    parse_json,
    read_given_text,
    row_class,
    schema_of,
    unescape_cell,
)
from benchbuilder.sources.base import Source, SourceSpec
from benchbuilder.sources.formats.files import SourceFile
from benchbuilder.sources.formats.options import parse_cell
from benchbuilder.sources.formats.tables import Column, TableSpec, cell_text, read_lines
from benchbuilder.sources.unit_source import READING_REASONS, RowSource

_ITEM = Item[Claim]
_TYPES: Mapping[str, Literal["tf", "oe"]] = {"tf": "tf", "oe": "oe", "open": "oe"}
"""What files call the types; ``open`` is the word of the published sample of CARE-MI."""
_VERDICTS = ("", "yes", "no")
_HEAD_ROWS = 50


class BenchmarkColumns(Spec):
    """The names of the columns, by default those of the published files of CARE-MI; ``null``: no such column.

    `question` is required. Other columns are read if the file has them. A column that the recipe renames is required.
    """

    type: str | None = "q-type"
    source: str | None = "source"
    question: str = "full-question"
    answer: str | None = "answer"
    answer_wrong: str | None = "answer-wrong"
    evidence: str | None = "evidence"
    expected: str | None = "expected"
    fact: str | None = "fact"
    family: str | None = "family"
    form: str | None = "form"
    tags: str | None = "tags"


class BenchmarkSpec(TableSpec):
    """JSON Lines, JSON, TSV, CSV or Parquet with one item per row."""

    columns: BenchmarkColumns = BenchmarkColumns()
    quoting: Annotated[bool | None, Field()] = True
    type: Literal["tf", "oe"] = "oe"
    """The type of items in a file without a column for it."""
    expected: Literal["yes", "no"] | None = None
    """The right verdict of true/false items in a file without a column for it. ``null``: unknown; such items are asked,
    but get no verdict score."""


class Benchmark(RowSource[BenchmarkSpec]):
    r"""Items with a right and a wrong answer and paragraphs.

    `type` is TF or OE (or open), `expected` yes, no or empty. Paragraphs are a list (of texts, or of objects with
    ``text``), the text of one as JSON or Python writes it, or one text with line breaks between them (in delimited
    files also ``\n``). Items with the same `family`, `fact`, or else the same right answer, form an item family:
    intervals and splits keep them together. Where `form` is ``set``, the answers are sets of names, and `tags` a list;
    other forms and tags are not read.
    """

    kind: ClassVar[str] = "benchmark"
    version: ClassVar[int] = 3
    spec_class: ClassVar[type[SourceSpec]] = BenchmarkSpec
    output: ClassVar[type[Row]] = _ITEM
    reasons: ClassVar[Mapping[str, str]] = {
        **READING_REASONS,
        "unknown_type": "The type is neither TF nor OE (or open).",
        "unknown_verdict": "The expected verdict is neither yes, no nor empty.",
    }

    def key(self, field: str) -> str:
        """The recipe key of a field of this source, which belongs to the evaluation."""
        return f"evaluation.benchmark.{field}"

    def columns(self) -> Sequence[Column]:
        """The columns of every file, the question first."""
        return list(self._present_columns.values())

    @cached_property
    def _present_columns(self) -> dict[str, str]:
        """Columns by field; columns with default names only if the first file has them."""
        named = {field: name for field, name in self.spec.columns.model_dump().items() if name is not None}
        known = self._file_columns(self.select_files()[0][0])
        own = self.spec.columns.model_fields_set | {"question"}
        return {field: name for field, name in named.items() if field in own or known is None or name in known}

    def _file_columns(self, source_file: SourceFile) -> set[str] | None:
        """The columns that a file has."""
        form = self.format_of(source_file)
        try:
            if form == "parquet":
                with GivenParquet(source_file.path) as file:
                    return set(file.schema.names)
            if form in ("csv", "tsv", "delimited"):
                delimiter = self.spec.delimiter or ("," if form == "csv" else "\t")
                lines = (line.text for line in islice(read_lines(source_file.path, self.spec.encoding), 1))
                return {cell.strip() for cell in next(csv.reader(lines, delimiter=delimiter), [])}
            if form == "jsonl":
                return self._record_keys(source_file)
            data: Any = parse_json(read_given_text(source_file.path, self.spec.encoding))
            return {key for row in data[:_HEAD_ROWS] for key in row} if isinstance(data, list) else None
        except (OSError, ValueError, TypeError, csv.Error, pa.ArrowException):
            return None  # reading the file reports the problem

    def _record_keys(self, source_file: SourceFile) -> set[str]:
        keys = set[str]()
        for line in islice(read_lines(source_file.path, self.spec.encoding), _HEAD_ROWS):
            if line.text.strip():
                keys |= set(parse_json(line.text))
        return keys

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The item of one row."""
        cells = dict(zip(self._present_columns, values, strict=True))
        if isinstance(cells.get("expected"), bool):
            cells["expected"] = "yes" if cells["expected"] else "no"
        if broken := [name for name, value in cells.items() if isinstance(value, str) and cell_text(value) is None]:
            return Dropped("malformed", f"{broken[0]} is no valid text")
        texts = {name: self._text(cells.get(name), source_file) for name in cells if name not in ("evidence", "tags")}
        if not texts.get("question"):
            return Dropped("missing_field", self.spec.columns.question)
        kind = _TYPES.get((texts.get("type") or self.spec.type).lower())
        if kind is None:
            return Dropped("unknown_type", str(texts.get("type")))
        verdict = (texts.get("expected") or (self.spec.expected or "" if kind == "tf" else "")).lower()
        if verdict not in _VERDICTS:
            return Dropped("unknown_verdict", verdict)
        answer = texts.get("answer") or ""
        paragraphs = self._paragraphs(cells.get("evidence"), source_file)
        if paragraphs is None:
            return Dropped("malformed", "evidence is neither a text nor a list of texts")
        form = SET_FORM if texts.get("form") == SET_FORM else STATEMENT_FORM
        tags = self._paragraphs(cells.get("tags"), source_file) if form == SET_FORM else []
        if tags is None:
            return Dropped("malformed", "tags are no list of texts")
        payload = Claim.model_validate({
            "type": kind, "expected": verdict, "question": texts["question"], "answer": answer,
            "answer_wrong": texts.get("answer_wrong") or "", "evidence": [self._support(n, text, source_file)
            for n, text in enumerate(paragraphs, 1)],
        })  # fmt: skip
        fact = texts.get("fact") or "answer-" + hashlib.blake2b(answer.encode(), digest_size=8).hexdigest()
        if not answer and not texts.get("fact"):
            fact = "question-" + hashlib.blake2b(str(texts["question"]).encode(), digest_size=8).hexdigest()
        header = self.row_header(source_file, line) | {"partition": texts.get("source") or self.name}
        return _ITEM.build(**header, payload=payload, candidate="", fact=fact,
                           family=texts.get("family") or "", reviewed=False, form=form,
                           tags=tuple(tags))  # fmt: skip

    def _text(self, value: Any, source_file: SourceFile) -> str:
        text = cell_text(value) or ""
        return unescape_cell(text) if self.format_of(source_file) in ("csv", "tsv", "delimited") else text

    def _paragraphs(self, value: Any, source_file: SourceFile) -> list[str] | None:
        """The paragraphs of a cell; ``None`` if it holds something else."""
        value = parse_cell(value)
        if value is None:
            return []
        if isinstance(value, str):
            return [part.strip() for part in self._text(value, source_file).split("\n") if part.strip()]
        if not isinstance(value, list):
            return None
        parts: list[Any] = [part.get("text") if isinstance(part, dict) else part for part in value]  # pyright: ignore[reportUnknownMemberType]
        found = [cell_text(part) if isinstance(part, str) else None for part in parts]
        return None if None in found else [text for text in found if text]

    def _support(self, rank: int, text: str, source_file: SourceFile) -> Support:
        name = hashlib.blake2b(text.encode(), digest_size=10).hexdigest()
        return Support(
            passage=f"passage-{name}", base=self.name, document=source_file.name, text=text, score=0.0, rank=rank
        )

    def check(self) -> None:
        """Check the head of each file; DataError if the question column is missing."""
        for file in self.select_files()[0]:
            known = self._file_columns(file)
            if known is not None and self.spec.columns.question not in known:
                raise DataError(
                    f"{file.name} has no column {self.spec.columns.question!r}",
                    where=self.key("path"),
                    why=f"its columns: {', '.join(sorted(known)[:20])}",
                    next=f"name the column of the question: {self.key('columns')}.question=NAME",
                )
        super().check()


class BuiltItemsSpec(SourceSpec):
    """The Parquet parts of a complete step, in order, and the name of its row class."""

    parts: tuple[FileRef, ...]
    row: str


class BuiltItems(Source):
    """Items with their original ids; `origin` is their position among the items."""

    kind: ClassVar[str] = "built_items"
    version: ClassVar[int] = 2
    spec_class: ClassVar[type[SourceSpec]] = BuiltItemsSpec
    output: ClassVar[type[Row]] = Item[Claim]

    spec: BuiltItemsSpec

    def __init__(self, spec: Any, name: str, language: str) -> None:
        super().__init__(spec, name, language)
        self.output = row_class(spec.row)  # pyright: ignore[reportAttributeAccessIssue] - any payload

    def files(self) -> list[FileRef]:
        """The parts."""
        return list(self.spec.parts)

    def read(self) -> Iterator[SourceUnit | EndOfFile]:
        """Every item."""
        for ref in self.spec.parts:
            line = 0
            for line, row in enumerate(Table(pq.read_table(ref.file, schema=schema_of(self.output)), self.output), 1):
                yield SourceUnit(
                    ref.path, line, Kept(row.model_copy(update={"origin": Origin(file=ref.path, line=line)}))
                )
            yield EndOfFile(ref.path, line)

    def check(self) -> None:
        """Nothing to check: the store wrote the files."""
