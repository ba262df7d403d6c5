"""Prediction-powered means: estimated from few human ratings and many judge scores, beside ratings alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchbuilder.evaluation.results.columns import ItemValues, Places
from benchbuilder.evaluation.results.compare import paired_systems
from benchbuilder.evaluation.results.context import ResultsFrame, interval_cell
from benchbuilder.evaluation.results.run import EvaluatedSystem, ScoredAspect
from benchbuilder.evaluation.stats.prediction_powered import clustered_prediction_powered_mean
from benchbuilder.exporters import ResultTable, TableLine

LEARNED = "learned"
"""The label of a judge's score of an answer that it was trained on."""
_LEAST = 2


def prediction_powered_tables(frame: ResultsFrame) -> list[ResultTable]:
    """A table for every aspect in which people rated some answers, and a judge scored these and others."""
    people = [measure for measure in frame.run.measures if measure.role == "people"]
    judges = [measure for measure in frame.run.measures if measure.role == "judge"]
    pairs = [(rated, judged) for rated in people for judged in judges if rated.aspect == judged.aspect]
    tables = [_table(frame, rated, judged) for rated, judged in pairs]
    return [sheet for sheet in tables if sheet.lines or sheet.notes]


class _Scores(NamedTuple):
    """The scores of a system's answers by people and by a judge.

    `unseen` are the items that people rated, and that the judge scored without having been trained on the answer. A
    judge fits its training answers too well, so a correction by these ratings would be too small.
    """

    human: ItemValues
    judge: ItemValues
    unseen: Places

    @property
    def unrated(self) -> Places:
        """The items that only the judge scored."""
        return np.setdiff1d(self.judge.places, self.human.places, assume_unique=True)


def _scores(frame: ResultsFrame, system: EvaluatedSystem, human: ScoredAspect, judge: ScoredAspect) -> _Scores:
    rated, judged = frame.run.values(human, system.name), frame.run.values(judge, system.name)
    scores = frame.run.valued_scores(judge, system.name)
    learned = scores.places[scores.labels.among((LEARNED,))]
    unseen = np.setdiff1d(rated.shared(judged), learned, assume_unique=True)
    return _Scores(rated, judged, unseen)


def _table(frame: ResultsFrame, human: ScoredAspect, judge: ScoredAspect) -> ResultTable:
    t = frame.t
    scores = {system: _scores(frame, system, human, judge) for system in paired_systems(frame, human)}
    learned = sum(len(part.human) - len(part.unseen) for part in scores.values())
    name = judge.scorer.removeprefix("judge_")
    columns = (
        "model:words=common.model rated:count=results.rated unrated:count=results.unrated people=results.people_alone "
        "prediction_powered=results.people_and_judge judge=results.judge_alone narrower:percent=results.narrower"
    )
    lines = [_line(frame, s, part) for s, part in scores.items() if len(part.unseen) >= _LEAST and len(part.unrated)]
    title = t("results.prediction_powered_of", aspect=frame.aspect_label(human.aspect), people=human.scorer, judge=name)
    notes = [t("results.prediction_powered_learned", judge=name, n=learned)] if learned else []
    return frame.table(f"prediction_powered_{human.slug}_{judge.slug}", title, columns, lines, notes=notes)


def _line(frame: ResultsFrame, system: EvaluatedSystem, scores: _Scores) -> TableLine:
    clusters = frame.run.clusters
    estimate = clustered_prediction_powered_mean(
        scores.human.at(scores.unseen),
        scores.judge.at(scores.unseen),
        clusters(scores.unseen),
        scores.judge.at(scores.unrated),
        clusters(scores.unrated),
        frame.bootstrap["level"],
    )
    whole, part = estimate.human_only.width, estimate.width
    cells = (interval_cell(mean, estimate.why if mean.low is None else "") for mean in (estimate.human_only, estimate))
    gain = 1 - part / whole if whole and part is not None else None
    return frame.line(system, estimate.labelled, estimate.unlabelled, *cells, estimate.judge_alone, gain)
