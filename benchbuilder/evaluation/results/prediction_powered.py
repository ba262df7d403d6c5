"""Prediction-powered means: estimated from few human ratings and many judge scores, beside ratings alone."""

from __future__ import annotations

from benchbuilder.core import MeanInterval, clustered_prediction_powered_mean
from benchbuilder.evaluation.results.compare import paired_systems
from benchbuilder.evaluation.results.context import ResultsFrame
from benchbuilder.evaluation.results.run import EvaluatedSystem, ScoredAspect
from benchbuilder.exporters import ResultTable, TableCell, TableColumn, TableLine, count_cell

LEARNED = "learned"
"""The label of a judge's score of an answer that it was trained on."""
_LEAST = 2


def prediction_powered_tables(frame: ResultsFrame) -> list[ResultTable]:
    """A table for every aspect in which people rated some answers, and a judge scored these and others."""
    people = [measure for measure in frame.run.measures if measure.role == "people"]
    judges = [measure for measure in frame.run.measures if measure.role == "judge"]
    pairs = [(rated, judged) for rated in people for judged in judges if rated.aspect == judged.aspect]
    found = [_table(frame, rated, judged) for rated, judged in pairs]
    return [sheet for sheet in found if sheet.lines or sheet.notes]


def _table(frame: ResultsFrame, human_measure: ScoredAspect, judge_measure: ScoredAspect) -> ResultTable:
    t = frame.t
    learned = sum(
        len(_human_values(frame, system, human_measure)) - len(_unseen(frame, system, human_measure, judge_measure))
        for system in paired_systems(frame, human_measure)
    )
    lines = [
        _line(frame, system, human_measure, judge_measure)
        for system in paired_systems(frame, human_measure)
        if _has_overlap(frame, system, human_measure, judge_measure)
    ]
    return ResultTable(
        name=f"prediction_powered_{human_measure.slug}_{judge_measure.slug}",
        title=t(
            "results.prediction_powered_of",
            aspect=frame.aspect_label(human_measure.aspect),
            people=human_measure.scorer,
            judge=judge_measure.scorer.removeprefix("judge_"),
        ),
        columns=(
            TableColumn("model", t("common.model"), "words"),
            TableColumn("rated", t("results.rated"), "count"),
            TableColumn("unrated", t("results.unrated"), "count"),
            TableColumn("people", t("results.people_alone")),
            TableColumn("prediction_powered", t("results.people_and_judge")),
            TableColumn("judge", t("results.judge_alone")),
            TableColumn("narrower", t("results.narrower"), "percent"),
        ),
        lines=tuple(lines),
        notes=(t("results.prediction_powered_learned", judge=judge_measure.scorer.removeprefix("judge_"), n=learned),)
        if learned
        else (),
    )


def _has_overlap(
    frame: ResultsFrame, system: EvaluatedSystem, human_measure: ScoredAspect, judge_measure: ScoredAspect
) -> bool:
    """Whether the judge scored rated answers that it was not trained on, and unrated answers too."""
    truth, said = frame.run.values(human_measure, system.name), frame.run.values(judge_measure, system.name)
    return len(_unseen(frame, system, human_measure, judge_measure)) >= _LEAST and any(
        item not in truth for item in said
    )


def _human_values(frame: ResultsFrame, system: EvaluatedSystem, human_measure: ScoredAspect) -> list[str]:
    return list(frame.run.values(human_measure, system.name))


def _unseen(
    frame: ResultsFrame, system: EvaluatedSystem, human_measure: ScoredAspect, judge_measure: ScoredAspect
) -> list[str]:
    """The items whose answers people rated, and the judge scored without having been trained on them.

    A judge fits its training answers too well, so a correction by these ratings would be too small.
    """
    said, given = frame.run.values(judge_measure, system.name), frame.run.scores[judge_measure].get(system.name, {})
    return [
        item for item in _human_values(frame, system, human_measure) if item in said and given[item].label != LEARNED
    ]


def _line(
    frame: ResultsFrame, system: EvaluatedSystem, human_measure: ScoredAspect, judge_measure: ScoredAspect
) -> TableLine:
    run = frame.run
    truth, said = run.values(human_measure, system.name), run.values(judge_measure, system.name)
    labelled = _unseen(frame, system, human_measure, judge_measure)
    rest = [item for item in said if item not in truth]
    found = clustered_prediction_powered_mean(
        [truth[item] for item in labelled],
        [said[item] for item in labelled],
        run.clusters(labelled),
        [said[item] for item in rest],
        run.clusters(rest),
        frame.bootstrap["level"],
    )
    whole, part = found.human_only.width, found.width
    gain = TableCell(1 - part / whole) if whole and part is not None else TableCell()
    return frame.line(
        system,
        count_cell(found.labelled),
        count_cell(found.unlabelled),
        _cell(found.human_only, found.why),
        _cell(found, found.why),
        TableCell(found.judge_alone),
        gain,
    )


def _cell(estimate: MeanInterval, why: str) -> TableCell:
    return TableCell(estimate.value, low=estimate.low, high=estimate.high, why=why if estimate.low is None else "")
