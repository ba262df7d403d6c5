"""The sections of the analysis, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchbuilder.evaluation.analysis.answered import AnsweredItems
from benchbuilder.evaluation.analysis.consistency import model_consistency
from benchbuilder.evaluation.analysis.difficulty import item_difficulty
from benchbuilder.evaluation.analysis.form_spread import form_spread
from benchbuilder.evaluation.analysis.groups import group_differences
from benchbuilder.evaluation.analysis.items import item_table
from benchbuilder.evaluation.analysis.ranks import model_ranks
from benchbuilder.evaluation.analysis.section import AnalysisSection, AnalysisSettings
from benchbuilder.evaluation.analysis.subset import item_subset
from benchbuilder.evaluation.analysis.to_experts import items_for_experts
from benchbuilder.evaluation.analysis.wordings import wording_effects
from benchbuilder.evaluation.analysis.wrong_answers import wrong_answers

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
