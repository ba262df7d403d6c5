"""What an evaluation under pressure could show, before models are asked."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from benchbuilder.core import Table
from benchbuilder.evaluation.plan import Evaluation, asked_items
from benchbuilder.evaluation.stats.paired_power import families_needed, smallest_drop
from benchbuilder.evaluation.steps.press import PRESSED, Press

CHANGED = 0.2
"""The proportion of answers that change after a claim, until it is known of a model."""
_SMALL_DROP = 0.05
"""The drop that a reader may want to see."""


def planned_power(evaluation: Evaluation) -> Iterator[tuple[str, int, float, int, int]]:
    """By type: how many families are asked, and the smallest drop of accuracy that a context would show.

    And how many families it takes for a drop of 5 points, as families draw contexts now, and if each has all of them.
    See `smallest_drop`; `CHANGED` of the answers are taken to change.
    """
    spec, node = evaluation.spec.pressure, evaluation.plan.nodes.get(PRESSED)
    items = [] if node is None else asked_items(evaluation)
    if spec is None or node is None or not isinstance(node.producer, Press) or not items:
        return
    share = (spec.design.contexts or len(spec.texts)) / len(spec.texts)
    for name, found in sorted(node.producer.families_of(Table.of(items, type(items[0]))).items()):
        sizes = found.values()
        full = families_needed(_SMALL_DROP, CHANGED, sizes)
        yield name, len(sizes), smallest_drop(CHANGED, sizes, len(sizes) * share), ceil(full / share), full
