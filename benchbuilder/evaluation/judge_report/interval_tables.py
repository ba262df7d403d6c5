"""Tables of intervals: for the mean of a benchmark from few ratings, and for single scores."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from benchbuilder.core.stats.conformal import half_width, interval
from benchbuilder.core.stats.intervals import mean_estimate
from benchbuilder.core.stats.prediction_powered import PredictionPowered, clustered_prediction_powered_mean
from benchbuilder.core.stats.weighted import Floats
from benchbuilder.evaluation.judge_report.held_out import Frame, Held, grouped, value_cell
from benchbuilder.exporters.render.tables import Cell, Form, Line, Sheet, count, words

_HALVINGS = 20
_COLUMNS: dict[str, Form] = {
    "judge": "words", "model": "words", "labelled": "count", "unlabelled": "count", "known": "score",
    "judge_alone": "score", "human_only": "score", "powered": "score", "narrower": "percent", "tuning": "score",
}  # fmt: skip


def powered(frame: Frame, aspect: str, judges: Sequence[Held]) -> Sheet | None:
    """A rehearsal of prediction-powered intervals: what few human scores, with the judge's, say of each model's mean.

    A share of the families counts as rated, the others as judged alone; the mean of all ratings is known here.
    """
    lines = [line for held in judges for line in _rehearsed(frame, held)]
    share = f"{frame.numbers.labelled * 100:g} %"
    return frame.sheet(aspect, "powered", _COLUMNS, lines, keys=2, share=share) if lines else None


def _rehearsed(frame: Frame, held: Held) -> list[Line]:
    families = sorted(set(held.families))
    random.Random(f"{frame.drawn['seed']}:powered").shuffle(families)
    rated = set(families[: round(len(families) * frame.numbers.labelled)])
    lines: list[Line] = []
    for model, rows in grouped(held, lambda row: row.example.model):
        known = np.array([family in rated for family in rows.families])
        found = _powered(rows.only(known), rows.only(~known), frame.drawn["level"])
        if found is not None:
            lines.append(_line(held.name, model, found, Cell(float(rows.targets.mean()))))
    return lines


def _powered(rated: Held, rest: Held, level: float) -> PredictionPowered | None:
    if len(set(rated.families)) < 2 or len(rest) < 2:
        return None
    found = clustered_prediction_powered_mean(
        rated.targets, rated.predicted, rated.families, rest.predicted, rest.families, level
    )
    return None if found.value is None else found


def _line(judge: str, model: str, found: PredictionPowered, known: Cell) -> Line:
    own, people = found.width, found.human_only.width
    narrower = 1 - own / people if own is not None and people else None
    human = Cell(found.human_only.value, low=found.human_only.low, high=found.human_only.high)
    both = Cell(found.value, low=found.low, high=found.high, why=found.why)
    head = (words(judge), words(model), count(found.labelled), count(found.unlabelled), known)
    cells = (value_cell(found.judge_alone), human, both, value_cell(narrower), Cell(found.tuning))
    return Line((*head, *cells), "model")


def conformal(frame: Frame, aspect: str, judges: Sequence[Held]) -> Sheet:
    """How wide an interval around a single score must be, and whether such intervals hold what people say.

    The half width is that of all held-out rows; coverage is checked on halves of the families with the half width of
    the other half, many times.
    """
    lines: list[Line] = []
    for held in judges:
        half = half_width(held.predicted - held.targets, frame.drawn["level"])
        covered = _covered(held, frame.drawn["level"], frame.drawn["seed"])
        cell = frame.cell(mean_estimate(covered, held.families, **frame.drawn))
        width = None if half.value is None else _mean_width(held.predicted, half.value)
        why = frame.t("judges.few_residuals", n=half.n) if half.value is None else ""
        cells = (count(half.n), Cell(half.level), value_cell(half.value, why), value_cell(width), cell)
        lines.append(Line((words(held.name), *cells), "judge"))
    columns: dict[str, Form] = {
        "judge": "words", "n": "count", "level": "percent", "half_width": "score", "mean_width": "score",
        "coverage": "percent",
    }  # fmt: skip
    return frame.sheet(aspect, "conformal", columns, lines, times=_HALVINGS)


def _mean_width(predicted: Floats, half: float) -> float:
    bounds = [interval(float(score), half) for score in predicted]
    return float(np.mean([high - low for low, high in bounds])) if bounds else float("nan")


def _covered(held: Held, level: float, seed: int) -> Floats:
    """How often each row's human score lay in its interval, over the halvings in which it was not calibrated on."""
    families = np.array(held.families, dtype=object)
    names = sorted(set(held.families))
    inside, tried = np.zeros(len(held)), np.zeros(len(held))
    distances = np.abs(held.predicted - held.targets)
    for turn in range(_HALVINGS):
        chosen = set(random.Random(f"{seed}:conformal:{turn}").sample(names, len(names) // 2))
        first = np.array([family in chosen for family in families], np.bool_)
        for fit in (first, ~first):
            half = half_width(distances[fit], level).value
            if half is not None:
                inside[~fit] += distances[~fit] <= half + 1e-12
                tried[~fit] += 1
    return np.divide(inside, tried, out=np.full(len(held), np.nan), where=tried > 0)
