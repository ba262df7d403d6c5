"""The sections of the analysis, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchbuilder.evaluation.analysis.answered import AnsweredItems
from benchbuilder.evaluation.analysis.items import item_table
from benchbuilder.evaluation.analysis.section import AnalysisSection, AnalysisSettings

SECTIONS: Mapping[str, Callable[[AnsweredItems, AnalysisSettings], AnalysisSection]] = {
    "items": item_table,
}
"""What makes each section, by its name in ``analysis.json``."""
