"""The base class of views, and what they share: missing values, numbers in bins, n-grams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from benchbuilder.config import AuditTarget, ViewSpec
from benchbuilder.core import LengthUnit
from benchbuilder.evaluation.audit.features import ViewFeatures, category_rows, sparse_rows
from benchbuilder.evaluation.audit.knowledge import AuditKnowledge
from benchbuilder.evaluation.audit.subjects import AuditSubject


@dataclass(frozen=True)
class ViewContext:
    """What views know besides the subjects: the knowledge of the build, and the language as the recipe describes it.

    `seen` are the features of the views before that close the gate, by name.
    """

    unit: LengthUnit
    negations: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    cue_words: tuple[str, ...] = ()
    knowledge: AuditKnowledge = field(default_factory=AuditKnowledge)
    seen: Mapping[str, ViewFeatures] = field(default_factory=dict[str, ViewFeatures])


class View(ABC):
    """What somebody sees who does not see all of an item: features of each subject, without state or I/O.

    `targets` are the targets that it is made for. A view of `information` says what a retriever gets, how easy an item
    is, or what models do not see: it does not close the gate unless the recipe says so. `of_paragraphs` views gate if
    models see paragraphs. A `boosted` view gives dense numbers to boosted trees; it is not part of `all`, and is not
    crossed with the form.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[ViewSpec]] = ViewSpec
    targets: ClassVar[tuple[AuditTarget, ...]] = ("verdict", "truth", "pair")
    information: ClassVar[bool] = False
    of_paragraphs: ClassVar[bool] = False
    boosted: ClassVar[bool] = False

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    @abstractmethod
    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:
        """The features of each subject, or the reason why the view does not apply: a name, such as ``no_triples``."""

    def closes_gate(self, *, paragraphs_shown: bool) -> bool:
        """Whether its leaks close the gate."""
        if self.spec.gates is not None:
            return self.spec.gates
        return paragraphs_shown if self.of_paragraphs else not self.information


def feature_rows(values: Sequence[str | None], missing: str) -> ViewFeatures | str:
    """One category per subject, none where there is no value; the reason `missing` if no subject has one."""
    if all(value is None for value in values):
        return missing
    if any(value is None for value in values):
        return sparse_rows([() if value is None else (value,) for value in values])
    return category_rows([value or "" for value in values])


def number_rows(numbers: Sequence[float | None], missing: str, bins: int = 8) -> ViewFeatures | str:
    """The bin of each number by its quantile, none where there is no number."""
    known = np.array([number for number in numbers if number is not None], np.float64)
    edges = np.unique(np.quantile(known, np.arange(1, bins) / bins)) if len(known) else known
    placed = [None if number is None else f"{int(np.searchsorted(edges, number, side='right'))}" for number in numbers]
    return feature_rows(placed, missing)
