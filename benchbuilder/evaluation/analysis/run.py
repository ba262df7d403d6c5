"""Runs the analysis of an evaluation and writes its files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder.config import LoadedRecipe, Recipe
from benchbuilder.core import DataError, Item, PageTexts, Table, cells_of, page_texts, write_atomically
from benchbuilder.evaluation.analysis.answered import AnsweredItems
from benchbuilder.evaluation.analysis.plan import ItemPlan, plan_items, read_request
from benchbuilder.evaluation.analysis.read_answers import answered_items, evaluated_items
from benchbuilder.evaluation.analysis.read_items import family_codes
from benchbuilder.evaluation.analysis.section import AnalysisSection, AnalysisSettings, plain_cell, plain_data
from benchbuilder.evaluation.analysis.sections import SECTIONS
from benchbuilder.evaluation.analysis.to_experts import ItemsForExperts
from benchbuilder.evaluation.benchmark import folder_of_benchmark
from benchbuilder.evaluation.plan import Evaluation, asked_items, plan_evaluation
from benchbuilder.exporters import PageSpec, csv_table
from benchbuilder.pipeline import Store

TO_EXPERTS = "to_experts.jsonl"
"""The items that go back to experts, as rows of a review."""
ANALYSIS_SCHEMA = 1
"""Version of the data file."""
_ITEM = ("id", "source", "type", "form", "relation", "family", "expected", "scorer", "made_up", "question")


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
    """

    loaded: LoadedRecipe
    title: str
    folder: Path
    answered: AnsweredItems
    sections: Mapping[str, AnalysisSection]
    rows: Table[Item[Any]]

    @property
    def task(self) -> str:
        """The task; empty in a recipe without tasks."""
        return self.answered.task

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
    folder = _analysis_folder(evaluation, built.folder / loaded.task)
    return Analysis(loaded, evaluation.plan.recipe.card.title, folder, answered, sections, evaluated_items(evaluation))


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


def analysis_texts(recipe: Recipe) -> PageTexts:
    """The texts of the recipe's report."""
    reports = (spec for spec in recipe.outputs.values() if spec.kind == "report" and isinstance(spec, PageSpec))
    report = next(reports, None)
    return page_texts(recipe.language) if report is None else report.texts({"language": recipe.language})


def write_analysis(analysis: Analysis, t: PageTexts) -> list[Path]:
    """Write ``analysis.json``, the tables, and the items that go back to experts; the files that were written."""
    files = {
        "analysis.json": json.dumps(analysis_data(analysis, t), ensure_ascii=False, separators=(",", ":")) + "\n",
        "items.csv": _items(analysis),
        "models.csv": _models(analysis),
        TO_EXPERTS: _to_experts(analysis),
    }
    analysis.folder.mkdir(parents=True, exist_ok=True)
    return [write_atomically(analysis.folder / name, text) for name, text in files.items()]


def analysis_data(analysis: Analysis, t: PageTexts) -> dict[str, Any]:
    """All sections as plain data; notes are in the language of `t`."""
    answered = analysis.answered
    return {
        "schema": ANALYSIS_SCHEMA, "name": analysis.loaded.recipe.name, "title": analysis.title, "task": analysis.task,
        "language": t.language, "illustrative": answered.illustrative, "notes": analysis.notes(t),
        "models": plain_data(answered.systems, t), "item_count": len(answered.items),
        "family_count": answered.family_count,
        **{name: plain_data(section, t) for name, section in analysis.sections.items()},
    }  # fmt: skip


def _items(analysis: Analysis) -> str:
    """One line for each item: what it is, and the columns of all sections."""
    items = analysis.answered.items
    own = zip(
        items.ids, items.sources, items.types, items.forms, items.relations, items.families.tolist(), items.expected,
        items.scorers, _made_up(analysis.answered), items.questions, strict=True,
    )  # fmt: skip
    columns = {
        name: values for section in analysis.sections.values() for name, values in section.item_columns().items()
    }
    return csv_table((*_ITEM, *columns), [[*row, *_cells(columns, row[0])] for row in own])


def _made_up(answered: AnsweredItems) -> list[int]:
    """How many of the answers to each item that models gave are made up."""
    invented = np.array([system.invented and system.group == "model" for system in answered.systems], np.bool_)
    return answered.asked[invented].sum(axis=0).tolist()


def _models(analysis: Analysis) -> str:
    """One line for each system: how many items it answered, its mean score, and the columns of all sections."""
    answered = analysis.answered
    columns = {
        name: values for section in analysis.sections.values() for name, values in section.model_columns().items()
    }
    rows: list[Sequence[Any]] = []
    for place, system in enumerate(answered.systems):
        scores, without = answered.scores[place], answered.without[place]
        kept = scores[~np.isnan(scores)]
        mean = plain_cell(float(kept.mean())) if len(kept) else None
        invented = "yes" if system.invented else ""
        rows.append([
            system.display_name, system.group, invented, len(kept), mean, int(without.sum()),
            *_cells(columns, system.name),
        ])  # fmt: skip
    return csv_table(("model", "group", "made_up", "n", "mean", "without_verdict", *columns), rows)


def _to_experts(analysis: Analysis) -> str:
    """One line for each item that goes back, the most suspicious first: its texts, its evidence, and the figures."""
    section = analysis.sections["to_experts"]
    if not isinstance(section, ItemsForExperts):
        return ""
    rows = {row.id: row for row in analysis.rows.find(section.ids.tolist())}
    made_up = dict(zip(analysis.answered.items.ids, _made_up(analysis.answered), strict=True))
    lines: list[str] = []
    for place, name in enumerate(section.ids.tolist()):
        row = rows[name]
        figures = {
            key: plain_cell(getattr(section, key)[place]) for key in ("suspicion", "best_miss", "item_rest", "n")
        }
        supports = getattr(row.payload, "evidence", ())
        evidence = [{"base": one.base, "title": one.title, "text": one.text} for one in supports]
        line = {
            "id": name, "source": row.partition, **cells_of(row), "evidence": evidence, **figures,
            "made_up": made_up[name],
        }  # fmt: skip
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    return "".join(lines)


def _cells(columns: Mapping[str, Mapping[str, Any]], name: str) -> list[Any]:
    return [plain_cell(values.get(name)) for values in columns.values()]
