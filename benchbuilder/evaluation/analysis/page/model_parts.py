"""The parts of the page about models: ranks, consistency, forms and wordings, and the plan of items."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

import numpy as np
from markupsafe import Markup

from benchbuilder.core import Floats
from benchbuilder.evaluation.analysis.model_sections import (
    Consistency,
    FormMeans,
    FormSpread,
    ModelConsistency,
    ModelRanks,
)
from benchbuilder.evaluation.analysis.page.experts import shortened
from benchbuilder.evaluation.analysis.page.parts import MOST_ROWS, AnalysisFigure, AnalysisFrame, AnalysisPart
from benchbuilder.evaluation.analysis.plan import PlanRequest, plan_items
from benchbuilder.evaluation.analysis.wordings import ModelWordings, WordingEffects
from benchbuilder.evaluation.results.context import estimate_cell, table_columns
from benchbuilder.exporters import (
    ChartDot,
    ChartRow,
    ResultTable,
    StackedRow,
    TableCell,
    TableColumn,
    row_chart,
    stacked_bar_chart,
    visible_text,
    width_of,
)

_ANSWERED = {"known": "c2", "half_known": "c4", "contradictory": "c5", "unknown": "lost"}
"""The colours of families: known, answered right in part, in part with a contradiction, and not known."""
FORM_CLASSES = ("c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7")
"""The colours of forms and wordings, in their order."""
_ROW, _DOT = 24.0, 6.0
_MOST_TICKS = 8


def ranks_part(frame: AnalysisFrame) -> AnalysisPart:
    """The ranks of models with their intervals, and the places that they share."""
    t, found = frame.t, frame.analysis.section(ModelRanks)
    title = t("analysis.page.ranks")
    if found.why is not None:
        return AnalysisPart("ranks", title, sentences=found.sentences(t))
    count, places = len(found.names), found.place.tolist()
    texts = [
        t("analysis.page.shared_place", place=place) if places.count(place) > 1 else str(place) for place in places
    ]
    rows = [
        ChartRow(frame.names[name], [ChartDot(rank + 1.0, float(low), float(high), "c2" if place == 1 else "c0")], text)
        for rank, (name, low, high, place, text) in enumerate(
            zip(found.names, found.low, found.high, places, texts, strict=True)
        )
    ]
    worst = max([min(count, MOST_ROWS), *found.high[:MOST_ROWS].tolist()])
    ticks = {float(rank): str(rank) for rank in _rank_ticks(worst)}
    heading = t("analysis.page.ranks_chart", n=count)
    chart = row_chart(rows[:MOST_ROWS], heading, ticks, margin=max(map(width_of, texts)) + 12)
    lines = [
        (frame.names[name], text, float(mean), f"{low} – {high}" if low != high else str(low), float(best))
        for name, text, mean, low, high, best in zip(
            found.names, texts, found.means, found.low, found.high, found.best, strict=True
        )
    ]
    table = frame.table(
        "model_ranks", title, "model:words=common.model place:words=analysis.page.place mean=analysis.page.mean "
        "rank:words=analysis.page.rank best:percent=analysis.page.best", lines,
    )  # fmt: skip
    legend = (("c2", t("analysis.page.first_place")), ("c0", t("analysis.page.other_places")))
    caption = frame.caption(found.items, found.families, count)
    figure = AnalysisFigure(heading, chart, caption, frame.shown_note(count), legend)
    return AnalysisPart("ranks", title, t("analysis.page.ranks_lead"), found.sentences(t), [figure], [table])


def _rank_ticks(count: int) -> list[int]:
    """The first rank, the last one, and a few between them."""
    step = max(1, -(-count // _MOST_TICKS))
    return [1, *(rank for rank in range(step, count, step) if 1 < rank <= count - 0.75 * step), count]


def consistency_part(frame: AnalysisFrame) -> AnalysisPart:
    """How many families each model knows whole, in part, not at all, or answers against itself."""
    t, found = frame.t, frame.analysis.section(Consistency)
    title = t("analysis.page.consistency")
    if found.why is not None:
        return AnalysisPart("consistency", title, sentences=found.sentences(t))
    models = sorted(found.models, key=lambda one: -one.known / max(one.families, 1))
    families, items = _consistency_basis(frame)
    caption, note = frame.caption(items, families, len(models)), frame.shown_note(len(models))
    shown = models[:MOST_ROWS]
    rows = [
        StackedRow(frame.names[one.model], _parts(one), t.percent(one.known / max(one.families, 1))) for one in shown
    ]
    legend = tuple((css, t(f"analysis.page.{name}")) for name, css in _ANSWERED.items())
    heading = t("analysis.page.consistency_chart")
    figures = [AnalysisFigure(heading, stacked_bar_chart(rows, heading), caption, note, legend)]
    guessed = [one for one in shown if one.knowledge.value is not None]
    if guessed:
        heading = t("analysis.page.knowledge_chart")
        figures.append(AnalysisFigure(heading, _knowledge_chart(frame, guessed, heading), caption, note))
    if any(not np.isnan(one.yes_bias) for one in shown):
        heading = t("analysis.page.bias_chart")
        figures.append(AnalysisFigure(heading, _bias_chart(frame, shown, heading), caption, note, (
            ("c0", t("analysis.page.yes_bias")), ("c1", t("analysis.page.form_bias")))))  # fmt: skip
    return AnalysisPart("consistency", title, t("analysis.page.consistency_lead"), (), figures,
                        [_consistency_table(frame, models, title)])  # fmt: skip


def _consistency_basis(frame: AnalysisFrame) -> tuple[int, int]:
    """The families of two or more items, and their items."""
    sizes = np.bincount(frame.models.items.families)
    return int((sizes > 1).sum()), int(sizes[sizes > 1].sum())


def _parts(one: ModelConsistency) -> list[tuple[float, str]]:
    """A family that is contradicted is answered right in part: yes to the right statement is right."""
    counts = {"known": one.known, "half_known": one.half_known - one.contradictory,
              "contradictory": one.contradictory, "unknown": one.unknown}  # fmt: skip
    return [(float(counts[name]), css) for name, css in _ANSWERED.items()]


def _knowledge_chart(frame: AnalysisFrame, models: Sequence[ModelConsistency], title: str) -> Markup:
    rows = [
        ChartRow(frame.names[one.model], [ChartDot(one.knowledge.value, one.knowledge.low, one.knowledge.high, "c2")],
                 _percent(one.knowledge.value))
        for one in models if one.knowledge.value is not None
    ]  # fmt: skip
    lows = [dot.low for row in rows for dot in row.dots if dot.low is not None]
    worst = min(lows, default=0.0)
    ticks = {part / 4: _percent(part / 4) for part in (range(5) if worst >= 0 else range(floor(worst * 2) * 2, 5, 2))}
    return row_chart(rows, title, ticks, margin=54, zero="base")


def _bias_chart(frame: AnalysisFrame, models: Sequence[ModelConsistency], title: str) -> Markup:
    rows = [
        ChartRow(frame.names[one.model], [ChartDot(value, None, None, css)
                 for value, css in ((one.yes_bias, "c0"), (one.form_bias, "c1")) if not np.isnan(value)])
        for one in models
    ]  # fmt: skip
    most = max([0.2, *(abs(dot.value) for row in rows for dot in row.dots)])
    edge = min(1.0, np.ceil(most * 10) / 10)
    ticks = {edge * part / 2: _signed_percent(edge * part / 2) for part in range(-2, 3)}
    return row_chart(rows, title, ticks, margin=18, zero="base")


def _percent(value: float) -> str:
    return f"{value * 100:.0f} %".replace("-", "\N{MINUS SIGN}")


def _signed_percent(value: float) -> str:
    return _percent(value) if value <= 0 else f"+{_percent(value)}"


def _consistency_table(frame: AnalysisFrame, models: Sequence[ModelConsistency], title: str) -> ResultTable:
    lines = [
        (frame.names[one.model], one.families, one.known, one.half_known, one.contradictory, one.unknown,
         TableCell(words=frame.t("analysis.page.of", n=one.contradictory, of=one.both_verdicts)), one.yes_bias,
         one.form_bias, estimate_cell(one.knowledge))
        for one in models
    ]  # fmt: skip
    return frame.table(
        "model_consistency", title, "model:words=common.model families:count=analysis.page.families "
        "known:count=analysis.page.known half:count=analysis.page.half_known_all "
        "contradictory:count=analysis.page.contradictory unknown:count=analysis.page.unknown "
        "both:words=analysis.page.contradictory_of yes_bias:signed=analysis.page.yes_bias "
        "form_bias:signed=analysis.page.form_bias knowledge=analysis.page.knowledge", lines,
        frame.t("analysis.page.consistency_note"),
    )  # fmt: skip


def forms_part(frame: AnalysisFrame) -> AnalysisPart:
    """The means of each model by the form of items."""
    t, found = frame.t, frame.analysis.section(FormSpread)
    title = t("analysis.page.forms")
    if found.why is not None:
        return AnalysisPart("forms", title, sentences=found.sentences(t))
    figures = [_form_figure(frame, group) for group in found.groups]
    tables = [_form_table(frame, group) for group in found.groups]
    return AnalysisPart("forms", title, t("analysis.page.forms_lead"), found.sentences(t), figures, tables)


def _form_names(frame: AnalysisFrame, values: Sequence[str]) -> list[str]:
    return [frame.t.get(f"audit.group.{value}", value) for value in values]


def _form_figure(frame: AnalysisFrame, group: FormMeans) -> AnalysisFigure:
    names = _form_names(frame, group.values)
    order = np.argsort(-np.nanmean(group.means, axis=1), kind="stable")[:MOST_ROWS]
    title = frame.t(f"analysis.page.forms_{group.by}")
    chart = wording_chart([frame.names[group.names[place]] for place in order],
                          (group.means[order], group.low[order], group.high[order]), title)  # fmt: skip
    legend = tuple(
        (css, frame.t("analysis.page.form_legend", name=name, items=items, families=families))
        for css, name, items, families in zip(FORM_CLASSES, names, group.items, group.families, strict=False)
    )
    return AnalysisFigure(title, chart, frame.caption(sum(group.items), group.family_count, len(group.names)),
                          frame.shown_note(len(group.names)), legend)  # fmt: skip


def wording_chart(models: Sequence[str], means: tuple[Floats, Floats, Floats], title: str) -> Markup:
    """One line for each model with a dot and an interval for each wording or form.

    Args:
        models: The names of the models.
        means: The means, and the lower and upper bounds of their intervals: models by wordings; nan for none.
        title: The title, for screen readers.
    """
    rows = [
        ChartRow(name, [
            ChartDot(value, None if np.isnan(low) else low, None if np.isnan(high) else high, css)
            for value, low, high, css in zip(
                *(part[place].tolist() for part in means), FORM_CLASSES, strict=False) if not np.isnan(value)
        ])
        for place, name in enumerate(models)
    ]  # fmt: skip
    edges = [dot.value if dot.low is None else dot.low for row in rows for dot in row.dots]
    ticks = {part / 4: _percent(part / 4) for part in range(min(3, floor(min(edges) * 4)), 5)}
    return row_chart(rows, title, ticks, margin=18, height=max(_ROW, means[0].shape[1] * _DOT + 12))


def _form_table(frame: AnalysisFrame, group: FormMeans) -> ResultTable:
    title = frame.t(f"analysis.page.forms_{group.by}")
    order = np.argsort(-np.nanmean(group.means, axis=1), kind="stable")
    names = _form_names(frame, group.values)
    lines = [
        (frame.names[group.names[place]],
         *(_interval(*(float(part[place, form]) for part in (group.means, group.low, group.high)))
           for form in range(len(names))),
         float(group.spread[place]))
        for place in order
    ]  # fmt: skip
    columns = [
        *table_columns(frame.t, "model:words=common.model"),
        *(TableColumn(f"form{place}", name) for place, name in enumerate(names)),
        *table_columns(frame.t, "spread=analysis.page.spread"),
    ]
    return frame.table(f"forms_{group.by}", title, columns, lines)


def _interval(value: float, low: float, high: float) -> TableCell:
    if np.isnan(value):
        return TableCell()
    if np.isnan(low):
        return TableCell(value)
    return TableCell(value, low=low, high=high)


_VARIANCE = {"of_item": "c0", "of_wording": "c5", "of_both": "c4", "of_sampling": "lost"}
"""The colours of what the variance of an answer comes with."""
_EXAMPLE = 70


def wordings_part(frame: AnalysisFrame) -> AnalysisPart:
    """The mean of each model in each wording, and what its answers vary with."""
    t, found = frame.t, frame.analysis.section(WordingEffects)
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


_DIFFERENCES = (0.01, 0.02, 0.03, 0.05, 0.1)


def plan_part(frame: AnalysisFrame) -> AnalysisPart | None:
    """How many items and families show differences of some sizes, estimated from these answers."""
    t, models = frame.t, frame.models
    level = frame.analysis.loaded.recipe.analysis.level
    plans = [plan_items(PlanRequest(size, level=level), models.items.families, models) for size in _DIFFERENCES]
    first = plans[0]
    if not first.estimated:
        return None
    said = [
        t("analysis.page.plan_present", n=first.present, families=models.family_count,
          points=t.number(first.visible * 100)),
        t("analysis.page.plan_basis", mean=t.percent(first.mean), correlation=f"{first.correlation:.2f}",
          likeness=f"{first.likeness:.2f}"),
    ]  # fmt: skip
    lines = [
        (t("analysis.page.points", n=round(plan.request.difference * 100)), plan.items, plan.families) for plan in plans
    ]
    table = frame.table(
        "item_plan", t("analysis.page.plan_table"), "difference:words=analysis.page.difference "
        "items:count=analysis.page.items_needed families:count=analysis.page.families_needed", lines,
    )  # fmt: skip
    return AnalysisPart("plan", t("analysis.page.plan"), t("analysis.page.plan_lead"), said, (), [table])
