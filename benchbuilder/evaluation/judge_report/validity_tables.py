"""Tables of valid uses of a judge's scores: human ceiling, alternative annotator, ranking of models, intervals."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchbuilder.core import Floats, measure_agreement, safe_ratio
from benchbuilder.evaluation.judge_report.held_out import HeldOutAnswers, JudgeReportFrame, group_answers
from benchbuilder.evaluation.results.context import interval_cell, table_line
from benchbuilder.evaluation.stats.accuracy import conformal_half_width
from benchbuilder.evaluation.stats.agreement import rank_agreement
from benchbuilder.evaluation.stats.human_ceiling import (
    LEAST_HUMANS,
    LEAST_ITEMS,
    AlternativeTestResult,
    alternative_annotator_test,
    ceiling_statistic,
    compute_human_ceiling,
    judge_below_ceiling_statistic,
    judge_over_ceiling_statistic,
)
from benchbuilder.evaluation.stats.intervals import mean_estimate, paired_mean_difference
from benchbuilder.evaluation.stats.prediction_powered import PredictionPowered, clustered_prediction_powered_mean
from benchbuilder.evaluation.stats.statistic import Statistic
from benchbuilder.exporters import ResultTable, TableCell, TableLine

_RANKS = ("spearman", "kendall")


def multi_rater_answers(judges: Sequence[HeldOutAnswers]) -> list[HeldOutAnswers]:
    """The judges that have rows with at least two raters, restricted to these rows."""
    rated = [answers.filtered([len(rating) > 1 for rating in answers.ratings]) for answers in judges]
    return [answers for answers in rated if len(answers)]


def human_ceiling_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable | None:
    """The judge against each person's agreement with the others; ``None`` if no row has two raters."""
    lines: list[TableLine] = []
    for answers in multi_rater_answers(judges):
        cells = frame.cells(
            answers,
            {
                "humans": ceiling_statistic(answers.ratings),
                "judge": judge_below_ceiling_statistic(answers.ratings, answers.predicted),
                "share": judge_over_ceiling_statistic(answers.ratings, answers.predicted),
            },
        )
        alphas = (_alpha(frame, answers, with_judge=False), _alpha(frame, answers, with_judge=True))
        raters = len({rater for rating in answers.ratings for rater in rating})
        lines.append(table_line(answers.name, raters, len(answers), *cells.values(), *alphas, group="judge"))
    columns = "judge raters n ceiling below_ceiling over_ceiling alpha_humans alpha_with"
    return frame.table(aspect, "ceiling", columns, lines) if lines else None


def _alpha(frame: JudgeReportFrame, answers: HeldOutAnswers, *, with_judge: bool) -> TableCell:
    """Krippendorff's alpha of the people, and of the people with the judge as one of them."""
    clusters: list[list[dict[str, float]]] = []
    for _, rows in group_answers(answers, lambda row: row.example.family):
        units = [dict(row.example.ratings) for row in rows.rows]
        if with_judge:
            units = [{**unit, "": float(score)} for unit, score in zip(units, rows.predicted, strict=True)]
        clusters.append(units)
    alpha: dict[str, Any] = measure_agreement(
        clusters, level="interval", samples=frame.bootstrap["samples"], confidence_level=frame.bootstrap["level"],
        seed=frame.bootstrap["seed"],
    )["alpha"]  # fmt: skip
    return TableCell(alpha.get("value"), low=alpha.get("low"), high=alpha.get("high"), why=alpha.get("undefined", ""))


def rater_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable | None:
    """How well each person predicts the others, on the rows of the judge with the most rows."""
    answers = max(multi_rater_answers(judges), key=len, default=None)
    if answers is None:
        return None
    ceiling = compute_human_ceiling(answers.ratings, answers.predicted)
    lines = [table_line(rater, ceiling.n[rater], value, group="rater") for rater, value in ceiling.by_rater.items()]
    return frame.table(aspect, "raters", "rater n pearson", lines)


def alternative_annotator_table(
    frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]
) -> list[ResultTable]:
    """The alternative-annotator test of each judge, and its result against each person.

    The test is that of Calderon, Reichart and Dror (2025).
    """
    outcomes: list[TableLine] = []
    single: list[TableLine] = []
    notes: set[str] = set()
    for answers in multi_rater_answers(judges):
        verdict = _tested(frame, answers)
        if verdict.passes is None or verdict.winning_rate is None:
            continue
        outcome = frame.t("judges.alternative.passes" if verdict.passes else "judges.alternative.fails")
        values = (len(verdict.opponents), verdict.epsilon, verdict.winning_rate, verdict.advantage, outcome)
        outcomes.append(table_line(answers.name, *values, group="judge"))
        for rater in verdict.opponents:
            won = frame.t("judges.alternative.won" if rater.wins else "judges.alternative.lost")
            values = (rater.items, rater.judge_advantage, rater.human_advantage, rater.p, won)
            single.append(table_line(answers.name, rater.name, *values, group="rater"))
        if len(verdict.opponents) < LEAST_HUMANS:
            notes.add(frame.t("judges.alternative.few_people", n=LEAST_HUMANS))
        if any(rater.items < LEAST_ITEMS for rater in verdict.opponents):
            notes.add(frame.t("judges.alternative.few_items", n=LEAST_ITEMS))
    if not outcomes:
        return []
    columns = "judge raters epsilon winning_rate advantage outcome"
    singles = "judge rater n judge_advantage human_advantage p outcome"
    epsilon, q = f"{frame.numbers.epsilon:g}", f"{frame.numbers.q:g}"
    return [
        frame.table(aspect, "alternative", columns, outcomes, notes=sorted(notes), epsilon=epsilon, q=q),
        frame.table(aspect, "opponents", singles, single, keys=2),
    ]


def _tested(frame: JudgeReportFrame, answers: HeldOutAnswers) -> AlternativeTestResult:
    humans: dict[str, dict[str, float | None]] = {}
    for name, rating in zip(answers.names(), answers.ratings, strict=True):
        for rater, value in rating.items():
            humans.setdefault(rater, {})[name] = value
    judge: Mapping[str, float | None] = dict(zip(answers.names(), map(float, answers.predicted), strict=True))
    ordered = {rater: humans[rater] for rater in sorted(humans)}
    return alternative_annotator_test(ordered, judge, epsilon=frame.numbers.epsilon, q=frame.numbers.q)


def system_ranking_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> list[ResultTable]:
    """The mean of each model by people and by the judge, and how well the two rankings agree."""
    lines = [line for answers in judges for line in _systems(frame, answers)]
    orders = [_order(frame, answers) for answers in judges if len(answers)]
    return [
        frame.table(aspect, "order", "judge models spearman kendall compared swapped pairs", orders),
        frame.table(aspect, "systems", "judge model n by_humans by_judge difference p", lines, keys=2),
    ]


def _systems(frame: JudgeReportFrame, answers: HeldOutAnswers) -> list[TableLine]:
    lines: list[tuple[float, TableLine]] = []
    for model, rows in group_answers(answers, lambda row: row.example.model):
        people, judge = (mean_estimate(v, rows.families, **frame.bootstrap) for v in (rows.targets, rows.predicted))
        apart = paired_mean_difference(rows.predicted, rows.targets, rows.families, **frame.bootstrap)
        cells = (frame.cell(people), frame.cell(judge), frame.cell(apart), apart.p)
        line = table_line(answers.name, model, len(rows), *cells, group="model")
        lines.append((-(people.value or 0.0), line))
    return [line for _, line in sorted(lines, key=lambda pair: pair[0])]


def _order(frame: JudgeReportFrame, answers: HeldOutAnswers) -> TableLine:
    ranking = rank_agreement(answers.models, answers.targets, answers.predicted)
    pairs = ", ".join(f"{better} / {worse}" for better, worse in ranking.swapped)
    if ranking.spearman is None:
        few = len(ranking.systems) < 3
        why = frame.t("judges.few_models", n=len(ranking.systems)) if few else frame.why(ranking.why)
        correlations = [TableCell(why=why)] * 2
    else:
        statistics = {name: rank_correlation(answers, name) for name in _RANKS}
        correlations = list(frame.cells(answers, statistics).values())
    values = (ranking.compared, len(ranking.swapped), pairs)
    return table_line(answers.name, len(ranking.systems), *correlations, *values, group="judge")


def rank_correlation(answers: HeldOutAnswers, which: str) -> Statistic:
    """The rank correlation of the models' means, as a statistic of weighted rows that handles many draws at once.

    Centred ranks are the row sums of the signs of all differences. A model without rows in a draw has no influence.
    """
    models = sorted(set(answers.models))
    inside = np.array([[model == name for name in models] for model in answers.models], np.float64)
    table = np.hstack([inside, inside * answers.targets[:, None], inside * answers.predicted[:, None]])

    def of(weights: Floats) -> Floats:
        counts, people, judge = np.split(weights @ table, 3, axis=1)
        left, right = _signs(people, counts), _signs(judge, counts)
        if which == "spearman":
            left, right = left.sum(2), right.sum(2)
        axes = tuple(range(1, left.ndim))
        scale = np.sqrt((left**2).sum(axes) * (right**2).sum(axes))
        return safe_ratio((left * right).sum(axes), scale)

    return Statistic(of, np.ones(len(answers), np.bool_), "all models have the same mean, by people or by the judge")


def _signs(sums: Floats, counts: Floats) -> Floats:
    """For each draw, which of two models has the higher mean; 0 if they are equal or one has no rows."""
    present = counts > 0
    means = np.round(np.divide(sums, counts, out=np.zeros_like(sums), where=present), 12)
    both = present[:, :, None] & present[:, None, :]
    return np.where(both, np.sign(means[:, :, None] - means[:, None, :]), 0.0)


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
