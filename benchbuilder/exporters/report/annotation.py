"""Summarises the annotators' judgements, from the notes of the steps that gathered them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchbuilder.core import has_prevalence_paradox
from benchbuilder.exporters.base import FinishedBuild

AGREEMENT_MEASURES = ("percent", "kappa", "ac1", "alpha")
_EQUIVALENT_MEASURES = {"percent": "within_tolerance", "kappa": "weighted_kappa"}
"""The equivalent of a measure on other scales."""


@dataclass(frozen=True)
class AgreementMeasure:
    """A measure with its bootstrap interval; `words` explains a measure or interval that is undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None
    words: str = ""


@dataclass(frozen=True)
class ReportedAgreement:
    """The agreement of annotators on one guiding question, over `count` things that at least two judged.

    `yes` of `judged` decisions were yes (on a scale: high enough). `gates` says whether the question decides what is
    kept. On scalars, `percent` is the proportion of pairs within the tolerance. A measure that does not apply to the
    scale has no value and the words —. `icc` is for scalars only. `is_imbalanced` marks the prevalence paradox: nearly
    all agree, yet kappa is low.
    """

    name: str
    label: str
    text: str
    gates: bool
    yes: int
    judged: int
    count: int
    measures: Mapping[str, AgreementMeasure]
    icc: AgreementMeasure | None
    is_imbalanced: bool


@dataclass(frozen=True)
class ThresholdCounts:
    """How many candidates are kept if at least `threshold` paragraphs must support them.

    `without` gives, for each question with a threshold, how many would be kept without it.
    """

    threshold: int
    kept: int
    by_source: Mapping[str, int]
    without: Mapping[str, int]
    chosen: bool


@dataclass(frozen=True)
class GateCounts:
    """What one filter threshold dropped and kept. `name` is a guiding question or ``min_evidence``."""

    name: str
    dropped: int
    kept: int


@dataclass(frozen=True)
class AnnotationSummary:
    """The judgements of one step. `people` counts each person's valid votes; `minimum` is the threshold in force."""

    agreement: tuple[ReportedAgreement, ...]
    thresholds: tuple[ThresholdCounts, ...]
    gates: tuple[GateCounts, ...]
    minimum: int | None
    people: Mapping[str, int]
    unanimous: int
    adjudicated: int
    stale: int


def annotation_summaries(finished: FinishedBuild) -> dict[str, AnnotationSummary]:
    """The judgements by step; empty if nobody was asked or votes are missing."""
    return {
        account.step: _summary_of_notes(account.notes)
        for account in finished.step_counts
        if "agreement" in account.notes
    }


def _summary_of_notes(notes: Mapping[str, Any]) -> AnnotationSummary:
    votes: Mapping[str, Any] = notes.get("votes", {})
    minimum = notes.get("min_evidence")
    return AnnotationSummary(
        agreement=tuple(_agreement(name, row, notes) for name, row in notes["agreement"].items()),
        thresholds=tuple(_threshold_counts(row, minimum) for row in notes.get("thresholds", ())),
        gates=tuple(GateCounts(row["gate"], row["dropped"], row["kept"]) for row in notes.get("gates", ())),
        minimum=minimum,
        people=votes.get("annotators", {}),
        unanimous=votes.get("unanimous", 0),
        adjudicated=votes.get("adjudicated", 0),
        stale=votes.get("stale", 0),
    )


def _agreement(name: str, row: Mapping[str, Any], notes: Mapping[str, Any]) -> ReportedAgreement:
    question: Mapping[str, Any] = notes.get("questions", {}).get(name, {})
    return ReportedAgreement(
        name=name,
        label=question.get("label") or name,
        text=question.get("text", ""),
        gates=question.get("required") is not None,
        yes=question.get("yes", 0),
        judged=question.get("judged", 0),
        count=row["n"],
        measures={
            key: _measure(row.get(key) or row.get(_EQUIVALENT_MEASURES.get(key, ""))) for key in AGREEMENT_MEASURES
        },
        icc=_measure(row["icc2k"]) if "icc2k" in row else None,
        is_imbalanced=has_prevalence_paradox(row),
    )


def _measure(data: Mapping[str, Any] | None) -> AgreementMeasure:
    if data is None:
        return AgreementMeasure(None, words="—")
    if "undefined" in data:
        return AgreementMeasure(None, words=data["undefined"])
    return AgreementMeasure(data["value"], data.get("low"), data.get("high"), data.get("why", ""))


def _threshold_counts(row: Mapping[str, Any], minimum: int | None) -> ThresholdCounts:
    threshold = row["min_evidence"]
    return ThresholdCounts(
        threshold, row["kept"], row.get("by_partition", {}), row.get("without", {}), threshold == minimum
    )
