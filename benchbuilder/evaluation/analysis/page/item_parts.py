"""The parts of the page about items: the map, wrong answers, difficulty, and groups of items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from markupsafe import Markup

from benchbuilder.core import Floats
from benchbuilder.evaluation.analysis.answered import Bools
from benchbuilder.evaluation.analysis.difficulty import DifficultyScale, ItemSubset
from benchbuilder.evaluation.analysis.groups import GroupComparison, GroupDifferences
from benchbuilder.evaluation.analysis.item_sections import FLAGS, ItemTable
from benchbuilder.evaluation.analysis.page.charts import ItemMap, MapTexts, MarkedItem, curve_chart, scale_chart
from benchbuilder.evaluation.analysis.page.experts import ReturnedItem
from benchbuilder.evaluation.analysis.page.parts import MOST_ROWS, AnalysisFigure, AnalysisFrame, AnalysisPart
from benchbuilder.evaluation.results.context import CellValue, table_columns
from benchbuilder.exporters import ChartDot, ChartRow, ResultTable, Series, TableColumn, column_chart, row_chart

_BINS = 10
_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_CORRELATIONS = (-1.0, 0.0, 0.2, 0.4, 1.0)
_RATIOS = {-3.0: "⅛", -2.0: "¼", -1.0: "½", 0.0: "1", 1.0: "2", 2.0: "4", 3.0: "8"}


def map_part(frame: AnalysisFrame, returned: Sequence[ReturnedItem]) -> AnalysisPart | None:
    """How hard each item is, and how well it goes with the rest."""
    t, found = frame.t, frame.analysis.section(ItemTable)
    if not len(found.ids):
        return None
    share = t.percent(float(found.difficulty.mean()))
    said = [t("analysis.items_lead", models=found.models, n=len(found.ids), families=found.families, share=share)]
    caption = frame.caption(len(found.ids), found.families, found.models)
    if found.why is not None:
        figure = AnalysisFigure(t("analysis.page.share_right"), _histogram(frame, found), caption)
        return AnalysisPart(
            "items", t("analysis.page.items"), t("analysis.page.items_lead"), [*said, found.why.text(t)], [figure]
        )
    counts = {flag: int((found.flags == flag).sum()) for flag in FLAGS}
    said += [t("analysis.flags", **counts),
             t("analysis.least_correlation", n=found.models, r=f"{found.least_correlation:.2f}")]  # fmt: skip
    texts = MapTexts(
        t("analysis.page.map_text", n=len(found.ids), **counts), t("analysis.page.share_right"),
        t("analysis.page.item_rest"), t("analysis.page.no_correlation"), t("analysis.page.better_do_worse"),
        lambda n: t("analysis.page.items_here", n=n),
    )  # fmt: skip
    marks = [
        MarkedItem(str(item.place), item.difficulty, item.item_rest, f"#back-{item.place}",
                   t("analysis.page.mark", place=item.place, question=item.short))
        for item in returned
    ]  # fmt: skip
    item_map = ItemMap(found.difficulty, found.item_rest, found.models, found.least_correlation)
    chart, most = item_map.picture(texts, marks), item_map.most
    items = t("analysis.page.legend_cells", n=most) if most else t("analysis.page.legend_items")
    legend = (("c0", items), ("c1", t("analysis.page.legend_back")),
              ("band", t("analysis.page.legend_band", r=f"{found.least_correlation:.2f}")))  # fmt: skip
    figure = AnalysisFigure(t("analysis.page.map_title"), chart, caption, t("analysis.page.map_note"), legend)
    return AnalysisPart(
        "items", t("analysis.page.items"), t("analysis.page.items_lead"), said, [figure], [_cross_table(frame, found)]
    )


def _histogram(frame: AnalysisFrame, found: ItemTable) -> Markup:
    counts = np.bincount(np.clip((found.difficulty * _BINS + 1e-9).astype(int), 0, _BINS - 1), minlength=_BINS)
    axis = frame.t("analysis.page.share_right")
    labels = [f"{place * 10} %" for place in range(_BINS)]
    return column_chart(labels, [Series(axis, "c0", counts.tolist())], axis, axis=axis, totals=True)


def _cross_table(frame: AnalysisFrame, found: ItemTable) -> ResultTable:
    """The numbers behind the map: items by mean score and correlation."""
    t = frame.t
    shares = list(pairwise(_SHARES))
    lines: list[list[CellValue]] = []
    for name, rows in _correlation_rows(found.item_rest, t("analysis.page.no_correlation_long")):
        cells = [int((rows & _between(found.difficulty, low, high)).sum()) for low, high in shares]
        lines.append([name, *map(float, cells), float(sum(cells))])
    columns = [
        *table_columns(t, "rest:words=analysis.page.item_rest"),
        *(TableColumn(f"share{place}", f"{low * 100:.0f}–{high * 100:.0f}\N{NO-BREAK SPACE}%", "count")
          for place, (low, high) in enumerate(shares)),
        *table_columns(t, "all:count=common.total"),
    ]  # fmt: skip
    return frame.table("item_map", t("analysis.page.map_title"), columns, lines, t("analysis.page.map_table_note"))


def _correlation_rows(item_rest: Floats, none: str) -> list[tuple[str, Bools]]:
    bounds = list(pairwise(_CORRELATIONS))[::-1]
    rows = [(f"{low:.1f} – {high:.1f}".replace("-", "\N{MINUS SIGN}"), _between(item_rest, low, high))
            for low, high in bounds]  # fmt: skip
    return [*rows, (none, np.isnan(item_rest))]


def _between(values: Floats, low: float, high: float) -> Bools:
    return (values >= low) & ((values < high) | (high == 1.0) & (values <= high))


def difficulty_part(frame: AnalysisFrame) -> AnalysisPart | None:
    """Items and models on one scale, with the rule that says what is shown."""
    t, found = frame.t, frame.analysis.section(DifficultyScale)
    title, lead = t("analysis.page.difficulty"), t("analysis.page.difficulty_lead")
    if not len(found.ids):
        return AnalysisPart("difficulty", title, sentences=[found.why.text(t)] if found.why is not None else [])
    caption = frame.caption(len(found.ids), frame.models.families_of(found.ids), found.models)
    labels = (t("analysis.page.scale_items"), t("analysis.page.scale_models"), t("analysis.page.logits"))
    heading = t("analysis.page.scale_title")
    figures = [AnalysisFigure(heading, scale_chart(found.b, found.ability, heading, labels), caption)]
    if len(found.information):
        heading, errors = t("analysis.page.error_title"), 1 / np.sqrt(found.information)
        curve = curve_chart(found.abilities.tolist(), errors.tolist(), heading, t("analysis.page.error_axis"))
        figures.append(AnalysisFigure(heading, curve, caption, t("analysis.page.error_note")))
    order = np.argsort(-found.ability, kind="stable")
    lines = [(frame.names[found.names[place]], float(found.ability[place]), float(found.ability_error[place]))
             for place in order]  # fmt: skip
    table = frame.table("abilities", t("analysis.page.abilities"), "model:words=common.model "
                        "ability:signed=analysis.page.ability error=analysis.page.ability_error", lines)  # fmt: skip
    return AnalysisPart("difficulty", title, lead, found.sentences(t), figures, [table])


def groups_part(frame: AnalysisFrame) -> AnalysisPart | None:
    """Which items favour a group of models."""
    t, found = frame.t, frame.analysis.section(GroupDifferences)
    if not (found.comparisons or found.skipped):
        return None
    title, lead = t("analysis.page.groups"), t("analysis.page.groups_lead")
    if not found.comparisons:
        return AnalysisPart("groups", title, lead, found.sentences(t))
    ordered = sorted(found.comparisons, key=lambda one: (one.p, one.groups, one.by, one.value))
    rows = [ChartRow(_value(frame, one), [ChartDot(_octaves(one), None, None, "fail" if one.differs else "all")],
                     f"{one.odds_ratio:.2f}") for one in ordered[:MOST_ROWS]]  # fmt: skip
    most = max(1, min(3, math.ceil(max(abs(dot.value) for row in rows for dot in row.dots))))
    ticks = {at: text for at, text in _RATIOS.items() if abs(at) <= most}
    models = max(one.models for one in ordered)
    heading = t("analysis.page.groups_chart")
    figure = AnalysisFigure(
        heading,
        row_chart(rows, heading, ticks, margin=44, zero="base"),
        frame.caption(len(frame.models.items), frame.models.family_count, models),
        frame.shown_note(len(ordered)),
        (("fail", t("analysis.page.differs")), ("all", t("analysis.page.differs_not"))),
    )
    lines = [
        (one.title, t(f"analysis.by_{one.by}"), _value(frame, one), one.items, one.families, one.models, one.odds_ratio,
         one.p_adjusted, t("analysis.page.differs" if one.differs else "analysis.page.differs_not"))
        for one in ordered
    ]  # fmt: skip
    table = frame.table(
        "group_comparisons", title, "pair:words=analysis.page.pair by:words=analysis.page.by "
        "value:words=analysis.page.value items:count=analysis.page.items_column families:count=analysis.page.families "
        "models:count=analysis.page.models odds=analysis.page.odds p=audit.table_p found:words=audit.table_word",
        lines,
    )  # fmt: skip
    return AnalysisPart("groups", title, lead, found.sentences(t), [figure], [table])


def _value(frame: AnalysisFrame, one: GroupComparison) -> str:
    """The source, form or relation as readers know it."""
    return frame.t.get(f"audit.group.{one.value}", one.value) if one.by in ("form", "type") else one.value


def _octaves(one: GroupComparison) -> float:
    """The odds ratio as a power of 2, on the scale of the chart."""
    return min(3.0, max(-3.0, math.log2(one.odds_ratio))) if one.odds_ratio > 0 else -3.0


def subset_part(frame: AnalysisFrame) -> AnalysisPart | None:
    """A subset of the items that keeps the ranking, if one was asked for."""
    t, said = frame.t, frame.analysis.section(ItemSubset).sentences(frame.t)
    return AnalysisPart("subset", t("analysis.page.subset"), sentences=said) if said else None
