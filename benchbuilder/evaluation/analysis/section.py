"""What every section of the analysis is, and the settings that all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from benchbuilder.config import AnalysisSpec
from benchbuilder.core import PageTexts
from benchbuilder.evaluation.analysis.answered import AnalysisNote

_DIGITS = 6


LEAST_MODELS = 5
"""With fewer models, only the difficulty of items is shown."""


def too_few_models(models: int) -> AnalysisNote | None:
    """Why items cannot be analysed; None if there are models enough."""
    if models >= LEAST_MODELS:
        return None
    return AnalysisNote("analysis.too_few", {"least": LEAST_MODELS, "n": models})


@dataclass(frozen=True)
class AnalysisSettings:
    """The settings of the recipe, and its seed."""

    spec: AnalysisSpec
    seed: int


class AnalysisSection(ABC):
    """What one section found: a frozen dataclass of plain values, arrays and dataclasses of these.

    Its fields stand in ``analysis.json`` under the name of the section.
    """

    @abstractmethod
    def sentences(self, t: PageTexts) -> Sequence[str]:
        """What it found, or why it found nothing, in a few sentences."""

    def item_columns(self) -> Mapping[str, Any]:
        """Its columns of ``items.csv``, by item id: each a mapping from the id to the value."""
        return {}

    def model_columns(self) -> Mapping[str, Any]:
        """Its columns of ``models.csv``: each a mapping from the name of a model to the value."""
        return {}


def plain_data(value: Any, t: PageTexts) -> Any:
    """A value of a section as JSON knows it: arrays as lists, nan as null, numbers with six digits, notes as texts."""
    if isinstance(value, AnalysisNote):
        return value.text(t)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain_data(getattr(value, field.name), t) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return plain_data(value.tolist(), t)
    if isinstance(value, Mapping):
        return {str(name): plain_data(one, t) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(one, t) for one in value]
    return plain_cell(value)


def plain_cell(value: Any) -> Any:
    """A single value: nan as nothing, numbers with six digits."""
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else round(float(value), _DIGITS)
    return value.item() if isinstance(value, np.generic) else value
