"""What the annotators' judgements amount to, read from the notes of the steps that gathered them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchbuilder.core import has_prevalence_paradox
from benchbuilder.exporters.base import FinishedBuild

AGREEMENT_MEASURES = ("percent", "kappa", "ac1", "alpha")
_EQUIVALENT_MEASURES = {"percent": "within_tolerance", "kappa": "weighted_kappa"}
"""What stands in the place of a measure on other scales."""


@dataclass(frozen=True)
class AgreementMeasure:
    """A measure with its bootstrap interval, or words where it (or only the interval) is undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None
    words: str = ""


@dataclass(frozen=True)
class ReportedAgreement:
    """How far annotators agree on one guiding question, over `count` things that at least two judged.

    `yes` of `judged` decisions were yes in the end (of a scale or a scalar: high enough); `gates` says whether the
    question decides what is kept. Of scalars, `percent` is the share of pairs within the tolerance; where a measure is
    not one of this scale it has no value and says —. `icc` is there for scalars alone. `is_imbalanced` is the prevalence
    paradox: nearly all agree, yet kappa is low.
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

    `without` says for each gating question how many would be kept if it did not gate.
    """

    threshold: int
    kept: int
    by_source: Mapping[str, int]
    without: Mapping[str, int]
    chosen: bool


@dataclass(frozen=True)
class GateCounts:
    """What one gate dropped, and what was left after it. `name` is a guiding question or ``min_evidence``."""

    name: str
    dropped: int
    kept: int


@dataclass(frozen=True)
class AnnotationSummary:
    """All of it. `people` counts the votes of each person that count; `minimum` is the threshold in force."""

    agreement: tuple[ReportedAgreement, ...]
    thresholds: tuple[ThresholdCounts, ...]
    gates: tuple[GateCounts, ...]
    minimum: int | None
    people: Mapping[str, int]
    unanimous: int
    adjudicated: int
    stale: int


def annotation_summaries(finished: FinishedBuild) -> dict[str, AnnotationSummary]:
    """What people judged, by step; empty where nobody was asked or votes are missing."""
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
        thresholds=tuple(_threshold_counts(row, minimum) for row in notes.get("survivors", ())),
        gates=tuple(GateCounts(row["gate"], row["dropped"], row["kept"]) for row in notes.get("gates", ())),
        minimum=minimum,
        people=votes.get("annotators", {}),
        unanimous=votes.get("unanimous", 0),
        adjudicated=votes.get("adjudicated", 0),
        stale=votes.get("stale", 0),
    )


def _agreement(name: str, row: Mapping[str, Any], notes: Mapping[str, Any]) -> ReportedAgreement:
    asked: Mapping[str, Any] = notes.get("questions", {}).get(name, {})
    return ReportedAgreement(
        name=name,
        label=asked.get("label") or name,
        text=asked.get("text", ""),
        gates=asked.get("required") is not None,
        yes=asked.get("yes", 0),
        judged=asked.get("judged", 0),
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
