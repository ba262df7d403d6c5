"""The source kind `sql`: rows of one query on a database."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, model_validator

from benchbuilder.config import FileRef, RuntimeOption
from benchbuilder.core import DataError, public_path
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.formats.files import SourceFile
from benchbuilder.sources.formats.sql_rows import SourceDatabase, check_select
from benchbuilder.sources.formats.tables import RawRow, find_surrogate
from benchbuilder.sources.record_source import RecordSource, RecordSpec
from benchbuilder.sources.unit_source import HEAD_ROWS


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
        found = SourceFile(self._location(), Path())
        self._check_head([_raw_row(n, values) for n, values in enumerate(islice(self._rows(), HEAD_ROWS), 1)], found)

    def select_files(self) -> tuple[list[SourceFile], list[SourceFile]]:
        """The result of the query."""
        if self._result is None:
            folder = Path(tempfile.mkdtemp(prefix="benchbuilder-"))
            weakref.finalize(self, shutil.rmtree, folder, True)
            result = folder / "result.jsonl"
            with result.open("w", encoding="ascii") as stream:
                for values in self._rows():
                    stream.write(json.dumps(values) + "\n")
            self._result = result
        return [SourceFile(self._location(), self._result)], []

    def units(self, source_file: SourceFile) -> Iterator[RawRow]:
        """The rows of the result."""
        with source_file.path.open(encoding="ascii") as stream:
            for number, line in enumerate(stream, 1):
                yield _raw_row(number, json.loads(line))

    def _location(self) -> str:
        return public_path(self.spec.path.path) if self.spec.path is not None else f"sql:{self.name}"

    def _rows(self) -> Iterator[list[Any]]:
        spec = self.spec
        if spec.path is None and spec.database_env is None:
            raise DataError(
                f"sources.{self.name}: no database is named", where=self.key("path"),
                next=f"set {self.key('path')} to a file of SQLite, or {self.key('database_env')} to the name of the "
                "environment variable with its URL",
            )  # fmt: skip
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
