"""Tables of what a judge's scores may be used for: against people, in place of people, and beside few people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from benchbuilder.core.stats.agreement.ratings import measure_ratings
from benchbuilder.core.stats.alternative_annotator import LEAST_HUMANS, LEAST_ITEMS, Verdict, alternative_annotator_test
from benchbuilder.core.stats.human_ceiling import (
    human_ceiling,
    of_ceiling,
    of_judge_below_ceiling,
    of_judge_over_ceiling,
)
from benchbuilder.core.stats.intervals import mean_estimate, paired_means
from benchbuilder.core.stats.system_ranking import rank_agreement
from benchbuilder.core.stats.weighted import Floats, Statistic, ratio
from benchbuilder.evaluation.judge_report.held_out import Frame, Held, grouped, value_cell
from benchbuilder.exporters.render.tables import Cell, Form, Line, Sheet, count, words


def several(judges: Sequence[Held]) -> list[Held]:
    """The judges with the rows that at least two people rated, where there are any."""
    kept = [held.only([len(rating) > 1 for rating in held.ratings]) for held in judges]
    return [held for held in kept if len(held)]


def ceiling(frame: Frame, aspect: str, judges: Sequence[Held]) -> Sheet | None:
    """The judge against each person's agreement with the others; ``None`` where nobody's ratings stand apart."""
    lines: list[Line] = []
    for held in several(judges):
        found = frame.cells(
            held,
            {
                "humans": of_ceiling(held.ratings),
                "judge": of_judge_below_ceiling(held.ratings, held.predicted),
                "share": of_judge_over_ceiling(held.ratings, held.predicted),
            },
        )
        alphas = (_alpha(frame, held, with_judge=False), _alpha(frame, held, with_judge=True))
        raters = len({rater for rating in held.ratings for rater in rating})
        lines.append(Line((words(held.name), count(raters), count(len(held)), *found.values(), *alphas), "judge"))
    columns: dict[str, Form] = {
        "judge": "words", "raters": "count", "n": "count", "ceiling": "score", "below_ceiling": "score",
        "over_ceiling": "score", "alpha_humans": "score", "alpha_with": "score",
    }  # fmt: skip
    return frame.sheet(aspect, "ceiling", columns, lines) if lines else None


def _alpha(frame: Frame, held: Held, *, with_judge: bool) -> Cell:
    """Krippendorff's alpha of the people, and of the people with the judge as one of them."""
    clusters: list[list[dict[str, float]]] = []
    for _, rows in grouped(held, lambda row: row.example.family):
        units = [dict(row.example.ratings) for row in rows.rows]
        if with_judge:
            units = [{**unit, "": float(said)} for unit, said in zip(units, rows.predicted, strict=True)]
        clusters.append(units)
    found: dict[str, Any] = measure_ratings(
        clusters, level="interval", samples=frame.drawn["samples"], confidence_level=frame.drawn["level"],
        seed=frame.drawn["seed"],
    )["alpha"]  # fmt: skip
    return Cell(found.get("value"), low=found.get("low"), high=found.get("high"), why=found.get("undefined", ""))


def raters(frame: Frame, aspect: str, judges: Sequence[Held]) -> Sheet | None:
    """How well each person predicts the others, on the rows of the judge that has most of them."""
    held = max(several(judges), key=len, default=None)
    if held is None:
        return None
    found = human_ceiling(held.ratings, held.predicted)
    lines = [
        Line((words(rater), count(found.n[rater]), value_cell(value)), "rater")
        for rater, value in found.by_rater.items()
    ]
    columns: dict[str, Form] = {"rater": "words", "n": "count", "pearson": "score"}
    return frame.sheet(aspect, "raters", columns, lines)


def alternative(frame: Frame, aspect: str, judges: Sequence[Held]) -> list[Sheet]:
    """The alternative-annotator test of each judge, and how it fared against each person."""
    outcomes: list[Line] = []
    single: list[Line] = []
    notes: set[str] = set()
    for held in several(judges):
        verdict = _tested(frame, held)
        if verdict.passes is None or verdict.winning_rate is None:
            continue
        said = frame.t("judges.alternative.passes" if verdict.passes else "judges.alternative.fails")
        cells = (count(len(verdict.opponents)), Cell(verdict.epsilon), Cell(verdict.winning_rate),
                 value_cell(verdict.advantage), words(said))  # fmt: skip
        outcomes.append(Line((words(held.name), *cells), "judge"))
        for one in verdict.opponents:
            won = frame.t("judges.alternative.won" if one.wins else "judges.alternative.lost")
            cells = (count(one.items), Cell(one.judge_advantage), Cell(one.human_advantage), Cell(one.p), words(won))
            single.append(Line((words(held.name), words(one.name), *cells), "rater"))
        if len(verdict.opponents) < LEAST_HUMANS:
            notes.add(frame.t("judges.alternative.few_people", n=LEAST_HUMANS))
        if any(one.items < LEAST_ITEMS for one in verdict.opponents):
            notes.add(frame.t("judges.alternative.few_items", n=LEAST_ITEMS))
    if not outcomes:
        return []
    columns: dict[str, Form] = {
        "judge": "words", "raters": "count", "epsilon": "score", "winning_rate": "score", "advantage": "score",
        "outcome": "words",
    }  # fmt: skip
    singles: dict[str, Form] = {
        "judge": "words", "rater": "words", "n": "count", "judge_advantage": "percent", "human_advantage": "percent",
        "p": "score", "outcome": "words",
    }  # fmt: skip
    epsilon, q = f"{frame.numbers.epsilon:g}", f"{frame.numbers.q:g}"
    return [
        frame.sheet(aspect, "alternative", columns, outcomes, notes=sorted(notes), epsilon=epsilon, q=q),
        frame.sheet(aspect, "opponents", singles, single, keys=2),
    ]


def _tested(frame: Frame, held: Held) -> Verdict:
    humans: dict[str, dict[str, float | None]] = {}
    for name, rating in zip(held.names(), held.ratings, strict=True):
        for rater, value in rating.items():
            humans.setdefault(rater, {})[name] = value
    judge: Mapping[str, float | None] = dict(zip(held.names(), map(float, held.predicted), strict=True))
    ordered = {rater: humans[rater] for rater in sorted(humans)}
    return alternative_annotator_test(ordered, judge, epsilon=frame.numbers.epsilon, q=frame.numbers.q)


def systems(frame: Frame, aspect: str, judges: Sequence[Held]) -> list[Sheet]:
    """The mean of each model by people and by the judge, and how far the two agree in the order of models."""
    lines = [line for held in judges for line in _systems(frame, held)]
    orders = [_order(frame, held) for held in judges if len(held)]
    columns: dict[str, Form] = {
        "judge": "words", "model": "words", "n": "count", "by_humans": "score", "by_judge": "score",
        "difference": "signed", "p": "score",
    }  # fmt: skip
    order: dict[str, Form] = {
        "judge": "words", "models": "count", "spearman": "score", "kendall": "score", "compared": "count",
        "swapped": "count", "pairs": "words",
    }  # fmt: skip
    return [frame.sheet(aspect, "order", order, orders), frame.sheet(aspect, "systems", columns, lines, keys=2)]


def _systems(frame: Frame, held: Held) -> list[Line]:
    lines: list[tuple[float, Line]] = []
    for model, rows in grouped(held, lambda row: row.example.model):
        people, judge = (mean_estimate(v, rows.families, **frame.drawn) for v in (rows.targets, rows.predicted))
        apart = paired_means(rows.predicted, rows.targets, rows.families, **frame.drawn)
        cells = (frame.cell(people), frame.cell(judge), frame.cell(apart), Cell(apart.p))
        lines.append(
            (-(people.value or 0.0), Line((words(held.name), words(model), count(len(rows)), *cells), "model"))
        )
    return [line for _, line in sorted(lines, key=lambda pair: pair[0])]


def _order(frame: Frame, held: Held) -> Line:
    found = rank_agreement(held.models, held.targets, held.predicted)
    pairs = ", ".join(f"{better} / {worse}" for better, worse in found.swapped)
    if found.spearman is None:
        few = len(found.systems) < 3
        why = frame.t("judges.few_models", n=len(found.systems)) if few else frame.why(found.why)
        correlations = [Cell(why=why)] * 2
    else:
        drawn = frame.cells(held, {"spearman": of_order(held, "spearman"), "kendall": of_order(held, "kendall")})
        correlations = list(drawn.values())
    cells = (count(len(found.systems)), *correlations, count(found.compared), count(len(found.swapped)), words(pairs))
    return Line((words(held.name), *cells), "judge")


def of_order(held: Held, which: Literal["spearman", "kendall"]) -> Statistic:
    """The correlation of the means by model, of weighted rows: as many draws at once as are asked for.

    Centred ranks are the row sums of the signs of all differences. A model without rows in a draw counts for nothing.
    """
    models = sorted(set(held.models))
    inside = np.array([[model == name for name in models] for model in held.models], np.float64)
    table = np.hstack([inside, inside * held.targets[:, None], inside * held.predicted[:, None]])

    def of(weights: Floats) -> Floats:
        counts, people, judge = np.split(weights @ table, 3, axis=1)
        one, other = _signs(people, counts), _signs(judge, counts)
        if which == "spearman":
            one, other = one.sum(2), other.sum(2)
        axes = tuple(range(1, one.ndim))
        scale = np.sqrt((one**2).sum(axes) * (other**2).sum(axes))
        return ratio((one * other).sum(axes), scale)

    return Statistic(of, np.ones(len(held), np.bool_), "all models have the same mean, by people or by the judge")


def _signs(sums: Floats, counts: Floats) -> Floats:
    """For each draw, which of two models has the higher mean; 0 for equal ones, and where one has no rows."""
    there = counts > 0
    means = np.round(np.divide(sums, counts, out=np.zeros_like(sums), where=there), 12)
    both = there[:, :, None] & there[:, None, :]
    return np.where(both, np.sign(means[:, :, None] - means[:, None, :]), 0.0)
