"""Tables of valid uses of a judge's scores: human ceiling, alternative-annotator test, ranking of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchbuilder.core import Floats, measure_agreement, safe_ratio
from benchbuilder.evaluation.judge_report.held_out import HeldOutAnswers, JudgeReportFrame, group_answers
from benchbuilder.evaluation.results.context import table_line
from benchbuilder.evaluation.stats.alternative_annotator import (
    LEAST_HUMANS,
    LEAST_ITEMS,
    AlternativeTestResult,
    alternative_annotator_test,
)
from benchbuilder.evaluation.stats.correlation import rank_agreement
from benchbuilder.evaluation.stats.human_ceiling import (
    ceiling_statistic,
    compute_human_ceiling,
    judge_below_ceiling_statistic,
    judge_over_ceiling_statistic,
)
from benchbuilder.evaluation.stats.intervals import mean_estimate, paired_mean_difference
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
