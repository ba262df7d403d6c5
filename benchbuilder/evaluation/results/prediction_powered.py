"""Benchmark means from few ratings by people and many scores of a judge, beside what the people alone would tell."""

from __future__ import annotations

from benchbuilder.core.stats.prediction_powered import Interval, clustered_prediction_powered_mean
from benchbuilder.evaluation.results.compare import compared
from benchbuilder.evaluation.results.context import Frame
from benchbuilder.evaluation.results.run import Contender, Measure
from benchbuilder.exporters.render.tables import Cell, Column, Line, Sheet, count

LEARNED = "learned"
"""The label of a judge's score of an answer that it learned from."""
_LEAST = 2


def powered(frame: Frame) -> list[Sheet]:
    """A table for every aspect in which people rated some answers, and a judge scored these and others."""
    people = [one for one in frame.run.measures if one.role == "people"]
    judges = [one for one in frame.run.measures if one.role == "judge"]
    pairs = [(rated, judged) for rated in people for judged in judges if rated.aspect == judged.aspect]
    found = [_sheet(frame, rated, judged) for rated, judged in pairs]
    return [sheet for sheet in found if sheet.lines or sheet.notes]


def _sheet(frame: Frame, rated: Measure, judged: Measure) -> Sheet:
    t = frame.t
    learned = sum(
        len(_rated(frame, one, rated)) - len(_unseen(frame, one, rated, judged)) for one in compared(frame, rated)
    )
    lines = [_line(frame, one, rated, judged) for one in compared(frame, rated) if _helps(frame, one, rated, judged)]
    return Sheet(
        name=f"powered_{rated.slug}_{judged.slug}",
        title=t(
            "results.powered_of",
            aspect=frame.aspect(rated.aspect),
            people=rated.scorer,
            judge=judged.scorer.removeprefix("judge_"),
        ),
        columns=(
            Column("model", t("common.model"), "words"),
            Column("rated", t("results.rated"), "count"),
            Column("unrated", t("results.unrated"), "count"),
            Column("people", t("results.people_alone")),
            Column("powered", t("results.people_and_judge")),
            Column("judge", t("results.judge_alone")),
            Column("narrower", t("results.narrower"), "percent"),
        ),
        lines=tuple(lines),
        notes=(t("results.powered_learned", judge=judged.scorer.removeprefix("judge_"), n=learned),) if learned else (),
    )


def _helps(frame: Frame, one: Contender, rated: Measure, judged: Measure) -> bool:
    """Whether the judge scored answers that people rated and it did not learn from, and others too."""
    truth, said = frame.run.values(rated, one.name), frame.run.values(judged, one.name)
    return len(_unseen(frame, one, rated, judged)) >= _LEAST and any(item not in truth for item in said)


def _rated(frame: Frame, one: Contender, rated: Measure) -> list[str]:
    return list(frame.run.values(rated, one.name))


def _unseen(frame: Frame, one: Contender, rated: Measure, judged: Measure) -> list[str]:
    """The items whose answers people rated and the judge scored without having learned from them.

    What a judge learned from it scores too well: the correction by these ratings would be too small.
    """
    said, given = frame.run.values(judged, one.name), frame.run.scores[judged].get(one.name, {})
    return [item for item in _rated(frame, one, rated) if item in said and given[item].label != LEARNED]


def _line(frame: Frame, one: Contender, rated: Measure, judged: Measure) -> Line:
    run = frame.run
    truth, said = run.values(rated, one.name), run.values(judged, one.name)
    labelled = _unseen(frame, one, rated, judged)
    rest = [item for item in said if item not in truth]
    found = clustered_prediction_powered_mean(
        [truth[item] for item in labelled],
        [said[item] for item in labelled],
        run.clusters(labelled),
        [said[item] for item in rest],
        run.clusters(rest),
        frame.drawn["level"],
    )
    whole, part = found.human_only.width, found.width
    gain = Cell(1 - part / whole) if whole and part is not None else Cell()
    return frame.line(
        one,
        count(found.labelled),
        count(found.unlabelled),
        _cell(found.human_only, found.why),
        _cell(found, found.why),
        Cell(found.judge_alone),
        gain,
    )


def _cell(found: Interval, why: str) -> Cell:
    return Cell(found.value, low=found.low, high=found.high, why=why if found.low is None else "")
