"""Writes the page of an analysis."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchbuilder.core import PageTexts
from benchbuilder.evaluation.analysis.item_sections import ItemsForExperts, ItemTable
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
from benchbuilder.evaluation.results import PACKAGES
from benchbuilder.evaluation.results.context import PAGE_FUNCTIONS
from benchbuilder.exporters import ChartColours, LanguageLink, name_in_language, render_html

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
    table, back = frame.section("items", ItemTable), frame.section("to_experts", ItemsForExperts)
    counts = {"models": len(models.systems), "items": len(models.items), "families": models.family_count}
    if table is not None and table.why is None:
        counts["flagged"] = int((table.flags != "").sum())
    if back is not None and back.why is None:
        counts["back"] = len(back.ids)
    for name, n in counts.items():
        yield t.number(n), t(f"analysis.page.tile_{name}", n=n)


def _pages(frame: AnalysisFrame) -> Iterator[tuple[str, str]]:
    """The link and the title of each page that lies beside this one."""
    for key, file in frame.analysis.pages.items():
        own = file.with_name(name_in_language(file.name, frame.t.language))
        if found := next((one for one in (own, file) if one.is_file()), None):
            yield Path(os.path.relpath(found, frame.analysis.folder)).as_posix(), frame.t(f"{key}.kicker")
