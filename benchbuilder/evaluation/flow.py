"""The steps of an evaluation, declared as a recipe declares its own: who answers, and who scores the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from benchbuilder.config import (
    EvaluationSpec,
    FileRef,
    KindSpec,
    PressureSpec,
    Recipe,
    Sampling,
    StepSpec,
    read_kind_spec,
)
from benchbuilder.core import Problem, RecipeError, StepContext, create_from_spec, find_kind, recipe_name
from benchbuilder.evaluation.baselines.recorded import recorded_answer_models
from benchbuilder.evaluation.claims.by_rule import check_language
from benchbuilder.evaluation.claims.judge import ClaimsJudgeSpec
from benchbuilder.evaluation.judges.base import AskingJudge, Judge
from benchbuilder.evaluation.judges.card import (
    JUDGE_CARD,
    changed_settings,
    judge_mismatches,
    plain_spec,
    read_judge_card,
    rubric_digest,
)
from benchbuilder.evaluation.scorers.base import Scorer
from benchbuilder.evaluation.scorers.verdict import VerdictSpec
from benchbuilder.evaluation.solvers import ANSWER, ITEM, EvaluatedModel, Solver
from benchbuilder.evaluation.steps.claims import CLAIMS
from benchbuilder.evaluation.steps.press import PRESSED
from benchbuilder.evaluation.steps.push import PUSHED, PUSHES, TURNS
from benchbuilder.evaluation.steps.reword import REWORDED

ASKED = "asked"
"""The step that draws one item of each family."""


class EvaluationFlow:
    """Declares the steps of an evaluation.

    Each step is plain data, as YAML would say it. The answers of NAME are the rows of the step ``answer.NAME``, and
    their scores by SCORER those of ``SCORER.NAME``.
    """

    def __init__(self, recipe: Recipe, spec: EvaluationSpec, items: str) -> None:
        """`items` is the reference to the items in `from`."""
        self._recipe, self._spec, self._items = recipe, spec, items
        self._steps: dict[str, Mapping[str, Any]] = {}
        self._answerers: list[str] = []
        self._models: dict[str, KindSpec] = {}

    def read_steps(self) -> dict[str, StepSpec]:
        """The steps, each validated by the spec of its kind."""
        return {name: read_kind_spec("step", step) for name, step in self._steps.items()}

    def add_one_of_family(self) -> str:
        """Add the step that draws one item of each family, and wire later steps to it; its name."""
        self._steps[ASKED] = {"kind": "one_of_family", "from": self._items}
        self._items = ASKED
        return ASKED

    def add_answer_steps(self, *, with_model: bool, rated_only: bool) -> None:
        """Add the steps by which baselines (not with `rated_only`), recorded answers and models answer.

        RecipeError if nobody answers, two answerers have one name, or sampling is set for an unknown model.
        """
        spec = self._spec
        for name, baseline in () if rated_only else spec.baselines.items():
            self._add_baseline(name, baseline)
        if spec.answers is not None:
            for model in recorded_answer_models(spec.answers.file):
                self._add_baseline(recipe_name(model), {"kind": "recorded", "file": spec.answers, "model": model})
        models = self._models = dict(spec.models)
        if with_model:
            label: str = create_from_spec("model", self._recipe.model).label
            models[recipe_name(label)] = self._recipe.model
        for name, model in models.items():
            steps = self._model_steps(name, model, self._items)
            answering = steps.pop(f"{ANSWER}.{name}")
            self._steps.update(steps)
            self._add_answerer(name, answering)
        if unknown := sorted(set(spec.sampling_of) - set(models)):
            raise RecipeError([Problem(
                "no model of this name is asked", key=f"evaluation.sampling_of.{unknown[0]}", actual=unknown[0],
                allowed=", ".join(models) or "none: evaluation.models is empty",
            )])  # fmt: skip
        if not self._answerers:
            raise RecipeError([Problem(
                "nobody answers: there are no models, baselines or recorded answers", key="evaluation.models",
                hint="give model=openai model.name=NAME",
            )])  # fmt: skip

    def add_score_steps(self, judges: Iterable[JudgeScorer], *, rated_only: bool) -> None:
        """Add a step for each scorer and answerer; with `rated_only`, only the scorer that judges learn from.

        RecipeError if a scorer has the name of a phase in which models answer.
        """
        training, scorers = self._spec.training, dict(self._spec.scorers)
        if rated_only:
            wanted = training.scorer if training is not None else ""
            scorers = {name: scorer for name, scorer in scorers.items() if name == wanted}
        if self._spec.answer_claims is not None and not rated_only:
            check_language(self._spec.answer_claims, self._recipe.language, "evaluation.answer_claims")
            for answerer in self._answerers:
                ports = {"each": f"answer.{answerer}", "item": self._items}
                step = {"kind": "claims", "from": ports, "verifier": self._spec.answer_claims}
                self._steps[f"{CLAIMS}.{answerer}"] = step
        for name, scorer in scorers.items():
            self._add_scorer(name, scorer, asks_model=self._asks_model(scorer))
        for judge in judges:
            self._add_scorer(judge.name, judge.scorer, asks_model=judge.asks_model)

    def add_wording_steps(self) -> None:
        """Add the steps in which models answer some of the questions in further wordings, if the recipe has any."""
        if self._spec.wordings is None or not self._models:
            return
        self._steps[REWORDED] = {"kind": "reword", "from": self._items, **self._spec.wordings.model_dump()}
        for name, model in self._models.items():
            self._steps.update(self._model_steps(name, model, REWORDED, f"{REWORDED}_"))
            for scorer, spec in self._spec.scorers.items():
                if isinstance(spec, VerdictSpec):
                    ports = {"each": f"{REWORDED}_{ANSWER}.{name}", "item": REWORDED}
                    step = {"kind": "score", "from": ports, "name": scorer, "scorer": spec}
                    self._steps[f"{REWORDED}_{scorer}.{name}"] = step

    def add_pressure_steps(self) -> None:
        """Add the steps in which models are told claims before the questions and after their answers, if there are any.

        Answers are scored on the built items, so that nothing that was told is taken for the question. The first scorer
        of kind ``verdict`` reads verdicts; RecipeError without one. Of open questions the first answers are read too.
        """
        if self._spec.pressure is None or not self._models:
            return
        readers = [(name, spec) for name, spec in self._spec.scorers.items() if isinstance(spec, VerdictSpec)]
        if not readers:
            raise RecipeError([Problem(
                "nothing reads verdicts: there is no scorer of kind verdict", key="evaluation.pressure",
                hint="add one to evaluation.scorers",
            )])  # fmt: skip
        pressure, (scorer, verdicts) = self._spec.pressure, readers[0]
        told = {**pressure.model_dump(by_alias=True), "tables": verdicts.tables}
        support = {"kind": "support", "tables": verdicts.tables}
        guards = {name: guard.system for name, guard in pressure.guards.items() if guard is not None}
        scored: list[tuple[str, str, str, Any]] = [("first", ANSWER, "support", support)]
        if pressure.texts:
            self._steps[PRESSED] = {"kind": "press", "from": self._items, **told}
            own = {"guards": guards} if guards else {}
            for name, model in self._models.items():
                asking = self._model_steps(name, model, PRESSED, f"{PRESSED}_")
                self._steps.update({step: {**asked, **own} for step, asked in asking.items()})
            pressed = f"{PRESSED}_{ANSWER}"
            scored = [("verdict", pressed, scorer, verdicts), ("support", pressed, "support", support), *scored]
        for name, (step, answers, read_by, spec) in product(self._models, scored):
            ports = {"each": f"{answers}.{name}", "item": self._items}
            scoring = {"kind": "score", "from": ports, "name": read_by, "scorer": spec}
            self._steps[f"{PRESSED}_by_{step}.{name}"] = scoring
        if pressure.push_turns:
            self._steps[PUSHES] = {"kind": "push", "from": self._items, **told}
            self._add_push_steps(pressure, scorer, verdicts.tables)

    def _add_push_steps(self, pressure: PressureSpec, scorer: str, tables: Sequence[FileRef]) -> None:
        """Add the steps in which a person contradicts the answers of models; `scorer` reads the first verdicts."""
        said = {"pushes": pressure.push_turns, "sources": pressure.sources}
        for name, model in self._models.items():
            read = {"verdict": f"{scorer}.{name}", "support": f"{PRESSED}_by_first.{name}"}
            asked = {"each": PUSHES, "first": f"{ANSWER}.{name}", **read}
            self._steps[f"{PUSHED}.{name}"] = {
                "kind": "answer_pushed",
                "from": asked,
                "name": name,
                "model": model,
                "prompt": self._spec.prompt,
                "system": self._spec.system,
                "sampling": self._sampling(name),
                "opposed": pressure.opposed,
                **said,
            }
            replies = {"each": f"{PUSHED}.{name}", "item": PUSHES, **read}
            reading = {"kind": "read_turns", "from": replies, "name": "turns", "tables": tables, **said}
            self._steps[f"{TURNS}.{name}"] = {**reading, "turns": pressure.turns, "afresh": pressure.afresh}

    def _add_baseline(self, name: str, baseline: KindSpec | Mapping[str, Any]) -> None:
        step = {"kind": "answer_by_rule", "from": self._items, "name": name, "baseline": baseline}
        self._add_answerer(name, step)

    def _model_steps(self, name: str, model: KindSpec, items: str, before: str = "") -> dict[str, Mapping[str, Any]]:
        """The steps by which a model answers `items`, as the solver declares them; names begin with `before`."""
        spec, sampling = self._spec, self._sampling(name)
        solver: Solver = create_from_spec("solver", spec.solver or KindSpec(kind="direct"))
        phases = solver.steps(EvaluatedModel(name, model, spec.prompt, spec.system, sampling))
        references = {ITEM: items, **{phase: f"{before}{phase}.{name}" for phase in phases}}
        steps: dict[str, Mapping[str, Any]] = {}
        for phase, step in phases.items():
            ports = step["from"] if isinstance(step["from"], Mapping) else {"each": step["from"]}
            steps[references[phase]] = {**step, "from": {port: references[row] for port, row in ports.items()}}
        return steps

    def _sampling(self, name: str) -> Sampling:
        """The sampling settings of a model."""
        own = self._spec.sampling_of.get(name)
        changes = {} if own is None else {field: getattr(own, field) for field in own.model_fields_set}
        return self._spec.sampling.model_copy(update=changes)

    def _add_answerer(self, name: str, step: Mapping[str, Any]) -> None:
        if name in self._answerers:
            raise RecipeError([Problem(
                f"two models or baselines have the name {name!r}", key=f"evaluation.models.{name}",
                hint="give one of them another name",
            )])  # fmt: skip
        self._answerers.append(name)
        self._steps[f"answer.{name}"] = step

    def _add_scorer(self, name: str, scorer: KindSpec | Mapping[str, Any], *, asks_model: bool) -> None:
        for answerer in self._answerers:
            if f"{name}.{answerer}" in self._steps:
                raise RecipeError([Problem(
                    "a phase in which models answer has this name; choose another one",
                    key=f"evaluation.scorers.{name}",
                )])  # fmt: skip
            ports = {"each": f"answer.{answerer}", "item": self._items}
            if find_kind("scorer", scorer["kind"] if isinstance(scorer, Mapping) else scorer.kind).load().reads:
                ports["claims"] = self._claims_of(name, answerer)
            kind = "score_by_model" if asks_model else "score"
            self._steps[f"{name}.{answerer}"] = {"kind": kind, "from": ports, "name": name, "scorer": scorer}

    def _claims_of(self, scorer: str, answerer: str) -> str:
        """The step whose claims a scorer reads; RecipeError if there is none."""
        if self._spec.answer_claims is None:
            raise RecipeError(
                [
                    Problem(
                        "nobody reads the claims that this scorer counts: evaluation.answer_claims is null",
                        key=f"evaluation.scorers.{scorer}",
                        hint="choose a verifier, for instance by evaluation=[zh_claims,zh_answer_claims]",
                    )
                ]
            )
        return f"{CLAIMS}.{answerer}"

    def _asks_model(self, spec: KindSpec) -> bool:
        """Whether a scorer asks a model about each answer."""
        nowhere = Path()
        context = StepContext(self._recipe.seed, self._recipe.language, "scorers", cache=nowhere, workplace=nowhere)
        scorer: Scorer = create_from_spec("scorer", spec, context)
        return scorer.model_spec is not None


@dataclass(frozen=True)
class JudgeScorer:
    """A judge as a scorer of the evaluation: its name there, the scorer as plain data, and whether it asks a model."""

    name: str
    scorer: Mapping[str, Any]
    asks_model: bool


def find_usable_judges(
    recipe: Recipe, spec: EvaluationSpec, folders: Sequence[Path]
) -> tuple[Sequence[JudgeScorer], tuple[str, ...]]:
    """The judges that can score, and notes about those that cannot or should be used with care.

    Trained judges may be in any of `folders`, of which the first is preferred.
    """
    judges: list[JudgeScorer] = []
    notes: list[str] = []
    for name, judge in spec.judges.items():
        cls: type[Judge] = find_kind("judge", judge.kind).load()
        asks_model = issubclass(cls, AskingJudge)
        folder = next((place / name for place in folders if (place / name / JUDGE_CARD).exists()), folders[0] / name)
        if cls.trains:
            obstacle, warnings = _trained_judge_notes(recipe, spec, judge, folder, asks_model=asks_model)
        else:
            made = cls(judge)
            if isinstance(judge, ClaimsJudgeSpec):
                check_language(judge.verifier, recipe.language, f"evaluation.judges.{name}.verifier")
            silent = isinstance(made, AskingJudge) and made.lacks_model
            where = "evaluation.answer_claims.model" if judge.kind == "claims" else f"evaluation.judges.{name}.model"
            obstacle, warnings = f"has no model to ask: {_model_overrides(where)} give it one" if silent else "", []
        notes += [f"the judge {name!r} {note}" for note in ([obstacle] if obstacle else warnings)]
        if not obstacle:
            scorer = {
                "kind": "judged", "judge": judge, "folder": str(folder.absolute()), "language": recipe.language,
                "rubric": spec.rubric, "anyway": spec.any_rubric,
            }  # fmt: skip
            judges.append(JudgeScorer(f"judge_{name}", scorer, asks_model))
    return judges, tuple(notes)


def _trained_judge_notes(
    recipe: Recipe, spec: EvaluationSpec, judge: KindSpec, folder: Path, *, asks_model: bool
) -> tuple[str, list[str]]:
    """Why a judge that needs training cannot score (empty if it can), and warnings about its scores."""
    if not (folder / JUDGE_CARD).exists():
        command = "finetune" if asks_model else "judge train"
        lacks_model = asks_model and getattr(judge, "model", None) is None
        arguments = (
            f"arguments, and {_model_overrides(f'evaluation.judges.{folder.name}.model')}"
            if lacks_model
            else "arguments"
        )
        missing = _missing_ratings(spec)
        return f"is not trained yet: benchbuild {command}, with the same {arguments}{missing}", []
    card = read_judge_card(folder) or {}
    if card.get("spec") != plain_spec(judge):
        return (
            "was trained by other settings than the recipe has now, and scores nothing: "
            "train it again, or change them back"
        ), []
    mismatches = judge_mismatches(card, language=recipe.language, rubric=rubric_digest(spec.rubric))
    if mismatches and not spec.any_rubric:
        return (
            f"was not made for this, and scores nothing: {'; '.join(mismatches)} (train it again, "
            "or set evaluation.any_rubric=true and do not compare the scores with others)"
        ), []
    warnings: list[str] = []
    if keys := changed_settings(card, judge, spec, recipe.seed):
        warnings.append(
            f"was trained by other settings than the recipe has now ({', '.join(keys)}): "
            "its scores go by those until it is trained again"
        )
    if card.get("constant_predictor"):
        warnings.append(f"failed the constant predictor check: {card['constant_predictor']}")
    return "", warnings


def _missing_ratings(spec: EvaluationSpec) -> str:
    """What judges lack to learn from, if the recipe names no ratings."""
    ratings = [scorer for scorer in spec.scorers.values() if scorer.kind == "ratings"]
    if any(getattr(scorer, "file", None) for scorer in ratings):
        return ""
    return "; it learns from people's ratings, and no file of ratings is set (paths.ratings)"


def _model_overrides(key: str) -> str:
    """The overrides that give a judge a model of its own; the recipe's model is the one under evaluation."""
    return f"model@{key}=openai {key}.name=NAME"
