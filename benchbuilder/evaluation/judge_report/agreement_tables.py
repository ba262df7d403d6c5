"""Tables of agreement with human scores: correlations, thresholding, baselines, calibration, ablation, groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchbuilder.core import Floats
from benchbuilder.evaluation.judge_report.held_out import (
    THRESHOLD,
    HeldOutAnswers,
    JudgeReportFrame,
    Measure,
    group_answers,
)
from benchbuilder.evaluation.judge_training.predictions import Prediction
from benchbuilder.evaluation.results.context import table_line
from benchbuilder.evaluation.stats.accuracy import (
    accuracy_statistic,
    auroc_statistic,
    balanced_accuracy_statistic,
    brier_statistic,
    ece_statistic,
    proportion_near_statistic,
    reliability_bins,
)
from benchbuilder.evaluation.stats.agreement import (
    bias_statistic,
    kendall_statistic,
    mae_statistic,
    pearson_statistic,
    quadratic_weighted_kappa_statistic,
    rmse_statistic,
    spearman_statistic,
)
from benchbuilder.evaluation.stats.intervals import mean_estimate
from benchbuilder.evaluation.stats.statistic import Statistic
from benchbuilder.exporters import ResultTable, TableCell, TableLine

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FEWEST = 10
"""Smallest group for which a correlation is given."""
_AGREEMENT: Mapping[str, Measure] = {
    "pearson": pearson_statistic, "spearman": spearman_statistic, "kendall": kendall_statistic, "mae": mae_statistic,
    "rmse": rmse_statistic, "bias": bias_statistic, "kappa": quadratic_weighted_kappa_statistic,
}  # fmt: skip
_MEASURES: Mapping[str, Measure] = {"pearson": pearson_statistic, "accuracy": accuracy_statistic, "mae": mae_statistic}


def _positive_proportion(answers: HeldOutAnswers) -> float:
    return float((answers.targets >= THRESHOLD - 1e-9).mean()) if len(answers) else 0.0


def majority_predictions(answers: HeldOutAnswers) -> Floats:
    """The predictions of the majority baseline: every row gets the side that most of these rows have."""
    return np.full(len(answers), float(_positive_proportion(answers) >= 0.5))


def comparison_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable:
    """One line per judge, and published figures if they use the same split."""
    letters = answer_set_letters(judges)
    notes = [frame.t("judges.comparison.set", letter=letter) if letter else "" for letter in letters]
    own = [_compared(frame, answers) for answers in judges]
    published = _published(frame, aspect, judges)
    explanations = _comparison_notes(frame, aspect, shown=bool(published))
    if any(letters):
        explanations.append(frame.t("judges.comparison.apart"))
    columns = "judge kind n pearson mae accuracy majority over_majority p"
    notes += [note for note, _ in published]
    lines = [*own, *(line for _, line in published)]
    if any(notes):
        columns += " note"
        noted = zip(lines, notes, strict=True)
        lines = [replace(line, cells=(*line.cells, TableCell(words=note))) for line, note in noted]
    return frame.table(aspect, "comparison", columns, lines, keys=2, notes=explanations)


def _comparison_notes(frame: JudgeReportFrame, aspect: str, *, shown: bool) -> list[str]:
    """The source of the published figures, or why they are not shown."""
    published = frame.published
    if published is None:
        return []
    if shown:
        return [frame.t("judges.comparison.published", work=published.work)]
    if not published.figures_for(aspect, published.split):
        return []
    split = frame.t.get(f"judges.split.{published.split}", published.split)
    return [frame.t("judges.comparison.unpublished", work=published.work, split=split)]


def answer_set_letters(judges: Sequence[HeldOutAnswers]) -> list[str]:
    """A letter for the held-out answers of each judge; all letters are empty if all judges can be compared.

    Judges with the same letter have the same split, and the same answers or the same data and held-out side.
    """
    sets: list[HeldOutAnswers] = []
    places: list[int] = []
    for answers in judges:
        place = next((place for place, other in enumerate(sets) if _is_same_answers(answers, other)), len(sets))
        sets += [answers] if place == len(sets) else []
        places.append(place)
    if len(sets) < 2:
        return [""] * len(judges)
    return [_LETTERS[min(place, len(_LETTERS) - 1)] for place in places]


def _is_same_answers(first: HeldOutAnswers, second: HeldOutAnswers) -> bool:
    if first.split != second.split:
        return False
    cards = [{key: side.card.get(key) for key in ("data_sha256", "held_out", "seed")} for side in (first, second)]
    if cards[0] == cards[1]:
        return True
    rows = [sorted(zip(side.names(), side.targets.tolist(), strict=True)) for side in (first, second)]
    return rows[0] == rows[1]


def _compared(frame: JudgeReportFrame, answers: HeldOutAnswers) -> TableLine:
    own = accuracy_statistic(answers.predicted, answers.targets)
    majority = accuracy_statistic(majority_predictions(answers), answers.targets)
    statistics = answers.statistics(pearson=pearson_statistic, mae=mae_statistic)
    cells = frame.cells(answers, {**statistics, "accuracy": own, "majority": majority})
    comparison = frame.comparison_cells(answers, own, majority)
    kind = str(answers.card.get("kind", ""))
    return table_line(answers.name, kind, len(answers), *cells.values(), *comparison, group="judge")


def _published(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> list[tuple[str, TableLine]]:
    """The lines of published judges, each with its note."""
    published = frame.published
    if published is None or not judges or any(answers.split != published.split for answers in judges):
        return []
    majority, tag = published.majority.get(aspect), frame.t("judges.published")
    return [
        (
            figures.note.get(frame.t.language, ""),
            table_line(
                name, "", None, figures.pearson, None, figures.accuracy, majority, None, None, group="published",
                tag=tag, block="published",
            ),
        )
        for name, figures in published.figures_for(aspect, published.split).items()
    ]  # fmt: skip


def agreement_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable:
    """Correlations and errors."""
    lines = [_measured(frame, answers, answers.statistics(**_AGREEMENT)) for answers in judges]
    return frame.table(aspect, "agreement", f"judge n {' '.join(_AGREEMENT)}", lines)


def _measured(frame: JudgeReportFrame, answers: HeldOutAnswers, statistics: Mapping[str, Statistic]) -> TableLine:
    return frame.line(answers, *frame.cells(answers, statistics).values())


def threshold_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable:
    """Scores divided into good and bad at the threshold."""
    lines: list[TableLine] = []
    for answers in judges:
        statistics = answers.statistics(
            accuracy=accuracy_statistic, balanced=balanced_accuracy_statistic, auroc=auroc_statistic
        )
        statistics["positive"] = accuracy_statistic(np.ones(len(answers)), answers.targets)
        statistics["near"] = proportion_near_statistic(answers.targets, THRESHOLD, frame.numbers.near)
        lines.append(_measured(frame, answers, statistics))
    columns = "judge n accuracy balanced auroc positive near"
    return frame.table(aspect, "threshold", columns, lines, near=f"{frame.numbers.near:g}")


def simple_baseline_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable:
    """Each judge against simpler predictors of the same answers, with paired differences."""
    lines = [line for answers in judges for line in _against(frame, answers)]
    return frame.table(aspect, "baselines", "judge baseline measure own theirs difference p better", lines, keys=3)


def _against(frame: JudgeReportFrame, answers: HeldOutAnswers) -> list[TableLine]:
    mean = np.full(len(answers), answers.targets.mean() if len(answers) else np.nan)
    lines = [
        _versus(frame, answers, "majority_of_these", majority_predictions(answers), "accuracy"),
        _versus(frame, answers, "mean_of_these", mean, "mae"),
    ]
    for name, values in answers.baselines.items():
        tried = answers.filtered(~np.isnan(values))
        theirs = values[~np.isnan(values)]
        if name == "majority":
            lines.append(_versus(frame, tried, name, theirs, "accuracy"))
            continue
        if theirs.size and theirs.min() < theirs.max():
            lines.append(_versus(frame, tried, name, theirs, "pearson"))
        lines.append(_versus(frame, tried, name, theirs, "mae"))
    return lines


def _versus(frame: JudgeReportFrame, answers: HeldOutAnswers, name: str, baseline: Floats, measure: str) -> TableLine:
    own, theirs, difference, p = _compared_cells(frame, answers, baseline, measure)
    label, column = frame.t.get(f"judges.baseline.{name}", name), frame.t(f"judges.column.{measure}")
    better = _better(frame, difference, measure)
    return table_line(answers.name, label, column, own, theirs, difference, p, better, group="judge")


def _compared_cells(
    frame: JudgeReportFrame, answers: HeldOutAnswers, other: Floats, measure: str
) -> tuple[TableCell, TableCell, TableCell, TableCell]:
    """A measure of the judge and of `other` predictions, the difference, and its p value."""
    own, theirs = (_MEASURES[measure](values, answers.targets) for values in (answers.predicted, other))
    cells = frame.cells(answers, {"own": own, "theirs": theirs})
    return cells["own"], cells["theirs"], *frame.comparison_cells(answers, own, theirs)


def _better(frame: JudgeReportFrame, difference: TableCell, measure: str) -> str:
    """Which of the two is better, if the interval of the difference excludes zero."""
    if difference.low is None or difference.high is None:
        return ""
    low, high = (difference.low, difference.high) if measure != "mae" else (-difference.high, -difference.low)
    return frame.t("judges.better.yes" if low > 0 else "judges.better.no" if high < 0 else "judges.better.open")


def calibration_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable:
    """How well scores match probabilities."""
    lines: list[TableLine] = []
    for answers in judges:
        base = np.full(len(answers), _positive_proportion(answers))
        statistics = {
            "ece": ece_statistic(answers.predicted, answers.targets, frame.numbers.bins),
            "brier": brier_statistic(answers.predicted, answers.targets),
            "brier_base": brier_statistic(base, answers.targets),
        }
        lines.append(_measured(frame, answers, statistics))
    return frame.table(aspect, "calibration", "judge n ece brier brier_base", lines, bins=frame.numbers.bins)


def reliability_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable:
    """The bins of the reliability plots."""
    lines: list[TableLine] = []
    for answers in judges:
        for part in reliability_bins(answers.predicted, answers.targets, frame.numbers.bins):
            rows = answers.filtered((answers.predicted >= part.low) & (answers.predicted <= part.high))
            positive = (rows.targets >= THRESHOLD - 1e-9).astype(np.float64)
            proportion = frame.cell(mean_estimate(positive, rows.families, **frame.bootstrap))
            values = (part.low, part.high, part.n, part.mean_predicted, proportion, part.mean_target)
            lines.append(table_line(answers.name, *values, group="judge"))
    columns = "judge from to n mean_predicted proportion_positive mean_target"
    return frame.table(aspect, "reliability", columns, lines)


def ablation_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable | None:
    """The same kind of judge with and without paragraphs; ``None`` if no judge was tried without."""
    lines: list[TableLine] = []
    for answers in judges:
        tried = answers.filtered(~np.isnan(answers.without_evidence))
        for measure in _MEASURES if len(tried) else ():
            cells = _compared_cells(frame, tried, tried.without_evidence, measure)
            column = frame.t(f"judges.column.{measure}")
            lines.append(table_line(tried.name, column, len(tried), *cells, group="judge"))
    columns = "judge measure n with without difference p"
    return frame.table(aspect, "ablation", columns, lines, keys=2) if lines else None


def group_table(
    frame: JudgeReportFrame, aspect: str, name: str, judges: Sequence[HeldOutAnswers],
    group_of: Callable[[Prediction], str],
) -> ResultTable:  # fmt: skip
    """The main measures of each judge in each group of answers."""
    lines: list[TableLine] = []
    for answers in judges:
        for label, rows in group_answers(answers, group_of):
            statistics = rows.statistics(
                pearson=pearson_statistic, mae=mae_statistic, bias=bias_statistic, accuracy=accuracy_statistic
            )
            cells = frame.cells(rows, statistics)
            if len(rows) < _FEWEST:
                cells["pearson"] = TableCell(why=frame.t("judges.few", n=len(rows)))
            lines.append(table_line(label, answers.name, len(rows), *cells.values(), group="judge"))
    lines.sort(key=lambda line: line.cells[0].words)
    return frame.table(aspect, f"by_{name}", f"{name} judge n pearson mae bias accuracy", lines, keys=2)


def statement_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable | None:
    """Scores of held-out true and false statements; ``None`` if there are none."""
    lines: list[TableLine] = []
    for answers in filter(len, judges):
        sides = [answers.filtered(answers.targets >= THRESHOLD), answers.filtered(answers.targets < THRESHOLD)]
        means = [frame.cell(mean_estimate(side.predicted, side.families, **frame.bootstrap)) for side in sides]
        statistics = answers.statistics(accuracy=accuracy_statistic, auroc=auroc_statistic)
        lines.append(frame.line(answers, *means, *frame.cells(answers, statistics).values()))
    return frame.table(aspect, "statements", "judge n of_true of_false accuracy auroc", lines) if lines else None
