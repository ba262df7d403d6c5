"""Means of every system: overall and by source, by question type, and for verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchbuilder.config import PenaltySpec
from benchbuilder.core import DataError, Floats, safe_ratio
from benchbuilder.evaluation.parsing.verdict_tables import read_verdict_table
from benchbuilder.evaluation.published import PublishedResults, PublishedTable
from benchbuilder.evaluation.results.columns import ItemScores, ItemValues, Places
from benchbuilder.evaluation.results.context import CellValue, ResultsFrame, estimate_cell, interval_cell, table_line
from benchbuilder.evaluation.results.run import VERDICT, EvaluatedSystem, ScoredAspect
from benchbuilder.evaluation.results.stated_metrics import ABSTENTION, VERDICTS
from benchbuilder.evaluation.stats.intervals import bootstrap_estimate
from benchbuilder.evaluation.stats.prediction_powered import clustered_prediction_powered_mean
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


def paired_systems(frame: ResultsFrame, measure: ScoredAspect) -> list[EvaluatedSystem]:
    """The systems to compare in pairs: models and people; also rules if there would be no pair without them."""
    everyone = ranked_systems(frame, measure)
    known = [system for system in everyone if system.group != "rule"]
    return known if len(known) > 1 else everyone


_COPIED = 0.9995
"""A mean similarity that is shown as 1.000."""


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
    copied = [
        system.display_name
        for system, line in zip(ranked_systems(frame, measure), lines, strict=True)
        if measure.of_similarity and (line.cells[1].value or 0) >= _COPIED
    ]
    notes += [t("results.copied", models=t("report.list_comma").join(copied))] if copied else []
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
        sizes = {} if row.items else dict(zip(table.sources, table.sizes, strict=False))
        sizes[ALL_SOURCES] = sizes.get(ALL_SOURCES) or count
        cells: list[TableCell] = []
        for source in sources:
            value, spread = row.parts(known.get(source))
            cells.append(TableCell(value, sd=spread, n=None if value is None else sizes.get(source)))
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


_ATTEMPTED = ("right", "wrong", "invalid")
_ABSTAINED = ("abstained", "refused")


def abstention_table(frame: ResultsFrame, measure: ScoredAspect, evaluation: Mapping[str, Any]) -> ResultTable:
    """Accuracy, accuracy of attempts, abstention rate, wrong rate and penalty score of each system.

    A verdict table without a list of abstentions leaves them unread: then the figures that need them are missing, and a
    note says which table it is.
    """
    t, penalty = frame.t, PenaltySpec.model_validate(evaluation.get("penalty") or {})
    unread = _tables_without_list(evaluation, measure)
    why = t("results.abstention_unread", tables=t("report.list_comma").join(unread)) if unread else ""
    weights = t("results.penalty_weights", **{name: f"{value:g}" for name, value in penalty.model_dump().items()})
    return ResultTable(
        name=f"{ABSTENTION}{measure.slug}",
        title=frame.with_form(t("results.abstention"), measure),
        introduction=t("results.abstention_lead"),
        columns=(
            TableColumn("model", t("common.model"), "words"),
            TableColumn("accuracy", t("results.accuracy"), "percent"),
            TableColumn("attempted", t("results.attempted"), "percent"),
            TableColumn("abstention", t("results.abstention_rate"), "percent"),
            TableColumn("abstained", t("results.abstained"), "percent"),
            TableColumn("refused", t("results.refused"), "percent"),
            TableColumn("wrong", t("results.wrong_rate"), "percent"),
            TableColumn("penalty", t("results.penalty", weights=weights), "signed"),
            TableColumn("n", t("results.questions"), "count"),
        ),
        lines=tuple(
            frame.line(system, *_cells(frame, measure, system.name, penalty, why))
            for system in ranked_systems(frame, measure)
        ),
        notes=tuple(filter(None, (t("results.abstention_note"), why))),
    )


def _cells(
    frame: ResultsFrame, measure: ScoredAspect, model: str, penalty: PenaltySpec, why: str
) -> tuple[CellValue, ...]:
    scores = frame.run.valued_scores(measure, model)
    scores = scores.where(expected_verdicts(frame, measure.form)[scores.places])

    def share(*labels: str) -> TableCell:
        return frame.mean_cell(_indicator(scores, labels), spread=False)

    weights = np.array([penalty.of(name) for name in scores.labels.names], np.float64)[scores.labels.codes]
    tried = scores.where(scores.labels.among(_ATTEMPTED))
    return (
        share("right"),
        TableCell(why=why) if why else frame.mean_cell(_indicator(tried, ("right",)), spread=False),
        TableCell(why=why) if why else share(*_ABSTAINED),
        TableCell(why=why) if why else share("abstained"),
        share("refused"),
        share("wrong"),
        frame.mean_cell(ItemValues(scores.places, weights), spread=False),
        len(scores.places),
    )


def _indicator(scores: ItemScores, labels: tuple[str, ...]) -> ItemValues:
    return ItemValues(scores.places, scores.labels.among(labels).astype(np.float64))


def _tables_without_list(evaluation: Mapping[str, Any], measure: ScoredAspect) -> list[str]:
    """The names of the verdict tables of the scorer that have no list of abstentions, or cannot be read any more."""
    spec: Mapping[str, Any] = (evaluation.get("scorers") or {}).get(measure.scorer) or {}
    named = [table if isinstance(table, Mapping) else {"path": str(table)} for table in spec.get("tables") or ()]
    files = [Path(str(table.get("resolved_path") or table["path"])) for table in named]
    return [file.name for file in files if not _has_list(file)]


def _has_list(file: Path) -> bool:
    try:
        table = read_verdict_table(file)
    except DataError:
        return False
    return bool(table.abstain)


LEARNED = "learned"
"""The label of a judge's score of an answer that it was trained on."""
_LEAST = 2


def prediction_powered_tables(frame: ResultsFrame) -> list[ResultTable]:
    """A table for every aspect in which people rated some answers, and a judge scored these and others."""
    people = [measure for measure in frame.run.measures if measure.role == "people"]
    judges = [measure for measure in frame.run.measures if measure.role == "judge"]
    pairs = [(rated, judged) for rated in people for judged in judges if rated.aspect == judged.aspect]
    tables = [_table(frame, rated, judged) for rated, judged in pairs]
    return [sheet for sheet in tables if sheet.lines or sheet.notes]


class _Scores(NamedTuple):
    """The scores of a system's answers by people and by a judge.

    `unseen` are the items that people rated, and that the judge scored without having been trained on the answer. A
    judge fits its training answers too well, so a correction by these ratings would be too small.
    """

    human: ItemValues
    judge: ItemValues
    unseen: Places

    @property
    def unrated(self) -> Places:
        """The items that only the judge scored."""
        return np.setdiff1d(self.judge.places, self.human.places, assume_unique=True)


def _scores(frame: ResultsFrame, system: EvaluatedSystem, human: ScoredAspect, judge: ScoredAspect) -> _Scores:
    rated, judged = frame.run.values(human, system.name), frame.run.values(judge, system.name)
    scores = frame.run.valued_scores(judge, system.name)
    learned = scores.places[scores.labels.among((LEARNED,))]
    unseen = np.setdiff1d(rated.shared(judged), learned, assume_unique=True)
    return _Scores(rated, judged, unseen)


def _table(frame: ResultsFrame, human: ScoredAspect, judge: ScoredAspect) -> ResultTable:
    t = frame.t
    scores = {system: _scores(frame, system, human, judge) for system in paired_systems(frame, human)}
    learned = sum(len(part.human) - len(part.unseen) for part in scores.values())
    name = judge.scorer.removeprefix("judge_")
    columns = (
        "model:words=common.model rated:count=results.rated unrated:count=results.unrated people=results.people_alone "
        "prediction_powered=results.people_and_judge judge=results.judge_alone narrower:percent=results.narrower"
    )
    lines = [_line(frame, s, part) for s, part in scores.items() if len(part.unseen) >= _LEAST and len(part.unrated)]
    title = t("results.prediction_powered_of", aspect=frame.aspect_label(human.aspect), people=human.scorer, judge=name)
    notes = [t("results.prediction_powered_learned", judge=name, n=learned)] if learned else []
    return frame.table(f"prediction_powered_{human.slug}_{judge.slug}", title, columns, lines, notes=notes)


def _line(frame: ResultsFrame, system: EvaluatedSystem, scores: _Scores) -> TableLine:
    clusters = frame.run.clusters
    estimate = clustered_prediction_powered_mean(
        scores.human.at(scores.unseen),
        scores.judge.at(scores.unseen),
        clusters(scores.unseen),
        scores.judge.at(scores.unrated),
        clusters(scores.unrated),
        frame.bootstrap["level"],
    )
    whole, part = estimate.human_only.width, estimate.width
    cells = (interval_cell(mean, estimate.why if mean.low is None else "") for mean in (estimate.human_only, estimate))
    gain = 1 - part / whole if whole and part is not None else None
    return frame.line(system, estimate.labelled, estimate.unlabelled, *cells, estimate.judge_alone, gain)
