"""Items to send back to experts: the best models miss them, and they do not go with the rest of the benchmark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchbuilder.core import Floats, PageTexts
from benchbuilder.evaluation.analysis.answered import AnalysisNote, AnsweredItems, Texts
from benchbuilder.evaluation.analysis.items import ItemTable, item_table
from benchbuilder.evaluation.analysis.section import AnalysisSection, AnalysisSettings

TO_EXPERTS = "to_experts.jsonl"
"""The file of the items that go back to experts, as rows of a review."""


@dataclass(frozen=True)
class ItemsForExperts(AnalysisSection):
    """The items that go back, the most suspicious first, in every column.

    Attributes:
        ids: Ids.
        suspicion: How much of the score the best models miss, less the item-rest correlation: from -1 to 2.
        best_miss: How much of the score the best models miss.
        item_rest: The correlation; none counts as 0 in `suspicion`.
        difficulty: The mean score of all models.
        n: The number of models that answered.
        of: The number of items among which they were chosen.
        why: Why none goes back, if none does.
    """

    ids: Texts
    suspicion: Floats
    best_miss: Floats
    item_rest: Floats
    difficulty: Floats
    n: Floats
    of: int
    why: AnalysisNote | None = None

    def sentences(self, t: PageTexts) -> Sequence[str]:
        """How many items go back."""
        if self.why is not None:
            return []
        return [t("analysis.to_experts", n=len(self.ids), of=self.of)]

    def item_columns(self) -> Mapping[str, Any]:
        """The suspicion, and the place in the list from 1."""
        ids = self.ids.tolist()
        places = dict(zip(ids, range(1, len(ids) + 1), strict=True))
        return {"to_experts": places, "suspicion": dict(zip(ids, self.suspicion.tolist(), strict=True))}


def items_for_experts(answered: AnsweredItems, settings: AnalysisSettings) -> ItemsForExperts:
    """The first items by suspicion, as many as the settings say."""
    table = item_table(answered, settings)
    count = 0 if table.why is not None else math.ceil(settings.spec.experts * len(table.ids))
    suspicion = item_suspicion(table)
    order = np.argsort(-suspicion, kind="stable")[:count]
    return ItemsForExperts(
        ids=table.ids[order], suspicion=suspicion[order], best_miss=table.best_miss[order],
        item_rest=table.item_rest[order], difficulty=table.difficulty[order], n=table.n[order], of=len(table.ids),
        why=table.why,
    )  # fmt: skip


def item_suspicion(table: ItemTable) -> Floats:
    """How suspicious each item of a table is; -1 for items that too few models answered."""
    known = table.n >= min(table.models, 5)
    suspicion = np.nan_to_num(table.best_miss) - np.nan_to_num(table.item_rest)
    return np.where(known, suspicion, -1.0)
