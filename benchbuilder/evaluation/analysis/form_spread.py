"""How the mean score of each model depends on how items ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchbuilder.core import Floats, PageTexts
from benchbuilder.evaluation.analysis.answered import AnalysisNote, AnsweredItems, Texts
from benchbuilder.evaluation.analysis.family_draws import drawn_means
from benchbuilder.evaluation.analysis.section import AnalysisSection, AnalysisSettings

AskedBy = Literal["polarity", "form", "type"]
"""What tells items apart: affirmed and negated questions, the form of the question, or its type."""


@dataclass(frozen=True)
class FormMeans:
    """The mean of each model on the items of each form.

    Attributes:
        by: What tells the items apart.
        values: The forms.
        items: The number of items of each form.
        families: The number of their families.
        family_count: The number of families of all of these items.
        names: The models.
        means: One row for each model, one column for each form; nan without an answer.
        low: Lower bounds of the intervals, over families.
        high: Upper bounds.
        spread: The highest mean of each model less its lowest; nan with fewer than two.
    """

    by: AskedBy
    values: tuple[str, ...]
    items: tuple[int, ...]
    families: tuple[int, ...]
    family_count: int
    names: tuple[str, ...]
    means: Floats
    low: Floats
    high: Floats
    spread: Floats


@dataclass(frozen=True)
class FormSpread(AnalysisSection):
    """The means by form; `why` says why there are none."""

    groups: tuple[FormMeans, ...]
    why: AnalysisNote | None = None

    def sentences(self, t: PageTexts) -> Sequence[str]:
        """How far apart the forms are."""
        if self.why is not None:
            return [self.why.text(t)]
        return [self._sentence(group, t) for group in self.groups]

    def _sentence(self, group: FormMeans, t: PageTexts) -> str:
        points = group.spread * 100
        return t(
            "analysis.form_spread", by=t(f"analysis.asked_by_{group.by}"), values=len(group.values),
            middle=t.number(float(np.nanmedian(points))), most=t.number(float(np.nanmax(points))),
            model=group.names[int(np.nanargmax(points))],
        )  # fmt: skip

    def model_columns(self) -> Mapping[str, Any]:
        """The spread of each model."""
        return {
            f"spread_{group.by}": dict(zip(group.names, group.spread.tolist(), strict=True)) for group in self.groups
        }


def form_spread(answered: AnsweredItems, settings: AnalysisSettings) -> FormSpread:
    """The means of the models by polarity, form and type, where there are two or more of these."""
    models = answered.models_only()
    found = [_means(models, by, column, settings) for by, column in _columns(models) if len({*column} - {""}) > 1]
    groups = tuple(group for group in found if not np.isnan(group.spread).all())
    return FormSpread(groups, None if groups else AnalysisNote("analysis.one_form"))


def _columns(models: AnsweredItems) -> Iterator[tuple[AskedBy, Texts]]:
    items = models.items
    polarity = np.where(items.negated, "negated", "affirmed").astype(np.object_)
    yield "polarity", np.where(items.expected != "", polarity, "")
    yield "form", items.forms
    yield "type", items.types


def _means(models: AnsweredItems, by: AskedBy, column: Texts, settings: AnalysisSettings) -> FormMeans:
    values = tuple(str(value) for value in dict.fromkeys(column.tolist()) if value)
    parts = [models.of_items(column == value) for value in values]
    edges = [(1 - settings.spec.level) / 2, (1 + settings.spec.level) / 2]
    shape = (len(models.systems), len(parts))
    means, low, high = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, np.nan)
    for place, part in enumerate(parts):
        asked = part.asked
        some = asked.any(axis=1)
        means[some, place] = np.where(asked, part.scores, 0.0).sum(axis=1)[some] / asked.sum(axis=1)[some]
        if part.family_count > 1:
            drawn = np.concatenate(list(drawn_means(part, settings.spec.samples, [settings.seed, 11, place])))
            low[some, place], high[some, place] = np.nanquantile(drawn[:, some], edges, axis=0)
    widest = np.nanmax(means, axis=1, initial=-np.inf) - np.nanmin(means, axis=1, initial=np.inf)
    spread = np.where((~np.isnan(means)).sum(axis=1) > 1, widest, np.nan)
    return FormMeans(
        by, values, tuple(len(part.items) for part in parts), tuple(part.family_count for part in parts),
        len(np.unique(models.items.families[column != ""])), tuple(system.name for system in models.systems), means,
        low, high, spread,
    )  # fmt: skip
