"""The files of an analysis: a page, data, tables, and the items that go back to experts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder.core import PageTexts, cells_of, write_atomically
from benchbuilder.evaluation.analysis.answered import AnsweredItems
from benchbuilder.evaluation.analysis.item_sections import TO_EXPERTS, ItemsForExperts, ItemTable
from benchbuilder.evaluation.analysis.page.experts import (
    attracting_answers,
    experts_part,
    returned_items,
    wrong_answers_part,
)
from benchbuilder.evaluation.analysis.page.item_parts import difficulty_part, groups_part, map_part, subset_part
from benchbuilder.evaluation.analysis.page.model_parts import (
    consistency_part,
    forms_part,
    plan_part,
    ranks_part,
    wordings_part,
)
from benchbuilder.evaluation.analysis.page.parts import AnalysisFrame
from benchbuilder.evaluation.analysis.run import Analysis
from benchbuilder.evaluation.analysis.section import plain_cell, plain_data
from benchbuilder.evaluation.results import PACKAGES
from benchbuilder.evaluation.results.context import PAGE_FUNCTIONS
from benchbuilder.exporters import (
    ChartColours,
    LanguageLink,
    csv_table,
    name_in_language,
    render_html,
    report_settings,
    write_pages,
)

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
    section = analysis.section(ItemsForExperts)
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


_PACKAGES = ("benchbuilder.evaluation.analysis", *PACKAGES)


def analysis_page(analysis: Analysis, t: PageTexts, languages: Sequence[LanguageLink] = ()) -> str:
    """The page of an analysis in the language of `t`, with links to those in other `languages`."""
    frame = AnalysisFrame(analysis, t)
    returned = returned_items(frame)
    parts = [
        map_part(frame, returned), experts_part(frame, len(returned)), wrong_answers_part(frame), ranks_part(frame),
        consistency_part(frame), wordings_part(frame), forms_part(frame), difficulty_part(frame), groups_part(frame),
        subset_part(frame), plan_part(frame),
    ]  # fmt: skip
    recipe = analysis.loaded.recipe
    return render_html(
        "analysis.html.j2", _PACKAGES, t=t, analysis=analysis, recipe=recipe, frame=frame, notes=analysis.notes(t),
        tiles=list(_tiles(frame)), pages=list(_pages(frame)), parts=[part for part in parts if part is not None],
        returned=returned, attracting=attracting_answers(frame), words=_words(analysis),
        review=next((name for name, spec in recipe.reviews.items() if spec.rows.flagged), ""),
        colours=ChartColours(list(dict.fromkeys(analysis.answered.items.sources.tolist())), ()), languages=languages,
        **PAGE_FUNCTIONS,
    )  # fmt: skip


def _words(analysis: Analysis) -> str:
    """The words of a command that name this recipe and task."""
    task = f" --task {analysis.task}" if analysis.task else ""
    return f"recipe={analysis.loaded.recipe.name}{task}"


def _tiles(frame: AnalysisFrame) -> Iterator[tuple[str, str]]:
    """How much there is, and how much of it needs a look."""
    t, models = frame.t, frame.models
    table, back = frame.analysis.section(ItemTable), frame.analysis.section(ItemsForExperts)
    counts = {"models": len(models.systems), "items": len(models.items), "families": models.family_count}
    if table.why is None:
        counts["flagged"] = int((table.flags != "").sum())
    if back.why is None:
        counts["back"] = len(back.ids)
    for name, n in counts.items():
        yield t.number(n), t(f"analysis.page.tile_{name}", n=n)


def _pages(frame: AnalysisFrame) -> Iterator[tuple[str, str]]:
    """The link and the title of each page that lies beside this one."""
    for key, file in frame.analysis.pages.items():
        own = file.with_name(name_in_language(file.name, frame.t.language))
        if found := next((one for one in (own, file) if one.is_file()), None):
            yield Path(os.path.relpath(found, frame.analysis.folder)).as_posix(), frame.t(f"{key}.kicker")
