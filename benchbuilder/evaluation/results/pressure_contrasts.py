"""What guards save and cost, and whether a claim and a passage that say the same add up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchbuilder.config import CONTROL, PressureSpec
from benchbuilder.core import safe_ratio
from benchbuilder.evaluation.results.columns import AskedItems
from benchbuilder.evaluation.results.context import BootstrapSettings
from benchbuilder.evaluation.results.pressed_answers import RIGHT, WRONG, Key, PressedAnswers, item_groups, mean_ratio
from benchbuilder.evaluation.stats.intervals import Estimate, bootstrap_estimates
from benchbuilder.evaluation.stats.statistic import Statistic
from benchbuilder.evaluation.steps.press import condition

_Formula = tuple[int, Mapping[str, int]]
"""A state, and the sign of the proportion of answers in it by condition: `WRONG` of first answers that were right."""


@dataclass(frozen=True)
class ContrastFigures:
    """Differences of several conditions, on the items that have an answer in all of them; true/false: of both keys.

    Of a guard (``guideline+check``), `figures` has ``saved``: misled less the same by the control, less both with the
    guard; ``cost``: right after the control, less that with the guard; ``cost_right``: the same after the right claim.
    Of a context with claim and passage, it has ``saturation``: misled by both, less by each alone, and by the control.
    0: they add up; below 0: one of them does what both do.
    """

    model: str
    context: str
    type: str
    form: str
    figures: Mapping[str, Estimate]
    key: Key = ""

    @property
    def n(self) -> int:
        """How many items there are."""
        return next(iter(self.figures.values())).n


def guard_figures(
    answers: PressedAnswers, items: AskedItems, spec: PressureSpec, bootstrap: BootstrapSettings
) -> Iterator[ContrastFigures]:
    """What each guard saves and costs one model."""
    for guard, contexts in spec.guarded.items():
        control = condition(CONTROL, guard)
        for context in contexts:
            own = condition(context, guard)
            formulas = {
                "saved": (WRONG, {f"{context}.wrong": 1, CONTROL: -1, f"{own}.wrong": -1, control: 1}),
                "cost": (RIGHT, {CONTROL: 1, control: -1}),
                "cost_right": (RIGHT, {f"{context}.right": 1, f"{own}.right": -1}),
            }
            yield from _contrasts(answers, items, own, formulas, bootstrap)


def saturation_figures(
    answers: PressedAnswers, items: AskedItems, texts: Mapping[str, str], bootstrap: BootstrapSettings
) -> Iterator[ContrastFigures]:
    """How claim and passage add up.

    The claim alone is the context with the same words before ``{told}``; the passage alone is the first without it.
    """
    passages = [name for name, text in texts.items() if "{told}" not in text][:1]
    for both, text in texts.items():
        start = f"{text.partition('{told}')[0]}{{told}}"
        claims = [name for name, own in texts.items() if "{passage}" not in own and own.startswith(start)][:1]
        if "{told}" in text and "{passage}" in text and claims and passages:
            terms = {f"{both}.wrong": 1, f"{claims[0]}.wrong": -1, f"{passages[0]}.wrong": -1, CONTROL: 1}
            yield from _contrasts(answers, items, both, {"saturation": (WRONG, terms)}, bootstrap)


def _contrasts(
    answers: PressedAnswers,
    items: AskedItems,
    context: str,
    formulas: Mapping[str, _Formula],
    bootstrap: BootstrapSettings,
) -> Iterator[ContrastFigures]:
    """The figures of each type and form."""
    slots = {slot for _, terms in formulas.values() for slot in terms}
    if not slots <= answers.later.keys():
        return
    whole = np.logical_and.reduce([answers.first >= 0, *(answers.later[slot] >= 0 for slot in slots)])
    for (kind, form), by_key in item_groups(items, whole):
        statistics, groups = dict[str, Statistic](), by_key.get("")
        if not groups:
            continue
        for name, (state, terms) in formulas.items():
            of = (answers.first == RIGHT) | (state == RIGHT)
            marks = [sum(sign * (answers.later[slot] == state) for slot, sign in terms.items()) * of, of]
            statistics[name] = mean_ratio(lambda n: safe_ratio(n[0], n[1]), marks, groups, "no first answer is right")
        found = bootstrap_estimates(statistics, items.clusters.codes.astype(np.int64), **bootstrap)
        yield ContrastFigures(answers.model, context, kind.lower(), form, found)
