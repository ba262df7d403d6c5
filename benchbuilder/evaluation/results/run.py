"""The content of a finished evaluation by item, model and measure, from which every results table is made."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchbuilder.evaluation.results.columns import AskedItems, ItemAnswers, ItemScores, ItemValues, Places, TextColumn
from benchbuilder.evaluation.results.gather import read_answers, read_scores
from benchbuilder.evaluation.stats.statistic import Bools
from benchbuilder.exporters import FinishedBuild, ordered_types

VERDICT = "verdict"
WITHOUT_VERDICT = ("invalid", "abstained", "refused", "thought_out", "empty", "filtered")
"""Labels of answers without a verdict."""
"""The aspect of true/false verdicts, which are right or wrong and nothing between."""
_LESS_IS_BETTER = ("set_contradiction", "asserts_wrong", "contradictions")

SystemGroup = Literal["model", "people", "rule"]
ScorerRole = Literal["people", "judge", "rule"]
_GROUPS: tuple[SystemGroup, ...] = ("model", "people", "rule")
_ROLES: tuple[ScorerRole, ...] = ("people", "judge", "rule")


@dataclass(frozen=True, slots=True)
class EvaluatedSystem:
    """A system that answered: a model, people, or a rule."""

    name: str
    group: SystemGroup
    label: str = ""
    """The name to show, if it differs from `name`."""

    @property
    def display_name(self) -> str:
        """The name to show."""
        return self.label or self.name


@dataclass(frozen=True, slots=True)
class ScoredAspect:
    """An aspect as one scorer scores it; in a benchmark of several forms, on the items of one `form`."""

    aspect: str
    scorer: str
    role: ScorerRole
    compares_words_only: bool = False
    """Whether an untrained judge compares words only; published human scores are not shown beside it."""
    form: str = ""
    of_similarity: bool = False
    """Whether it is how similar the words of an answer are to those of the right statement."""
    of_claims: bool = False
    """Whether it counts claims: these aspects are shown together, and in no other table."""

    @property
    def sign(self) -> int:
        """1 if more is better, -1 if less is."""
        return -1 if self.aspect in _LESS_IS_BETTER else 1

    @property
    def slug(self) -> str:
        """A name that is safe in file names."""
        form = f"_{self.form}" if self.form else ""
        return re.sub(r"\W+", "_", f"{self.aspect}_{self.scorer}{form}", flags=re.ASCII)


@dataclass(frozen=True)
class EvaluationRun:
    """One evaluation. Items are in the order of the benchmark; systems are models, then people, then rules.

    A ``missing`` answer was never given: it is counted, but does not enter any measure.
    """

    items: AskedItems
    sources: tuple[str, ...]
    types: tuple[str, ...]
    systems: tuple[EvaluatedSystem, ...]
    measures: tuple[ScoredAspect, ...]
    answers: Mapping[str, ItemAnswers]
    scores: Mapping[ScoredAspect, Mapping[str, ItemScores]]
    scorers: tuple[tuple[str, str], ...]
    """Aspect and scorer of the scores, in the order of the steps."""
    benchmark: str
    recipe: str
    step_models: Mapping[str, str]
    """The system whose answers a step gave or scored, by the step's name."""

    @property
    def other_measures(self) -> tuple[ScoredAspect, ...]:
        """The measures that do not count claims."""
        return tuple(measure for measure in self.measures if not measure.of_claims)

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of its items, whose results are never pooled; one empty name if all have the same."""
        return tuple(self.items.forms.names) if len(self.items.forms.names) > 1 else ("",)

    def answered(self, model: str, places: Places) -> Bools:
        """Which items `model` answered in any way; all of them if there is no table of its answers."""
        answers = self.answers.get(model)
        return np.ones(len(places), np.bool_) if answers is None else ~answers.missing[places]

    def valued_scores(self, measure: ScoredAspect, model: str) -> ItemScores:
        """The scores that enter a measure.

        An invalid or refused verdict is among them and counts as wrong: leaving it out would reward silence.
        """
        scores = self.scores[measure].get(model)
        if scores is None:
            none = np.zeros(0, np.int64)
            return ItemScores(none, np.zeros(0), TextColumn(np.zeros(0, np.int32), ()), {})
        kept = self.answered(model, scores.places)
        kept &= ~scores.labels.among(("missing",)) if measure.aspect == VERDICT else scores.has_value
        return scores.where(kept)

    def values(self, measure: ScoredAspect, model: str, keep: Bools | None = None) -> ItemValues:
        """The value of each item that has one; of those that `keep` marks."""
        scores = self.valued_scores(measure, model)
        right = scores.labels.among(("right",)).astype(np.float64)
        values = ItemValues(scores.places, right if measure.aspect == VERDICT else scores.numbers)
        return values if keep is None else values.where(keep)

    def clusters(self, places: Places) -> NDArray[np.int32]:
        """The family of each item: questions on the same fact are not independent."""
        return self.items.clusters.codes[places]

    def system_names(self, group: SystemGroup) -> list[str]:
        """The names of the systems of a group."""
        return [system.name for system in self.systems if system.group == group]

    def scored_systems(self, measure: ScoredAspect) -> list[EvaluatedSystem]:
        """The systems that have a value in `measure`."""
        return [system for system in self.systems if len(self.values(measure, system.name))]


def gather_run(finished: FinishedBuild, aspects: Sequence[str]) -> EvaluationRun:
    """Collect a finished evaluation. Measures of `aspects` come first, in that order, then verdicts."""
    items = AskedItems.of(finished.tables[finished.items])
    index, steps = items.index(), dict[str, str]()
    answers = read_answers(finished, index, len(items), steps)
    scores: dict[tuple[str, str], dict[str, ItemScores]] = {}
    for (aspect, scorer, model), rows in read_scores(finished.tables, index, steps).items():
        scores.setdefault((aspect, scorer), {})[model] = rows
    evaluation = _mapping(finished.recipe.get("evaluation"))
    measures = [_measure(aspect, scorer, rows.values(), evaluation) for (aspect, scorer), rows in scores.items()]
    if len(items.forms.names) > 1:  # results of several forms are never pooled
        measures = [replace(measure, form=form) for measure in measures for form in items.forms.names]
    measures.sort(key=lambda measure: (_place([*aspects, VERDICT], measure.aspect), _ROLES.index(measure.role)))
    names = dict.fromkeys([*answers, *(model for by_model in scores.values() for model in by_model)])
    systems = [EvaluatedSystem(name, _group(name, evaluation), _label(name, finished.recipe)) for name in names]
    systems.sort(key=lambda system: _GROUPS.index(system.group))
    by_measure = {
        measure: _of_form(scores[measure.aspect, measure.scorer], measure.form, items) for measure in measures
    }
    measures = [measure for measure in measures if not measure.form or any(map(_some, by_measure[measure].values()))]
    return EvaluationRun(
        items=items,
        sources=tuple(_sources(items.sources.names, finished.recipe)),
        types=tuple(name for name in ordered_types(items.types.names) if name),
        systems=tuple(systems),
        measures=tuple(measures),
        answers=answers,
        scores={measure: by_measure[measure] for measure in measures},
        scorers=tuple(scores),
        benchmark=hashlib.sha256("\n".join(sorted(set(items.ids))).encode()).hexdigest()[:16],
        recipe=hashlib.sha256(finished.recipe_yaml.encode()).hexdigest()[:16],
        step_models=steps,
    )


def _some(scores: ItemScores) -> bool:
    return len(scores.places) > 0


def _of_form(rows: Mapping[str, ItemScores], form: str, items: AskedItems) -> Mapping[str, ItemScores]:
    """The scores of the items of one form; all of them without a form."""
    if not form:
        return rows
    own = items.forms.among((form,))
    return {model: scores.where(own[scores.places]) for model, scores in rows.items()}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _group(name: str, evaluation: Mapping[str, Any]) -> SystemGroup:
    baselines = _mapping(evaluation.get("baselines"))
    if name not in baselines:
        return "model"
    return "people" if _mapping(baselines[name]).get("kind") == "people" else "rule"


def _label(name: str, recipe: Mapping[str, Any]) -> str:
    """The name of a model in the file of its recorded answers."""
    step = _mapping(_mapping(recipe.get("steps")).get(f"answer.{name}"))
    baseline = _mapping(step.get("baseline"))
    return str(baseline.get("model") or "") if baseline.get("kind") == "recorded" else ""


def _measure(aspect: str, scorer: str, rows: Collection[ItemScores], evaluation: Mapping[str, Any]) -> ScoredAspect:
    spec, judges = _mapping(_mapping(evaluation.get("scorers")).get(scorer)), _mapping(evaluation.get("judges"))
    name = scorer if scorer in judges else scorer.removeprefix("judge_")
    judge = _mapping(spec.get("judge")) or _mapping(judges.get(name))
    role: ScorerRole = "judge" if spec.get("kind") == "judged" or name in judges else "rule"
    if spec.get("kind") == "ratings" or any(scores.ratings for scores in rows):
        role = "people"
    compares_words = judge.get("kind") == "similarity"
    of_similarity = compares_words or spec.get("kind") == "similarity"
    of_claims = spec.get("kind") == "claims"
    return ScoredAspect(aspect, scorer, role, compares_words, of_similarity=of_similarity, of_claims=of_claims)


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else len(names)


def _sources(present: Iterable[str], recipe: Mapping[str, Any]) -> list[str]:
    names = list(present)
    known = [name for name in _mapping(recipe.get("sources")) if name in names]
    return [*known, *(name for name in names if name not in known)]
