"""Plans an evaluation: a recipe whose source is a benchmark and whose steps answer its items and score the answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.config import EvaluationSpec, LoadedRecipe, Recipe, display_path
from benchbuilder.core import Item, Kept, Problem, RecipeError, SourceUnit, create_from_spec
from benchbuilder.evaluation.benchmark import (
    BENCHMARK,
    benchmark_card,
    benchmark_source,
    folder_of_benchmark,
    without_recipe_files,
)
from benchbuilder.evaluation.claims.by_rule import LexicalVerifierSpec
from benchbuilder.evaluation.claims.lexical import check_claim_words
from benchbuilder.evaluation.flow import EvaluationFlow, find_usable_judges
from benchbuilder.evaluation.judges.asking import ChatJudgeSpec, read_rubric
from benchbuilder.evaluation.parsing.verdict_tables import lacks_verdicts
from benchbuilder.evaluation.parsing.verdicts import verdict_reader
from benchbuilder.evaluation.scorers.verdict import VerdictSpec
from benchbuilder.evaluation.steps.one_of_family import draw_one_of_family
from benchbuilder.evaluation.steps.press import ASKED_OTHERWISE, told_verdicts
from benchbuilder.models import Model, missing_price_problem, model_price, remaining_budget, sibling_journals
from benchbuilder.pipeline import Checksums, Plan, Store, make_plan
from benchbuilder.sources import Source
from benchbuilder.steps import Step


@dataclass(frozen=True)
class Evaluation:
    """A planned evaluation: its recipe has the benchmark as its source, and a step for each answerer and scorer.

    `notes` say what was left out, and why. `build_folder` is the folder of the build that the recipe makes.
    """

    plan: Plan
    store: Store
    spec: EvaluationSpec
    notes: tuple[str, ...]
    build_folder: Path
    task: str = ""


def plan_evaluation(
    loaded: LoadedRecipe, cwd: Path, *, with_model: bool = False, asking: bool = True, rated_only: bool = False,
    journal: Path | None = None,
) -> Evaluation:  # fmt: skip
    """Plan the evaluation on the items of the recipe's build, or on another benchmark; nothing is run.

    Args:
        loaded: The recipe, of one task if it has several.
        cwd: The folder that builds are in.
        with_model: Whether the recipe's `model` answers too.
        asking: Whether models may be asked now; otherwise the steps that would ask one are left out.
        rated_only: Whether to plan only what judges learn from: no baselines, and the one scorer of people's ratings.
        journal: A journal of replies that is shared with other evaluations.

    Raises:
        RecipeError: The recipe has no evaluation, or a setting does not fit a model.
        DataError: There are no items yet, or they were built with other settings.
    """
    recipe, spec = loaded.recipe, loaded.recipe.evaluation
    if spec is None:
        raise RecipeError([Problem(
            "this recipe says nothing of evaluating", key=loaded.file_key("evaluation"),
            hint="choose settings, for instance `- override /evaluation: [zh_claims]` among its defaults",
        )])  # fmt: skip
    check_pressure(loaded, loaded.task, spec)
    if spec.benchmark is not None:
        spec = without_recipe_files(spec, loaded.roots)
    built = Store(recipe.build_folder(cwd))
    folder = built.folder / loaded.task
    store = Store(folder_of_evaluation(spec, folder, cwd), built.workplace, journal)
    flow = EvaluationFlow(recipe, spec, f"sources.{BENCHMARK}")
    items = flow.add_one_of_family() if spec.one_of_family else BENCHMARK
    flow.add_answer_steps(with_model=with_model, rated_only=rated_only)
    folders = (judges_folder(loaded, cwd), folder / "judges")
    judges, notes = ((), ()) if rated_only else find_usable_judges(recipe, spec, folders)
    flow.add_score_steps(judges, rated_only=rated_only)
    if not rated_only:
        flow.add_wording_steps()
        flow.add_pressure_steps()
    journals = sibling_journals(folder, built.journal.name) if loaded.task and journal is None else []
    source, other = benchmark_source(loaded, spec, built)
    evaluated = recipe.model_copy(update={
        "sources": {BENCHMARK: source}, "steps": flow.read_steps(), "items": items,
        "reviews": {}, "outputs": spec.outputs, "evaluation": spec, "card": benchmark_card(recipe, spec),
        "budget": remaining_budget(recipe.budget, journals),
    })  # fmt: skip
    checksums = Checksums(store.checksums)
    plan = make_plan(evaluated, store, checksums.sha256_of)
    if rated_only or not asking:
        plan = make_plan(_without_questions(plan, store), store, checksums.sha256_of)
    checksums.save()
    _check_models(plan, loaded)
    return Evaluation(plan, store, spec, (*notes, *other), built.folder, loaded.task)


def judges_folder(loaded: LoadedRecipe, cwd: Path) -> Path:
    """The folder of the recipe's judges: in its build, or in the folder of its own that the evaluation has."""
    spec = loaded.recipe.evaluation
    own = None if spec is None else spec.dir
    return (loaded.recipe.build_folder(cwd) / loaded.task if own is None else cwd / own) / "judges"


def folder_of_evaluation(spec: EvaluationSpec, built: Path, cwd: Path) -> Path:
    """The folder of an evaluation: in that of the build or task, one for each benchmark by its file's name and path."""
    if spec.dir is not None:
        return cwd / spec.dir
    if spec.benchmark is None:
        return built / "evaluation"
    return built / folder_of_benchmark("evaluation", spec.benchmark.path.file)


def _without_questions(plan: Plan, store: Store) -> Recipe:
    """The recipe without the steps that would ask a model now, and without those behind them."""
    omitted = set[str]()
    for name, status in plan.statuses(store).items():
        asks = status.node.model_spec is not None and status.state != "reused"
        if asks or omitted & set(status.node.upstream()):
            omitted.add(name)
    steps = {name: step for name, step in plan.recipe.steps.items() if name not in omitted}
    return plan.recipe.model_copy(update={"steps": steps})


def _check_models(plan: Plan, loaded: LoadedRecipe) -> None:
    """RecipeError for settings that a model does not know, and for models without a price under a cap in dollars."""
    problems: list[Problem] = []
    for name, node in plan.nodes.items():
        if not isinstance(node.producer, Step):
            continue
        for issue in node.producer.validate_inputs({}):
            key = loaded.file_key(f"evaluation.{issue.key}")
            problems.append(Problem(
                f"{name.partition('.')[2]}: {issue.message}", key=key, actual=issue.actual,
                where=str(loaded.origins.origin_of(tuple(key.split(".")))), allowed=", ".join(issue.allowed),
            ))  # fmt: skip
        if node.model_spec is not None and loaded.recipe.budget.usd is not None:
            model: Model = create_from_spec("model", node.model_spec)
            prices, price = model_price(model)
            if price is None:
                problems.append(missing_price_problem(model, prices))
    if problems:
        raise RecipeError(list(dict.fromkeys(problems)))


def chooses_model(overrides: Sequence[str]) -> bool:
    """Whether the overrides of a command line choose a model that answers."""
    chosen = [override.partition("=")[2] for override in overrides if override.startswith("model=")]
    return bool(chosen) and chosen[-1] != "none"


def benchmark_items(evaluation: Evaluation) -> list[Item[Any]]:
    """The items of the benchmark, read from its source."""
    source = evaluation.plan.nodes[BENCHMARK].producer
    units = source.read() if isinstance(source, Source) else iter(())
    rows = [unit.outcome.row for unit in units if isinstance(unit, SourceUnit) and isinstance(unit.outcome, Kept)]
    return [row for row in rows if isinstance(row, Item)]


def asked_items(evaluation: Evaluation) -> list[Item[Any]]:
    """The items that are asked: those of the benchmark, or one of each family."""
    items = benchmark_items(evaluation)
    if not evaluation.spec.one_of_family:
        return items
    drawn = draw_one_of_family(items, evaluation.plan.recipe.seed)
    return [item for item in items if drawn[item.family_name] == item.id]


def evaluation_tables(evaluation: Evaluation, role: str) -> Mapping[str, Any]:
    """The committed tables of an evaluation whose rows have `role` (``answer``, ``score``), by step.

    Questions that were asked otherwise, and answers to them, are left out: they are no answers to the items.
    """
    tables: dict[str, Any] = {}
    for name, node in evaluation.plan.nodes.items():
        if name.startswith(ASKED_OTHERWISE):
            continue
        manifest = evaluation.store.manifest(name, node.key)
        if manifest is not None and node.row.name == role:
            tables[name] = evaluation.store.rows(manifest)
    return tables


def check_setting_files(loaded: LoadedRecipe) -> list[Problem]:
    """Read the rubrics of judges and the verdict tables of scorers, of every task.

    Returns:
        What an evaluation still lacks, and a build does not: the words of a verdict table that nobody has filled in.

    Raises:
        RecipeError: A rubric does not define what its judge scores, or a sentence of ``pressure`` answers questions.
        DataError: A verdict table or a word list of claims is invalid, or misreads its own examples.
    """
    recipe = loaded.recipe
    tasks = {loaded.task: recipe.evaluation, **{name: task.evaluation for name, task in recipe.tasks.items()}}
    found = [problem for spec in tasks.values() if spec is not None for problem in _check_task(spec)]
    for name, spec in tasks.items():
        if spec is not None and not found:  # words of a table that are missing are not read
            check_pressure(loaded, name, spec)
    return found


def check_pressure(loaded: LoadedRecipe, task: str, spec: EvaluationSpec) -> None:
    """RecipeError if the recipe's verdict tables read a sentence of ``pressure`` as an answer to the question."""
    problems: list[Problem] = []
    for scorer in spec.scorers.values() if spec.pressure is not None else ():
        tables = [table.file for table in scorer.tables] if isinstance(scorer, VerdictSpec) else []
        for part, what in told_verdicts(spec.pressure, verdict_reader(tables)) if tables and spec.pressure else ():
            key = f"{f'tasks.{task}.' if task else ''}evaluation.pressure.{part}"
            where = str(loaded.origins.origin_of(tuple(key.split("."))))
            hint = f"word it otherwise; what a verdict is: {', '.join(map(display_path, tables))}"
            problems.append(Problem(f"{what}; it may not answer the question", key=key, where=where, hint=hint))
    if problems:
        raise RecipeError(problems)


def _check_task(spec: EvaluationSpec) -> Iterator[Problem]:
    for judge in spec.judges.values():
        if isinstance(judge, ChatJudgeSpec) and judge.rubric is not None:
            read_rubric(judge.rubric, judge.aspect)
    if isinstance(spec.answer_claims, LexicalVerifierSpec):
        for ref in spec.answer_claims.words:
            check_claim_words(ref.file)
    for scorer in spec.scorers.values():
        if isinstance(scorer, VerdictSpec):
            files = [table.file for table in scorer.tables]
            if open_files := [file for file in files if lacks_verdicts(file)]:
                hint = "write how answers in this language say yes and no, before models are evaluated"
                yield from (
                    Problem("no word for yes or for no", where=display_path(file), hint=hint) for file in open_files
                )
            else:
                verdict_reader(files)
