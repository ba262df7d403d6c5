"""The metrics of a recipe: figures for each system, overall and by source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchbuilder.core import Score, bootstrap_estimate, create_from_spec, find_kind
from benchbuilder.evaluation.metrics import ClusteredScore, Metric
from benchbuilder.evaluation.published import PublishedResults
from benchbuilder.evaluation.results.context import ResultsFrame, estimate_cell
from benchbuilder.evaluation.results.means import ALL_SOURCES, published_lines
from benchbuilder.evaluation.results.run import EvaluatedSystem
from benchbuilder.exporters import FinishedBuild, ResultTable, TableCell, TableColumn, TableLine

_MOST = 12
"""With more sources than this, only overall figures are shown."""

ByModel = Mapping[str, Sequence[ClusteredScore]]


def metric_tables(
    frame: ResultsFrame, finished: FinishedBuild, published: PublishedResults | None
) -> list[tuple[ResultTable, int]]:
    """A table for each metric of the recipe that has scores, in the recipe's order, with its ranking column.

    Lines are ranked by the metric's last overall figure.
    """
    evaluation: Mapping[str, Any] = finished.recipe.get("evaluation") or {}
    named: Mapping[str, Mapping[str, Any]] = evaluation.get("metrics") or {}
    scores = _scores(frame, finished) if named else {}
    tables: list[tuple[ResultTable, int]] = []
    for name, settings in named.items():
        metric: Metric = create_from_spec(
            "metric", find_kind("metric", settings["kind"]).load().spec_class.model_validate(settings)
        )
        scored = _relevant_scores(metric, scores)
        for form in frame.run.forms:
            part = _of_form(frame, scored, form)
            if part:
                table = _table(frame, name, metric, part, published)
                tables.append((_named_by_form(frame, table, form), len(metric.figures)))
    return tables


def _of_form(frame: ResultsFrame, scored: ByModel, form: str) -> ByModel:
    """The scores of the items of one form; all of them without a form."""
    if not form:
        return scored
    items = {entry.row.id for entry in frame.run.entries if entry.form == form}
    parts = {name: [one for one in rows if one.score.item in items] for name, rows in scored.items()}
    return {name: rows for name, rows in parts.items() if rows}


def _named_by_form(frame: ResultsFrame, table: ResultTable, form: str) -> ResultTable:
    if not form:
        return table
    title = frame.t("results.of_form", measure=table.title, form=form)
    return replace(table, name=f"{table.name}_{form}", title=title)


def _scores(frame: ResultsFrame, finished: FinishedBuild) -> dict[tuple[str, str], dict[str, list[ClusteredScore]]]:
    """Scores by scorer and aspect, and by model; scores of missing answers are left out."""
    grouped: defaultdict[tuple[str, str], defaultdict[str, list[ClusteredScore]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for table in finished.tables.values():
        rows: Any = table if table.row is Score else ()
        for row in rows:
            if row.label != "missing" and frame.run.has_answer(row.model, row.item):
                grouped[row.scorer, row.aspect][row.model].append(
                    ClusteredScore(row, frame.run.facts.get(row.item, row.item))
                )
    return {key: dict(by_model) for key, by_model in grouped.items()}


def _relevant_scores(metric: Metric, scores: Mapping[tuple[str, str], dict[str, list[ClusteredScore]]]) -> ByModel:
    """The scores that the metric reads; of several scorers the first, unless the recipe names one."""
    wanted, scorer = metric.spec.aspect, metric.spec.scorer
    fits = (by_model for (by, aspect), by_model in scores.items() if aspect == wanted and scorer in (None, by))
    return next(fits, {})


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
        name=f"metric_{name}",
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
    return f"{where} · {frame.t.get(f'results.figure.{figure}', figure)}"


def _line(
    frame: ResultsFrame, system: EvaluatedSystem, metric: Metric, scores: Sequence[ClusteredScore],
    keys: Sequence[tuple[str, str]],
) -> TableLine:  # fmt: skip
    cells: list[TableCell] = []
    for source in dict.fromkeys(source for source, _ in keys):
        part = [row for row in scores if source in (ALL_SOURCES, row.score.partition)]
        clusters = [row.fact for row in part]
        for statistic in metric.statistics(part).values():
            cells.append(estimate_cell(bootstrap_estimate(statistic, clusters, **frame.bootstrap)))
    return frame.line(system, *cells, len(scores))
