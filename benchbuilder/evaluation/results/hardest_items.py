"""The difficulty of each item, and the hardest items in full with all answers and scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchbuilder.evaluation.results.columns import ItemValues
from benchbuilder.evaluation.results.compare import item_means, main_measures
from benchbuilder.evaluation.results.context import ResultsFrame
from benchbuilder.evaluation.results.gather import answer_texts
from benchbuilder.evaluation.results.run import EvaluatedSystem, ScoredAspect
from benchbuilder.exporters import FinishedBuild, ReportEntry, load_entries


@dataclass(frozen=True)
class AnswerScore:
    """The score of one answer; `ratings` are (rater, value)."""

    value: float | None
    label: str
    ratings: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class SystemReply:
    """The answer of a system to an item, with its score by each measure."""

    system: EvaluatedSystem
    text: str
    outcome: str
    scores: tuple[tuple[ScoredAspect, AnswerScore], ...]


@dataclass(frozen=True)
class HardItem:
    """A hard item: its mean over `system_count` systems, and all answers."""

    entry: ReportEntry
    mean: float
    system_count: int
    replies: tuple[SystemReply, ...]


@dataclass(frozen=True)
class ItemDifficulty:
    """The mean of every item in `measure` over models (or all systems if there are no models).

    `counts` says over how many. `order` has their positions in `means`, hardest first.
    """

    measure: ScoredAspect
    means: ItemValues
    counts: NDArray[np.int64]
    order: Sequence[int]


def item_difficulty(frame: ResultsFrame, aspects: Sequence[str]) -> ItemDifficulty | None:
    """Item means in the first main measure that covers at least half of the items; ``None`` without scores.

    Ties are broken by the number of systems (more first), then by id.
    """
    run = frame.run
    names = run.system_names("model") or [system.name for system in run.systems]
    scored: list[tuple[int, ScoredAspect]] = []
    for measure in main_measures(run.measures, aspects):
        covered = np.zeros(len(run.items), np.bool_)
        for name in names:
            covered[run.values(measure, name).places] = True
        scored += [(int(covered.sum()), measure)] if covered.any() else []
    if not scored:
        return None
    half = [pair for pair in scored if 2 * pair[0] >= len(run.items)]
    measure = (half[0] if half else max(scored, key=lambda pair: pair[0]))[1]
    means, counts = item_means([run.values(measure, name) for name in names])
    keys = zip(
        (round(mean, 9) for mean in means.numbers.tolist()), (-counts).tolist(), means.places.tolist(), strict=True
    )
    lines = sorted((mean, count, run.items.ids[place], at) for at, (mean, count, place) in enumerate(keys))
    return ItemDifficulty(measure, means, counts, [line[-1] for line in lines])


def worst_items(
    frame: ResultsFrame, finished: FinishedBuild, difficulty: ItemDifficulty | None, aspects: Sequence[str], count: int
) -> list[HardItem]:
    """The `count` hardest items with all answers and their scores in the main measures."""
    if difficulty is None:
        return []
    items = frame.run.items
    worst = difficulty.order[:count]
    places = [int(difficulty.means.places[at]) for at in worst]
    texts = answer_texts(finished, items.index(), places)
    measures = main_measures(frame.run.measures, aspects)
    return [
        HardItem(entry, float(difficulty.means.numbers[at]), int(difficulty.counts[at]),
                 tuple(_replies(frame, place, texts, measures)))
        for at, place, entry in zip(
            worst, places, load_entries(finished, [items.ids[place] for place in places]), strict=True
        )
    ]  # fmt: skip


def _replies(
    frame: ResultsFrame, place: int, texts: Mapping[tuple[str, int], str], measures: Sequence[ScoredAspect]
) -> Iterator[SystemReply]:
    run = frame.run
    for system in run.systems:
        outcome = run.answers[system.name].outcomes[place] if system.name in run.answers else ""
        if outcome in ("", "missing"):
            continue
        rows = [(measure, _score(frame, measure, system.name, place)) for measure in measures]
        scores = tuple((measure, score) for measure, score in rows if score is not None)
        yield SystemReply(system, texts[system.name, place], outcome, scores)


def _score(frame: ResultsFrame, measure: ScoredAspect, model: str, place: int) -> AnswerScore | None:
    scores = frame.run.scores[measure].get(model)
    if scores is None:
        return None
    at = int(np.searchsorted(scores.places, place))
    if at == len(scores.places) or scores.places[at] != place:
        return None
    value = float(scores.numbers[at])
    return AnswerScore(None if np.isnan(value) else value, scores.labels[at], scores.ratings.get(place, ()))


DIFFICULTY = "difficulty"
"""The name of the table of every item's mean."""
DIFFICULTY_COLUMNS = ("item", "source", "type", "expected", "mean", "models", "group", "block")


def difficulty_lines(frame: ResultsFrame, difficulty: ItemDifficulty) -> Iterator[list[object]]:
    """A line for every item with its mean, hardest first, for the data files."""
    items = frame.run.items
    for at in difficulty.order:
        place = difficulty.means.places[at]
        yield [
            items.ids[place], items.sources[place], items.types[place], items.expected[place],
            float(difficulty.means.numbers[at]), float(difficulty.counts[at]), "", "own",
        ]  # fmt: skip
