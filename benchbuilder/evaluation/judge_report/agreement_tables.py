"""Tables of how well judges say what people say: agreement, casting, baselines, calibration, ablation, groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchbuilder.core.stats.accuracy import of_accuracy, of_auroc, of_balanced_accuracy, of_share_near
from benchbuilder.core.stats.calibration import of_brier, of_ece, reliability
from benchbuilder.core.stats.correlation import of_kendall, of_pearson, of_spearman
from benchbuilder.core.stats.errors import of_bias, of_mae, of_quadratic_weighted_kappa, of_rmse
from benchbuilder.core.stats.intervals import mean_estimate
from benchbuilder.core.stats.weighted import Floats, Statistic
from benchbuilder.evaluation.judge_report.held_out import THRESHOLD, Frame, Held, grouped, value_cell
from benchbuilder.evaluation.judge_training.predictions import Prediction
from benchbuilder.exporters.render.tables import Cell, Form, Line, Sheet, count, words

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FEWEST = 10
"""Answers of a group that a correlation is given of."""


def majority_of(held: Held) -> Floats:
    """What the majority baseline says of each row: the side of most of these very rows."""
    positive = float((held.targets >= THRESHOLD - 1e-9).mean() >= 0.5) if len(held) else 0.0
    return np.full(len(held), positive)


def comparison(frame: Frame, aspect: str, judges: Sequence[Held]) -> Sheet:
    """One line for each judge, and what others published where their split is ours."""
    others = apart(judges)
    lines = [_compared(frame, held, others[place]) for place, held in enumerate(judges)]
    shown = _published(frame, aspect, judges)
    notes = [frame.t("judges.comparison.published", work=frame.published.work)] if shown and frame.published else []
    if not shown and frame.published is not None and frame.published.of(aspect, frame.published.split):
        theirs = frame.t.get(f"judges.split.{frame.published.split}", frame.published.split)
        notes.append(frame.t("judges.comparison.unpublished", work=frame.published.work, split=theirs))
    if any(others):
        notes.append(frame.t("judges.comparison.apart"))
    columns: dict[str, Form] = {
        "judge": "words", "kind": "words", "n": "count", "pearson": "score", "mae": "score", "accuracy": "score",
        "majority": "score", "over_majority": "signed", "p": "score", "note": "words",
    }  # fmt: skip
    if not any(line.cells[-1].words for line in [*lines, *shown]):
        del columns["note"]
        lines, shown = ([_shorter(line) for line in part] for part in (lines, shown))
    return frame.sheet(aspect, "comparison", columns, [*lines, *shown], keys=2, notes=notes)


def apart(judges: Sequence[Held]) -> list[str]:
    """For each judge the letter of its held-out answers, which judges share that can be compared; empty where all do.

    Those can that have the same split, and the same answers or the same of everything that was held out.
    """
    kinds: list[Held] = []
    found: list[int] = []
    for held in judges:
        place = next((place for place, other in enumerate(kinds) if _alike(held, other)), len(kinds))
        kinds += [held] if place == len(kinds) else []
        found.append(place)
    if len(kinds) < 2:
        return [""] * len(judges)
    return [_LETTERS[min(place, len(_LETTERS) - 1)] for place in found]


def _alike(one: Held, other: Held) -> bool:
    if one.split != other.split:
        return False
    cards = [{key: held.card.get(key) for key in ("data_sha256", "held_out", "seed")} for held in (one, other)]
    if cards[0] == cards[1]:
        return True
    rows = [sorted(zip(held.names(), held.targets.tolist(), strict=True)) for held in (one, other)]
    return rows[0] == rows[1]


def _shorter(line: Line) -> Line:
    return Line(line.cells[:-1], line.group, line.tag, line.block)


def _compared(frame: Frame, held: Held, letter: str) -> Line:
    own, most = of_accuracy(held.predicted, held.targets), of_accuracy(majority_of(held), held.targets)
    found = frame.cells(
        held,
        {
            "pearson": of_pearson(held.predicted, held.targets),
            "mae": of_mae(held.predicted, held.targets),
            "accuracy": own,
            "majority": most,
        },
    )
    over, p = frame.compared(held, own, most)
    kind = words(str(held.card.get("kind", "")))
    note = frame.t("judges.comparison.set", letter=letter) if letter else ""
    return Line((words(held.name), kind, count(len(held)), *found.values(), over, p, words(note)), "judge")


def _published(frame: Frame, aspect: str, judges: Sequence[Held]) -> list[Line]:
    if frame.published is None or not judges or any(held.split != frame.published.split for held in judges):
        return []
    majority, tag = frame.published.majority.get(aspect), frame.t("judges.published")
    return [
        Line(
            (words(name), words(""), Cell(), value_cell(figures.pearson), Cell(), value_cell(figures.accuracy),
             value_cell(majority), Cell(), Cell(), words(figures.note.get(frame.language, ""))),
            "published", tag, "published",
        )
        for name, figures in frame.published.of(aspect, frame.published.split).items()
    ]  # fmt: skip


def agreement(frame: Frame, aspect: str, judges: Sequence[Held]) -> Sheet:
    """Correlations and errors."""
    made: dict[str, Callable[[Floats, Floats], Statistic]] = {
        "pearson": of_pearson, "spearman": of_spearman, "kendall": of_kendall, "mae": of_mae, "rmse": of_rmse,
        "bias": of_bias, "kappa": of_quadratic_weighted_kappa,
    }  # fmt: skip
    lines: list[Line] = []
    for held in judges:
        found = frame.cells(held, {name: of(held.predicted, held.targets) for name, of in made.items()})
        lines.append(Line((words(held.name), count(len(held)), *found.values()), "judge"))
    columns: dict[str, Form] = {"judge": "words", "n": "count"}
    for name in made:
        columns[name] = "signed" if name == "bias" else "score"
    return frame.sheet(aspect, "agreement", columns, lines)


def casting(frame: Frame, aspect: str, judges: Sequence[Held]) -> Sheet:
    """Scores cast into yes and no at the threshold."""
    lines: list[Line] = []
    for held in judges:
        found = frame.cells(
            held,
            {
                "accuracy": of_accuracy(held.predicted, held.targets),
                "balanced": of_balanced_accuracy(held.predicted, held.targets),
                "auroc": of_auroc(held.predicted, held.targets),
                "positive": of_accuracy(np.ones(len(held)), held.targets),
                "near": of_share_near(held.targets, THRESHOLD, frame.numbers.near),
            },
        )
        lines.append(Line((words(held.name), count(len(held)), *found.values()), "judge"))
    columns: dict[str, Form] = {
        "judge": "words", "n": "count", "accuracy": "score", "balanced": "score", "auroc": "score",
        "positive": "percent", "near": "percent",
    }  # fmt: skip
    return frame.sheet(aspect, "casting", columns, lines, near=f"{frame.numbers.near:g}")


def baselines(frame: Frame, aspect: str, judges: Sequence[Held]) -> Sheet:
    """Each judge against simpler predictors of the same answers, with paired differences."""
    lines = [line for held in judges for line in _against(frame, held)]
    columns: dict[str, Form] = {
        "judge": "words", "baseline": "words", "measure": "words", "own": "score", "theirs": "score",
        "difference": "signed", "p": "score", "better": "words",
    }  # fmt: skip
    return frame.sheet(aspect, "baselines", columns, lines, keys=3)


def _against(frame: Frame, held: Held) -> list[Line]:
    mean = np.full(len(held), held.targets.mean() if len(held) else np.nan)
    lines = [
        _versus(frame, held, "majority_of_these", majority_of(held), "accuracy"),
        _versus(frame, held, "mean_of_these", mean, "mae"),
    ]
    for name, values in held.others.items():
        tried = held.only(~np.isnan(values))
        theirs = values[~np.isnan(values)]
        if name == "majority":
            lines.append(_versus(frame, tried, name, theirs, "accuracy"))
            continue
        if theirs.size and theirs.min() < theirs.max():
            lines.append(_versus(frame, tried, name, theirs, "pearson"))
        lines.append(_versus(frame, tried, name, theirs, "mae"))
    return lines


_MEASURES: dict[str, Callable[[Floats, Floats], Statistic]] = {
    "accuracy": of_accuracy, "mae": of_mae, "pearson": of_pearson,
}  # fmt: skip


def _versus(frame: Frame, held: Held, name: str, theirs: Floats, measure: str) -> Line:
    own, other = (_MEASURES[measure](values, held.targets) for values in (held.predicted, theirs))
    found = frame.cells(held, {"own": own, "theirs": other})
    apart, p = frame.compared(held, own, other)
    said = (
        words(held.name),
        words(frame.t.get(f"judges.baseline.{name}", name)),
        words(frame.t(f"judges.column.{measure}")),
    )
    return Line((*said, found["own"], found["theirs"], apart, p, words(_better(frame, apart, measure))), "judge")


def _better(frame: Frame, apart: Cell, measure: str) -> str:
    """Which one is better, if the interval of the difference tells."""
    if apart.low is None or apart.high is None:
        return ""
    low, high = (apart.low, apart.high) if measure != "mae" else (-apart.high, -apart.low)
    return frame.t("judges.better.yes" if low > 0 else "judges.better.no" if high < 0 else "judges.better.open")


def calibration(frame: Frame, aspect: str, judges: Sequence[Held]) -> Sheet:
    """How far scores can be read as probabilities."""
    lines: list[Line] = []
    for held in judges:
        found = frame.cells(
            held,
            {
                "ece": of_ece(held.predicted, held.targets, frame.numbers.bins),
                "brier": of_brier(held.predicted, held.targets),
                "brier_base": of_brier(np.full(len(held), _share(held)), held.targets),
            },
        )
        lines.append(Line((words(held.name), count(len(held)), *found.values()), "judge"))
    columns: dict[str, Form] = {
        "judge": "words", "n": "count", "ece": "score", "brier": "score", "brier_base": "score",
    }  # fmt: skip
    return frame.sheet(aspect, "calibration", columns, lines, bins=frame.numbers.bins)


def _share(held: Held) -> float:
    return float((held.targets >= THRESHOLD - 1e-9).mean()) if len(held) else 0.0


def reliability_sheet(frame: Frame, aspect: str, judges: Sequence[Held]) -> Sheet:
    """The bins of the reliability plots."""
    lines: list[Line] = []
    for held in judges:
        for found in reliability(held.predicted, held.targets, frame.numbers.bins):
            inside = (held.predicted >= found.low) & (held.predicted <= found.high)
            rows = held.only(inside)
            positive = (rows.targets >= THRESHOLD - 1e-9).astype(np.float64)
            share = frame.cell(mean_estimate(positive, rows.families, **frame.drawn))
            cells = (value_cell(found.low), value_cell(found.high), count(found.n), value_cell(found.mean_predicted))
            lines.append(Line((words(held.name), *cells, share, value_cell(found.mean_target)), "judge"))
    columns: dict[str, Form] = {
        "judge": "words", "from": "score", "to": "score", "n": "count", "mean_predicted": "score",
        "share_positive": "score", "mean_target": "score",
    }  # fmt: skip
    return frame.sheet(aspect, "reliability", columns, lines)


def ablation(frame: Frame, aspect: str, judges: Sequence[Held]) -> Sheet | None:
    """The same kind of judge with and without paragraphs; ``None`` where nobody tried."""
    tried = [held.only(~np.isnan(held.without)) for held in judges]
    lines = [
        _ablated(frame, held, measure) for held in tried if len(held) for measure in ("pearson", "accuracy", "mae")
    ]
    columns: dict[str, Form] = {
        "judge": "words", "measure": "words", "n": "count", "with": "score", "without": "score",
        "difference": "signed", "p": "score",
    }  # fmt: skip
    return frame.sheet(aspect, "ablation", columns, lines, keys=2) if lines else None


def _ablated(frame: Frame, held: Held, measure: str) -> Line:
    own, other = (_MEASURES[measure](values, held.targets) for values in (held.predicted, held.without))
    found = frame.cells(held, {"with": own, "without": other})
    apart, p = frame.compared(held, own, other)
    said = (words(held.name), words(frame.t(f"judges.column.{measure}")), count(len(held)))
    return Line((*said, found["with"], found["without"], apart, p), "judge")


def by_group(frame: Frame, aspect: str, name: str, judges: Sequence[Held], of: Callable[[Prediction], str]) -> Sheet:
    """The main measures of each judge in each group of answers."""
    lines: list[Line] = []
    for held in judges:
        for label, rows in grouped(held, of):
            found = frame.cells(
                rows,
                {
                    "pearson": of_pearson(rows.predicted, rows.targets),
                    "mae": of_mae(rows.predicted, rows.targets),
                    "bias": of_bias(rows.predicted, rows.targets),
                    "accuracy": of_accuracy(rows.predicted, rows.targets),
                },
            )
            if len(rows) < _FEWEST:
                found["pearson"] = Cell(why=frame.t("judges.few", n=len(rows)))
            cells = (words(label), words(held.name), count(len(rows)))
            lines.append(Line((*cells, *found.values()), "judge"))
    lines.sort(key=lambda line: line.cells[0].words)
    columns: dict[str, Form] = {
        name: "words", "judge": "words", "n": "count", "pearson": "score", "mae": "score", "bias": "signed",
        "accuracy": "score",
    }  # fmt: skip
    return frame.sheet(aspect, f"by_{name}", columns, lines, keys=2)


def statements(frame: Frame, aspect: str, judges: Sequence[Held]) -> Sheet | None:
    """True and false statements that were held out, apart from what people rated; ``None`` where there are none."""
    lines: list[Line] = []
    for held in judges:
        if not len(held):
            continue
        sides = [held.only(held.targets >= THRESHOLD), held.only(held.targets < THRESHOLD)]
        means = [frame.cell(mean_estimate(side.predicted, side.families, **frame.drawn)) for side in sides]
        found = frame.cells(
            held,
            {"accuracy": of_accuracy(held.predicted, held.targets), "auroc": of_auroc(held.predicted, held.targets)},
        )
        lines.append(Line((words(held.name), count(len(held)), *means, *found.values()), "judge"))
    columns: dict[str, Form] = {
        "judge": "words", "n": "count", "of_true": "score", "of_false": "score", "accuracy": "score", "auroc": "score",
    }  # fmt: skip
    return frame.sheet(aspect, "statements", columns, lines) if lines else None
