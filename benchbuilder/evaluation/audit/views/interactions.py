"""The view `all_interactions`: what trees see in numbers and in the words of both ends taken together."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from benchbuilder.core import text_length
from benchbuilder.evaluation.audit.features import Reals, ViewFeatures, joined
from benchbuilder.evaluation.audit.subjects import AuditSubject
from benchbuilder.evaluation.audit.views.base import View, ViewContext
from benchbuilder.evaluation.audit.views.ngrams import ngram_rows
from benchbuilder.steps import count_negations

_COMPONENTS = 12
_COMMON = 1024
"""So many of the most frequent n-grams make the components."""


class AllInteractionsView(View):
    """Numbers of the text and of the graph, and 12 components of each end, for boosted trees (scikit-learn).

    Linear views miss what only both ends together tell. This one is slow: name it in `audit.views` to have it.
    """

    kind: ClassVar[str] = "all_interactions"
    targets = ("verdict", "truth")
    boosted: ClassVar[bool] = True

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:
        """One row of numbers per subject."""
        if find_spec("sklearn") is None:
            return "no_library"
        negated = (context.negations, context.harmless)
        known = [
            context.knowledge.degrees(end) for end in ([s.answer for s in subjects], [s.concept for s in subjects])
        ]
        numbers = np.array(
            [
                (
                    text_length(s.text), count_negations(s.text, *negated), answer, concept,
                    len({*s.answer} & {*s.concept}), len(s.answer), len(s.concept),
                    -1 if s.option is None else s.option.place,
                )
                for s, answer, concept in zip(subjects, *known, strict=True)
            ], np.float64,
        )  # fmt: skip
        ends = [[s.answer or s.text for s in subjects], [s.concept for s in subjects]]
        table = np.column_stack([numbers, *(_components(ngram_rows(texts, context.unit)) for texts in ends)])
        rows, width = table.shape
        names = tuple(f"{place:02}" for place in range(width))
        return ViewFeatures(np.arange(rows + 1) * width, np.tile(np.arange(width), rows), table.ravel(), names)


def _components(rows: ViewFeatures) -> Reals:
    """The first principal components of the most frequent n-grams; their signs are fixed."""
    often = np.bincount(rows.indices, minlength=rows.width)
    common = np.sort(np.argsort(-often, kind="stable")[:_COMMON])
    place = np.full(rows.width, -1)
    place[common] = np.arange(len(common))
    inside = place[rows.indices] >= 0 if rows.width else np.zeros(0, np.bool_)
    table = np.zeros((rows.rows, max(len(common), 1)))
    table[rows.row_of_entry[inside], place[rows.indices[inside]]] = 1
    table -= table.mean(axis=0)
    _, vectors = np.linalg.eigh(table.T @ table)
    first = vectors[:, ::-1][:, :_COMPONENTS]
    first = first * np.where(first[np.abs(first).argmax(axis=0), np.arange(first.shape[1])] < 0, -1, 1)
    found = np.zeros((rows.rows, _COMPONENTS))
    found[:, : first.shape[1]] = np.round(table @ first, 6)
    return found


class AllView(View):
    """All views that close the gate, side by side."""

    kind: ClassVar[str] = "all"

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:  # noqa: ARG002
        """The features of all views before this one."""
        return joined(list(context.seen.values())) if context.seen else "no_views"
