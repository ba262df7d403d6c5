"""Reads what models answered to some items, and how each answer was scored, from the store of an evaluation."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.pipeline import Store, read_columns

_compute: Any = pc


@dataclass(frozen=True)
class AnswerText:
    """The answer of a system to an item, and what became of the request: ``complete``, ``refused`` and so on."""

    item: str
    system: str
    text: str
    outcome: str


@dataclass(frozen=True)
class ShownScore:
    """A score of an answer; `raters` is the number of people behind it, whose names no page shows."""

    system: str
    scorer: str
    aspect: str
    value: float | None
    label: str
    detail: str
    raters: int


def answer_texts(folder: Path, items: Collection[str], systems: Collection[str] = ()) -> list[AnswerText]:
    """The answers to `items` in the evaluation in `folder`, of all systems or some; an item is named by its id."""
    found: list[AnswerText] = []
    wanted = pa.array(sorted(items), pa.string())
    for part in _parts(folder, "answer", systems):
        names = ("of", "parents", "model", "text", "outcome")
        table: Any = read_columns(part, names)
        direct = _compute.is_in(table.column("of"), value_set=wanted)
        if not _compute.any(direct).as_py():  # a model that answers in several phases names the item among the parents
            parents = table.column("parents").combine_chunks()
            is_named = _compute.is_in(_compute.list_flatten(parents), value_set=wanted)
            rows = _compute.list_parent_indices(parents).filter(is_named)
            table = table.take(_compute.unique(rows))
        else:
            table = table.filter(direct)
        for line in table.to_pylist():
            item = line["of"] if line["of"] in items else next(name for name in line["parents"] if name in items)
            found.append(AnswerText(item, line["model"], line["text"], line["outcome"]))
    return found


def answer_scores(folder: Path, item: str) -> list[ShownScore]:
    """Every score of every answer to an item."""
    found: list[ShownScore] = []
    for part in _parts(folder, "score", ()):
        names = ("item", "model", "scorer", "aspect", "value", "label", "detail", "ratings")
        table: Any = read_columns(part, names)
        for line in table.filter(_compute.equal(table.column("item"), item)).to_pylist():
            scored = (line["model"], line["scorer"], line["aspect"], line["value"], line["label"], line["detail"])
            found.append(ShownScore(*scored, len(line["ratings"])))
    return found


def _parts(folder: Path, row: str, systems: Collection[str]) -> Iterator[Path]:
    """The files of the steps that made rows of this class last."""
    store = Store(folder)
    if not store.steps.is_dir():
        return
    for step in sorted(path.name for path in store.steps.iterdir() if path.is_dir()):
        if systems and step.partition(".")[2] not in systems:
            continue
        manifest = store.latest(step)
        if manifest is not None and manifest.row == row:
            place = store.step_folder(step, manifest.key)
            yield from (place / f"part-{index:05d}.parquet" for index in range(manifest.shards))
