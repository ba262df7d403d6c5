"""What the author answers on the scorecard, and which criteria a release must meet."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from benchbuilder.config.spec.annotation import Name
from benchbuilder.config.spec.base import Day, Spec

CriterionState = Literal["yes", "partly", "no", "not_applicable"]


class ScorecardAnswer(Spec):
    """The author's answer to one criterion, with its `evidence`: a text, or where it can be read."""

    state: CriterionState
    evidence: Annotated[str, Field(pattern=r"\S")]
    on: Day = ""
    """The day of the answer, ISO 8601 (2026-01-31); empty if it does not matter."""

    @field_validator("state", mode="before")
    @classmethod
    def _word(cls, value: object) -> object:
        """YAML reads a bare yes and no as true and false."""
        return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


class ScorecardSpec(Spec):
    """The scorecard: the author's `answers` by criterion, and the criteria that are `required` for a release.

    ``benchbuild scorecard`` lists the criteria. The program answers those that it can know.
    """

    answers: dict[Name, ScorecardAnswer] = {}
    required: tuple[Name, ...] = ()
