"""Do items of a source, a form or a relation favour one group of models over another that is as able on the rest?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchbuilder.config import ItemGroup, ModelGroups
from benchbuilder.core import Floats, PageTexts
from benchbuilder.evaluation.analysis.answered import AnalysisNote, AnsweredItems, Bools, Texts
from benchbuilder.evaluation.analysis.section import AnalysisSection, AnalysisSettings
from benchbuilder.evaluation.stats.stratified import (
    StratifiedComparison,
    benjamini_hochberg,
    compare_in_strata,
    quantile_strata,
)

FEWEST_MODELS = 10
"""With fewer models in one of the two groups, nothing is computed."""
_PER_STRATUM, _MOST_STRATA = 8, 5
_LEAST_ITEMS = 10


@dataclass(frozen=True)
class GroupComparison:
    """Two groups of models on the items of one source, form or relation.

    Attributes:
        groups: The name of the pair of groups.
        title: What tells them apart.
        by: What the items have in common.
        value: Which source, form or relation.
        items: The number of items.
        families: The number of their families.
        models: The number of models in strata with models of both groups.
        odds_ratio: The odds of a right answer in group one over those in the other, at the same score on the rest.
        z: The excess of group one, in standard errors.
        p: Two-sided.
        p_adjusted: The same, for all comparisons of the pair (Benjamini and Hochberg).
        differs: Whether `p_adjusted` is below the level of significance.
    """

    groups: str
    title: str
    by: ItemGroup
    value: str
    items: int
    families: int
    models: int
    odds_ratio: float
    z: float
    p: float
    p_adjusted: float
    differs: bool


@dataclass(frozen=True)
class GroupDifferences(AnalysisSection):
    """All comparisons, and why others were not made."""

    comparisons: tuple[GroupComparison, ...]
    skipped: tuple[AnalysisNote, ...]

    def sentences(self, t: PageTexts) -> Sequence[str]:
        """Which items favour whom, and what was not compared."""
        said = [note.text(t) for note in self.skipped]
        if not self.comparisons:
            return said
        found = [one for one in self.comparisons if one.differs]
        said.append(t("analysis.groups_lead", n=len(found), of=len(self.comparisons)))
        return said + [
            t("analysis.group_differs", title=one.title, by=t(f"analysis.by_{one.by}"), value=one.value, n=one.items,
              models=one.models, ratio=f"{one.odds_ratio:.2f}", p=f"{one.p_adjusted:.3f}")
            for one in found
        ]  # fmt: skip


def group_differences(answered: AnsweredItems, settings: AnalysisSettings) -> GroupDifferences:
    """Compare the pairs of groups that the recipe declares."""
    models = answered.models_only()
    comparisons: list[GroupComparison] = []
    skipped: list[AnalysisNote] = []
    for name, pair in settings.spec.groups.items():
        first, other = (_members(models, names) for names in (pair.one, pair.other))
        fewest = min(int(first.sum()), int(other.sum()))
        if fewest < FEWEST_MODELS:
            skipped.append(
                AnalysisNote("analysis.group_small", {"title": pair.title, "n": fewest, "least": FEWEST_MODELS})
            )
            continue
        found = list(_compared(models.of_systems(first | other), pair, settings))
        adjusted = benjamini_hochberg(np.array([comparison.p for *_, comparison in found]))
        comparisons += [
            GroupComparison(
                name, pair.title, by, value, int(here.sum()), len(np.unique(models.items.families[here])),
                one.compared, one.odds_ratio, one.z, one.p, float(p), bool(p < 1 - settings.spec.level),
            )
            for (by, value, here, one), p in zip(found, adjusted, strict=True)
        ]  # fmt: skip
    return GroupDifferences(tuple(comparisons), tuple(skipped))


def _members(models: AnsweredItems, names: Sequence[str]) -> Bools:
    return np.array([{system.name, system.display_name} & set(names) != set() for system in models.systems], np.bool_)


def _compared(
    models: AnsweredItems, pair: ModelGroups, settings: AnalysisSettings
) -> Iterator[tuple[ItemGroup, str, Bools, StratifiedComparison]]:
    """Each group of items that has 10 items or more, and 10 in the rest."""
    first = _members(models, pair.one)
    for by in settings.spec.by:
        column = _column(models, by)
        for value in sorted(set(column.tolist()) - {""}):
            here = column == value
            rest = ~here & ~np.isin(models.items.families, models.items.families[here])
            if min(int(here.sum()), int(rest.sum())) < _LEAST_ITEMS:
                continue
            ability = _logits(models.scores[:, rest])
            known = ~np.isnan(ability) & ~np.isnan(models.scores[:, here]).all(axis=1)
            strata = quantile_strata(ability[known], max(2, min(_MOST_STRATA, int(known.sum()) // _PER_STRATUM)))
            part = models.scores[np.ix_(known, here)]
            yield by, str(value), here, compare_in_strata(part, first[known], strata, ability[known])


def _column(models: AnsweredItems, by: ItemGroup) -> Texts:
    items = models.items
    return {"source": items.sources, "form": items.forms, "relation": items.relations, "type": items.types}[by]


def _logits(scores: Floats) -> Floats:
    """The log odds of each model's mean score; nan without a score."""
    asked = ~np.isnan(scores)
    count = asked.sum(1)
    share = (np.where(asked, scores, 0.0).sum(1) + 0.5) / (count + 1)
    return np.where(count > 0, np.log(share / (1 - share)), np.nan)
