"""What the metrics of a recipe make of scores: figures for each model, in all and for each source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from benchbuilder.core.records.roles import Score
from benchbuilder.core.registry import create, find
from benchbuilder.core.stats.intervals import estimate
from benchbuilder.evaluation.metrics.base import Metric, Scored
from benchbuilder.evaluation.results.context import Frame, estimate_cell
from benchbuilder.evaluation.results.published import Published, PublishedTable
from benchbuilder.evaluation.results.run import Contender
from benchbuilder.exporters.base import Finished
from benchbuilder.exporters.render.tables import Cell, Column, Line, Sheet, count

_MOST = 12
"""Sources with columns of their own; where there are more, the figures are shown in all."""
_ALL = "all"

ByModel = Mapping[str, Sequence[Scored]]


def metrics(frame: Frame, finished: Finished, published: Published | None) -> list[tuple[Sheet, int]]:
    """A table for each metric of the recipe that has scores to work on, in the recipe's order, and the column by
    which its lines are ranked: the metric's last figure, in all."""
    evaluation: Mapping[str, Any] = finished.recipe.get("evaluation") or {}
    named: Mapping[str, Mapping[str, Any]] = evaluation.get("metrics") or {}
    scores = _scores(frame, finished) if named else {}
    found: list[tuple[Sheet, int]] = []
    for name, given in named.items():
        metric: Metric = create("metric", find("metric", given["kind"]).load().spec_class.model_validate(given))
        scored = _wanted(metric, scores)
        if scored:
            found.append((_sheet(frame, name, metric, scored, published), len(metric.figures)))
    return found


def _scores(frame: Frame, finished: Finished) -> dict[tuple[str, str], dict[str, list[Scored]]]:
    """Scores by scorer and aspect, and by model; those of answers that were never given are left out."""
    found: defaultdict[tuple[str, str], defaultdict[str, list[Scored]]] = defaultdict(lambda: defaultdict(list))
    for table in finished.tables.values():
        rows: Any = table if table.row is Score else ()
        for row in rows:
            if row.label != "missing" and frame.run.given(row.model, row.item):
                found[row.scorer, row.aspect][row.model].append(Scored(row, frame.run.facts.get(row.item, row.item)))
    return {key: dict(by_model) for key, by_model in found.items()}


def _wanted(metric: Metric, scores: Mapping[tuple[str, str], dict[str, list[Scored]]]) -> ByModel:
    """What the metric is about; of several scorers the first one's, unless the recipe names one."""
    wanted, scorer = metric.spec.aspect, metric.spec.scorer
    fits = (by_model for (by, aspect), by_model in scores.items() if aspect == wanted and scorer in (None, by))
    return next(fits, {})


def _sheet(frame: Frame, name: str, metric: Metric, scored: ByModel, published: Published | None) -> Sheet:
    t = frame.t
    sources = list(frame.run.sources) if 1 < len(frame.run.sources) <= _MOST else []
    keys = [(source, figure) for source in (_ALL, *sources) for figure in metric.figures]
    contenders = [one for one in frame.run.contenders if one.name in scored]
    lines = {one: _line(frame, one, metric, scored[one.name], keys) for one in contenders}
    best = len(metric.figures)
    places = {group: place for place, group in enumerate(("model", "people", "rule"))}
    ranked = sorted(lines, key=lambda one: (places[one.group], -(lines[one].cells[best].value or 0.0), one.name))
    found = [lines[one] for one in ranked]
    notes: list[str] = []
    if published is not None and (table := published.tables.get(name)) is not None:
        found += _published(frame, published, table, [_key(metric, *key) for key in keys])
        cite = t("results.published_note", title=published.title, cite=published.cite, label=table.label)
        notes = [cite, *(f"{model}: {row.note}" for model, row in table.rows.items() if row.note)]
    columns = [Column(_key(metric, *key).replace(":", "_"), _label(frame, metric, *key), "percent") for key in keys]
    return Sheet(
        name=f"metric_{name}",
        title=t.get(f"results.metric.{name}", name.replace("_", " ")),
        lead=t.get(f"results.metric_kind.{metric.kind}", ""),
        columns=(Column("model", t("common.model"), "words"), *columns, Column("n", t("results.items"), "count")),
        lines=tuple(found),
        notes=tuple(notes),
    )  # fmt: skip


def _key(metric: Metric, source: str, figure: str) -> str:
    """How a column is called in data files, and in files of published figures."""
    return source if len(metric.figures) == 1 else f"{source}:{figure}"


def _label(frame: Frame, metric: Metric, source: str, figure: str) -> str:
    where = frame.t("report.all_sources") if source == _ALL else source
    if len(metric.figures) == 1:
        return where
    return f"{where} · {frame.t.get(f'results.figure.{figure}', figure)}"


def _line(
    frame: Frame, one: Contender, metric: Metric, scored: Sequence[Scored], keys: Sequence[tuple[str, str]]
) -> Line:
    cells: list[Cell] = []
    for source in dict.fromkeys(source for source, _ in keys):
        part = [row for row in scored if source in (_ALL, row.score.partition)]
        clusters = [row.fact for row in part]
        for statistic in metric.statistics(part).values():
            cells.append(estimate_cell(estimate(statistic, clusters, **frame.drawn)))
    return frame.line(one, *cells, count(len(scored)))


def _published(frame: Frame, published: Published, table: PublishedTable, keys: Sequence[str]) -> list[Line]:
    lines: list[Line] = []
    for model, row in table.rows.items():
        known = dict(zip(table.sources, row.cells, strict=True))
        cells = [Cell(words=model)]
        for key in keys:
            value, spread = row.parts(known.get(key))
            cells.append(Cell(value, sd=spread))
        items = row.items or published.items
        cells.append(Cell() if items is None else count(items))
        lines.append(Line(tuple(cells), "people" if row.people else "model", frame.t("results.published"), "published"))
    return lines
