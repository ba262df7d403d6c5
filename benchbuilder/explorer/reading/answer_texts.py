"""Reads what models answered to some items, and how each answer was scored, from the store of an evaluation."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import Score, combined_column, schema_of
from benchbuilder.pipeline import Store, read_columns, read_slice

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
        table: Any = read_columns(part, ("of", "model", "text", "outcome"))
        direct = _compute.is_in(table.column("of"), value_set=wanted)
        if _compute.any(direct).as_py():
            lines = table.filter(direct).to_pylist()
            found += [AnswerText(line["of"], line["model"], line["text"], line["outcome"]) for line in lines]
        else:
            found += _answers_by_parents(part, table, wanted)
    return found


def _answers_by_parents(part: Path, table: Any, wanted: Any) -> Iterator[AnswerText]:
    """The answers of a model that answers in several phases, and names the item among the parents."""
    parents: Any = combined_column(read_columns(part, ("parents",)), "parents")
    named = _compute.list_flatten(parents)
    is_wanted = _compute.is_in(named, value_set=wanted)
    owners: list[int] = _compute.list_parent_indices(parents).filter(is_wanted).to_pylist()
    items = dict(reversed(list(zip(owners, named.filter(is_wanted).to_pylist(), strict=True))))
    rows = pa.array(sorted(items), pa.int64())
    for row, line in zip(sorted(items), table.take(rows).to_pylist(), strict=True):
        yield AnswerText(items[row], line["model"], line["text"], line["outcome"])


def answer_scores(folder: Path, item: str) -> list[ShownScore]:
    """Every score of every answer to an item."""
    found: list[ShownScore] = []
    for part in _parts(folder, "score", ()):
        names = ("model", "scorer", "aspect", "value", "label", "detail", "ratings")
        ids: Any = read_columns(part, ("item",)).column("item")
        lines: list[int] = _compute.indices_nonzero(_compute.equal(ids, item)).to_pylist()
        for number in lines:
            (line,) = read_slice(part, schema_of(Score), number, 1, names).to_pylist()
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
