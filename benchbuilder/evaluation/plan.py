"""Evaluations: the plan that puts the items of a benchmark to models and scores what they answer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.config import (
    CardSpec,
    EvaluationSpec,
    FileRef,
    KindSpec,
    LoadedRecipe,
    Recipe,
    RecipeRoot,
    StepSpec,
    display_path,
    load_recipe,
)
from benchbuilder.core import (
    DataError,
    Item,
    Kept,
    Problem,
    RecipeError,
    SourceUnit,
    StepContext,
    create_from_spec,
    find_kind,
    recipe_name,
)
from benchbuilder.evaluation.baselines.recorded import RecordedSpec, recorded_answer_models
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
from benchbuilder.evaluation.scorers.judged import JudgedSpec
from benchbuilder.evaluation.solvers.base import ANSWER, ITEM, EvaluatedModel, Solver
from benchbuilder.evaluation.steps.answer_by_rule import AnswerByRuleSpec
from benchbuilder.evaluation.steps.score import ScoreSpec
from benchbuilder.evaluation.steps.score_by_model import ScoreByModelSpec
from benchbuilder.models import Model, missing_price_problem, model_price, remaining_budget, sibling_journals
from benchbuilder.pipeline import Checksums, Manifest, Plan, Store, describe_key_changes, last_command_hint, make_plan
from benchbuilder.sources import BuiltItemsSpec, Source
from benchbuilder.steps import Step

BENCHMARK = "benchmark"
"""The source of the items in a plan of evaluation."""
_ITEM = f"sources.{BENCHMARK}"
_LISTED_CHANGES = 3
"""Differences that are told."""


@dataclass(frozen=True)
class Evaluation:
    """A planned evaluation: its recipe has the benchmark as its source, and a step for each answerer and scorer.

    `notes` say what was left out, and why.
    """

    plan: Plan
    store: Store
    spec: EvaluationSpec
    notes: tuple[str, ...]
    task: str = ""


def plan_evaluation(
    loaded: LoadedRecipe, cwd: Path, *, with_model: bool = False, asking: bool = True, rated_only: bool = False,
    journal: Path | None = None,
) -> Evaluation:  # fmt: skip
    """The plan of evaluating on the items that the recipe's build holds, or on another benchmark.

    `with_model` adds the recipe's `model` to those that are asked. If not `asking`, what would put prompts to a model
    now is left out; with `rated_only`, baselines and all scorers but the one that judges learn from as well. `journal`
    is one that is shared with others. Nothing is run. RecipeError if the recipe says nothing of evaluating or a
    setting does not fit a model; DataError if there are no items yet.
    """
    recipe = loaded.recipe
    spec = recipe.evaluation
    if spec is None:
        raise RecipeError([Problem(
            "this recipe says nothing of evaluating", key=loaded.file_key("evaluation"),
            hint="choose settings, for instance `- override /evaluation: [zh_claims]` among its defaults",
        )])  # fmt: skip
    if spec.benchmark is not None:
        spec = _without_recipe_files(spec, loaded.roots)
    built = Store(recipe.build_folder(cwd))
    place = built.folder / loaded.task
    store = Store(_folder(spec, place, cwd), built.workplace, journal)
    makers = _StepBuilder(recipe, spec, (judges_folder(loaded, cwd), place / "judges"))
    makers.add_answer_steps(with_model=with_model, rated_only=rated_only)
    makers.add_score_steps(rated_only=rated_only)
    journals = sibling_journals(place, built.journal.name) if loaded.task and journal is None else []
    updated = recipe.model_copy(update={
        "sources": {BENCHMARK: _benchmark(loaded, spec, built, cwd)}, "steps": makers.steps, "items": BENCHMARK,
        "reviews": {}, "outputs": spec.outputs, "evaluation": spec, "card": _card(recipe, spec),
        "budget": remaining_budget(recipe.budget, journals),
    })  # fmt: skip
    checksums = Checksums(store.checksums)
    plan = make_plan(updated, store, checksums.sha256_of)
    if rated_only or not asking:
        plan = make_plan(_without_questions(plan, store), store, checksums.sha256_of)
    checksums.save()
    _check(plan, loaded)
    return Evaluation(plan, store, spec, tuple(makers.notes), loaded.task)


def judges_folder(loaded: LoadedRecipe, cwd: Path) -> Path:
    """Where judges are trained: with the build, or with an evaluation that has a place of its own."""
    spec = loaded.recipe.evaluation
    own = None if spec is None else spec.dir
    return (loaded.recipe.build_folder(cwd) / loaded.task if own is None else cwd / own) / "judges"


def _without_questions(plan: Plan, store: Store) -> Recipe:
    """The recipe without the models that would have to be asked now."""
    unasked = set[str]()
    for name, status in plan.statuses(store).items():
        asking = status.node.model_spec is not None and status.state != "reused"
        if asking or unasked & set(status.node.upstream()):
            unasked.add(name)
    steps = {name: step for name, step in plan.recipe.steps.items() if name not in unasked}
    return plan.recipe.model_copy(update={"steps": steps})


def _folder(spec: EvaluationSpec, built: Path, cwd: Path) -> Path:
    """Where the evaluation lies: beside the build, a folder for each benchmark, by its file's name and place."""
    if spec.dir is not None:
        return cwd / spec.dir
    if spec.benchmark is None:
        return built / "evaluation"
    file = spec.benchmark.path.file.absolute()
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", file.stem).strip("_") or BENCHMARK
    return built / f"evaluation-{stem}-{hashlib.blake2b(str(file).encode(), digest_size=3).hexdigest()}"


def _without_recipe_files(spec: EvaluationSpec, roots: Sequence[RecipeRoot]) -> EvaluationSpec:
    """What of the settings concerns a benchmark of others: not the files about the recipe's own items that came with
    it (answers, ratings, published figures)."""

    def ours(ref: FileRef | None) -> bool:
        return ref is not None and any(ref.file.is_relative_to(root.path) for root in roots)

    def kept(specs: Mapping[str, Any]) -> dict[str, Any]:
        return {name: one for name, one in specs.items() if not ours(getattr(one, "file", None))}

    changes: dict[str, Any] = {"baselines": kept(spec.baselines), "scorers": kept(spec.scorers)}
    changes |= {name: None for name in ("answers", "published") if ours(getattr(spec, name))}
    return spec.model_copy(update=changes)


def _card(recipe: Recipe, spec: EvaluationSpec) -> CardSpec:
    """What is said of the benchmark: of one of others nothing that is true of the recipe's own."""
    if spec.benchmark is None:
        return recipe.card
    name, licence = Path(spec.benchmark.path.path).name, spec.benchmark.licence or "not stated"
    title = spec.benchmark.title or name
    return recipe.card.model_copy(update={"title": title, "summary": "", "licence": licence, "illustrative": False})


def _benchmark(loaded: LoadedRecipe, spec: EvaluationSpec, built: Store, cwd: Path) -> KindSpec:
    """The source of the items."""
    if spec.benchmark is not None:
        return spec.benchmark
    items = loaded.recipe.items
    manifest = _items(loaded, built, cwd)
    if manifest is None or not manifest.rows:
        holds = "holds no items" if manifest is not None else "is not built yet"
        if manifest is None and (built.folder / "recipe.yaml").exists():
            holds = f"has no {items} yet: the build waits, or was stopped"
        raise DataError(
            f"there is nothing to evaluate on: {display_path(built.folder)} {holds}",
            where=f"the step {items!r}",
            next="build the benchmark first (the same command without `evaluate`), or give --benchmark FILE",
        )
    place = built.step_folder(manifest.step, manifest.key)
    names = [f"part-{index:05d}.parquet" for index in range(manifest.shards)]
    parts = tuple(FileRef(path=f"{items}/{name}", resolved_path=str((place / name).absolute())) for name in names)
    return BuiltItemsSpec(kind="built_items", parts=parts, row=manifest.row)


def _items(loaded: LoadedRecipe, built: Store, cwd: Path) -> Manifest | None:
    """The items that the recipe's words build; DataError if those that are there are of other words.

    The model that is evaluated is not the one that builds: ``model=...`` does not count.
    """
    latest = built.latest(loaded.recipe.items)
    words = [word for word in loaded.overrides if not word.startswith(("model=", "model."))]
    recipe = loaded.recipe
    if len(words) < len(loaded.overrides):
        again = load_recipe(words, recipes=loaded.search_paths, cwd=cwd)
        recipe = again.for_task(loaded.task).recipe if loaded.task else again.recipe
    checksums = Checksums(built.checksums)
    try:
        node = make_plan(recipe, built, checksums.sha256_of).nodes[recipe.items]
    except (DataError, OSError):
        return latest  # the sources are not here any more: nobody can say what they would make
    found = built.manifest(recipe.items, node.key)
    if found is None and latest is not None:
        former = last_command_hint(built, words, "")
        raise DataError(
            f"the items in {display_path(built.folder)} were built with other settings than the recipe has now",
            where=f"the step {recipe.items!r}",
            why="; ".join(describe_key_changes(latest.key_inputs, node.key_inputs)[:_LISTED_CHANGES])
            + (f" ({former})" if former else ""),
            next="build first, with the arguments of this command (without `evaluate`), or give those of that build",
        )
    return found


class _StepBuilder:
    """The steps of a plan: who answers, and who scores each of them."""

    def __init__(self, recipe: Recipe, spec: EvaluationSpec, judges: tuple[Path, ...]) -> None:
        self.recipe, self.spec, self.judges = recipe, spec, judges
        self.steps: dict[str, Any] = {}
        self.notes: list[str] = []
        self.names: list[str] = []

    def add_answer_steps(self, *, with_model: bool, rated_only: bool) -> None:
        """A step for everybody who answers."""
        spec = self.spec
        for name, baseline in () if rated_only else spec.baselines.items():
            self._add_rule_step(name, baseline)
        if spec.answers is not None:
            for name in recorded_answer_models(spec.answers.file):
                self._add_rule_step(
                    recipe_name(name),
                    RecordedSpec.model_validate({"kind": "recorded", "file": spec.answers, "model": name}),
                )
        models = dict(spec.models)
        if with_model:
            models[self._own_name()] = self.recipe.model
        for name, model in models.items():
            own = spec.sampling_of.get(name)
            changes = {} if own is None else {field: getattr(own, field) for field in own.model_fields_set}
            sampling = spec.sampling.model_copy(update=changes)
            self._add_model_steps(EvaluatedModel(name, model, spec.prompt, spec.system, sampling))
        if unknown := sorted(set(spec.sampling_of) - set(models)):
            raise RecipeError([Problem(
                "no model of this name is asked", key=f"evaluation.sampling_of.{unknown[0]}", actual=unknown[0],
                allowed=", ".join(models) or "none: evaluation.models is empty",
            )])  # fmt: skip
        if not self.names:
            raise RecipeError([Problem("nobody answers: there are no models, baselines or recorded answers",
                                       key="evaluation.models", hint="give model=openai model.name=NAME")])  # fmt: skip

    def _add_model_steps(self, model: EvaluatedModel) -> None:
        """The steps by which a model answers."""
        solver: Solver = create_from_spec(
            "solver", KindSpec(kind="direct") if self.spec.solver is None else self.spec.solver
        )
        steps = solver.steps(model)
        for phase, step in steps.items():
            places = {ITEM: _ITEM, **{other: f"{other}.{model.name}" for other in steps}}
            wired = step["from"]
            named = {port: places[up] for port, up in wired.items()} if isinstance(wired, dict) else places[wired]
            spec: StepSpec = find_kind("step", step["kind"]).load().spec_class.model_validate({**step, "from": named})
            if phase == ANSWER:
                self._add(model.name, spec)
            else:
                self.steps[f"{phase}.{model.name}"] = spec

    def _own_name(self) -> str:
        label: str = create_from_spec("model", self.recipe.model).label
        return recipe_name(label)

    def _add_rule_step(self, name: str, baseline: KindSpec) -> None:
        self._add(name, AnswerByRuleSpec.model_validate(
            {"kind": "answer_by_rule", "from": _ITEM, "name": name, "baseline": baseline}
        ))  # fmt: skip

    def _add(self, name: str, step: Any) -> None:
        if name in self.names:
            raise RecipeError([Problem(f"two of those who answer are called {name!r}", key=f"evaluation.models.{name}",
                                       hint="give one of them another name")])  # fmt: skip
        self.names.append(name)
        self.steps[f"answer.{name}"] = step

    def add_score_steps(self, *, rated_only: bool) -> None:
        """A step for each scorer and everybody who answers; `rated_only`: the scorer that judges learn from."""
        scorers: dict[str, Any] = dict(self.spec.scorers)
        if rated_only:
            wanted = self.spec.training.scorer if self.spec.training is not None else ""
            scorers = {name: scorer for name, scorer in scorers.items() if name == wanted}
        else:
            scorers |= dict(self._judge_scorers())
        for scorer_name, scorer in scorers.items():
            for name in self.names:
                wired = {"each": f"answer.{name}", "item": _ITEM}
                cls, kind = (ScoreByModelSpec, "score_by_model") if self._asks_model(scorer) else (ScoreSpec, "score")
                step = {"kind": kind, "from": wired, "name": scorer_name, "scorer": scorer}
                if f"{scorer_name}.{name}" in self.steps:
                    raise RecipeError([Problem("a phase of those who answer is called so; choose another name",
                                               key=f"evaluation.scorers.{scorer_name}")])  # fmt: skip
                self.steps[f"{scorer_name}.{name}"] = cls.model_validate(step)

    def _asks_model(self, scorer: Any) -> bool:
        """Whether a scorer asks a model about each answer; a trained judge knows its model when opened only."""
        if isinstance(scorer, JudgedSpec):
            return issubclass(find_kind("judge", scorer.judge.kind).load(), AskingJudge)
        nowhere = Path()
        context = StepContext(self.recipe.seed, self.recipe.language, "scorers", cache=nowhere, workplace=nowhere)
        made: Scorer = create_from_spec("scorer", scorer, context)
        return made.model_spec is not None

    def _missing_ratings(self) -> str:
        """What judges lack to learn from, if the recipe names no ratings."""
        scorers = self.spec.scorers.values()
        named = any(getattr(one, "file", None) for one in scorers if one.kind == "ratings")
        return "" if named else "; it learns from people's ratings, and no file of such is set (paths.ratings)"

    def _judge_scorers(self) -> Iterator[tuple[str, JudgedSpec]]:
        """A scorer for each judge that can score."""
        for name, judge in self.spec.judges.items():
            cls: type[Judge] = find_kind("judge", judge.kind).load()
            places = [place / name for place in self.judges]
            folder = next((place for place in places if (place / JUDGE_CARD).exists()), places[0])
            if cls.trains and not (folder / JUDGE_CARD).exists():
                how = "finetune" if issubclass(cls, AskingJudge) else "judge train"
                less = issubclass(cls, AskingJudge) and getattr(judge, "model", None) is None
                words = f"arguments, and {_own_model(name)}" if less else "arguments"
                told = f"the judge {name!r} is not trained yet: benchbuild {how}, with the same {words}"
                self.notes.append(told + self._missing_ratings())
                continue
            if issubclass(cls, AskingJudge) and not cls.trains and cls(judge).model_spec is None:
                self.notes.append(f"the judge {name!r} has no model to ask: {_own_model(name)} give it one")
                continue
            card = read_judge_card(folder) if cls.trains else None
            if card is not None and card.get("spec") != plain_spec(judge):
                told = "was trained by other settings than the recipe has now, and scores nothing"
                self.notes.append(f"the judge {name!r} {told}: train it again, or change them back")
                continue
            told = [] if card is None or self.spec.any_rubric else judge_mismatches(
                card, language=self.recipe.language, rubric=rubric_digest(self.spec.rubric)
            )  # fmt: skip
            if told:
                self.notes.append(
                    f"the judge {name!r} was not made for this, and scores nothing: {'; '.join(told)} (train it again, "
                    "or set evaluation.any_rubric=true and do not compare the scores with others)"
                )
                continue
            if card is not None and (keys := changed_settings(card, judge, self.spec, self.recipe.seed)):
                told = f"was trained by other settings than the recipe has now ({', '.join(keys)})"
                self.notes.append(f"the judge {name!r} {told}: its scores go by those until it is trained again")
            if card is not None and card.get("alarm"):
                self.notes.append(f"the judge {name!r} gave an alarm when it was trained: {card['alarm']}")
            yield f"judge_{name}", JudgedSpec.model_validate({
                "kind": "judged", "judge": judge, "folder": str(folder.absolute()), "language": self.recipe.language,
                "rubric": self.spec.rubric, "anyway": self.spec.any_rubric,
            })  # fmt: skip


def _own_model(name: str) -> str:
    """The words by which a judge gets a model of its own; the recipe's is the one under evaluation."""
    key = f"evaluation.judges.{name}.model"
    return f"model@{key}=openai {key}.name=NAME"


def _check(plan: Plan, loaded: LoadedRecipe) -> None:
    """RecipeError for settings that do not fit the models that are asked, and for models without a price under a cap
    in US dollars."""
    problems: list[Problem] = []
    for name, node in plan.nodes.items():
        if not isinstance(node.producer, Step):
            continue
        for complaint in node.producer.validate_inputs({}):
            key = loaded.file_key(f"evaluation.{complaint.key}")
            problems.append(Problem(
                f"{name.partition('.')[2]}: {complaint.message}", key=key, actual=complaint.actual,
                where=str(loaded.origins.origin_of(tuple(key.split(".")))), allowed=", ".join(complaint.allowed),
            ))  # fmt: skip
        if node.model_spec is not None and loaded.recipe.budget.usd is not None:
            model: Model = create_from_spec("model", node.model_spec)
            prices, price = model_price(model)
            if price is None:
                problems.append(missing_price_problem(model, prices))
    if problems:
        raise RecipeError(list(dict.fromkeys(problems)))


def chooses_model(overrides: Sequence[str]) -> bool:
    """Whether the words of a command line choose a model that answers."""
    chosen = [word.partition("=")[2] for word in overrides if word.startswith("model=")]
    return bool(chosen) and chosen[-1] != "none"


def benchmark_items(evaluation: Evaluation) -> list[Item[Any]]:
    """The items of the benchmark, read from its source."""
    source = evaluation.plan.nodes[evaluation.plan.recipe.items].producer
    units = source.read() if isinstance(source, Source) else iter(())
    rows = [unit.outcome.row for unit in units if isinstance(unit, SourceUnit) and isinstance(unit.outcome, Kept)]
    return [row for row in rows if isinstance(row, Item)]


def evaluation_tables(evaluation: Evaluation, role: str) -> Mapping[str, Any]:
    """The sealed tables of an evaluation whose rows have `role` (``answer``, ``score``), by step."""
    found: dict[str, Any] = {}
    for name, node in evaluation.plan.nodes.items():
        manifest = evaluation.store.manifest(name, node.key)
        if manifest is not None and node.row.name == role:
            found[name] = evaluation.store.rows(manifest)
    return found
