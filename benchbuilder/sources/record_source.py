"""The base class of sources of records whose row class depends on the recipe, and the source kind `sql`."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import AfterValidator, Field, ModelWrapValidatorHandler, ValidationInfo, WrapValidator, model_validator

from benchbuilder.config import FileRef, RuntimeOption, Spec
from benchbuilder.core import DataError, Dropped, Row, name_file_in_errors, parse_json, public_path
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.corpus import Corpus, CorpusColumns, CorpusMapping
from benchbuilder.sources.formats.files import SourceFile
from benchbuilder.sources.formats.sql_rows import SourceDatabase, check_select
from benchbuilder.sources.formats.tables import Column, RawRow, TableFormat, find_surrogate
from benchbuilder.sources.multiple_choice import ChoiceColumns, ChoiceMapping, MultipleChoice, SeveralChoices
from benchbuilder.sources.triples import TripleColumns, TripleMapping, Triples
from benchbuilder.sources.unit_source import HEAD_ROWS, RowSource, UnitSource

RecordKind = Literal["triple", "choice", "several_choice", "passage"]


class _PassageRecords(Corpus):
    """Passages of records, never of plain text."""

    def format_of(self, source_file: SourceFile) -> TableFormat | None:  # noqa: ARG002
        """No known format."""
        return None


_MAPPINGS: Mapping[str, type[Spec]] = {
    "triple": TripleMapping, "choice": ChoiceMapping, "several_choice": ChoiceMapping, "passage": CorpusMapping,
}  # fmt: skip
_COLUMNS: Mapping[str, type[Spec]] = {
    "triple": TripleColumns, "choice": ChoiceColumns, "several_choice": ChoiceColumns, "passage": CorpusColumns,
}  # fmt: skip
_MAKERS: Mapping[str, type[RowSource[Any]]] = {
    "triple": Triples, "choice": MultipleChoice, "several_choice": SeveralChoices, "passage": _PassageRecords,
}  # fmt: skip


def _columns(value: Any, handler: ModelWrapValidatorHandler[Any], info: ValidationInfo) -> Any:  # noqa: ARG001
    """Validate the columns of the payload that `as` names only."""
    name = str(info.data.get("as_"))
    if (columns := _COLUMNS.get(name)) is None:
        return value
    if isinstance(value, Mapping) and (strange := [str(key) for key in value if key not in columns.model_fields]):  # pyright: ignore[reportUnknownVariableType]
        raise ValueError(f"there is no column {', '.join(strange)}: a {name} has {', '.join(columns.model_fields)}")
    return columns.model_validate(value)


class RecordKindSpec(SourceSpec):
    """The kind of rows to make. (It precedes `columns`, which depend on it.)"""

    as_: Annotated[RecordKind, Field(alias="as")]
    """What a record is: a ``triple``, a multiple-choice question with one right option (``choice``) or with one or more
    (``several_choice``), or a ``passage`` of a knowledge base."""


class RecordSpec(ChoiceMapping, TripleMapping, CorpusMapping, RecordKindSpec):
    """Records that become rows of the kind `as`, with the same keys as the kinds `triples`, `multiple_choice` (or
    `several_choice`) and `corpus`.
    """

    columns: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]
        TripleColumns | ChoiceColumns | CorpusColumns, WrapValidator(_columns)
    ]

    shared: ClassVar[frozenset[str]] = frozenset()
    """Keys of one payload that a source kind has for all payloads."""

    @model_validator(mode="after")
    def _own_keys(self) -> RecordSpec:
        own = set(_MAPPINGS[self.as_].model_fields)
        every = {name for mapping in _MAPPINGS.values() for name in mapping.model_fields}
        if strange := sorted((self.model_fields_set & every) - own - self.shared):
            owner = next(name for name, mapping in _MAPPINGS.items() if strange[0] in mapping.model_fields)
            raise ValueError(f"{', '.join(strange)}: only with `as: {owner}`")
        return self


R = TypeVar("R", bound=RecordSpec)


class RecordSource(UnitSource[R]):
    """Reads records and turns them into rows with the source kind that `as` names."""

    output: ClassVar[type[Row]] = Triples.output
    reasons: ClassVar[Mapping[str, str]] = {**Corpus.reasons, **Triples.reasons, **MultipleChoice.reasons}
    shape_reasons: ClassVar[frozenset[str]] = UnitSource.shape_reasons | MultipleChoice.shape_reasons
    shape_hint: ClassVar[str] = "check columns in the recipe"

    def __init__(self, spec: Any, name: str, language: str) -> None:
        super().__init__(spec, name, language)
        self._maker = _MAKERS[spec.as_](spec, name, language)
        self._maker.row_header = self.row_header  # so that the rows name this kind
        self.output = self.row_class(spec)  # pyright: ignore[reportAttributeAccessIssue] - depends on the recipe
        self.reasons = self._maker.reasons  # pyright: ignore[reportAttributeAccessIssue]

    @classmethod
    def row_class(cls, spec: Any) -> type[Row]:
        """The rows that `as` names."""
        return _MAKERS[spec.as_].output

    def columns(self) -> Sequence[Column]:
        """The columns that the recipe names."""
        return self._maker.columns()

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The row of one record."""
        return self._maker.make(values, source_file, line)

    def duplicate_key(self, row: Row) -> Hashable:
        """What makes two rows exact duplicates."""
        return self._maker.duplicate_key(row)


class SqlSpec(RecordSpec):
    """A query, and the kind of rows to make from its result.

    `query` is one SELECT with an ORDER BY. The database is the SQLite file at `path`, or the URL in the environment
    variable `database_env`. Like every address, that name comes from the user, not from a recipe.
    """

    query: Annotated[str, AfterValidator(check_select)]
    path: FileRef | None = None
    database_env: Annotated[str | None, RuntimeOption(), Field(pattern=r"^[A-Za-z_]\w*$")] = None

    @model_validator(mode="after")
    def _one_place(self) -> SqlSpec:
        if self.path is not None and self.database_env is not None:
            raise ValueError("name the database once: by the path of its file, or by database_env")
        return self

    @property
    def looks_elsewhere(self) -> bool:
        """A database may change without its file: the query decides."""
        return True


class Sql(RecordSource[SqlSpec]):
    """Rows of a query, numbered from 1 in its order.

    The query runs when a build is planned, and its result is kept in a temporary file. The key of the source is
    computed from this result. So a changed result is read again, and another database with the same result is not. The
    connection is read-only.
    """

    kind: ClassVar[str] = "sql"
    spec_class: ClassVar[type[SourceSpec]] = SqlSpec
    shape_hint: ClassVar[str] = "check columns and query in the recipe"

    def __init__(self, spec: Any, name: str, language: str) -> None:
        super().__init__(spec, name, language)
        self._result: Path | None = None

    def check(self) -> None:
        """Run the query and check its first rows; DataError if none can be used."""
        file = SourceFile(self._location(), Path())
        self._check_head([_raw_row(n, values) for n, values in enumerate(islice(self._rows(), HEAD_ROWS), 1)], file)

    def select_files(self) -> tuple[list[SourceFile], list[SourceFile]]:
        """The result of the query."""
        if self._result is None:
            folder = Path(tempfile.mkdtemp(prefix="benchbuilder-"))
            weakref.finalize(self, shutil.rmtree, folder, True)
            result = folder / "result.jsonl"
            with name_file_in_errors(result), result.open("w", encoding="ascii", newline="\n") as stream:
                for values in self._rows():
                    stream.write(json.dumps(values) + "\n")
            self._result = result
        return [SourceFile(self._location(), self._result)], []

    def units(self, source_file: SourceFile) -> Iterator[RawRow]:
        """The rows of the result."""
        with source_file.path.open(encoding="ascii") as stream:
            for number, line in enumerate(stream, 1):
                yield _raw_row(number, parse_json(line))

    def _location(self) -> str:
        return public_path(self.spec.path.path) if self.spec.path is not None else f"sql:{self.name}"

    def _rows(self) -> Iterator[list[Any]]:
        spec = self.spec
        if spec.path is None and spec.database_env is None:
            raise DataError(
                f"sources.{self.name}: no database is named",
                where=self.key("path"),
                next=f"set {self.key('path')} to a file of SQLite, or {self.key('database_env')} to the name of the "
                "environment variable with its URL",
            )
        file = spec.path.file if spec.path is not None else None
        if file is not None and not file.is_file():
            raise DataError(
                f"{self.key('path')}: {public_path(str(file))} is missing", where=str(file),
                why="there is no such file", next=f"set {self.key('path')} to the file of the database",
            )  # fmt: skip
        return SourceDatabase(self.key("query"), self._location(), file, spec.database_env).rows(
            spec.query, self.columns()
        )


def _raw_row(number: int, values: list[Any]) -> RawRow:
    for value in values:
        if isinstance(value, str) and not value.isascii() and find_surrogate(value):
            return RawRow(number, (), "undecodable", f"{value[:40].encode('utf-8', 'replace').decode()!r} is no UTF-8")
    return RawRow(number, values)
