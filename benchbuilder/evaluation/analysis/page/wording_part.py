"""The part of the page that says how far scores hang on the wording of the same questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchbuilder.evaluation.analysis.page.experts import shortened
from benchbuilder.evaluation.analysis.page.model_parts import FORM_CLASSES, wording_chart
from benchbuilder.evaluation.analysis.page.parts import MOST_ROWS, AnalysisFigure, AnalysisFrame, AnalysisPart
from benchbuilder.evaluation.analysis.wordings import ModelWordings, WordingEffects
from benchbuilder.evaluation.results.context import estimate_cell, table_columns
from benchbuilder.exporters import ResultTable, StackedRow, TableColumn, stacked_bar_chart, visible_text

_VARIANCE = {"of_item": "c0", "of_wording": "c5", "of_both": "c4", "of_sampling": "lost"}
"""The colours of what the variance of an answer comes with."""
_EXAMPLE = 70


def wordings_part(frame: AnalysisFrame) -> AnalysisPart | None:
    """The mean of each model in each wording, and what its answers vary with."""
    t, found = frame.t, frame.section("wordings", WordingEffects)
    if found is None:
        return None
    title, said = t("analysis.page.wordings"), found.sentences(t)
    if found.why is not None:
        return AnalysisPart("wordings", title, sentences=said)
    models = sorted(found.models, key=lambda one: -np.mean([_number(mean.value) for mean in one.means]))
    said = [said[0], *said[1 + len(models) :]]  # the lines of the models are the chart and the table
    return AnalysisPart("wordings", title, t("analysis.page.wordings_lead"), said, _figures(frame, found, models),
                        [_table(frame, found, models)])  # fmt: skip


def _figures(frame: AnalysisFrame, found: WordingEffects, models: Sequence[ModelWordings]) -> list[AnalysisFigure]:
    t, shown = frame.t, models[:MOST_ROWS]
    names = [frame.names.get(one.model, visible_text(one.model)) for one in shown]
    most = max(models, key=lambda one: one.items)
    caption, note = frame.caption(most.items, most.families, len(models)), frame.shown_note(len(models))
    means, low, high = (
        np.array([[_number(getattr(mean, part)) for mean in one.means] for one in shown])
        for part in ("value", "low", "high")
    )
    legend = tuple(
        (css, t("analysis.page.wording_legend", name=name, example=shortened(visible_text(example), _EXAMPLE)))
        for css, name, example in zip(FORM_CLASSES, found.wordings, found.examples, strict=False)
    )
    heading = t("analysis.page.wordings_chart")
    figures = [AnalysisFigure(heading, wording_chart(names, (means, low, high), heading), caption, note, legend)]
    rows = [
        StackedRow(name, [(max(0.0, _number(getattr(one, part).value)), css) for part, css in _VARIANCE.items()],
                   t.percent(_number(one.of_wording.value)))
        for name, one in zip(names, shown, strict=True)
        if all(getattr(one, part).value is not None for part in _VARIANCE)
    ]  # fmt: skip
    if rows:
        heading = t("analysis.page.variance_chart")
        colours = tuple((css, t(f"analysis.page.{part}")) for part, css in _VARIANCE.items())
        figures.append(AnalysisFigure(heading, stacked_bar_chart(rows, heading), caption, note, colours))
    return figures


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _table(frame: AnalysisFrame, found: WordingEffects, models: Sequence[ModelWordings]) -> ResultTable:
    t = frame.t
    columns = [
        *table_columns(t, "model:words=common.model items:count=analysis.page.items_column "
                       "families:count=analysis.page.families"),
        *(TableColumn(f"wording{place}", name) for place, name in enumerate(found.wordings)),
        *table_columns(t, "spread=analysis.page.spread chance=analysis.page.spread_by_chance p=audit.table_p "
                       "flips:percent=analysis.page.flips"),
    ]  # fmt: skip
    lines = [
        (frame.names.get(one.model, one.model), one.items, one.families, *map(estimate_cell, one.means),
         estimate_cell(one.spread), one.chance, one.p, estimate_cell(one.flips))
        for one in models
    ]  # fmt: skip
    return frame.table("model_wordings", t("analysis.page.wordings"), columns, lines)
