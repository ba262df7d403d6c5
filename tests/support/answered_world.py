"""Answers of models that never were, for tests of the analysis."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchbuilder.config import AnalysisSpec
from benchbuilder.core import Floats
from benchbuilder.evaluation.analysis.answered import AnsweredItems, AnsweringSystem, Codes, ItemColumns, Texts
from benchbuilder.evaluation.analysis.section import AnalysisSettings


def texts(*values: str) -> Texts:
    column = np.empty(len(values), np.object_)
    column[:] = values
    return column


def item_ids(count: int) -> Texts:
    return texts(*(f"item-{number}" for number in range(count)))


def answered(scores: Floats, families: Codes | None = None, **changes: Any) -> AnsweredItems:
    """The answers of models m0, m1 and so on, with these scores; `changes` are columns of items."""
    models, items = scores.shape
    empty = texts(*[""] * items)
    columns: dict[str, Any] = {
        "ids": item_ids(items), "sources": texts(*["notes"] * items), "types": texts(*["tf"] * items),
        "forms": texts(*["statement"] * items), "families": np.arange(items) if families is None else families,
        "facts": empty, "relations": empty, "expected": texts(*["yes"] * items),
        "negated": np.zeros(items, np.bool_), "questions": empty, "answers": empty, "wrong_answers": empty,
        "options": ((),) * items, "keys": empty, "scorers": texts(*["verdict"] * items),
        "aspects": texts(*["verdict"] * items), **changes,
    }  # fmt: skip
    return AnsweredItems(
        task="", systems=tuple(AnsweringSystem(f"m{number}", "model") for number in range(models)),
        items=ItemColumns(**columns), scores=scores, without=np.zeros(scores.shape, np.bool_),
        said_wrong=np.full(scores.shape, np.nan), chosen=np.full(scores.shape, -1),
    )  # fmt: skip


def simulated(models: int, items: int, seed: int, gap: Floats | None = None) -> Floats:
    """Scores of models whose abilities are normal; `gap` makes items (columns) harder for models (rows)."""
    random = np.random.default_rng(seed)
    ability, b = random.normal(size=models), random.normal(-1, 1, items)
    a = np.exp(random.normal(0, 0.4, items))
    chance = 1 / (1 + np.exp(-a * (ability[:, None] - b - (0.0 if gap is None else gap))))
    return (random.random((models, items)) < chance).astype(np.float64)


def settings(**changes: Any) -> AnalysisSettings:
    return AnalysisSettings(AnalysisSpec.model_validate(changes), 7)
