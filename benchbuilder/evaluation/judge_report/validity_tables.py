"""Tables of valid uses of a judge's scores: human ceiling, alternative-annotator test, ranking of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from benchbuilder.core import (
    LEAST_HUMANS,
    LEAST_ITEMS,
    AlternativeTestResult,
    Floats,
    Statistic,
    alternative_annotator_test,
    ceiling_statistic,
    compute_human_ceiling,
    judge_below_ceiling_statistic,
    judge_over_ceiling_statistic,
    mean_estimate,
    measure_agreement,
    paired_mean_difference,
    rank_agreement,
    safe_ratio,
)
from benchbuilder.evaluation.judge_report.held_out import HeldOutAnswers, JudgeReportFrame, group_answers, value_cell
from benchbuilder.exporters import ResultTable, TableCell, TableLine, ValueFormat, count_cell, text_cell


def multi_rater_answers(judges: Sequence[HeldOutAnswers]) -> list[HeldOutAnswers]:
    """The judges that have rows with at least two raters, restricted to these rows."""
    kept = [held.filtered([len(rating) > 1 for rating in held.ratings]) for held in judges]
    return [held for held in kept if len(held)]


def human_ceiling_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable | None:
    """The judge against each person's agreement with the others; ``None`` if no row has two raters."""
    lines: list[TableLine] = []
    for held in multi_rater_answers(judges):
        found = frame.cells(
            held,
            {
                "humans": ceiling_statistic(held.ratings),
                "judge": judge_below_ceiling_statistic(held.ratings, held.predicted),
                "share": judge_over_ceiling_statistic(held.ratings, held.predicted),
            },
        )
        alphas = (_alpha(frame, held, with_judge=False), _alpha(frame, held, with_judge=True))
        raters = len({rater for rating in held.ratings for rater in rating})
        lines.append(
            TableLine(
                (text_cell(held.name), count_cell(raters), count_cell(len(held)), *found.values(), *alphas), "judge"
            )
        )
    columns: dict[str, ValueFormat] = {
        "judge": "words", "raters": "count", "n": "count", "ceiling": "score", "below_ceiling": "score",
        "over_ceiling": "score", "alpha_humans": "score", "alpha_with": "score",
    }  # fmt: skip
    return frame.table(aspect, "ceiling", columns, lines) if lines else None


def _alpha(frame: JudgeReportFrame, answers: HeldOutAnswers, *, with_judge: bool) -> TableCell:
    """Krippendorff's alpha of the people, and of the people with the judge as one of them."""
    clusters: list[list[dict[str, float]]] = []
    for _, rows in group_answers(answers, lambda row: row.example.family):
        units = [dict(row.example.ratings) for row in rows.rows]
        if with_judge:
            units = [{**unit, "": float(said)} for unit, said in zip(units, rows.predicted, strict=True)]
        clusters.append(units)
    found: dict[str, Any] = measure_agreement(
        clusters, level="interval", samples=frame.bootstrap["samples"], confidence_level=frame.bootstrap["level"],
        seed=frame.bootstrap["seed"],
    )["alpha"]  # fmt: skip
    return TableCell(found.get("value"), low=found.get("low"), high=found.get("high"), why=found.get("undefined", ""))


def rater_table(frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]) -> ResultTable | None:
    """How well each person predicts the others, on the rows of the judge with the most rows."""
    held = max(multi_rater_answers(judges), key=len, default=None)
    if held is None:
        return None
    found = compute_human_ceiling(held.ratings, held.predicted)
    lines = [
        TableLine((text_cell(rater), count_cell(found.n[rater]), value_cell(value)), "rater")
        for rater, value in found.by_rater.items()
    ]
    columns: dict[str, ValueFormat] = {"rater": "words", "n": "count", "pearson": "score"}
    return frame.table(aspect, "raters", columns, lines)


def alternative_annotator_table(
    frame: JudgeReportFrame, aspect: str, judges: Sequence[HeldOutAnswers]
) -> list[ResultTable]:
    """The alternative-annotator test of each judge, and its result against each person.

    The test is that of Calderon, Reichart and Dror (2025).
    """
    outcomes: list[TableLine] = []
    single: list[TableLine] = []
    notes: set[str] = set()
    for held in multi_rater_answers(judges):
        verdict = _tested(frame, held)
        if verdict.passes is None or verdict.winning_rate is None:
            continue
        said = frame.t("judges.alternative.passes" if verdict.passes else "judges.alternative.fails")
        cells = (count_cell(len(verdict.opponents)), TableCell(verdict.epsilon), TableCell(verdict.winning_rate),
                 value_cell(verdict.advantage), text_cell(said))  # fmt: skip
        outcomes.append(TableLine((text_cell(held.name), *cells), "judge"))
        for one in verdict.opponents:
            won = frame.t("judges.alternative.won" if one.wins else "judges.alternative.lost")
            cells = (
                count_cell(one.items),
                TableCell(one.judge_advantage),
                TableCell(one.human_advantage),
                TableCell(one.p),
                text_cell(won),
            )
            single.append(TableLine((text_cell(held.name), text_cell(one.name), *cells), "rater"))
        if len(verdict.opponents) < LEAST_HUMANS:
            notes.add(frame.t("judges.alternative.few_people", n=LEAST_HUMANS))
        if any(one.items < LEAST_ITEMS for one in verdict.opponents):
            notes.add(frame.t("judges.alternative.few_items", n=LEAST_ITEMS))
    if not outcomes:
        return []
    columns: dict[str, ValueFormat] = {
        "judge": "words", "raters": "count", "epsilon": "score", "winning_rate": "score", "advantage": "score",
        "outcome": "words",
    }  # fmt: skip
    singles: dict[str, ValueFormat] = {
        "judge": "words", "rater": "words", "n": "count", "judge_advantage": "percent", "human_advantage": "percent",
        "p": "score", "outcome": "words",
    }  # fmt: skip
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
    lines = [line for held in judges for line in _systems(frame, held)]
    orders = [_order(frame, held) for held in judges if len(held)]
    columns: dict[str, ValueFormat] = {
        "judge": "words", "model": "words", "n": "count", "by_humans": "score", "by_judge": "score",
        "difference": "signed", "p": "score",
    }  # fmt: skip
    order: dict[str, ValueFormat] = {
        "judge": "words", "models": "count", "spearman": "score", "kendall": "score", "compared": "count",
        "swapped": "count", "pairs": "words",
    }  # fmt: skip
    return [frame.table(aspect, "order", order, orders), frame.table(aspect, "systems", columns, lines, keys=2)]


def _systems(frame: JudgeReportFrame, answers: HeldOutAnswers) -> list[TableLine]:
    lines: list[tuple[float, TableLine]] = []
    for model, rows in group_answers(answers, lambda row: row.example.model):
        people, judge = (mean_estimate(v, rows.families, **frame.bootstrap) for v in (rows.targets, rows.predicted))
        apart = paired_mean_difference(rows.predicted, rows.targets, rows.families, **frame.bootstrap)
        cells = (frame.cell(people), frame.cell(judge), frame.cell(apart), TableCell(apart.p))
        lines.append(
            (
                -(people.value or 0.0),
                TableLine((text_cell(answers.name), text_cell(model), count_cell(len(rows)), *cells), "model"),
            )
        )
    return [line for _, line in sorted(lines, key=lambda pair: pair[0])]


def _order(frame: JudgeReportFrame, answers: HeldOutAnswers) -> TableLine:
    found = rank_agreement(answers.models, answers.targets, answers.predicted)
    pairs = ", ".join(f"{better} / {worse}" for better, worse in found.swapped)
    if found.spearman is None:
        few = len(found.systems) < 3
        why = frame.t("judges.few_models", n=len(found.systems)) if few else frame.why(found.why)
        correlations = [TableCell(why=why)] * 2
    else:
        drawn = frame.cells(
            answers,
            {"spearman": rank_correlation(answers, "spearman"), "kendall": rank_correlation(answers, "kendall")},
        )
        correlations = list(drawn.values())
    cells = (
        count_cell(len(found.systems)),
        *correlations,
        count_cell(found.compared),
        count_cell(len(found.swapped)),
        text_cell(pairs),
    )
    return TableLine((text_cell(answers.name), *cells), "judge")


def rank_correlation(answers: HeldOutAnswers, which: Literal["spearman", "kendall"]) -> Statistic:
    """The rank correlation of the models' means, as a statistic of weighted rows that handles many draws at once.

    Centred ranks are the row sums of the signs of all differences. A model without rows in a draw has no influence.
    """
    models = sorted(set(answers.models))
    inside = np.array([[model == name for name in models] for model in answers.models], np.float64)
    table = np.hstack([inside, inside * answers.targets[:, None], inside * answers.predicted[:, None]])

    def of(weights: Floats) -> Floats:
        counts, people, judge = np.split(weights @ table, 3, axis=1)
        one, other = _signs(people, counts), _signs(judge, counts)
        if which == "spearman":
            one, other = one.sum(2), other.sum(2)
        axes = tuple(range(1, one.ndim))
        scale = np.sqrt((one**2).sum(axes) * (other**2).sum(axes))
        return safe_ratio((one * other).sum(axes), scale)

    return Statistic(of, np.ones(len(answers), np.bool_), "all models have the same mean, by people or by the judge")


def _signs(sums: Floats, counts: Floats) -> Floats:
    """For each draw, which of two models has the higher mean; 0 if they are equal or one has no rows."""
    there = counts > 0
    means = np.round(np.divide(sums, counts, out=np.zeros_like(sums), where=there), 12)
    both = there[:, :, None] & there[:, None, :]
    return np.where(both, np.sign(means[:, :, None] - means[:, None, :]), 0.0)
