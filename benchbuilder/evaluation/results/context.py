"""What all tables of results share: the run, the texts, and the bootstrap settings."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, TypeVar, get_args

from markupsafe import Markup
from numpy.typing import NDArray

from benchbuilder.config import BootstrapSpec
from benchbuilder.core import PageTexts
from benchbuilder.evaluation.results.columns import ItemValues
from benchbuilder.evaluation.results.run import EvaluatedSystem, EvaluationRun, ScoredAspect
from benchbuilder.evaluation.stats.intervals import Estimate, mean_estimate, sample_sd
from benchbuilder.evaluation.stats.prediction_powered import MeanInterval
from benchbuilder.exporters import (
    ResultTable,
    TableBlock,
    TableCell,
    TableColumn,
    TableLine,
    ValueFormat,
    format_cell,
    format_interval,
    format_value,
    table_as_markdown,
)

_FORMATS: Mapping[str, ValueFormat] = {form: form for form in get_args(ValueFormat)}
_Found = TypeVar("_Found")
CellValue = TableCell | str | float | None


def _as_markdown(table: ResultTable) -> Markup:
    return Markup(table_as_markdown(table))


PAGE_FUNCTIONS: Mapping[str, Any] = {
    "shown": format_cell, "interval": format_interval, "plain": format_value, "as_markdown": _as_markdown,
}  # fmt: skip
"""What the templates of all pages call."""


class BootstrapSettings(TypedDict):
    """How intervals are drawn, as keyword arguments of the statistics."""

    samples: int
    level: float
    seed: int


def bootstrap_settings(spec: BootstrapSpec) -> BootstrapSettings:
    """The settings of a recipe as keyword arguments."""
    return {"samples": spec.samples, "level": spec.level, "seed": spec.seed}


@dataclass(frozen=True)
class ResultsFrame:
    """What all tables share.

    `power` is the probability with which the smallest detectable difference is detected. `effect` is the difference for
    which the needed number of items is computed.
    """

    run: EvaluationRun
    t: PageTexts
    bootstrap: BootstrapSettings
    power: float
    effect: float
    known: dict[object, Any] = field(default_factory=dict[object, Any], repr=False)
    """Estimates that the pages of all languages share: drawing them takes longest."""

    def in_(self, t: PageTexts) -> ResultsFrame:
        """The same in another language."""
        return replace(self, t=t)

    def once(self, estimate: Callable[..., _Found], *columns: NDArray[Any], **settings: Any) -> _Found:
        """What `estimate` finds in these columns, computed once for all languages."""
        digests = (hashlib.blake2b(column.tobytes()).digest() for column in columns)
        key = (estimate, *digests, *settings.items())
        if key not in self.known:
            self.known[key] = estimate(*columns, **settings)
        return self.known[key]

    def mean(self, values: ItemValues) -> Estimate:
        """The mean of values by item, with an interval that treats facts as clusters."""
        return self.once(mean_estimate, values.numbers, self.run.clusters(values.places), **self.bootstrap)

    def mean_cell(self, values: ItemValues, *, spread: bool = True) -> TableCell:
        """The mean as a cell; `spread` adds the standard deviation."""
        deviation = sample_sd(values.numbers) if spread and len(values) > 1 else None
        return estimate_cell(self.mean(values), deviation)

    def aspect_label(self, name: str) -> str:
        """The label of an aspect."""
        return self.t.get(f"results.aspect.{name}", name)

    def measure_label(self, measure: ScoredAspect) -> str:
        """The label of a measure: its aspect and its scorer."""
        return self.with_form(self.with_scorers(self.aspect_label(measure.aspect), measure), measure)

    def with_form(self, text: str, measure: ScoredAspect) -> str:
        """`text` with the form of the items of `measure`, where a benchmark has several forms."""
        return self.t("results.of_form", measure=text, form=measure.form) if measure.form else text

    def with_scorers(self, text: str, *measures: ScoredAspect) -> str:
        """`text` with the scorers of `measures`, which must have the same role."""
        names = dict.fromkeys(measure.scorer.removeprefix("judge_") for measure in measures)
        scorer = self.t("report.list_comma").join(names)
        return self.t(f"results.by_{measures[0].role}", aspect=text, scorer=scorer)

    def table(
        self, name: str, title: str, columns: str, lines: Iterable[TableLine], *, lead: str = "",
        notes: Iterable[str] = (), keys: int = 1,
    ) -> ResultTable:  # fmt: skip
        """A table with an introduction (`lead`); see `table_columns` for `columns`."""
        return ResultTable(name, title, table_columns(self.t, columns), tuple(lines), lead, tuple(notes), keys)

    def line(self, system: EvaluatedSystem, *values: CellValue) -> TableLine:
        """The line of a system."""
        tag = "" if system.group == "model" else self.t(f"results.group.{system.group}")
        return table_line(system.display_name, *values, group=system.group, tag=tag)


def table_columns(t: PageTexts, columns: str) -> tuple[TableColumn, ...]:
    """Columns from ``KEY:FORMAT=HEADING`` with spaces between; without a format they are scores.

    HEADING is the key of a text, or the heading itself if it has no dot.
    """
    declared: list[TableColumn] = []
    for column in columns.split():
        name, _, heading = column.partition("=")
        key, _, form = name.partition(":")
        declared.append(TableColumn(key, t(heading) if "." in heading else heading, _FORMATS[form or "score"]))
    return tuple(declared)


def table_line(*values: CellValue, group: str = "", tag: str = "", block: TableBlock = "own") -> TableLine:
    """A line of cells: a text becomes words, any other value a number; nan counts as missing."""
    return TableLine(tuple(map(_cell, values)), group, tag, block)


def _cell(value: CellValue) -> TableCell:
    if isinstance(value, TableCell):
        return value
    if isinstance(value, str):
        return TableCell(words=value)
    return TableCell(None if value is None or math.isnan(value) else float(value))


def interval_cell(estimate: MeanInterval, why: str = "") -> TableCell:
    """A mean with its interval as a cell; `why` says why the interval is missing."""
    return TableCell(estimate.value, low=estimate.low, high=estimate.high, why=why)


def estimate_cell(estimate: Estimate, deviation: float | None = None) -> TableCell:
    """An estimate as a cell."""
    return TableCell(estimate.value, sd=deviation, low=estimate.low, high=estimate.high, n=estimate.n, why=estimate.why)
