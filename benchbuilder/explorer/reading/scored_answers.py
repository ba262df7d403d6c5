"""Reads the scores of an evaluation from its results file, by column, and the means that the file states."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder.core import read_json

_KEPT = 2
"""How many evaluations stay in memory."""
WRONG_BELOW = 0.5
"""A score below this counts as wrong."""
GROUPS = ("model", "people", "rule")


@dataclass(frozen=True)
class StatedMean:
    """The mean of a system as the results state it, with its interval and the number of items."""

    value: float
    low: float | None
    high: float | None
    n: int | None


@dataclass(frozen=True)
class MeasuredScores:
    """The scores of one scorer in one aspect: a row for each of `systems`, a column for each item; nan: no score.

    `form` is that of the items, empty where all have one form.
    """

    aspect: str
    scorer: str
    form: str
    title: str
    systems: tuple[str, ...]
    values: Any
    means: Mapping[str, StatedMean]

    @property
    def key(self) -> str:
        """The name of the measure in addresses."""
        return ".".join(filter(None, (self.aspect, self.scorer, self.form)))

    @property
    def by_people(self) -> bool:
        """Whether people gave the scores."""
        return self.scorer == "ratings"


class ScoredAnswers:
    """The results of an evaluation: who answered, the items, and the scores by measure."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.title = str(data["title"])
        self.systems: dict[str, str] = {str(name): str(group) for name, group in data["systems"].items()}
        self.ids: list[str] = [str(line[0]) for line in data["items"]]
        self.sources = np.array([str(line[2]) for line in data["items"]], np.object_)
        self.types = np.array([str(line[3]) for line in data["items"]], np.object_)
        tables = {str(table["name"]): table for table in data["tables"]}
        self.measures: list[MeasuredScores] = []
        for entry in data["scores"]:
            names = sorted(entry["values"], key=lambda name: GROUPS.index(self.systems.get(name, "rule")))
            values = np.array([entry["values"][name] for name in names], np.float32).reshape(len(names), len(self.ids))
            aspect, scorer, form = (str(entry.get(part) or "") for part in ("aspect", "scorer", "form"))
            means = _stated_means(tables.get("_".join(filter(None, ("means", aspect, scorer, form)))))
            self.measures.append(MeasuredScores(aspect, scorer, form, str(entry["title"]), tuple(names), values, means))

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each item by its id."""
        return {name: place for place, name in enumerate(self.ids)}

    def models_of(self, measure: MeasuredScores) -> list[int]:
        """The rows of models, without people and rules; all rows if only those have scores."""
        rows = [row for row, name in enumerate(measure.systems) if self.systems.get(name) == "model"]
        return rows or list(range(len(measure.systems)))

    def measure(self, key: str) -> MeasuredScores | None:
        """The measure of this name, or the first form of it; for an empty name the first verdict, or else the first."""
        if not key:
            return next((one for one in self.measures if one.aspect == "verdict"), next(iter(self.measures), None))
        return next((one for one in self.measures if f"{one.key}.".startswith(f"{key}.")), None)

    def judged_beside_people(self, measure: MeasuredScores) -> MeasuredScores | None:
        """The scores of the same aspect that people gave, for those of a judge, and the other way round."""
        kind = (measure.aspect, measure.form)
        return next((one for one in self.measures
                     if (one.aspect, one.form) == kind and one.by_people != measure.by_people), None)  # fmt: skip

    def chosen(self, measure: MeasuredScores, view: AnswerView) -> Any:
        """The places of the items that a view shows, in its order."""
        scored = ~np.isnan(measure.values)
        kept = scored.any(axis=0)
        if view.type:
            kept &= self.types == view.type
        if view.source:
            kept &= self.sources == view.source
        models = self.models_of(measure)
        if view.wrong:
            right = np.nan_to_num(measure.values[models], nan=0.0) >= WRONG_BELOW
            kept &= scored[models].any(axis=0) & ~right.any(axis=0)
        order = np.arange(len(self.ids))
        gap = self._gaps(measure, view)
        if gap is not None:
            kept &= ~np.isnan(gap) & (gap > 0)
            order = np.argsort(-np.nan_to_num(gap), kind="stable")
        elif view.sort == "worst":
            count = np.maximum(scored[models].sum(axis=0), 1)
            order = np.argsort(np.nan_to_num(measure.values[models]).sum(axis=0) / count, kind="stable")
            kept &= scored[models].any(axis=0)
        return order[kept[order]]

    def _gaps(self, measure: MeasuredScores, view: AnswerView) -> Any:
        """How far two models, or people and a judge, are apart on each item; none if the view asks for neither."""
        if view.left in measure.systems and view.right in measure.systems:
            left, right = (measure.values[measure.systems.index(name)] for name in (view.left, view.right))
            return np.abs(left - right)
        other = self.judged_beside_people(measure) if view.sort == "disagree" else None
        if other is None:
            return None
        shared = [name for name in measure.systems if name in other.systems]
        gaps = np.array([np.abs(measure.values[measure.systems.index(name)] - other.values[other.systems.index(name)])
                         for name in shared])  # fmt: skip
        if not shared:
            return None
        return np.where(np.isnan(gaps).all(axis=0), np.nan, np.nan_to_num(gaps, nan=-1.0).max(axis=0))


@dataclass(frozen=True)
class AnswerView:
    """Which items of a measure to show, and in which order: as they are, the worst first, or where scores differ.

    With `wrong`, only items that all models got wrong. `left` and `right` are two systems to compare.
    """

    measure: str = ""
    type: str = ""
    source: str = ""
    wrong: bool = False
    sort: str = ""
    left: str = ""
    right: str = ""


def _stated_means(table: Mapping[str, Any] | None) -> dict[str, StatedMean]:
    """The means over all items by system, as a table of the results states them."""
    if table is None:
        return {}
    keys = [str(column["key"]) for column in table["columns"]]
    if "model" not in keys or "all" not in keys:
        return {}
    model, every = keys.index("model"), keys.index("all")
    found: dict[str, StatedMean] = {}
    for line in table["lines"]:
        name, cell = line["cells"][model].get("words"), line["cells"][every] or {}
        if line.get("block") == "own" and name is not None and cell.get("value") is not None:
            found[str(name)] = StatedMean(float(cell["value"]), cell.get("low"), cell.get("high"), cell.get("n"))
    return found


_books: dict[tuple[str, tuple[int, ...]], ScoredAnswers | None] = {}
_lock = threading.Lock()


def evaluation_folder(build: Path, task: str) -> Path:
    """The folder of the evaluation of a task."""
    return build / task / "evaluation"


def scored_answers(build: Path, task: str) -> ScoredAnswers | None:
    """The results of the evaluation of a build; none if it was not evaluated, or they cannot be read."""
    path = evaluation_folder(build, task) / "results.json"
    try:
        stat = path.stat()
    except OSError:
        return None
    key = (str(path), (stat.st_size, stat.st_mtime_ns, stat.st_ino))
    with _lock:
        if key not in _books:
            while len(_books) >= _KEPT:
                _books.pop(next(iter(_books)))
            _books[key] = _read(path)
        return _books[key]


def _read(path: Path) -> ScoredAnswers | None:
    try:
        return ScoredAnswers(read_json(path))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def sources_of(answers: ScoredAnswers) -> Sequence[str]:
    """The sources of the items, in the order in which they first occur."""
    return list(dict.fromkeys(answers.sources.tolist()))
