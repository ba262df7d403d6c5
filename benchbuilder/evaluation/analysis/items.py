"""The item table: how hard each item is, whether it separates models, and its flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchbuilder.core import Floats, PageTexts
from benchbuilder.evaluation.analysis.answered import AnsweredItems, Texts
from benchbuilder.evaluation.analysis.section import AnalysisSection, AnalysisSettings


@dataclass(frozen=True)
class ItemTable(AnalysisSection):
    """One entry for each item that a model answered, in every column.

    Attributes:
        ids: Ids.
        n: The number of models.
        difficulty: Their mean score.
    """

    ids: Texts
    n: Floats
    difficulty: Floats

    def sentences(self, t: PageTexts) -> Sequence[str]:
        """How many items were answered."""
        return [t("analysis.items_lead", n=len(self.ids))]

    def item_columns(self) -> Mapping[str, Any]:
        """All columns but the ids."""
        names = ("n", "difficulty")
        return {name: dict(zip(self.ids, getattr(self, name).tolist(), strict=True)) for name in names}


def item_table(answered: AnsweredItems, settings: AnalysisSettings) -> ItemTable:  # noqa: ARG001
    """The table of the items that models answered."""
    models = answered.models_only()
    return ItemTable(models.items.ids, models.asked.sum(axis=0), np.nanmean(models.scores, axis=0))
