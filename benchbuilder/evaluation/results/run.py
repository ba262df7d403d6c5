"""The content of a finished evaluation by item, model and measure, from which every results table is made."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from benchbuilder.core import Item, Table
from benchbuilder.exporters import FinishedBuild, ReportEntry, item_entries, types_of

VERDICT = "verdict"
"""The aspect of true/false verdicts, which are right or wrong and nothing between."""

SystemGroup = Literal["model", "people", "rule"]
ScorerRole = Literal["people", "judge", "rule"]
_GROUPS: tuple[SystemGroup, ...] = ("model", "people", "rule")
_ROLES: tuple[ScorerRole, ...] = ("people", "judge", "rule")


class SystemAnswer(NamedTuple):
    """The answer of a system to an item, and the outcome of the request."""

    text: str
    outcome: str


class AnswerScore(NamedTuple):
    """The score of one answer; `ratings` are (rater, value)."""

    value: float | None
    label: str
    ratings: tuple[tuple[str, float], ...]


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

    entries: tuple[ReportEntry, ...]
    facts: Mapping[str, str]
    """The fact of each item by the item's id; the id itself if the item has no fact."""
    sources: tuple[str, ...]
    types: tuple[str, ...]
    systems: tuple[EvaluatedSystem, ...]
    measures: tuple[ScoredAspect, ...]
    answers: Mapping[str, Mapping[str, SystemAnswer]]
    scores: Mapping[ScoredAspect, Mapping[str, Mapping[str, AnswerScore]]]
    benchmark: str
    recipe: str
    step_models: Mapping[str, str]
    """The system whose answers a step gave or scored, by the step's name."""

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of its items, whose results are never pooled; one empty name if all have the same."""
        forms = tuple(dict.fromkeys(entry.form for entry in self.entries))
        return forms if len(forms) > 1 else ("",)

    def has_answer(self, model: str, item: str) -> bool:
        """Whether `model` answered `item` in any way; true if there is no table of its answers."""
        answer = self.answers.get(model, {}).get(item)
        return answer is None or answer.outcome != "missing"

    def values(
        self, measure: ScoredAspect, model: str, keep: Callable[[ReportEntry], bool] = lambda _: True
    ) -> dict[str, float]:
        """The value of each item that has one.

        An invalid or refused verdict counts as wrong (0): leaving it out would reward silence.
        """
        rows = self.scores[measure].get(model, {})
        values: dict[str, float] = {}
        for entry in self.entries:
            row = rows.get(entry.row.id)
            if row is None or not keep(entry) or not self.has_answer(model, entry.row.id):
                continue
            if measure.aspect == VERDICT:
                if row.label != "missing":
                    values[entry.row.id] = 1.0 if row.label == "right" else 0.0
            elif row.value is not None:
                values[entry.row.id] = row.value
        return values

    def clusters(self, ids: Iterable[str]) -> list[str]:
        """The fact of each item: questions on the same fact are not independent."""
        return [self.facts[i] for i in ids]

    def system_names(self, group: SystemGroup) -> list[str]:
        """The names of the systems of a group."""
        return [system.name for system in self.systems if system.group == group]

    def scored_systems(self, measure: ScoredAspect) -> list[EvaluatedSystem]:
        """The systems that have a value in `measure`."""
        return [system for system in self.systems if self.values(measure, system.name)]


def gather_run(finished: FinishedBuild, aspects: Sequence[str]) -> EvaluationRun:
    """Collect a finished evaluation. Measures of `aspects` come first, in that order, then verdicts."""
    entries = item_entries(finished)
    known = {entry.row.id for entry in entries}
    answers: dict[str, dict[str, SystemAnswer]] = {}
    scores: dict[tuple[str, str], dict[str, dict[str, AnswerScore]]] = {}
    steps: dict[str, str] = {}
    for step, table in finished.tables.items():
        if step.startswith("answer."):
            for model, item, answer in _answers(table, known):
                answers.setdefault(model, {})[item] = answer
                steps[step] = model
        elif table.row.name == "score":
            for key, model, item, score in _scores(table):
                steps[step] = model
                if item in known:  # not a question that was worded anew
                    scores.setdefault(key, {}).setdefault(model, {})[item] = score
    evaluation = _mapping(finished.recipe.get("evaluation"))
    measures = [_measure(aspect, scorer, rows, evaluation) for (aspect, scorer), rows in scores.items()]
    forms = list(dict.fromkeys(entry.form for entry in entries))
    if len(forms) > 1:  # results of several forms are never pooled
        measures = [replace(measure, form=form) for measure in measures for form in forms]
    form_of = {entry.row.id: entry.form for entry in entries}
    measures.sort(key=lambda measure: (_place([*aspects, VERDICT], measure.aspect), _ROLES.index(measure.role)))
    names = dict.fromkeys([*answers, *(model for by_model in scores.values() for model in by_model)])
    systems = [EvaluatedSystem(name, _group(name, evaluation), _label(name, finished.recipe)) for name in names]
    systems.sort(key=lambda system: _GROUPS.index(system.group))
    by_measure = {
        measure: _of_form(scores[measure.aspect, measure.scorer], measure.form, form_of) for measure in measures
    }
    measures = [measure for measure in measures if not measure.form or any(by_measure[measure].values())]
    return EvaluationRun(
        entries=tuple(entries),
        facts={e.row.id: e.row.family_name if isinstance(e.row, Item) else e.row.id for e in entries},
        sources=tuple(_sources(entries, finished.recipe)),
        types=tuple(name for name in types_of(entries) if name),
        systems=tuple(systems),
        measures=tuple(measures),
        answers=answers,
        scores={measure: by_measure[measure] for measure in measures},
        benchmark=hashlib.sha256("\n".join(sorted(known)).encode()).hexdigest()[:16],
        recipe=hashlib.sha256(finished.recipe_yaml.encode()).hexdigest()[:16],
        step_models=steps,
    )


def _of_form(
    rows: Mapping[str, Mapping[str, AnswerScore]], form: str, form_of: Mapping[str, str]
) -> Mapping[str, Mapping[str, AnswerScore]]:
    """The scores of the items of one form; all of them without a form."""
    if not form:
        return rows
    return {
        model: {item: score for item, score in by_item.items() if form_of.get(item) == form}
        for model, by_item in rows.items()
    }


def _answers(table: Table[Any], item_ids: Container[str]) -> Iterator[tuple[str, str, SystemAnswer]]:
    for data in _rows(table, ("parents", "model", "text", "outcome")):
        item = next((parent for parent in data["parents"] if parent in item_ids), "")
        yield data["model"], item, SystemAnswer(data["text"], data["outcome"])


def _scores(table: Table[Any]) -> Iterator[tuple[tuple[str, str], str, str, AnswerScore]]:
    for data in _rows(table, ("item", "model", "scorer", "aspect", "value", "label", "ratings")):
        ratings = tuple((rating["rater"], rating["value"]) for rating in data["ratings"] or ())
        score = AnswerScore(data["value"], data["label"], ratings)
        yield (data["aspect"], data["scorer"]), data["model"], data["item"], score


def _rows(table: Table[Any], columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    for batch in table.arrow.select(list(columns)).to_batches(max_chunksize=4096):
        yield from batch.to_pylist()


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


def _measure(
    aspect: str, scorer: str, by_model: Mapping[str, Mapping[str, AnswerScore]], evaluation: Mapping[str, Any]
) -> ScoredAspect:
    spec, judges = _mapping(_mapping(evaluation.get("scorers")).get(scorer)), _mapping(evaluation.get("judges"))
    name = scorer if scorer in judges else scorer.removeprefix("judge_")
    judge = _mapping(spec.get("judge")) or _mapping(judges.get(name))
    role: ScorerRole = "judge" if spec.get("kind") == "judged" or name in judges else "rule"
    if spec.get("kind") == "ratings" or any(score.ratings for rows in by_model.values() for score in rows.values()):
        role = "people"
    return ScoredAspect(aspect, scorer, role, judge.get("kind") == "similarity")


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else len(names)


def _sources(entries: Sequence[ReportEntry], recipe: Mapping[str, Any]) -> list[str]:
    present = dict.fromkeys(entry.source for entry in entries)
    known = [name for name in _mapping(recipe.get("sources")) if name in present]
    return [*known, *(name for name in present if name not in known)]
