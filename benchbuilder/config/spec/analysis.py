"""The analysis of answers: which scores count, when an item is flagged, and how models are grouped."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from benchbuilder.config.spec.annotation import Name
from benchbuilder.config.spec.base import Spec

Proportion = Annotated[float, Field(gt=0, lt=1)]
Correlation = Annotated[float, Field(ge=-1, le=1)]
ItemGroup = Literal["source", "form", "relation", "type"]
"""How items are grouped: by source, by how they ask, by source and relation, or by type (tf, oe)."""


class ModelGroups(Spec):
    """Two groups of models between which items are compared: the names in `one`, and those in `other`.

    `title` says what tells them apart, such as ``small and large``.
    """

    title: Annotated[str, Field(pattern=r"\S")]
    one: Annotated[tuple[str, ...], Field(min_length=1)]
    other: Annotated[tuple[str, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_apart(self) -> ModelGroups:
        if both := sorted(set(self.one) & set(self.other)):
            raise ValueError(f"{', '.join(both)}: a model cannot be in both groups")
        return self


class AnalysisSpec(Spec):
    """What ``benchbuild analyse`` makes of the answers; no step of a build or an evaluation depends on it.

    `scores` names the scorers that count, the best first. Without any: the verdict of true/false questions, else
    people, then judges, then rules. All answers to one item are scored by one scorer: the one with the most models.
    """

    scores: tuple[Name, ...] = ()
    saturated: Proportion = 0.98
    """An item is saturated if its mean score is higher than this, and no model misses it."""
    dead: Correlation = 0.05
    """An item is dead if it correlates with the other items by less than this; negative if by less than 0."""
    best: Annotated[float, Field(gt=0, le=0.5)] = 1 / 3
    """The proportion of the models, the best ones, whose misses send an item back to experts."""
    experts: Annotated[float, Field(gt=0, le=1)] = 0.1
    """The proportion of the items that are sent back to experts, the most suspicious first."""
    groups: dict[Name, ModelGroups] = {}
    """Pairs of groups of models, by name: do items of a source, a form or a relation favour one of the two?"""
    by: tuple[ItemGroup, ...] = ("source", "form", "relation")
    """The groups of items that are compared between groups of models."""
    subset: Annotated[int, Field(ge=0)] = 0
    """The number of items of a subset that should keep the ranking; 0 for none."""
    level: Proportion = 0.95
    """The level of all intervals, and 1 less the level of significance."""
    samples: Annotated[int, Field(ge=100, le=100_000)] = 1000
    """How often a bootstrap draws item families."""
