"""Makes the tasks of rating projects from the rows of a file, or from the finished items."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchbuilder.annotation.base import Task
from benchbuilder.annotation.database.project_setup import make_task
from benchbuilder.annotation.sample import proportional_sample
from benchbuilder.config import FileRef, ReviewProjectSpec
from benchbuilder.core import DataError, Row, Table, cells_of

_MAX_SHOWN_PROBLEMS = 10
_SEVERAL = " | "


def rating_tasks(name: str, spec: ReviewProjectSpec, items: Table[Any] | None, seed: int) -> list[Task] | None:
    """The tasks of the rating project `name`; ``None`` if it has no rows yet (no file, or items not built).

    Rows with the same fields are one task, with the paragraphs of all of them.

    Raises:
        DataError: some rows cannot be used; it lists them with file and line.
    """
    rows = spec.rows
    if rows.file is not None:
        located_rows = [(f"{rows.file.path}:{line}", row) for line, row in _read_rows(rows.file)]
    elif rows.items and items is not None:
        located_rows = [(str(item.origin.file) + f":{item.origin.line}", _item_columns(item)) for item in items]
    else:
        return None
    _check_columns(name, spec, [row for _, row in located_rows])
    problems: list[str] = []
    tasks: dict[str, Task] = {}
    groups: dict[str, str] = {}
    for where, row in located_rows:
        try:
            task = _task(spec, row)
        except ValueError as error:
            problems.append(f"{where}: {error}")
            continue
        before = tasks.get(task.key)
        tasks[task.key] = task if before is None else _merge_tasks(before, task)
        groups.setdefault(task.key, _text(row.get(rows.by or "")))
    if problems:
        more = [f"and {len(problems) - _MAX_SHOWN_PROBLEMS} more"] if len(problems) > _MAX_SHOWN_PROBLEMS else []
        raise DataError(
            f"{len(problems)} rows of the review {name!r} cannot be used",
            where=problems[0].partition(": ")[0],
            why="\n         ".join([*problems[:_MAX_SHOWN_PROBLEMS], *more]),
            next=f"correct the rows, or reviews.{name}.rows",
        )
    if rows.sample is None:
        return list(tasks.values())
    return proportional_sample(
        list(tasks.values()), rows.sample, name=lambda task: task.key, group=lambda task: groups[task.key], seed=seed
    )


def _item_columns(item: Row) -> dict[str, Any]:
    return {"id": item.id, "source": item.partition, **cells_of(item)}


def _read_rows(ref: FileRef) -> list[tuple[int, dict[str, Any]]]:
    """Read rows with line numbers from JSON Lines, CSV, TSV or Parquet."""
    suffix = ref.file.suffix.lower()
    try:
        if suffix == ".parquet":
            return list(enumerate(pq.read_table(ref.file).to_pylist(), start=1))
        text = ref.file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise DataError(
            f"{ref.path} cannot be read", where=str(ref.file), why=str(error),
            next="rows are JSON Lines, CSV or TSV in UTF-8, or Parquet",
        ) from error  # fmt: skip
    if suffix in (".csv", ".tsv"):
        return list(_table_rows(ref, text, "\t" if suffix == ".tsv" else ","))
    return list(_json_rows(ref, text))


def _table_rows(ref: FileRef, text: str, delimiter: str) -> Iterable[tuple[int, dict[str, Any]]]:
    """The rows of a table with a header; DataError if a row has another number of cells than the header."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    before = csv.field_size_limit(2**27)
    try:
        header = next(reader, [])
        for cells in reader:
            if len(cells) not in (0, len(header)):
                raise DataError(
                    f"{ref.path}:{reader.line_num} has {len(cells)} cells, its header has {len(header)}",
                    where=str(ref.file),
                    next="quote cells that contain a delimiter, a quotation mark or a line break",
                )
            if cells:
                yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise DataError(
            f"{ref.path}:{reader.line_num} is no CSV", where=str(ref.file), why=str(error), next="save it as CSV again"
        ) from error
    finally:
        csv.field_size_limit(before)


def _json_rows(ref: FileRef, text: str) -> Iterable[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError(
                f"{ref.path}:{number} is no JSON", where=str(ref.file), why=str(error), next="one JSON object a line"
            ) from error
        if not isinstance(row, dict):
            raise DataError(f"{ref.path}:{number} is no JSON object", where=str(ref.file), next="one object a line")
        yield number, row


def _check_columns(name: str, spec: ReviewProjectSpec, rows: Sequence[Mapping[str, Any]]) -> None:
    """DataError for a column that no row has: it is misspelt, or must be left out."""
    present = {column for row in rows for column, value in row.items() if value not in (None, "", [])}
    wanted = {f"show.{field}": column for field, column in spec.rows.show.items() if field in spec.display_fields()}
    wanted |= {"paragraphs": spec.rows.paragraphs, "by": spec.rows.by}
    lacking = {key: column for key, column in wanted.items() if column is not None and column not in present}
    if rows and lacking:
        key, column = next(iter(lacking.items()))
        raise DataError(
            f"no row has the column {column!r}",
            where=f"reviews.{name}.rows.{key}",
            why=f"there are {', '.join(sorted(present))}",
            next=f"correct it, or leave it out with reviews.{name}.rows.{key}=null",
        )


def _task(spec: ReviewProjectSpec, row: Mapping[str, Any]) -> Task:
    """The task that shows a row; ValueError says what is missing."""
    columns = spec.rows.show
    fields = [(field, _text(row.get(columns.get(field) or ""))) for field in spec.display_fields()]
    if not fields[0][1]:
        raise ValueError(f"the column {columns.get(fields[0][0])!r} is empty")
    about = [(column, _text(row.get(column))) for column in spec.rows.about]
    paragraphs = [] if spec.rows.paragraphs is None else list(_paragraphs(row.get(spec.rows.paragraphs)))
    return make_task(fields, paragraphs, metadata=[pair for pair in about if pair[1]])


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _paragraphs(value: Any) -> Iterable[tuple[str, str, str]]:
    """Base, title and text of each paragraph; ValueError for values that are neither a text nor an object with one."""
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, str) and part.strip():
            yield "", "", part.strip()
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            yield str(part.get("base") or ""), str(part.get("title") or ""), str(part["text"]).strip()
        elif part not in (None, ""):
            raise ValueError("a paragraph is a text, or an object with a `text`")


def _merge_tasks(first: Task, second: Task) -> Task:
    """Merge tasks with the same fields: the result has the paragraphs and the metadata of both."""
    about = dict(first.about)
    for name, value in second.about:
        values = about.get(name, "").split(_SEVERAL) if about.get(name) else []
        about[name] = _SEVERAL.join(dict.fromkeys([*values, value]))
    paragraphs = {paragraph.key: paragraph for paragraph in (*first.paragraphs, *second.paragraphs)}
    return Task(first.key, first.fields, tuple(paragraphs.values()), tuple(about.items()), first.expected)
