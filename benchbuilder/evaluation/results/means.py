"""Means of every system: overall and by source, by question type, and for verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from benchbuilder.core import Floats, safe_ratio
from benchbuilder.evaluation.published import PublishedResults, PublishedTable
from benchbuilder.evaluation.results.columns import ItemValues
from benchbuilder.evaluation.results.context import CellValue, ResultsFrame, estimate_cell, table_line
from benchbuilder.evaluation.results.run import VERDICT, EvaluatedSystem, ScoredAspect
from benchbuilder.evaluation.results.stated_metrics import VERDICTS
from benchbuilder.evaluation.stats.intervals import bootstrap_estimate
from benchbuilder.evaluation.stats.statistic import Bools, statistic_of_sums
from benchbuilder.exporters import ResultTable, TableCell, TableColumn, TableLine, ValueFormat

_MOST = 20
"""The most sources that get their own column."""
_REST = "\0"
ALL_SOURCES = "all"
"""The column of the figures over all sources, in data files and in files of published figures."""
_ONE_SIDE = "undefined: only one verdict is expected"


def ranked_systems(frame: ResultsFrame, measure: ScoredAspect) -> list[EvaluatedSystem]:
    """The systems with scores in `measure`: models, then people, then rules; the best first in each group."""
    means = {
        system: values
        for system in frame.run.systems
        if (values := frame.run.values(measure, system.name).numbers.tolist())
    }
    places = {group: place for place, group in enumerate(("model", "people", "rule"))}
    return sorted(
        means, key=lambda one: (places[one.group], -measure.sign * sum(means[one]) / len(means[one]), one.name)
    )


def means_table(frame: ResultsFrame, measure: ScoredAspect, published: PublishedResults | None) -> ResultTable:
    """Mean and standard deviation per model, over all items and by source."""
    t = frame.t
    sources, rest = _columns(frame)
    form: ValueFormat = "percent" if measure.aspect == VERDICT else "score"
    masks = [
        frame.run.items.sources.among(names) for names in (*([source] for source in sources), *filter(None, [rest]))
    ]
    lines: list[TableLine] = []
    for system in ranked_systems(frame, measure):
        values = frame.run.values(measure, system.name)
        parts = [values, *map(values.where, masks)]
        cells = [frame.mean_cell(part, spread=measure.aspect != VERDICT) for part in parts]
        lines.append(frame.line(system, *cells, cells[0].n))
    notes = [t("results.words_only")] if measure.compares_words_only else []
    notes += [t("results.folded", n=len(rest), shown=len(sources))] if rest else []
    table = published.tables.get(measure.aspect) if published else None
    if published and table and measure.role != "rule" and not measure.compares_words_only:
        lines += published_lines(frame, published, table, (ALL_SOURCES, *sources, *([_REST] if rest else [])))
        notes.append(t("results.published_note", title=published.title, cite=published.cite, label=table.label))
    uneven = len({line.cells[1].n for line in lines if line.block == "own"}) > 1
    if uneven:
        notes.append(t("results.uneven"))
    return ResultTable(
        name=f"means_{measure.slug}",
        title=frame.measure_label(measure),
        introduction=t("results.verdict_sources_lead" if measure.aspect == VERDICT else "results.means_lead"),
        columns=(
            TableColumn("model", t("common.model"), "words"),
            TableColumn("all", t("report.all_sources"), form),
            *(TableColumn(f"source_{source}", source, form) for source in sources),
            *([TableColumn("other_sources", t("results.other_sources"), form)] if rest else []),
            TableColumn("n", t("results.items"), "count"),
        ),
        lines=tuple(lines),
        notes=tuple(notes),
    )


def _columns(frame: ResultsFrame) -> tuple[list[str], frozenset[str]]:
    """The sources with their own column (the largest ones), and those that share a column."""
    counts = Counter(frame.run.items.sources)
    if len(counts) < 2:
        return [], frozenset()
    largest = {name for name, _ in counts.most_common(_MOST)}
    return [name for name in frame.run.sources if name in largest], frozenset(counts.keys() - largest)


def published_lines(
    frame: ResultsFrame, published: PublishedResults, table: PublishedTable, sources: Sequence[str]
) -> list[TableLine]:
    """A line per published row; its last cell is the number of items."""
    lines: list[TableLine] = []
    for name, row in table.rows.items():
        known = dict(zip(table.sources, row.cells, strict=True))
        count = row.items or published.items
        cells: list[TableCell] = []
        for source in sources:
            value, spread = row.parts(known.get(source))
            cells.append(TableCell(value, sd=spread, n=count if source == ALL_SOURCES and value is not None else None))
        group, tag = "people" if row.people else "model", frame.t("results.published")
        lines.append(table_line(name, *cells, count, group=group, tag=tag, block="published"))
    return lines


def type_table(frame: ResultsFrame, measure: ScoredAspect) -> ResultTable | None:
    """Mean per question type, and the difference of the first two; ``None`` with fewer than two types."""
    run, t = frame.run, frame.t
    if len(run.types) < 2 or measure.aspect == VERDICT:
        return None
    lines: list[TableLine] = []
    for system in ranked_systems(frame, measure):
        parts = [run.values(measure, system.name, run.items.types.among([kind])) for kind in run.types]
        both = ItemValues(
            *(np.concatenate([getattr(part, name) for part in parts[:2]]) for name in ("places", "numbers"))
        )
        gap = _two_means(frame, both, run.items.types.among(run.types[:1]), np.subtract, t("results.one_type"))
        lines.append(frame.line(system, *map(frame.mean_cell, parts), gap))
    first, second = run.types[:2]
    return ResultTable(
        name=f"types_{measure.slug}",
        title=frame.measure_label(measure),
        columns=(
            TableColumn("model", t("common.model"), "words"),
            *(TableColumn(kind.lower(), kind) for kind in run.types),
            TableColumn("difference", t("results.less", first=first, second=second), "signed"),
        ),
        lines=tuple(lines),
    )


def wrong_from_table(frame: ResultsFrame, measure: ScoredAspect) -> ResultTable | None:
    """Mean by where the wrong answers come from; ``None`` if all come from one place."""
    run, t = frame.run, frame.t
    places = sorted(filter(None, run.items.wrong_from.names))
    if len(places) < 2:
        return None
    lines: list[TableLine] = []
    for system in ranked_systems(frame, measure):
        parts = (run.values(measure, system.name, run.items.wrong_from.among([place])) for place in places)
        lines.append(frame.line(system, *map(frame.mean_cell, parts)))
    return ResultTable(
        name=f"wrong_from_{measure.slug}",
        title=t("results.by_wrong_from", measure=frame.measure_label(measure)),
        columns=(TableColumn("model", t("common.model"), "words"), *(TableColumn(name, name) for name in places)),
        lines=tuple(lines),
    )


def _two_means(
    frame: ResultsFrame, values: ItemValues, first: Bools, combine: Callable[[Floats, Floats], Floats], why: str
) -> TableCell:
    """A figure of two means: of the items that `first` marks, and of all others; `why` it is missing without one."""
    inside, scores = first[values.places].astype(np.float64), values.numbers
    statistic = statistic_of_sums(
        [inside, inside * scores, 1 - inside, (1 - inside) * scores],
        lambda sums: combine(safe_ratio(sums[:, 1], sums[:, 0]), safe_ratio(sums[:, 3], sums[:, 2])),
        np.ones(len(values), np.bool_),
        why,
    )
    return estimate_cell(bootstrap_estimate(statistic, frame.run.clusters(values.places), **frame.bootstrap))


def verdict_table(frame: ResultsFrame, measure: ScoredAspect) -> ResultTable:
    """Accuracy on true/false questions: overall, balanced and by right verdict, with rates of missing verdicts."""
    t = frame.t
    always = [
        table_line(
            t(f"results.always_{verdict}"),
            *_constant_answer_line(frame, verdict, measure.form),
            group="reference",
            block="reference",
        )
        for verdict in ("yes", "no")
    ]
    lines = [
        frame.line(system, *_verdict_cells(frame, measure, system.name)) for system in ranked_systems(frame, measure)
    ]
    uneven = len({line.cells[-1].value for line in lines}) > 1
    labels = ("accuracy", "balanced", "on_yes", "on_no", "said_yes", "invalid", "abstained", "refused", "silent")
    return ResultTable(
        name=f"{VERDICTS}{measure.slug}",
        title=frame.with_form(t("results.verdicts"), measure),
        introduction=t("results.verdicts_lead"),
        columns=(
            TableColumn("model", t("common.model"), "words"),
            *(TableColumn(key, t(f"results.{key}"), "percent") for key in labels),
            TableColumn("n", t("results.questions"), "count"),
        ),
        lines=(*always, *lines),
        notes=(t("results.verdicts_note"), *([t("results.uneven")] if uneven else [])),
    )


def expected_verdicts(frame: ResultsFrame, form: str = "") -> Bools:
    """Which items are true/false items; of one `form`, if there is one."""
    items = frame.run.items
    asked = ~items.expected.among([""])
    return asked & items.forms.among([form]) if form else asked


def _constant_answer_line(frame: ResultsFrame, verdict: str, form: str) -> list[CellValue]:
    places = np.flatnonzero(expected_verdicts(frame, form))
    values = ItemValues(places, frame.run.items.expected.among([verdict])[places].astype(np.float64))
    return [*_accuracies(frame, values), float(verdict == "yes"), 0.0, 0.0, 0.0, 0.0, len(places)]


def _verdict_cells(frame: ResultsFrame, measure: ScoredAspect, model: str) -> list[CellValue]:
    asked, right_yes = expected_verdicts(frame, measure.form), frame.run.items.expected.among(["yes"])
    scores = frame.run.valued_scores(measure, model)
    scores = scores.where(asked[scores.places])
    right, is_valid = scores.labels.among(["right"]), scores.labels.among(_VALID)
    yes = int(((right == right_yes[scores.places]) & is_valid).sum())
    valid, total = int(is_valid.sum()), len(scores.places)
    missing = [int(scores.labels.among([name]).sum()) for name in ("invalid", "abstained", "refused")]
    missing.append(total - valid - sum(missing))
    said_yes = TableCell(yes / valid, n=valid) if valid else TableCell(why=frame.t("results.no_verdict"))
    return [
        *_accuracies(frame, ItemValues(scores.places, right.astype(np.float64))),
        said_yes,
        *(TableCell(count / total, n=count) if total else None for count in missing),
        total,
    ]


_VALID = ("right", "wrong")


def _accuracies(frame: ResultsFrame, values: ItemValues) -> list[TableCell]:
    """Accuracy, balanced accuracy, and accuracy on questions where yes or no is right."""
    masks = [frame.run.items.expected.among([verdict]) for verdict in ("yes", "no")]
    return [
        frame.mean_cell(values, spread=False),
        _two_means(frame, values, masks[0], lambda yes, no: (yes + no) / 2, _ONE_SIDE),
        *(frame.mean_cell(values.where(mask), spread=False) for mask in masks),
    ]
