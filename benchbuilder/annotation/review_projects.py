"""Makes the tasks of rating projects from a file or from the finished items, and samples in proportion to groups."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from benchbuilder.annotation.base import Task
from benchbuilder.annotation.database.project_setup import make_task
from benchbuilder.annotation.recheck import VOTERS, voters_text
from benchbuilder.config import ReviewProjectSpec
from benchbuilder.core import DataError, Table, cells_of, raise_row_errors, read_row_file

_SEVERAL = " | "


def rating_tasks(
    name: str, spec: ReviewProjectSpec, items: Table[Any] | None, seed: int, flagged: Path | None = None,
    voters: Mapping[str, Iterable[str]] | None = None,
) -> list[Task] | None:  # fmt: skip
    """The tasks of the rating project `name`; ``None`` if it has no rows yet (no file, or items not built).

    Rows with the same fields are one task, with the paragraphs of all of them. `flagged` is the file of the items that
    an analysis sends back to experts; it may not exist yet. `voters` has the items of a recheck, with those who may not
    judge them.

    Raises:
        DataError: some rows cannot be used; it lists them with file and line.
    """
    rows = spec.rows
    file = None if rows.file is None else rows.file.file
    if rows.flagged and flagged is not None and flagged.is_file():
        file = flagged
    if file is not None:
        label = file.name if rows.file is None else rows.file.path
        located_rows = [(f"{label}:{line}", row) for line, row in read_row_file(file)]
    elif (rows.items or rows.recheck) and items is not None:
        located_rows = list(_item_rows(spec, items, voters or {}))
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
    raise_row_errors(
        problems, f"rows of the review {name!r} cannot be used", f"correct the rows, or reviews.{name}.rows"
    )
    if rows.sample is None:
        return list(tasks.values())
    return proportional_sample(
        list(tasks.values()), rows.sample, name=lambda task: task.key, group=lambda task: groups[task.key], seed=seed
    )


def _item_rows(
    spec: ReviewProjectSpec, items: Table[Any], voters: Mapping[str, Iterable[str]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Where each item comes from, and its columns; of a recheck, only items of the sample, with who voted on them."""
    for item in items:
        row = {"id": item.id, "source": item.partition, **cells_of(item)}
        if spec.rows.recheck and item.id not in voters:
            continue
        barred = {VOTERS: voters_text(voters[item.id])} if spec.rows.recheck else {}
        yield f"{item.origin.file}:{item.origin.line}", row | barred


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
    own = ("id", "source", VOTERS) if spec.rows.recheck else ()
    about = [(column, _text(row.get(column))) for column in dict.fromkeys((*spec.rows.about, *own))]
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


T = TypeVar("T")


def proportional_sample(
    items: Sequence[T], size: int, *, name: Callable[[T], str], group: Callable[[T], str], seed: int
) -> list[T]:
    """Sample `size` of `items` in their order, in proportion to the size of each group (largest remainder method).

    The selection depends only on `seed` and the names. A larger sample of the same seed contains most of a smaller
    one. Returns all items if there are at most `size`.

    >>> proportional_sample(range(10), 4, name=str, group=lambda n: "even" if n % 2 == 0 else "odd", seed=1)
    [0, 7, 8, 9]
    """
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(group(item), []).append(item)
    chosen: set[str] = set()
    for label, count in _group_sizes({label: len(members) for label, members in groups.items()}, size).items():
        drawn = sorted(groups[label], key=lambda item: _sort_key(seed, name(item)))[:count]
        chosen |= {name(item) for item in drawn}
    return [item for item in items if name(item) in chosen]


def _group_sizes(counts: dict[str, int], size: int) -> dict[str, int]:
    """The sample size of each group by the largest remainder method."""
    total = sum(counts.values())
    if total <= size:
        return counts
    exact = {label: count * size / total for label, count in counts.items()}
    sizes = {label: int(quota) for label, quota in exact.items()}
    order = sorted(counts, key=lambda label: (sizes[label] - exact[label], -counts[label], label))
    for label in order[: size - sum(sizes.values())]:
        sizes[label] += 1
    return sizes


def _sort_key(seed: int, name: str) -> str:
    return hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).hexdigest()
