"""The contracts of what evaluates: solvers, baselines, scorers, metrics and judges."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from benchbuilder.config import StepSpec
from benchbuilder.core import Answer, AnswerOutcome, Item, Table, find_kind, row_class
from benchbuilder.evaluation import (
    ANSWER,
    ITEM,
    AspectScore,
    Baseline,
    Case,
    ClusteredScore,
    EvaluatedModel,
    Example,
    Judge,
    Metric,
    Scorer,
    ScorerResult,
    ScoringJudge,
    Solver,
    TrainedJudge,
)
from benchbuilder.steps import Step
from benchbuilder.testing.contract import in_worker_process, require

BaselineAnswers = list[tuple[str, str]]
AnswersWithItems = Sequence[tuple[Answer, Item[Any]]]
TOLERANCE = 1e-4
"""How much two scores of one case may differ, because of floating point in other batches."""


def check_solver(make: Callable[[], Solver], model: EvaluatedModel) -> dict[str, StepSpec]:
    """Check a solver: it makes one step per declared phase, and the last phase is ``answer``.

    Each step must be of a known kind that makes answers, under the name of the model. It may read items and the answers
    of earlier phases. The solver must make the same steps each time.

    Args:
        make: Makes a new solver.
        model: The model and settings to make steps for.

    Returns:
        The spec of each step.

    Raises:
        ContractError: The solver breaks a promise.
    """
    solver = make()
    who = f"the solver {solver.kind!r}"
    pickle.dumps(solver)
    steps = solver.steps(model)
    require(tuple(steps) == solver.phases, f"{who} has the phases {', '.join(steps)}, not those that it declares")
    require(solver.phases[-1] == ANSWER, f"{who} does not end in the phase {ANSWER!r}")
    require(make().steps(model) == steps, f"{who} makes other steps the second time")
    specs: dict[str, StepSpec] = {}
    for phase, step in steps.items():
        step_class: type[Step] = find_kind("step", str(step.get("kind"))).load()
        require(step_class.output is Answer, f"{who}: the phase {phase!r} does not make answers")
        wired: Any = step.get("from")
        ports: Mapping[str, str] = wired if isinstance(wired, Mapping) else {"each": wired}
        before = {ITEM, *specs}
        for port, up in ports.items():
            require(port in step_class.ports, f"{who}: the step of the phase {phase!r} has no port {port!r}")
            require(up in before, f"{who}: {phase!r} reads {up!r}, which is neither the items nor an earlier phase")
        spec: StepSpec = step_class.spec_class.model_validate(step)
        named = getattr(spec, "name", model.name)
        require(named == model.name, f"{who}: the phase {phase!r} keeps answers under the name {named!r}")
        specs[phase] = spec
    return specs


def check_baseline(make: Callable[[], Baseline], items: Sequence[Item[Any]], workplace: Path) -> BaselineAnswers:
    """Check a baseline: the same item gets the same answer in any order and process.

    Args:
        make: Makes a new baseline.
        items: Example items, all with the same kind of payload.
        workplace: The folder that the baseline is opened with.

    Returns:
        The text and the outcome of each answer; it has text exactly if its outcome is ``complete`` or ``truncated``.

    Raises:
        ContractError: The baseline breaks a promise.
    """
    who = f"the baseline {make().kind!r}"
    answers = _answers(make(), items, workplace)
    for text, outcome in answers:
        require(outcome in get_args(AnswerOutcome), f"{who} gives the outcome {outcome!r}")
        require(bool(text) == (outcome in ("complete", "truncated")), f"{who} gives {text!r} with {outcome!r}")
        require(text == text.strip(), f"{who} gives white space around {text!r}")
    require(_answers(make(), items[::-1], workplace) == answers[::-1], f"{who} depends on the order of items")
    table = Table.of(items, type(items[0])).arrow
    elsewhere = in_worker_process(_answers_from_table, make(), table, items[0].payload.kind, workplace)
    require(elsewhere == answers, f"{who} gives other answers in another process")
    return answers


def _answers(baseline: Baseline, items: Sequence[Item[Any]], workplace: Path) -> BaselineAnswers:
    baseline.open(workplace)
    return [baseline.answer(item) for item in items]


def _answers_from_table(baseline: Baseline, arrow: Any, payload: str, workplace: Path) -> BaselineAnswers:
    """The answers in a worker process: rows with a payload cannot be pickled, but their table can."""
    rows: Any = list(Table(arrow, row_class(f"item[{payload}]")))
    return _answers(baseline, rows, workplace)


def check_scorer(make: Callable[[], Scorer], pairs: AnswersWithItems) -> list[ScorerResult]:
    """Check a scorer: each answer gets marks from 0 to 1 or a declared reason, the same in any batch.

    Args:
        make: Makes a new scorer.
        pairs: Example answers with their items.

    Returns:
        The marks or the dropped outcome of each answer; none for a scorer that asks a model, which is only pickled.

    Raises:
        ContractError: The scorer breaks a promise.
    """
    scorer = make()
    who = f"the scorer {scorer.kind!r}"
    pickle.dumps(scorer)
    if scorer.model_spec is not None:
        return []
    results = _score_in_batches(make(), pairs, len(pairs))
    for scored in results:
        if isinstance(scored, tuple):
            _check_marks(who, scored)
        else:
            require(scored.reason in scorer.reasons, f"{who} gives the undeclared reason {scored.reason!r}")
            require(not scored.slot, f"{who} gives an outcome of the slot {scored.slot!r}: an answer has one outcome")
    for size in (1, 7):
        require(_score_in_batches(make(), pairs, size) == results, f"{who} gives other scores in batches of {size}")
    require(_score_in_batches(make(), pairs[::-1], 5) == results[::-1], f"{who} depends on the order of answers")
    require(_score_in_batches(make(), [], 1) == [], f"{who} gives scores for no answers")
    return results


def _check_marks(who: str, marks: tuple[AspectScore, ...]) -> None:
    aspects = [mark.aspect for mark in marks]
    require(bool(marks), f"{who} gives neither a mark nor a reason")
    require(len(set(aspects)) == len(aspects), f"{who} gives two marks for one aspect: {aspects}")
    for mark in marks:
        require(mark.aspect.isidentifier(), f"{who} has an aspect {mark.aspect!r}, which is not an identifier")
        require(mark.value is None or 0 <= mark.value <= 1, f"{who} gives the value {mark.value}")
        require(all(0 <= rating.value <= 1 for rating in mark.ratings), f"{who} gives a rating outside 0 to 1")


def _score_in_batches(scorer: Scorer, pairs: AnswersWithItems, size: int) -> list[ScorerResult]:
    scorer.open()
    results: list[ScorerResult] = []
    for start in range(0, len(pairs), max(1, size)):
        batch = pairs[start : start + size]
        scored = list(scorer.score(batch))
        require(len(scored) == len(batch), f"{scorer.kind!r} gives {len(scored)} results for {len(batch)} answers")
        results += scored
    return results


def check_metric(make: Callable[[], Metric], scored: Sequence[ClusteredScore]) -> dict[str, float]:
    """Check a metric: its declared figures lie between 0 and 1, in any order of rows, and with every row counted twice.

    Args:
        make: Makes a new metric.
        scored: Example scores with their facts.

    Returns:
        The value of each figure; without scores, each is nan.

    Raises:
        ContractError: The metric breaks a promise.
    """
    pickle.dumps(metric := make())
    who = f"the metric {metric.kind!r}"
    figures = _figures(metric, scored, who)
    for name, value in figures.items():
        require(0 <= value <= 1, f"{who} gives {value} for {name!r}")
    for name, value in _figures(make(), scored[::-1], who).items():
        require(abs(figures[name] - value) < 1e-9, f"{who} depends on the order")
    for name, statistic in metric.statistics(scored).items():
        twice = float(statistic.compute(np.full((1, int(statistic.present.sum())), 2.0))[0])
        require(abs(twice - figures[name]) < 1e-9, f"{who} gives another {name!r} when every row counts twice")
    require(bool(np.isnan([*_figures(metric, [], who).values()]).all()), f"{who} gives a figure without any score")
    return figures


def _figures(metric: Metric, scored: Sequence[ClusteredScore], who: str) -> dict[str, float]:
    statistics = metric.statistics(scored)
    require(tuple(statistics) == metric.figures, f"{who} gives {', '.join(statistics)}, not its declared figures")
    for name, statistic in statistics.items():
        require(len(statistic.present) == len(scored), f"{who}: {name!r} does not have one row per score")
    return {name: statistic.value() for name, statistic in statistics.items()}


def check_judge(
    make: Callable[[], Judge], cases: Sequence[Case], examples: Sequence[Example], folder: Path
) -> list[float]:
    """Check a judge: a case gets the same score from 0 to 1, alone, in a batch, and from a judge that was saved.

    Args:
        make: Makes a new judge.
        cases: Cases to score.
        examples: Examples to train on, for a judge that trains.
        folder: An empty folder for what the judge learns.

    Returns:
        The scores of `cases`; none for a judge that asks a model, which is only pickled.

    Raises:
        ContractError: The judge breaks a promise.
    """
    judge = make()
    who = f"the judge {judge.kind!r}"
    pickle.dumps(judge)
    if not isinstance(judge, ScoringJudge):
        return []
    require(judge.trains == isinstance(judge, TrainedJudge), f"{who} says trains: {judge.trains}")
    if isinstance(judge, TrainedJudge):
        (folder / "learned").mkdir()
        judge.train(examples, (), folder / "learned", 1, lambda _: None)
        require(not list((folder / "learned").rglob("*.pkl")), f"{who} saves what it learned in a pickle")
    else:
        judge.open(None)
    scores_together = judge.score(cases)
    require(len(scores_together) == len(cases), f"{who} gives {len(scores_together)} scores for {len(cases)} cases")
    require(all(0 <= score <= 1 for score in scores_together), f"{who} gives scores outside 0 to 1")
    require(judge.score([]) == [], f"{who} gives scores for no cases")
    _check_same_scores(who, "alone", [judge.score([case])[0] for case in cases], scores_together)
    _check_same_scores(who, "in another order", judge.score(cases[::-1])[::-1], scores_together)
    opened = make()
    assert isinstance(opened, ScoringJudge)
    opened.open(folder / "learned" if judge.trains else None)
    _check_same_scores(who, "when opened again", opened.score(cases), scores_together)
    return scores_together


def _check_same_scores(who: str, how: str, scores: Sequence[float], other_scores: Sequence[float]) -> None:
    difference = max((abs(score - other) for score, other in zip(scores, other_scores, strict=True)), default=0.0)
    require(difference <= TOLERANCE, f"{who} gives other scores {how}: they differ by up to {difference:.4f}")
