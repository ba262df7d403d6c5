"""The files of an analysis: a page, data, tables, and the items that go back to experts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder.core import cells_of, write_atomically
from benchbuilder.evaluation.analysis.answered import AnsweredItems
from benchbuilder.evaluation.analysis.item_sections import TO_EXPERTS, ItemsForExperts
from benchbuilder.evaluation.analysis.page.page import analysis_page
from benchbuilder.evaluation.analysis.run import Analysis
from benchbuilder.evaluation.analysis.section import plain_cell, plain_data
from benchbuilder.exporters import csv_table, report_settings, write_pages

ANALYSIS_PAGE = "analysis.html"
"""The page that people look at."""
ANALYSIS_SCHEMA = 1
"""Version of the data file."""
_ITEM = ("id", "source", "type", "form", "relation", "family", "expected", "scorer", "made_up", "question")


def write_analysis(analysis: Analysis) -> list[Path]:
    """Write the page, ``analysis.json``, the tables, and the items that go back to experts; what was written."""
    settings = report_settings(analysis.loaded.recipe.outputs)
    files = {
        "analysis.json": json.dumps(analysis_data(analysis), ensure_ascii=False, separators=(",", ":")) + "\n",
        "items.csv": _items(analysis),
        "models.csv": _models(analysis),
        TO_EXPERTS: _to_experts(analysis),
    }
    analysis.folder.mkdir(parents=True, exist_ok=True)
    pages = write_pages(analysis.folder, ANALYSIS_PAGE, settings.reader_texts(), partial(analysis_page, analysis))
    return [*pages, *(write_atomically(analysis.folder / name, text) for name, text in files.items())]


def analysis_data(analysis: Analysis) -> dict[str, Any]:
    """All sections as plain data; notes are in the language of the recipe's files."""
    recipe, answered = analysis.loaded.recipe, analysis.answered
    t = report_settings(recipe.outputs).texts(recipe.language)
    return {
        "schema": ANALYSIS_SCHEMA, "name": recipe.name, "title": analysis.title, "task": analysis.task,
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
            system.display_name, system.group, invented, system.variants, len(kept), mean, int(without.sum()),
            *_cells(columns, system.name),
        ])  # fmt: skip
    return csv_table(("model", "group", "made_up", "variants", "n", "mean", "without_verdict", *columns), rows)


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
