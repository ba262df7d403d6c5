"""Reads the items of a build by column, filters them, and puts the items of a family together."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import Row, Table, parse_json, read_given_text, row_class, schema_of
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.pipeline import Manifest, count_rows, read_columns, read_slice

_compute: Any = pc
_HEADER = ("id", "partition", "form", "family", "fact", "reviewed", "tags")
_PAYLOAD = ("type", "expected", "context", "question", "answer", "answer_wrong")
_LISTED = {
    "source": "partition",
    **{name: name for name in ("id", "family", "type", "form", "expected", "context", "question", "answer")},
}
"""The column of each text of an item in a list."""
_SEARCHED = ("context", "question", "answer", "answer_wrong")
_KEPT_TABLES = 2
"""How many builds' columns stay in memory."""


@dataclass(frozen=True)
class ItemFilter:
    """What items a page shows; an empty text means all."""

    q: str = ""
    source: str = ""
    type: str = ""
    form: str = ""
    expected: str = ""
    reviewed: str = ""
    tag: str = ""

    def chosen(self) -> dict[str, str]:
        """The facets that are chosen, by name."""
        return {name: value for name in FACETS if (value := str(getattr(self, name)))}


FACETS: Mapping[str, str] = {
    "source": "partition", "type": "type", "form": "form", "expected": "expected", "reviewed": "reviewed",
    "tag": "tags",
}  # fmt: skip
"""The column of each facet."""


@dataclass(frozen=True)
class ListedItem:
    """An item in a list: its number in the table, and what lists show of it."""

    number: int
    id: str
    family: str
    source: str
    type: str
    form: str
    expected: str
    context: str
    question: str
    answer: str
    reviewed: bool
    tags: tuple[str, ...]


class BrowsedItems:
    """The columns of the items of one step that lists show and filters compare; evidence is not among them."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        self.parts = [folder / f"part-{index:05d}.parquet" for index in range(manifest.shards)]
        self.row = row_class(manifest.row)
        schema = schema_of(self.row)
        payload = schema.field("payload").type
        own = {field.name for field in payload}
        texts = [field.name for field in payload if field.type == pa.string()]
        self.has_questions = "question" in own
        chosen = [name for name in _PAYLOAD if name in own] or texts[:1]
        names = [*_HEADER, *(f"payload.{name}" for name in chosen)]
        tables = [read_columns(part, names) for part in self.parts]
        whole: Any = pa.concat_tables(tables).combine_chunks() if tables else schema.empty_table()
        self.columns: dict[str, Any] = {name: whole.column(name) for name in _HEADER}
        for name in chosen:
            self.columns[name] = _compute.struct_field(whole.column("payload"), name)
        if not self.has_questions and texts:
            self.columns["question"] = self.columns[texts[0]] if texts[0] in self.columns else self.columns["id"]
        self.count: int = whole.num_rows

    @cached_property
    def order(self) -> Any:
        """The numbers of the rows with families together, each at the place of its first item."""
        named, ids = self.columns["family"], self.columns["id"]
        families = _compute.if_else(_compute.equal(named, ""), ids, named)
        codes = np.asarray(families.combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False))
        return np.argsort(codes, kind="stable")

    @cached_property
    def facets(self) -> dict[str, list[tuple[str, int]]]:
        """The values of each facet with the number of items, for facets that divide the items."""
        found: dict[str, list[tuple[str, int]]] = {}
        for facet, name in FACETS.items():
            if name not in self.columns:
                continue
            column = self._as_texts(name)
            counted = _compute.value_counts(column)
            values = [(str(line["values"]), int(line["counts"])) for line in counted.to_pylist() if line["values"]]
            if len(values) > 1 or (facet == "tag" and values):
                found[facet] = sorted(values, key=lambda pair: (-pair[1], pair[0]))
        return found

    def _as_texts(self, name: str) -> Any:
        column = self.columns[name]
        if name == "tags":
            return _compute.list_flatten(column)
        if name == "reviewed":
            return _compute.if_else(column, "yes", "no")
        return column

    def matching(self, wanted: ItemFilter) -> Any:
        """The numbers of the items that a filter lets through, families together."""
        mask: Any = None
        for facet, value in wanted.chosen().items():
            name = FACETS[facet]
            if name not in self.columns:
                mask = _both(mask, pa.array(np.zeros(self.count, np.bool_)))
            elif name == "tags":
                mask = _both(mask, _has_tag(self.columns["tags"], value, self.count))
            else:
                mask = _both(mask, _compute.equal(self._as_texts(name), value))
        if wanted.q:
            mask = _both(mask, self._having(wanted.q))
        if mask is None:
            return self.order
        kept = np.asarray(mask.to_numpy(zero_copy_only=False) if isinstance(mask, pa.Array) else mask.to_numpy())
        return self.order[kept.astype(np.bool_)[self.order]]

    def _having(self, text: str) -> Any:
        """Which items have `text` in a text that lists and pages show, or begin with it in their id."""
        found: Any = _compute.starts_with(self.columns["id"], text)
        for name in (*_SEARCHED, "question"):
            if name in self.columns:
                found = _compute.or_(found, _compute.match_substring(self.columns[name], text))
        return found

    def listed(self, numbers: Sequence[int]) -> list[ListedItem]:
        """What a list shows of some items."""
        taken = {name: column.take(pa.array(numbers, pa.int64())).to_pylist() for name, column in self.columns.items()}
        empty = [""] * len(numbers)

        def texts(name: str) -> list[str]:
            return [str(value or "") for value in taken.get(name, empty)]

        columns = {name: texts(column) for name, column in _LISTED.items()}
        return [
            ListedItem(
                number=int(number), reviewed=bool(taken["reviewed"][place]), tags=tuple(taken["tags"][place]),
                **{name: column[place] for name, column in columns.items()},
            )
            for place, number in enumerate(numbers)
        ]  # fmt: skip

    def number_of(self, row_id: str) -> int | None:
        """The number of the item with this id, if there is one."""
        place: int = _compute.index(self.columns["id"], value=row_id).as_py()
        return None if place < 0 else place

    def family(self, name: str) -> list[int]:
        """The numbers of the items of a family."""
        return _compute.indices_nonzero(_compute.equal(self.columns["family"], name)).to_pylist()

    def whole_row(self, number: int) -> Row:
        """An item with everything that is known of it."""
        for part in self.parts:
            if number < (rows := count_rows(part)):
                arrow = read_slice(part, schema_of(self.row), number, 1)
                return next(iter(Table(arrow, self.row)))
            number -= rows
        raise IndexError(number)


def _both(one: Any, other: Any) -> Any:
    return other if one is None else _compute.and_(one, other)


def _has_tag(column: Any, tag: str, count: int) -> Any:
    found = np.zeros(count, np.bool_)
    flat, parents = _compute.list_flatten(column), _compute.list_parent_indices(column)
    found[np.asarray(parents.filter(_compute.equal(flat, tag)).to_numpy(), np.int64)] = True
    return pa.chunked_array([pa.array(found)])


_tables: dict[tuple[str, str], BrowsedItems] = {}
_lock = threading.Lock()


def item_steps(build: BuildFolder) -> dict[str, str]:
    """The step that makes the items of each task; one empty name in a recipe without tasks."""
    recipe = build.recipe
    tasks = recipe.get("tasks")
    if isinstance(tasks, Mapping) and tasks:
        parts = {str(task): part for task, part in tasks.items() if isinstance(part, Mapping)}
        return {task: str(part["items"]) for task, part in parts.items() if "items" in part}
    return {"": str(recipe["items"])} if "items" in recipe else {}


def item_columns(build: BuildFolder, step: str) -> BrowsedItems:
    """The columns of the items that `step` of a build made; DataError if it made none yet."""
    manifest = build.manifest(step)
    folder = build.store.step_folder(step, manifest.key)
    key = (str(folder), manifest.digest)
    with _lock:
        if key not in _tables:
            made = BrowsedItems(folder, manifest)
            while len(_tables) >= _KEPT_TABLES:
                _tables.pop(next(iter(_tables)))
            _tables[key] = made
        return _tables[key]


def read_json_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """The objects of a file of JSON lines; none if there is no such file."""
    try:
        text = read_given_text(path)
    except OSError:
        return
    for line in text.splitlines():
        if line:
            yield parse_json(line)
