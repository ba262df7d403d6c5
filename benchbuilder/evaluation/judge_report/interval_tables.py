"""Tables of intervals: for the mean of a benchmark from few ratings, and for single scores."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from benchbuilder.core import Floats
from benchbuilder.evaluation.judge_report.held_out import HeldOutAnswers, JudgeReportFrame, group_answers
from benchbuilder.evaluation.results.context import interval_cell, table_line
from benchbuilder.evaluation.stats.calibration import conformal_half_width
from benchbuilder.evaluation.stats.intervals import mean_estimate
from benchbuilder.evaluation.stats.prediction_powered import PredictionPowered, clustered_prediction_powered_mean
from benchbuilder.exporters import ResultTable, TableCell, TableLine

_HALVINGS = 20


def prediction_powered_table(
    frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]
) -> ResultTable | None:
    """A simulation of prediction-powered intervals for the mean of each model; ``None`` if there is too little data.

    A proportion of the families counts as rated, the others as scored by the judge only. The mean of all ratings is
    known here, so the intervals can be checked.
    """
    lines = [line for answers in judges for line in _simulated_lines(frame, answers)]
    if not lines:
        return None
    columns = "judge model labelled unlabelled known judge_alone human_only prediction_powered narrower tuning"
    proportion = f"{frame.numbers.labelled * 100:g} %"
    return frame.table(aspect, "prediction_powered", columns, lines, keys=2, proportion=proportion)


def _simulated_lines(frame: JudgeReportFrame, answers: HeldOutAnswers) -> list[TableLine]:
    families = sorted(set(answers.families))
    random.Random(f"{frame.bootstrap['seed']}:powered").shuffle(families)
    rated = set(families[: round(len(families) * frame.numbers.labelled)])
    lines: list[TableLine] = []
    for model, rows in group_answers(answers, lambda row: row.example.model):
        known = np.array([family in rated for family in rows.families])
        estimate = _estimate(rows.filtered(known), rows.filtered(~known), frame.bootstrap["level"])
        if estimate is not None:
            lines.append(_line(answers.name, model, estimate, float(rows.targets.mean())))
    return lines


def _estimate(rated: HeldOutAnswers, unrated: HeldOutAnswers, level: float) -> PredictionPowered | None:
    if len(set(rated.families)) < 2 or len(unrated) < 2:
        return None
    estimate = clustered_prediction_powered_mean(
        rated.targets, rated.predicted, rated.families, unrated.predicted, unrated.families, level
    )
    return None if estimate.value is None else estimate


def _line(judge: str, model: str, estimate: PredictionPowered, full_mean: float) -> TableLine:
    own, people = estimate.width, estimate.human_only.width
    return table_line(
        judge, model, estimate.labelled, estimate.unlabelled, full_mean, estimate.judge_alone,
        interval_cell(estimate.human_only), interval_cell(estimate, estimate.why),
        1 - own / people if own is not None and people else None, estimate.tuning, group="model",
    )  # fmt: skip


def conformal_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable:
    """The width of conformal intervals for single scores, and how often they contain the human score.

    The half width comes from all held-out rows. Coverage is checked many times on one half of the families, with the
    half width of the other half.
    """
    lines: list[TableLine] = []
    for answers in judges:
        half = conformal_half_width(answers.predicted - answers.targets, frame.bootstrap["level"])
        covered = _covered(answers, frame.bootstrap["level"], frame.bootstrap["seed"])
        cell = frame.cell(mean_estimate(covered, answers.families, **frame.bootstrap))
        edges = [np.clip(answers.predicted + side * (half.value or 0.0), 0, 1) for side in (-1, 1)]
        width = None if half.value is None else float((edges[1] - edges[0]).mean())
        why = frame.t("judges.few_residuals", n=half.n) if half.value is None else ""
        half_width = TableCell(half.value, why=why)
        lines.append(table_line(answers.name, half.n, half.level, half_width, width, cell, group="judge"))
    columns = "judge n level half_width mean_width coverage"
    return frame.table(aspect, "conformal", columns, lines, times=_HALVINGS)


def _covered(answers: HeldOutAnswers, level: float, seed: int) -> Floats:
    """How often each row's human score was inside its interval, over the halvings that did not calibrate on it."""
    families = np.array(answers.families, dtype=object)
    names = sorted(set(answers.families))
    inside, tried = np.zeros(len(answers)), np.zeros(len(answers))
    distances = np.abs(answers.predicted - answers.targets)
    for turn in range(_HALVINGS):
        chosen = set(random.Random(f"{seed}:conformal:{turn}").sample(names, len(names) // 2))
        first = np.array([family in chosen for family in families], np.bool_)
        for fit in (first, ~first):
            half = conformal_half_width(distances[fit], level).value
            if half is not None:
                inside[~fit] += distances[~fit] <= half + 1e-12
                tried[~fit] += 1
    return np.divide(inside, tried, out=np.full(len(answers), np.nan), where=tried > 0)
