"""One line for each system that answered: its mean by type with an interval, the facts it knows, answers it lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchbuilder.core import DataError, PageTexts
from benchbuilder.evaluation.analysis.answered import AnsweredItems, AnsweringSystem, Bools
from benchbuilder.evaluation.analysis.read_answers import Measure, ScorerChoice, answered_items
from benchbuilder.evaluation.plan import Evaluation
from benchbuilder.evaluation.results.costs import misleading_answers
from benchbuilder.evaluation.results.page_spec import ResultsSpec
from benchbuilder.evaluation.results.run import ScoredAspect, ScorerRole
from benchbuilder.evaluation.results.stated_metrics import (
    StatedAbstention,
    StatedMetric,
    load_results,
    stated_abstentions,
    stated_metrics,
)
from benchbuilder.evaluation.solvers import ANSWER
from benchbuilder.evaluation.stats.intervals import Estimate, mean_estimate
from benchbuilder.pipeline import Store, stored_table

RIGHT = 0.5
"""An answer is right from this score on: a verdict scores 1 or 0, an answer to an open question anything between."""


@dataclass(frozen=True)
class SystemScore:
    """How one system did.

    Attributes:
        system: Who answered.
        means: The mean score of each type of items, with an interval over item families.
        known: The number of facts all of whose questions it answered, and answered right.
        facts: The number of facts all of whose questions it answered.
        without: The number of answers without a verdict: invalid, abstained, refused, empty or filtered.
        answered: The number of items with a score.
    """

    system: AnsweringSystem
    means: Mapping[str, Estimate]
    known: int
    facts: int
    without: int
    answered: int


@dataclass(frozen=True)
class Scoreboard:
    """The systems of an evaluation, models first, the best first.

    Attributes:
        scores: One entry for each system.
        measures: The measures that count, by type of items.
        roles: Whether people, a judge or a rule scored, by scorer.
        metrics: The metrics of the recipe as the results state them; none if it has none.
        falling: The metrics of which less is better.
        answered: The answers that it is made of.
        abstentions: The tables of abstentions of the results; none without true/false questions.
        misleading: How many answers of a model were cut off or have no verdict, as `misleading_answers` counts them.
    """

    scores: tuple[SystemScore, ...]
    measures: Mapping[str, tuple[Measure, ...]]
    answered: AnsweredItems
    roles: Mapping[str, ScorerRole] = field(default_factory=dict[str, ScorerRole])
    metrics: tuple[StatedMetric, ...] = ()
    falling: frozenset[str] = frozenset()
    abstentions: tuple[StatedAbstention, ...] = ()
    misleading: tuple[Mapping[str, Any], ...] = ()

    def notes(self, t: PageTexts) -> list[str]:
        """What the figures rest on."""
        return [note.text(t) for note in self.answered.notes]

    def warnings(self, t: PageTexts) -> list[str]:
        """What a reader must know before the figures."""
        return [line for counts in self.misleading for line in misleading_answers(t, **counts)]


def evaluation_scoreboard(evaluation: Evaluation) -> Scoreboard | None:
    """The scoreboard of an evaluation that has run, of those whom it asks now; None if no answer has a score."""
    try:
        found = answered_items(evaluation, Store(evaluation.build_folder))
    except DataError:  # no scorer fits: the notes of the evaluation say why
        return None
    found = found.of_systems(np.array([not system.earlier for system in found.systems], np.bool_))
    bootstrap = evaluation.spec.bootstrap
    board = scoreboard(found, samples=bootstrap.samples, level=bootstrap.level, seed=bootstrap.seed)
    choice = ScorerChoice(evaluation.spec)
    scorers = {measure.scorer for measures in board.measures.values() for measure in measures}
    results = _results(evaluation)
    metrics = stated_metrics(results) if results and evaluation.spec.metrics else []
    ranked = [line.cells[0].words for metric in metrics[:1] for line in metric.lines if line.block == "own"]
    ranked += [score.system.display_name for score in board.scores]
    falling = {name for name, spec in evaluation.spec.metrics.items() if ScoredAspect(spec.aspect, "", "rule").sign < 0}
    return replace(
        board,
        scores=tuple(sorted(board.scores, key=lambda score: ranked.index(score.system.display_name))),
        roles={scorer: choice.role(scorer) for scorer in scorers},
        metrics=tuple(metrics),
        abstentions=tuple(stated_abstentions(results)) if results else (),
        falling=frozenset(falling),
        misleading=tuple(_misleading(evaluation, board)),
    )


def _misleading(evaluation: Evaluation, board: Scoreboard) -> Iterator[Mapping[str, Any]]:
    """What `misleading_answers` takes, for each model that was asked now."""
    answered = board.answered
    verdicts = answered.asked & np.isin(answered.items.expected, ("yes", "no"))
    for place, system in enumerate(answered.systems):
        step = f"{ANSWER}.{system.name}"
        node = evaluation.plan.nodes.get(step)
        manifest = None if node is None else evaluation.store.manifest(step, node.key)
        if manifest is None or system.group != "model":
            continue
        outcomes = Counter[str]()
        for piece in stored_table(evaluation.store, manifest).batches(["outcome"]):
            outcomes.update(map(str, piece.column("outcome").to_pylist()))
        sampling: Any = getattr(evaluation.plan.recipe.steps[step], "sampling", None)
        yield {
            "name": system.display_name,
            "answers": outcomes.total() - outcomes["missing"],
            "cut": outcomes["truncated"],
            "limit": None if sampling is None else sampling.max_new_tokens,
            "asked": int(verdicts[place].sum()),
            "without": int((answered.without[place] & verdicts[place]).sum()),
        }


def _results(evaluation: Evaluation) -> Mapping[str, Any] | None:
    """The data file of the results; None if the evaluation writes none."""
    outputs = [output for output in evaluation.spec.outputs.values() if isinstance(output, ResultsSpec)]
    files = [evaluation.store.folder / f"{output.file}.json" for output in outputs]
    return load_results(files[0]) if files and files[0].exists() else None


def scoreboard(answered: AnsweredItems, *, samples: int, level: float, seed: int) -> Scoreboard:
    """The scoreboard of all systems that have a score.

    If models answered, means are over the items that one of them answered: rules and people are measured on the same.

    Args:
        answered: The answers.
        samples: How often the bootstrap draws item families.
        level: The level of the intervals.
        seed: The seed of the bootstrap.
    """
    facts, known = known_facts(answered)
    models = np.array([system.group == "model" for system in answered.systems], np.bool_)
    if models.any():
        answered = answered.of_items(np.logical_or.reduce(answered.asked[models], axis=0))
    items = answered.items
    clusters = [str(family) for family in items.families]
    types = [str(name) for name in dict.fromkeys(items.types)]
    scores: list[SystemScore] = []
    for place, system in enumerate(answered.systems):
        values = answered.scores[place]
        means = {
            name: mean_estimate(
                np.where(items.types == name, values, np.nan), clusters, samples=samples, level=level, seed=seed
            )
            for name in types
        }
        asked = ~np.isnan(values)
        if asked.any():
            scores.append(SystemScore(
                system, {name: mean for name, mean in means.items() if mean.value is not None}, int(known[place].sum()),
                int(facts[place].sum()), int((answered.without[place] & asked).sum()), int(asked.sum()),
            ))  # fmt: skip
    groups = {group: place for place, group in enumerate(dict.fromkeys(system.group for system in answered.systems))}
    order = sorted(scores, key=lambda score: (groups[score.system.group], -_overall(score)))
    measures: dict[str, tuple[Measure, ...]] = {}
    for name in types:
        own = items.types == name
        pairs = sorted(set(zip(items.scorers[own], items.aspects[own], strict=True)))
        measures[name] = tuple(Measure(*pair) for pair in pairs if pair[0])
    return Scoreboard(tuple(order), measures, answered)


def known_facts(answered: AnsweredItems) -> tuple[Bools, Bools]:
    """For each system and fact: whether it answered all questions of the fact, and whether all of them are right.

    A fact that is not named is an item by itself.
    """
    items = answered.items
    names = np.array([fact or name for fact, name in zip(items.facts, items.ids, strict=True)], np.object_)
    codes = np.unique(names.astype(np.str_), return_inverse=True)[1].reshape(-1)
    size = np.bincount(codes)
    asked = np.array([np.bincount(codes, row, minlength=len(size)) for row in answered.asked]) == size
    right = np.array([np.bincount(codes, row >= RIGHT, minlength=len(size)) for row in answered.scores]) == size
    return asked, asked & right


def _overall(score: SystemScore) -> float:
    """The mean over types, by which systems are ordered."""
    return float(np.mean([mean.value for mean in score.means.values() if mean.value is not None]))
