"""Tables of agreement with human scores: correlations, thresholding, baselines, calibration, ablation, groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchbuilder.core import (
    Floats,
    Statistic,
    accuracy_statistic,
    auroc_statistic,
    balanced_accuracy_statistic,
    bias_statistic,
    brier_statistic,
    ece_statistic,
    kendall_statistic,
    mae_statistic,
    mean_estimate,
    pearson_statistic,
    proportion_near_statistic,
    quadratic_weighted_kappa_statistic,
    reliability_bins,
    rmse_statistic,
    spearman_statistic,
)
from benchbuilder.evaluation.judge_report.held_out import (
    THRESHOLD,
    HeldOutAnswers,
    JudgeReportFrame,
    group_answers,
    value_cell,
)
from benchbuilder.evaluation.judge_training.predictions import Prediction
from benchbuilder.exporters import ResultTable, TableCell, TableLine, ValueFormat, count_cell, text_cell

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FEWEST = 10
"""Smallest group for which a correlation is given."""


def majority_predictions(answers: HeldOutAnswers) -> Floats:
    """The predictions of the majority baseline: every row gets the side that most of these rows have."""
    positive = float((answers.targets >= THRESHOLD - 1e-9).mean() >= 0.5) if len(answers) else 0.0
    return np.full(len(answers), positive)


def comparison_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable:
    """One line per judge, and published figures if they use the same split."""
    others = answer_set_letters(judges)
    lines = [_compared(frame, held, others[place]) for place, held in enumerate(judges)]
    shown = _published(frame, aspect, judges)
    notes = [frame.t("judges.comparison.published", work=frame.published.work)] if shown and frame.published else []
    if not shown and frame.published is not None and frame.published.figures_for(aspect, frame.published.split):
        theirs = frame.t.get(f"judges.split.{frame.published.split}", frame.published.split)
        notes.append(frame.t("judges.comparison.unpublished", work=frame.published.work, split=theirs))
    if any(others):
        notes.append(frame.t("judges.comparison.apart"))
    columns: dict[str, ValueFormat] = {
        "judge": "words", "kind": "words", "n": "count", "pearson": "score", "mae": "score", "accuracy": "score",
        "majority": "score", "over_majority": "signed", "p": "score", "note": "words",
    }  # fmt: skip
    if not any(line.cells[-1].words for line in [*lines, *shown]):
        del columns["note"]
        lines, shown = ([_shorter(line) for line in part] for part in (lines, shown))
    return frame.table(aspect, "comparison", columns, [*lines, *shown], keys=2, notes=notes)


def answer_set_letters(judges: Sequence[HeldOutAnswers]) -> list[str]:
    """A letter for the held-out answers of each judge; all letters are empty if all judges can be compared.

    Judges with the same letter have the same split, and the same answers or the same data and held-out side.
    """
    kinds: list[HeldOutAnswers] = []
    found: list[int] = []
    for held in judges:
        place = next((place for place, other in enumerate(kinds) if _is_same_answers(held, other)), len(kinds))
        kinds += [held] if place == len(kinds) else []
        found.append(place)
    if len(kinds) < 2:
        return [""] * len(judges)
    return [_LETTERS[min(place, len(_LETTERS) - 1)] for place in found]


def _is_same_answers(first: HeldOutAnswers, second: HeldOutAnswers) -> bool:
    if first.split != second.split:
        return False
    cards = [{key: held.card.get(key) for key in ("data_sha256", "held_out", "seed")} for held in (first, second)]
    if cards[0] == cards[1]:
        return True
    rows = [sorted(zip(held.names(), held.targets.tolist(), strict=True)) for held in (first, second)]
    return rows[0] == rows[1]


def _shorter(line: TableLine) -> TableLine:
    return TableLine(line.cells[:-1], line.group, line.tag, line.block)


def _compared(frame: JudgeReportFrame, answers: HeldOutAnswers, letter: str) -> TableLine:
    own, most = (
        accuracy_statistic(answers.predicted, answers.targets),
        accuracy_statistic(majority_predictions(answers), answers.targets),
    )
    found = frame.cells(
        answers,
        {
            "pearson": pearson_statistic(answers.predicted, answers.targets),
            "mae": mae_statistic(answers.predicted, answers.targets),
            "accuracy": own,
            "majority": most,
        },
    )
    over, p = frame.comparison_cells(answers, own, most)
    kind = text_cell(str(answers.card.get("kind", "")))
    note = frame.t("judges.comparison.set", letter=letter) if letter else ""
    return TableLine(
        (text_cell(answers.name), kind, count_cell(len(answers)), *found.values(), over, p, text_cell(note)), "judge"
    )


def _published(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> list[TableLine]:
    if frame.published is None or not judges or any(held.split != frame.published.split for held in judges):
        return []
    majority, tag = frame.published.majority.get(aspect), frame.t("judges.published")
    return [
        TableLine(
            (
                text_cell(name),
                text_cell(""),
                TableCell(),
                value_cell(figures.pearson),
                TableCell(),
                value_cell(figures.accuracy),
                value_cell(majority),
                TableCell(),
                TableCell(),
                text_cell(figures.note.get(frame.language, "")),
            ),
            "published",
            tag,
            "published",
        )
        for name, figures in frame.published.figures_for(aspect, frame.published.split).items()
    ]


def agreement_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable:
    """Correlations and errors."""
    made: dict[str, Callable[[Floats, Floats], Statistic]] = {
        "pearson": pearson_statistic,
        "spearman": spearman_statistic,
        "kendall": kendall_statistic,
        "mae": mae_statistic,
        "rmse": rmse_statistic,
        "bias": bias_statistic,
        "kappa": quadratic_weighted_kappa_statistic,
    }
    lines: list[TableLine] = []
    for held in judges:
        found = frame.cells(held, {name: of(held.predicted, held.targets) for name, of in made.items()})
        lines.append(TableLine((text_cell(held.name), count_cell(len(held)), *found.values()), "judge"))
    columns: dict[str, ValueFormat] = {"judge": "words", "n": "count"}
    for name in made:
        columns[name] = "signed" if name == "bias" else "score"
    return frame.table(aspect, "agreement", columns, lines)


def threshold_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable:
    """Scores divided into good and bad at the threshold."""
    lines: list[TableLine] = []
    for held in judges:
        found = frame.cells(
            held,
            {
                "accuracy": accuracy_statistic(held.predicted, held.targets),
                "balanced": balanced_accuracy_statistic(held.predicted, held.targets),
                "auroc": auroc_statistic(held.predicted, held.targets),
                "positive": accuracy_statistic(np.ones(len(held)), held.targets),
                "near": proportion_near_statistic(held.targets, THRESHOLD, frame.numbers.near),
            },
        )
        lines.append(TableLine((text_cell(held.name), count_cell(len(held)), *found.values()), "judge"))
    columns: dict[str, ValueFormat] = {
        "judge": "words", "n": "count", "accuracy": "score", "balanced": "score", "auroc": "score",
        "positive": "percent", "near": "percent",
    }  # fmt: skip
    return frame.table(aspect, "threshold", columns, lines, near=f"{frame.numbers.near:g}")


def simple_baseline_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable:
    """Each judge against simpler predictors of the same answers, with paired differences."""
    lines = [line for held in judges for line in _against(frame, held)]
    columns: dict[str, ValueFormat] = {
        "judge": "words", "baseline": "words", "measure": "words", "own": "score", "theirs": "score",
        "difference": "signed", "p": "score", "better": "words",
    }  # fmt: skip
    return frame.table(aspect, "baselines", columns, lines, keys=3)


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


_MEASURES: dict[str, Callable[[Floats, Floats], Statistic]] = {
    "accuracy": accuracy_statistic, "mae": mae_statistic, "pearson": pearson_statistic,
}  # fmt: skip


def _versus(frame: JudgeReportFrame, answers: HeldOutAnswers, name: str, baseline: Floats, measure: str) -> TableLine:
    own, other = (_MEASURES[measure](values, answers.targets) for values in (answers.predicted, baseline))
    found = frame.cells(answers, {"own": own, "theirs": other})
    apart, p = frame.comparison_cells(answers, own, other)
    said = (
        text_cell(answers.name),
        text_cell(frame.t.get(f"judges.baseline.{name}", name)),
        text_cell(frame.t(f"judges.column.{measure}")),
    )
    return TableLine(
        (*said, found["own"], found["theirs"], apart, p, text_cell(_better(frame, apart, measure))), "judge"
    )


def _better(frame: JudgeReportFrame, difference: TableCell, measure: str) -> str:
    """Which of the two is better, if the interval of the difference excludes zero."""
    if difference.low is None or difference.high is None:
        return ""
    low, high = (difference.low, difference.high) if measure != "mae" else (-difference.high, -difference.low)
    return frame.t("judges.better.yes" if low > 0 else "judges.better.no" if high < 0 else "judges.better.open")


def calibration_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable:
    """How well scores match probabilities."""
    lines: list[TableLine] = []
    for held in judges:
        found = frame.cells(
            held,
            {
                "ece": ece_statistic(held.predicted, held.targets, frame.numbers.bins),
                "brier": brier_statistic(held.predicted, held.targets),
                "brier_base": brier_statistic(np.full(len(held), _positive_proportion(held)), held.targets),
            },
        )
        lines.append(TableLine((text_cell(held.name), count_cell(len(held)), *found.values()), "judge"))
    columns: dict[str, ValueFormat] = {
        "judge": "words", "n": "count", "ece": "score", "brier": "score", "brier_base": "score",
    }  # fmt: skip
    return frame.table(aspect, "calibration", columns, lines, bins=frame.numbers.bins)


def _positive_proportion(answers: HeldOutAnswers) -> float:
    return float((answers.targets >= THRESHOLD - 1e-9).mean()) if len(answers) else 0.0


def reliability_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable:
    """The bins of the reliability plots."""
    lines: list[TableLine] = []
    for held in judges:
        for found in reliability_bins(held.predicted, held.targets, frame.numbers.bins):
            inside = (held.predicted >= found.low) & (held.predicted <= found.high)
            rows = held.filtered(inside)
            positive = (rows.targets >= THRESHOLD - 1e-9).astype(np.float64)
            proportion = frame.cell(mean_estimate(positive, rows.families, **frame.bootstrap))
            cells = (
                value_cell(found.low),
                value_cell(found.high),
                count_cell(found.n),
                value_cell(found.mean_predicted),
            )
            lines.append(TableLine((text_cell(held.name), *cells, proportion, value_cell(found.mean_target)), "judge"))
    columns: dict[str, ValueFormat] = {
        "judge": "words", "from": "score", "to": "score", "n": "count", "mean_predicted": "score",
        "proportion_positive": "score", "mean_target": "score",
    }  # fmt: skip
    return frame.table(aspect, "reliability", columns, lines)


def ablation_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable | None:
    """The same kind of judge with and without paragraphs; ``None`` if no judge was tried without."""
    tried = [held.filtered(~np.isnan(held.without_evidence)) for held in judges]
    lines = [
        _ablated(frame, held, measure) for held in tried if len(held) for measure in ("pearson", "accuracy", "mae")
    ]
    columns: dict[str, ValueFormat] = {
        "judge": "words", "measure": "words", "n": "count", "with": "score", "without": "score",
        "difference": "signed", "p": "score",
    }  # fmt: skip
    return frame.table(aspect, "ablation", columns, lines, keys=2) if lines else None


def _ablated(frame: JudgeReportFrame, answers: HeldOutAnswers, measure: str) -> TableLine:
    own, other = (
        _MEASURES[measure](values, answers.targets) for values in (answers.predicted, answers.without_evidence)
    )
    found = frame.cells(answers, {"with": own, "without": other})
    apart, p = frame.comparison_cells(answers, own, other)
    said = (text_cell(answers.name), text_cell(frame.t(f"judges.column.{measure}")), count_cell(len(answers)))
    return TableLine((*said, found["with"], found["without"], apart, p), "judge")


def group_table(
    frame: JudgeReportFrame,
    aspect: str,
    name: str,
    judges: Sequence[HeldOutAnswers],
    group_of: Callable[[Prediction], str],
) -> ResultTable:
    """The main measures of each judge in each group of answers."""
    lines: list[TableLine] = []
    for held in judges:
        for label, rows in group_answers(held, group_of):
            found = frame.cells(
                rows,
                {
                    "pearson": pearson_statistic(rows.predicted, rows.targets),
                    "mae": mae_statistic(rows.predicted, rows.targets),
                    "bias": bias_statistic(rows.predicted, rows.targets),
                    "accuracy": accuracy_statistic(rows.predicted, rows.targets),
                },
            )
            if len(rows) < _FEWEST:
                found["pearson"] = TableCell(why=frame.t("judges.few", n=len(rows)))
            cells = (text_cell(label), text_cell(held.name), count_cell(len(rows)))
            lines.append(TableLine((*cells, *found.values()), "judge"))
    lines.sort(key=lambda line: line.cells[0].words)
    columns: dict[str, ValueFormat] = {
        name: "words", "judge": "words", "n": "count", "pearson": "score", "mae": "score", "bias": "signed",
        "accuracy": "score",
    }  # fmt: skip
    return frame.table(aspect, f"by_{name}", columns, lines, keys=2)


def statement_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable | None:
    """Scores of held-out true and false statements; ``None`` if there are none."""
    lines: list[TableLine] = []
    for held in judges:
        if not len(held):
            continue
        sides = [held.filtered(held.targets >= THRESHOLD), held.filtered(held.targets < THRESHOLD)]
        means = [frame.cell(mean_estimate(side.predicted, side.families, **frame.bootstrap)) for side in sides]
        found = frame.cells(
            held,
            {
                "accuracy": accuracy_statistic(held.predicted, held.targets),
                "auroc": auroc_statistic(held.predicted, held.targets),
            },
        )
        lines.append(TableLine((text_cell(held.name), count_cell(len(held)), *means, *found.values()), "judge"))
    columns: dict[str, ValueFormat] = {
        "judge": "words", "n": "count", "of_true": "score", "of_false": "score", "accuracy": "score", "auroc": "score",
    }  # fmt: skip
    return frame.table(aspect, "statements", columns, lines) if lines else None
