"""Runs the analysis of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from benchbuilder.config import LoadedRecipe
from benchbuilder.core import DataError, Item, PageTexts, Table
from benchbuilder.evaluation.analysis.answered import AnsweredItems
from benchbuilder.evaluation.analysis.difficulty import item_difficulty, item_subset
from benchbuilder.evaluation.analysis.groups import group_differences
from benchbuilder.evaluation.analysis.item_sections import item_table, items_for_experts, wrong_answers
from benchbuilder.evaluation.analysis.model_sections import form_spread, model_consistency, model_ranks
from benchbuilder.evaluation.analysis.plan import ItemPlan, plan_items, read_request
from benchbuilder.evaluation.analysis.read_answers import answered_items, evaluated_items, family_codes
from benchbuilder.evaluation.analysis.section import AnalysisSection, AnalysisSettings
from benchbuilder.evaluation.analysis.wordings import wording_effects
from benchbuilder.evaluation.benchmark import folder_of_benchmark
from benchbuilder.evaluation.plan import Evaluation, asked_items, plan_evaluation
from benchbuilder.evaluation.results.page_spec import ResultsSpec
from benchbuilder.pipeline import Store

_Section = TypeVar("_Section", bound=AnalysisSection)


@dataclass(frozen=True)
class Analysis:
    """What the answers to one task's items say.

    Attributes:
        loaded: The recipe.
        title: The title of the benchmark.
        folder: The folder of its files.
        answered: The answers.
        sections: What each section found, by name.
        rows: The items.
        pages: Where the pages about the same benchmark lie, if they were written: ``results`` and ``report``.
    """

    loaded: LoadedRecipe
    title: str
    folder: Path
    answered: AnsweredItems
    sections: Mapping[str, AnalysisSection]
    rows: Table[Item[Any]]
    pages: Mapping[str, Path]

    @property
    def task(self) -> str:
        """The task; empty in a recipe without tasks."""
        return self.answered.task

    def section(self, kind: type[_Section]) -> _Section:
        """What the section of this kind found."""
        return next(found for found in self.sections.values() if isinstance(found, kind))

    def notes(self, t: PageTexts) -> list[str]:
        """What the figures rest on, and what was left out."""
        return [*self.sample_notes(t), *(note.text(t) for note in self.answered.notes)]

    def sample_notes(self, t: PageTexts) -> list[str]:
        """That the items are sample data, if they are."""
        return [t("common.illustrative")] if self.answered.illustrative else []


def analyse_evaluation(loaded: LoadedRecipe, cwd: Path) -> Analysis:
    """Analyse the answers to the items of one task; nobody is asked, and nothing is written.

    Raises:
        RecipeError: The recipe has no evaluation.
        DataError: The benchmark is not built yet, or there are no scored answers.
    """
    evaluation = plan_evaluation(loaded, cwd, asking=False)
    built = Store(loaded.recipe.build_folder(cwd))
    spec = loaded.recipe.analysis
    answered = answered_items(evaluation, built, spec.scores)
    settings = AnalysisSettings(spec, loaded.recipe.seed)
    sections = {name: make(answered, settings) for name, make in SECTIONS.items()}
    own = built.folder / loaded.task
    return Analysis(
        loaded, evaluation.plan.recipe.card.title, _analysis_folder(evaluation, own), answered, sections,
        evaluated_items(evaluation), _pages(loaded, evaluation, own),
    )  # fmt: skip


def _pages(loaded: LoadedRecipe, evaluation: Evaluation, built: Path) -> dict[str, Path]:
    """Where the results are, and the report of the build, unless the benchmark is from elsewhere."""
    pages: dict[str, Path] = {}
    outputs: list[Any] = [*evaluation.spec.outputs.values(), *loaded.recipe.outputs.values()]
    for output in outputs:
        if isinstance(output, ResultsSpec):
            pages["results"] = evaluation.store.folder / f"{output.file}.html"
        elif output.kind == "report" and evaluation.spec.benchmark is None:
            pages["report"] = built / str(output.file)
    return pages


def _analysis_folder(evaluation: Evaluation, built: Path) -> Path:
    """Beside the evaluation; inside it, if the recipe names its folder."""
    spec = evaluation.spec
    if spec.dir is not None:
        return evaluation.store.folder / "analysis"
    if spec.benchmark is None:
        return built / "analysis"
    return built / folder_of_benchmark("analysis", spec.benchmark.path.file)


def plan_answers(loaded: LoadedRecipe, evaluation: Evaluation, text: str) -> ItemPlan:
    """How many items are needed to show what `text` asks for; estimated from earlier scores if there are any.

    Args:
        loaded: The recipe.
        evaluation: Its planned evaluation.
        text: ``difference=0.02``, perhaps with ``models=5`` and ``power=0.9``.

    Raises:
        RecipeError: The text cannot be read.
    """
    request = read_request(text, loaded.recipe.analysis.level)
    families = family_codes([item.family_name for item in asked_items(evaluation)])
    try:
        answered = answered_items(evaluation, Store(evaluation.build_folder), loaded.recipe.analysis.scores)
    except DataError:  # nobody has answered yet: the plan rests on assumptions
        answered = None
    return plan_items(request, families, answered)


SECTIONS: Mapping[str, Callable[[AnsweredItems, AnalysisSettings], AnalysisSection]] = {
    "ranks": model_ranks,
    "consistency": model_consistency,
    "wordings": wording_effects,
    "forms": form_spread,
    "items": item_table,
    "wrong_answers": wrong_answers,
    "to_experts": items_for_experts,
    "difficulty": item_difficulty,
    "groups": group_differences,
    "subset": item_subset,
}
"""What makes each section, by its name in ``analysis.json``."""
