"""How hard each item is, and the hardest in full: what was asked, what every model said, what everybody gave it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from benchbuilder.evaluation.results.compare import by_item, main_measures
from benchbuilder.evaluation.results.context import Frame
from benchbuilder.evaluation.results.run import Contender, Measure
from benchbuilder.exporters.render.tables import Cell, Column, Line, Sheet, count, words
from benchbuilder.exporters.report.entries import Entry


@dataclass(frozen=True)
class Mark:
    """What a measure says of an answer. `ratings` are (person, value)."""

    measure: Measure
    value: float | None
    label: str
    ratings: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Reply:
    """What a contender said to an item, with every mark that it got."""

    contender: Contender
    text: str
    outcome: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Worst:
    """An item that models did badly on: the mean of `n` of them, and all replies."""

    entry: Entry
    mean: float
    n: int
    replies: tuple[Reply, ...]


@dataclass(frozen=True)
class Difficulty:
    """The mean of every item over models (over rules where there are no models) in `measure`, the hardest first."""

    measure: Measure
    means: tuple[tuple[Entry, float, int], ...]


def difficulty(frame: Frame, aspects: Sequence[str]) -> Difficulty | None:
    """By the first of the main measures that scores at least half of the items; ``None`` where nothing is scored.

    Of equal means, the item that more models had goes first, then by id.
    """
    run = frame.run
    names = run.named("model") or [one.name for one in run.contenders]
    found = [(measure, by_item(frame, measure, names)) for measure in main_measures(run.measures, aspects)]
    scored = [pair for pair in found if pair[1]]
    if not scored:
        return None
    half = [pair for pair in scored if 2 * len(pair[1]) >= len(run.entries)]
    measure, values = half[0] if half else max(scored, key=lambda pair: len(pair[1]))
    rows = [(e, fmean(values[e.row.id]), len(values[e.row.id])) for e in run.entries if e.row.id in values]
    return Difficulty(measure, tuple(sorted(rows, key=lambda row: (round(row[1], 9), -row[2], row[0].row.id))))


def worst(frame: Frame, hard: Difficulty | None, aspects: Sequence[str], most: int) -> list[Worst]:
    """The `most` hardest items with everything that was said to them, and what the main measures say of that."""
    if hard is None:
        return []
    measures = main_measures(frame.run.measures, aspects)
    return [Worst(entry, mean, n, tuple(_replies(frame, entry, measures))) for entry, mean, n in hard.means[:most]]


def _replies(frame: Frame, entry: Entry, measures: Sequence[Measure]) -> list[Reply]:
    run, item = frame.run, entry.row.id
    found: list[Reply] = []
    for one in run.contenders:
        said = run.answers.get(one.name, {}).get(item)
        if said is None or said.outcome == "missing":
            continue
        given = [(measure, run.scores[measure].get(one.name, {}).get(item)) for measure in measures]
        marks = tuple(Mark(m, g.value, g.label, g.ratings) for m, g in given if g is not None)
        found.append(Reply(one, said.text, said.outcome, marks))
    return found


def sheet_of(frame: Frame, hard: Difficulty) -> Sheet:
    """Every item with its mean, for a data file."""
    t = frame.t
    return Sheet(
        name="difficulty",
        title=t("results.difficulty"),
        columns=(
            Column("item", "id", "words"),
            Column("source", t("common.source"), "words"),
            Column("type", t("column.q-type"), "words"),
            Column("expected", t("column.expected"), "words"),
            Column("mean", frame.title(hard.measure)),
            Column("models", t("results.models"), "count"),
        ),
        lines=tuple(
            Line((words(e.row.id), words(e.source), words(e.type), words(e.expected), Cell(mean), count(n)))
            for e, mean, n in hard.means
        ),
    )
