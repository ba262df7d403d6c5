"""The metrics of a recipe: figures for each system, overall and by source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchbuilder.core import Score, create_from_spec, find_kind
from benchbuilder.evaluation.metrics import ClusteredScore, Metric, ScoreColumns
from benchbuilder.evaluation.published import PublishedResults
from benchbuilder.evaluation.results.columns import ItemScores
from benchbuilder.evaluation.results.context import ResultsFrame, estimate_cell
from benchbuilder.evaluation.results.means import ALL_SOURCES, published_lines
from benchbuilder.evaluation.results.run import EvaluatedSystem, ScoredAspect
from benchbuilder.evaluation.results.stated_metrics import FIGURE_OF, METRIC
from benchbuilder.evaluation.stats.intervals import bootstrap_estimate
from benchbuilder.evaluation.stats.statistic import Bools
from benchbuilder.evaluation.steps.press import ASKED_OTHERWISE
from benchbuilder.exporters import FinishedBuild, ResultTable, TableCell, TableColumn, TableLine

_MOST = 12
"""With more sources than this, only overall figures are shown."""


@dataclass(frozen=True)
class _SystemScores:
    """The scores of a system that a metric reads, without those of missing answers."""

    frame: ResultsFrame
    finished: FinishedBuild
    measure: ScoredAspect
    system: str
    scores: ItemScores

    def columns(self, source: str) -> ScoreColumns:
        """Those of the items of a source, or of all."""
        items, scores = self.frame.run.items, self.scores
        if source != ALL_SOURCES:
            scores = scores.where(items.sources.among([source])[scores.places])
        kept = np.zeros(len(items), np.bool_)
        kept[scores.places] = True
        clusters = self.frame.run.clusters(scores.places)
        return ScoreColumns(scores.numbers, clusters, scores.counts, lambda: self._rows(kept))

    def _rows(self, kept: Bools) -> list[ClusteredScore]:
        """The rows of the items that `kept` marks."""
        items = self.frame.run.items
        family = {items.ids[place]: items.clusters[place] for place in np.flatnonzero(kept).tolist()}
        return [
            ClusteredScore(row, family[row.item])
            for step, table in self.finished.tables.items()
            for row in (table if table.row is Score and not step.startswith(ASKED_OTHERWISE) else ())
            if (row.aspect, row.scorer, row.model) == (self.measure.aspect, self.measure.scorer, self.system)
            and row.item in family
        ]


ByModel = Mapping[str, _SystemScores]


def metric_tables(
    frame: ResultsFrame, finished: FinishedBuild, published: PublishedResults | None
) -> list[tuple[ResultTable, int]]:
    """A table for each metric of the recipe that has scores, in the recipe's order, with its ranking column.

    Lines are ranked by the metric's last overall figure.
    """
    evaluation: Mapping[str, Any] = finished.recipe.get("evaluation") or {}
    named: Mapping[str, Mapping[str, Any]] = evaluation.get("metrics") or {}
    tables: list[tuple[ResultTable, int]] = []
    for name, settings in named.items():
        metric: Metric = create_from_spec(
            "metric", find_kind("metric", settings["kind"]).load().spec_class.model_validate(settings)
        )
        for form in frame.run.forms:
            part = _relevant_scores(frame, finished, metric, form)
            if part:
                table = _table(frame, name, metric, part, published)
                tables.append((_named_by_form(frame, table, form), len(metric.figures)))
    return tables


def _named_by_form(frame: ResultsFrame, table: ResultTable, form: str) -> ResultTable:
    if not form:
        return table
    title = frame.t("results.of_form", measure=table.title, form=form)
    return replace(table, name=f"{table.name}_{form}", title=title)


def _relevant_scores(frame: ResultsFrame, finished: FinishedBuild, metric: Metric, form: str) -> ByModel:
    """The scores that the metric reads; of several scorers the first, unless the recipe names one."""
    run, wanted = frame.run, metric.spec.scorer
    measures = {(measure.aspect, measure.scorer): measure for measure in run.measures if measure.form == form}
    for aspect, scorer in run.scorers:
        if aspect != metric.spec.aspect or wanted not in (None, scorer) or (aspect, scorer) not in measures:
            continue
        measure, found = measures[aspect, scorer], dict[str, _SystemScores]()
        for model, scores in run.scores[measure].items():
            kept = run.answered(model, scores.places) & ~scores.labels.among(("missing",))
            if kept.any():
                found[model] = _SystemScores(frame, finished, measure, model, scores.where(kept))
        if found:
            return found
    return {}


def _table(
    frame: ResultsFrame, name: str, metric: Metric, scores: ByModel, published: PublishedResults | None
) -> ResultTable:
    t = frame.t
    sources = list(frame.run.sources) if 1 < len(frame.run.sources) <= _MOST else []
    keys = [(source, figure) for source in (ALL_SOURCES, *sources) for figure in metric.figures]
    systems = [system for system in frame.run.systems if system.name in scores]
    lines = {one: _line(frame, one, metric, scores[one.name], keys) for one in systems}
    best = len(metric.figures)
    places = {group: place for place, group in enumerate(("model", "people", "rule"))}
    ranked = sorted(lines, key=lambda one: (places[one.group], -(lines[one].cells[best].value or 0.0), one.name))
    found = [lines[one] for one in ranked]
    notes: list[str] = []
    if published is not None and (table := published.tables.get(name)) is not None:
        found += published_lines(frame, published, table, [_key(metric, *key) for key in keys])
        cite = t("results.published_note", title=published.title, cite=published.cite, label=table.label)
        notes = [cite, *(f"{model}: {row.note}" for model, row in table.rows.items() if row.note)]
    columns = [
        TableColumn(_key(metric, *key).replace(":", "_"), _label(frame, metric, *key), "percent") for key in keys
    ]
    return ResultTable(
        name=f"{METRIC}{name}",
        title=t.get(f"results.metric.{name}", name.replace("_", " ")),
        introduction=t.get(f"results.metric_kind.{metric.kind}", ""),
        columns=(
            TableColumn("model", t("common.model"), "words"),
            *columns,
            TableColumn("n", t("results.items"), "count"),
        ),
        lines=tuple(found),
        notes=tuple(notes),
    )


def _key(metric: Metric, source: str, figure: str) -> str:
    """The key of a column in data files and in files of published figures."""
    return source if len(metric.figures) == 1 else f"{source}:{figure}"


def _label(frame: ResultsFrame, metric: Metric, source: str, figure: str) -> str:
    where = frame.t("report.all_sources") if source == ALL_SOURCES else source
    if len(metric.figures) == 1:
        return where
    return f"{where}{FIGURE_OF}{frame.t.get(f'results.figure.{figure}', figure)}"


def _line(
    frame: ResultsFrame, system: EvaluatedSystem, metric: Metric, scores: _SystemScores,
    keys: Sequence[tuple[str, str]],
) -> TableLine:  # fmt: skip
    cells: list[TableCell] = []
    for source in dict.fromkeys(source for source, _ in keys):
        part = scores.columns(source)
        for statistic in metric.statistics(part).values():
            cells.append(estimate_cell(bootstrap_estimate(statistic, part.clusters, **frame.bootstrap)))
    return frame.line(system, *cells, len(scores.scores.places))
