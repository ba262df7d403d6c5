"""The difficulty of each item, and the hardest items in full with all answers and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from benchbuilder.evaluation.results.compare import item_values, main_measures
from benchbuilder.evaluation.results.context import ResultsFrame, table_line
from benchbuilder.evaluation.results.run import AnswerScore, EvaluatedSystem, ScoredAspect
from benchbuilder.exporters import ReportEntry, ResultTable, TableColumn


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
    """The mean of every item in `measure`, hardest first, over models (or all systems if there are no models)."""

    measure: ScoredAspect
    means: tuple[tuple[ReportEntry, float, int], ...]


def item_difficulty(frame: ResultsFrame, aspects: Sequence[str]) -> ItemDifficulty | None:
    """Item means in the first main measure that covers at least half of the items; ``None`` without scores.

    Ties are broken by the number of systems (more first), then by id.
    """
    run = frame.run
    names = run.system_names("model") or [system.name for system in run.systems]
    covered = [(measure, item_values(frame, measure, names)) for measure in main_measures(run.measures, aspects)]
    scored = [pair for pair in covered if pair[1]]
    if not scored:
        return None
    half = [pair for pair in scored if 2 * len(pair[1]) >= len(run.entries)]
    measure, values = half[0] if half else max(scored, key=lambda pair: len(pair[1]))
    rows = [(e, fmean(values[e.row.id]), len(values[e.row.id])) for e in run.entries if e.row.id in values]
    return ItemDifficulty(measure, tuple(sorted(rows, key=lambda row: (round(row[1], 9), -row[2], row[0].row.id))))


def worst_items(
    frame: ResultsFrame, difficulty: ItemDifficulty | None, aspects: Sequence[str], count: int
) -> list[HardItem]:
    """The `count` hardest items with all answers and their scores in the main measures."""
    if difficulty is None:
        return []
    measures = main_measures(frame.run.measures, aspects)
    return [
        HardItem(entry, mean, n, tuple(_replies(frame, entry, measures))) for entry, mean, n in difficulty.means[:count]
    ]


def _replies(frame: ResultsFrame, entry: ReportEntry, measures: Sequence[ScoredAspect]) -> list[SystemReply]:
    run, item = frame.run, entry.row.id
    replies: list[SystemReply] = []
    for system in run.systems:
        answer = run.answers.get(system.name, {}).get(item)
        if answer is None or answer.outcome == "missing":
            continue
        rows = [(measure, run.scores[measure].get(system.name, {}).get(item)) for measure in measures]
        scores = tuple((measure, score) for measure, score in rows if score is not None)
        replies.append(SystemReply(system, answer.text, answer.outcome, scores))
    return replies


def difficulty_table(frame: ResultsFrame, difficulty: ItemDifficulty) -> ResultTable:
    """Every item with its mean, for the data files."""
    t = frame.t
    return ResultTable(
        name="difficulty",
        title=t("results.difficulty"),
        columns=(
            TableColumn("item", "id", "words"),
            TableColumn("source", t("common.source"), "words"),
            TableColumn("type", t("column.q-type"), "words"),
            TableColumn("expected", t("column.expected"), "words"),
            TableColumn("mean", frame.measure_label(difficulty.measure)),
            TableColumn("models", t("results.models"), "count"),
        ),
        lines=tuple(
            table_line(entry.row.id, entry.source, entry.type, entry.expected, mean, count)
            for entry, mean, count in difficulty.means
        ),
    )
