"""Consistency over a family: is a fact known, or were single questions about it guessed?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchbuilder.core import Floats, PageTexts
from benchbuilder.evaluation.analysis.answered import AnalysisNote, AnsweredItems, Bools
from benchbuilder.evaluation.analysis.scoreboard import RIGHT
from benchbuilder.evaluation.analysis.section import AnalysisSection, AnalysisSettings
from benchbuilder.evaluation.stats.intervals import Estimate, bootstrap_estimate
from benchbuilder.evaluation.stats.statistic import statistic_of_sums

_NOBODY = "no family of two or more true/false questions was asked"


@dataclass(frozen=True)
class ModelConsistency:
    """How one model answered families of two or more questions, all of which it was asked.

    Attributes:
        model: Its name.
        families: The number of these families.
        known: Families whose questions are all answered right.
        half_known: Families of which some questions are answered right.
        unknown: Families of which none is.
        contradictory: Families in which it said yes to a right statement and to a wrong one.
        both_verdicts: The families that ask about a right statement and a wrong one.
        yes_bias: How often it said yes, less how often yes is right, of the true/false questions with a verdict.
        form_bias: Its mean score on affirmed questions less that on negated ones; nan without both.
        knowledge: The proportion k of families that it knows, if the others are guessed with its own proportion of
            yes: P(all right) = k + (1 - k) g, where g is the chance that guesses are all right.
    """

    model: str
    families: int
    known: int
    half_known: int
    unknown: int
    contradictory: int
    both_verdicts: int
    yes_bias: float
    form_bias: float
    knowledge: Estimate


@dataclass(frozen=True)
class Consistency(AnalysisSection):
    """The consistency of each model; `why` says why there is none."""

    models: tuple[ModelConsistency, ...]
    why: AnalysisNote | None = None

    def sentences(self, t: PageTexts) -> Sequence[str]:
        """How many families models know, and how many they contradict themselves in."""
        if self.why is not None:
            return [self.why.text(t)]
        return [
            t("analysis.consistency", n=one.families, model=one.model, known=one.known, half=one.half_known,
              contradictory=one.contradictory, both=one.both_verdicts)
            for one in self.models
        ]  # fmt: skip

    def model_columns(self) -> Mapping[str, Any]:
        """The counts and biases of each model."""
        names = ("families", "known", "half_known", "unknown", "contradictory", "yes_bias", "form_bias")
        columns = {name: {one.model: getattr(one, name) for one in self.models} for name in names}
        return columns | {"knowledge": {one.model: one.knowledge.value for one in self.models}}


def model_consistency(answered: AnsweredItems, settings: AnalysisSettings) -> Consistency:
    """The consistency of each model over families of two or more questions."""
    answered = answered.models_only()
    found = [_consistency(answered, place, settings) for place in range(len(answered.systems))]
    if not any(one.families for one in found):
        return Consistency((), AnalysisNote("analysis.no_families"))
    return Consistency(tuple(found))


def _consistency(answered: AnsweredItems, place: int, settings: AnalysisSettings) -> ModelConsistency:
    items, scores, codes = answered.items, answered.scores[place], answered.items.families
    count = answered.family_count
    asked, size = np.bincount(codes, ~np.isnan(scores), minlength=count), np.bincount(codes, minlength=count)
    right = np.bincount(codes, scores >= RIGHT, minlength=count)
    whole = (asked == size) & (size > 1)
    yes, wanted = answered.said_yes[place], items.expected == "yes"
    to_right = np.bincount(codes, (yes == 1) & wanted, minlength=count) > 0
    to_wrong = np.bincount(codes, (yes == 1) & (items.expected == "no"), minlength=count) > 0
    both = np.bincount(codes, wanted, minlength=count).astype(bool)
    both &= np.bincount(codes, items.expected == "no", minlength=count).astype(bool)
    verdicts = ~np.isnan(yes)
    bias = float(yes[verdicts].mean() - wanted[verdicts].mean()) if verdicts.any() else np.nan
    known = int((whole & (right == size)).sum())
    unknown = int((whole & (right == 0)).sum())
    return ModelConsistency(
        model=answered.systems[place].name, families=int(whole.sum()), known=known,
        half_known=int(whole.sum()) - known - unknown, unknown=unknown,
        contradictory=int((whole & to_right & to_wrong).sum()), both_verdicts=int((whole & both).sum()), yes_bias=bias,
        form_bias=_form_bias(items.negated, items.expected != "", scores),
        knowledge=_knowledge(answered, place, settings),
    )  # fmt: skip


def _form_bias(negated: Bools, with_verdict: Bools, scores: Floats) -> float:
    parts = [scores[with_verdict & (negated == form) & ~np.isnan(scores)] for form in (False, True)]
    return float(parts[0].mean() - parts[1].mean()) if all(map(len, parts)) else float("nan")


def _knowledge(answered: AnsweredItems, place: int, settings: AnalysisSettings) -> Estimate:
    """Knowledge corrected for guessing, over families of two or more true/false questions that were all asked."""
    items, count = answered.items, answered.family_count
    verdicts = items.expected != ""
    codes, scores, yes = items.families[verdicts], answered.scores[place][verdicts], answered.said_yes[place][verdicts]
    size = np.bincount(codes, minlength=count)
    chosen = (np.bincount(codes, ~np.isnan(scores), minlength=count) == size) & (size > 1)
    if not chosen.any():
        return Estimate(None, None, None, 0, 0, _NOBODY)
    proportion = float(np.nanmean(yes)) if not np.isnan(yes).all() else 0.5
    chance = np.where(items.expected[verdicts] == "yes", proportion, 1 - proportion)
    with np.errstate(divide="ignore"):
        guessed = np.exp(np.bincount(codes, np.log(chance), minlength=count))[chosen]
    right = (np.bincount(codes, scores >= RIGHT, minlength=count) == size)[chosen].astype(np.float64)
    statistic = statistic_of_sums(
        [np.ones(len(right)), right, guessed], _known_share, np.ones(len(right), bool), _NOBODY
    )
    return bootstrap_estimate(
        statistic, [str(number) for number in range(len(right))], samples=settings.spec.samples,
        level=settings.spec.level, seed=settings.seed,
    )  # fmt: skip


def _known_share(sums: Floats) -> Floats:
    """k of P = k + (1 - k) g, for sums of ones, of P and of g."""
    above, below = sums[:, 1] - sums[:, 2], sums[:, 0] - sums[:, 2]
    return np.divide(above, below, out=np.full(len(sums), np.nan), where=below > 0)
