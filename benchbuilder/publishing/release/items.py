"""Reads the items of a release, or of a build, in one form: what is shared with other programs starts from here."""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from benchbuilder.config import LoadedRecipe, display_path
from benchbuilder.core import SET_FORM, DataError, flat_records, open_given_file, parse_json
from benchbuilder.exporters import random_order_key
from benchbuilder.pipeline import Checksums, Store, committed_manifests, finished_build, make_plan
from benchbuilder.publishing.release.record import ReleasedConfig, read_record

TEST, DEV = "test", "dev"
"""The split that is asked, and the split that examples for prompts are drawn from."""
_TEXTS = ("id", "source", "language", "context", "question", "expected", "answer", "answer_wrong", "family")
ANY_TYPE = "items"
"""The type of items whose payload has none."""


@dataclass(frozen=True)
class SharedItem:
    """An item as other programs see it.

    `task` is empty in a benchmark without tasks. `type` is ``tf`` (`expected` is ``yes`` or ``no``), ``oe``, or
    ``items`` for a payload that has no types. `context` precedes `question`; the one who asks joins them as the solver
    does. `answer` is the right statement, `answer_wrong` the wrong one. `columns` are all columns of the item, by names
    without hyphens; `evidence` is one of them, a list of paragraphs.
    """

    id: str
    task: str
    type: str
    source: str
    language: str
    context: str
    question: str
    expected: str
    answer: str
    answer_wrong: str
    family: str
    split: str
    columns: Mapping[str, Any]

    @property
    def config(self) -> str:
        """The name of its configuration: its type, or its task and its type."""
        return config_name(self.task, self.type)

    @property
    def asked_as(self) -> str:
        """Its configuration, where those that ask for a set are apart: they are answered and scored in another way."""
        return f"{self.config}_{SET_FORM}" if self.columns.get("form") == SET_FORM else self.config


@dataclass(frozen=True)
class BenchmarkToShare:
    """A benchmark and the items whose labels may be seen, in their fixed random order.

    `version` and `canary` are empty for a build that was not released. `licence` is empty if none is stated. `folder`
    is the folder of the release or of the build.
    """

    name: str
    title: str
    version: str
    licence: str
    language: str
    canary: str
    folder: Path
    items: tuple[SharedItem, ...]

    @cached_property
    def configs(self) -> Mapping[str, tuple[SharedItem, ...]]:
        """The items of the split ``test`` by configuration."""
        found: dict[str, list[SharedItem]] = {}
        for item in self.items:
            if item.split == TEST:
                found.setdefault(item.config, []).append(item)
        return {name: tuple(items) for name, items in found.items()}

    @cached_property
    def examples(self) -> Mapping[str, tuple[SharedItem, ...]]:
        """The items of the split ``dev`` by configuration: examples for prompts, none of which is asked."""
        found: dict[str, list[SharedItem]] = {}
        for item in self.items:
            if item.split == DEV:
                found.setdefault(item.config, []).append(item)
        return {name: tuple(items) for name, items in found.items()}


def config_name(task: str, item_type: str) -> str:
    """The name of a configuration: the type alone, or with the task before it.

    >>> config_name("", "tf"), config_name("dialogue", "items"), config_name("exam", "oe")
    ('tf', 'dialogue', 'exam_oe')
    """
    if not task:
        return item_type
    return task if item_type == ANY_TYPE else f"{task}_{item_type}"


@dataclass(frozen=True)
class ReleasedItems:
    """The public items in the files of a release, read each time that somebody goes through them.

    `files` has the task, the type, the split and the name of each file.
    """

    folder: Path
    files: tuple[tuple[str, str, str, str], ...]

    @classmethod
    def of_configs(cls, folder: Path, configs: Iterable[ReleasedConfig]) -> ReleasedItems:
        """Those that the configurations of a release name."""
        return cls(folder, tuple(
            (config.task, config.type, split, file)
            for config in configs if config.type for split, file in config.files.items()
        ))  # fmt: skip

    def __iter__(self) -> Iterator[SharedItem]:
        seen = set[str]()
        for task, item_type, split, file in self.files:
            with _readable(self.folder):
                for number, row in enumerate(rows_of_file(self.folder / file), 1):
                    if fault := _fault(row, item_type, seen):
                        raise ValueError(f"{file}:{number}: {fault}")
                    seen.add(row["id"])
                    yield shared_item(row, task, split)

    @cached_property
    def ids(self) -> frozenset[str]:
        """The ids of the items."""
        return frozenset(item.id for item in self)


def read_release(folder: Path) -> BenchmarkToShare:
    """The benchmark in the folder of a release; DataError if there is none, or a file is missing or damaged."""
    record = read_record(folder)
    return BenchmarkToShare(
        name=record.name, title=record.title, version=record.version, licence=record.licence,
        language=record.language, canary=record.canary, folder=folder,
        items=tuple(ReleasedItems.of_configs(folder, record.configs)),
    )  # fmt: skip


def released_items(folder: Path) -> ReleasedItems:
    """The items in the folder of a release; DataError if there is none, here or when a file is missing or damaged."""
    return ReleasedItems.of_configs(folder, read_record(folder).configs)


@contextmanager
def _readable(folder: Path) -> Generator[None]:
    """Reading the files of a release: DataError if it cannot be done."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DataError(
            f"{display_path(folder)} holds no whole release", where=display_path(Path(error.filename or folder)),
            why="the file is missing", next="name the folder of a release, for instance releases/care_mi/1.0.0",
        ) from error  # fmt: skip
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise DataError(
            f"{display_path(folder)} holds no release that can be read", where=display_path(folder), why=str(error),
            next="make the release again, or load it again from where it was published",
        ) from error  # fmt: skip


def _fault(row: Any, item_type: str, seen: Collection[str]) -> str:
    """What is wrong with a row that another program wrote; its values become parts of programs and names of files."""
    if not isinstance(row, dict):
        return "the row is not an object"
    columns = cast("dict[str, Any]", row)
    if wrong := [name for name in _TEXTS if not isinstance(columns.get(name, ""), str | None)]:
        return f"{wrong[0]} is no text"
    if not columns.get("id") or columns["id"] in seen:
        return "it has no id, or that of another row"
    if (columns.get("type") or ANY_TYPE) != item_type:
        return f"its type is not {item_type}, that of its file"
    if columns.get("type") == "tf" and columns.get("expected") not in ("yes", "no"):
        return "expected is neither yes nor no"
    passages = columns.get("evidence") or []
    if not isinstance(passages, list) or not all(isinstance(passage, dict) for passage in cast("list[Any]", passages)):
        return "evidence is no list of paragraphs"
    try:
        json.dumps(columns, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:  # a half surrogate is one too
        return str(error)
    return ""


def rows_of_file(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file of JSON lines, one at a time; a text may hold line separators of its own."""
    with io.TextIOWrapper(open_given_file(path), encoding="utf-8") as lines:
        yield from map(parse_json, lines)


def read_build(loaded: LoadedRecipe, cwd: Path) -> BenchmarkToShare:
    """The benchmark that was built with a recipe; DataError if it is not built with these settings."""
    recipe = loaded.whole
    items = [item for part in loaded.by_task() for item in _built_items(part, cwd)]
    items.sort(key=lambda item: random_order_key(recipe.seed, item.id))
    return BenchmarkToShare(
        name=recipe.benchmark_name, title=recipe.card.title, version="", licence=recipe.card.licence,
        language=str(recipe.language), canary=recipe.audit.canary or "", folder=recipe.build_folder(cwd),
        items=tuple(items),
    )  # fmt: skip


def _built_items(part: LoadedRecipe, cwd: Path) -> Iterator[SharedItem]:
    store = Store(part.recipe.build_folder(cwd))
    plan = make_plan(part.whole, store, Checksums(store.checksums).sha256_of)
    own = replace(plan, recipe=part.recipe)
    finished = finished_build(own, store, committed_manifests(plan, store), part.yaml)
    if part.recipe.items not in finished.tables:
        raise DataError(
            f"{display_path(store.folder)} has no {part.recipe.items} of this recipe",
            where=f"the step {part.recipe.items!r}",
            why="it is not built, or was built with other settings",
            next="build the benchmark first, with the same arguments",
        )
    for record in flat_records(finished.tables[part.recipe.items]):
        yield shared_item({name.replace("-", "_"): value for name, value in record.items()}, part.task, TEST)


def shared_item(columns: Mapping[str, Any], task: str, split: str) -> SharedItem:
    """The item with these columns; those that its payload does not have are empty."""
    texts = {name: str(columns.get(name) or "") for name in _TEXTS}
    return SharedItem(task=task, type=str(columns.get("type") or ANY_TYPE), split=split, columns=columns, **texts)
