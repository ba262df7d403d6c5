"""Summarises the annotators' judgements, from the notes of the steps that gathered them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from benchbuilder.core import (
    LEAST_SHARED,
    LEAST_VOTERS,
    FloorStanding,
    PageTexts,
    floor_lead,
    floor_reason,
    floor_word,
    has_prevalence_paradox,
    hold_to_floor,
)
from benchbuilder.exporters.base import FinishedBuild
from benchbuilder.exporters.recheck_result import CheckedPart, RecheckResult

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
    all agree, yet kappa is low. `standing` is where the agreement stands against the floor of the recipe, if it has
    one; `decides` says whether the question decides on items, as a gate or by a choice.
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
    standing: FloorStanding | None
    decides: bool


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
    """The judgements of one step.

    `people` counts each person's valid votes; `minimum` is the threshold in force. `floor` has the settings of the
    floor of agreement; it is empty without one. `voter_model` is what Dawid and
    Skene's model says of each question.
    """

    agreement: tuple[ReportedAgreement, ...]
    thresholds: tuple[ThresholdCounts, ...]
    gates: tuple[GateCounts, ...]
    minimum: int | None
    people: Mapping[str, int]
    unanimous: int
    adjudicated: int
    stale: int
    floor: Mapping[str, Any]
    voter_model: Mapping[str, Mapping[str, Any]]

    @property
    def has_floor(self) -> bool:
        """Whether agreement is held to a floor."""
        return any(row.standing is not None for row in self.agreement)

    def questions(self, word: str) -> list[ReportedAgreement]:
        """The questions that decide and have this word."""
        return [row for row in self.agreement if row.decides and row.standing and row.standing.word == word]

    @property
    def refused(self) -> list[ReportedAgreement]:
        """The questions whose labels a release refuses."""
        unknown = self.questions("unknown") if self.floor.get("unknown") == "close" else []
        return [*self.questions("weak"), *unknown]


class LabelTexts:
    """What pages say about the quality of labels: floors, the model of voters, the recheck."""

    def __init__(self, t: PageTexts) -> None:
        self._t = t

    def lead(self, summary: AnnotationSummary) -> str:
        """What the floor is."""
        return floor_lead(self._t, summary.floor.get("alpha"), summary.floor.get("raw"))

    def word(self, row: ReportedAgreement) -> str:
        """The word of a question; — without a floor."""
        return "—" if row.standing is None else floor_word(self._t, row.standing)

    def model(self, summary: AnnotationSummary, *, named: bool = True) -> list[str]:
        """What the model of voters says, with or without names."""
        return voter_model_lines(summary, self._t, named=named)

    @staticmethod
    def turned(summary: AnnotationSummary) -> list[TurnedDecision]:
        """The decisions that the model of voters would turn."""
        return turned_decisions(summary)

    def recheck_lead(self, recheck: RecheckResult) -> str:
        """How a recheck was made."""
        names = self._t("labels.comma").join(recheck.questions)
        level = f"{recheck.level * 100:g} %"
        return self._t("labels.recheck_lead", drawn=recheck.drawn, size=recheck.whole.size, people=recheck.people,
                       questions=names, level=level)  # fmt: skip

    def recheck_parts(self, recheck: RecheckResult) -> list[tuple[str, CheckedPart]]:
        """The parts of a recheck with their names: sources, what an analysis flagged, and all items."""
        flagged = [(self._t("labels.recheck_flagged"), recheck.flagged)] if recheck.flagged else []
        return [*recheck.sources.items(), *flagged, (self._t("common.total"), recheck.whole)]

    def reason(self, row: ReportedAgreement) -> str:
        """Why; empty if the floor is reached."""
        return "" if row.standing is None else floor_reason(self._t, row.standing)


def voter_model_lines(summary: AnnotationSummary, t: PageTexts, *, named: bool = True) -> list[str]:
    """What the model of voters says: who is how often right, what it would decide otherwise, and what it cannot see.

    Without `named`, nobody is named. If it is not shown for any question, the rule that says so.
    """
    models = summary.voter_model
    if not models:
        return []
    shown = {name: model for name, model in models.items() if model["shown"]}
    if not shown:
        most = max(models.values(), key=lambda model: model["shared"])
        return [t("labels.model_hidden", voters=most["voters"], shared=most["shared"], least_voters=LEAST_VOTERS,
                  least_shared=LEAST_SHARED)]  # fmt: skip
    labels = {row.name: row.label for row in summary.agreement}
    lines = [t("labels.model_lead")]
    for name, model in shown.items():
        rights: Mapping[str, float] = model["reliability"]
        order = rights.items() if named else sorted(rights.items(), key=itemgetter(1))
        people = [f"{who} {t.percent(right)}" if named else t.percent(right) for who, right in order]
        seen = sum(one["adjudicated"] for one in model["differs"])
        line = t("labels.model_question", question=labels.get(name, name), people=t("labels.comma").join(people))
        if model["differs"]:
            line += t("labels.model_turned", n=len(model["differs"]), seen=seen)
        lines.append(line)
    return [*lines, t("labels.model_blind")]


@dataclass(frozen=True)
class TurnedDecision:
    """A decision on `question` that the model of voters would turn, with the text that was judged."""

    question: str
    text: str
    decision: float
    likely: float
    probability: float
    adjudicated: bool


def turned_decisions(summary: AnnotationSummary) -> list[TurnedDecision]:
    """The decisions that the model of voters would turn; those that no adjudicator has seen come first."""
    labels = {row.name: row.label for row in summary.agreement}
    turned = [
        TurnedDecision(labels.get(name, name), one["text"], one["decision"], one["likely"], one["probability"],
                       one["adjudicated"])
        for name, model in summary.voter_model.items() for one in model.get("differs", ())
    ]  # fmt: skip
    return sorted(turned, key=lambda one: (one.adjudicated, -one.probability))


def annotation_summaries(finished: FinishedBuild) -> dict[str, AnnotationSummary]:
    """The judgements by step; empty if nobody was asked or votes are missing."""
    return summaries_of_notes({account.step: account.notes for account in finished.step_counts}, finished.recipe)


def summaries_of_notes(
    notes_by_step: Mapping[str, Mapping[str, Any]], recipe: Mapping[str, Any]
) -> dict[str, AnnotationSummary]:
    """The judgements by step, from the notes of all steps and the resolved recipe as plain data."""
    return {
        step: _summary_of_notes(notes, _annotation_settings(recipe, step))
        for step, notes in notes_by_step.items()
        if "agreement" in notes
    }


def _annotation_settings(recipe: Mapping[str, Any], step: str) -> Mapping[str, Any]:
    """The settings of the annotation of a step: its own, or those of the recipe."""
    spec: Mapping[str, Any] = (recipe.get("steps") or {}).get(step) or {}
    votes: Mapping[str, Any] = spec.get("votes") or recipe.get("annotation") or {}
    return (spec.get("ways") or {}).get(votes.get("kind")) or votes


def _summary_of_notes(notes: Mapping[str, Any], settings: Mapping[str, Any]) -> AnnotationSummary:
    votes: Mapping[str, Any] = notes.get("votes", {})
    minimum = notes.get("min_evidence")
    return AnnotationSummary(
        agreement=tuple(_agreement(name, row, notes, settings) for name, row in notes["agreement"].items()),
        thresholds=tuple(_threshold_counts(row, minimum) for row in notes.get("thresholds", ())),
        gates=tuple(GateCounts(row["gate"], row["dropped"], row["kept"]) for row in notes.get("gates", ())),
        minimum=minimum,
        people=votes.get("annotators", {}),
        unanimous=votes.get("unanimous", 0),
        adjudicated=votes.get("adjudicated", 0),
        stale=votes.get("stale", 0),
        floor=settings.get("floor") or {},
        voter_model=notes.get("voter_model", {}),
    )


def _agreement(
    name: str, row: Mapping[str, Any], notes: Mapping[str, Any], settings: Mapping[str, Any]
) -> ReportedAgreement:
    question: Mapping[str, Any] = notes.get("questions", {}).get(name, {})
    gates = {gate["gate"] for gate in notes.get("gates", ())} | {(notes.get("chosen") or {}).get("question")}
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
        standing=_standing(row, question, settings),
        decides=question.get("required") is not None or name in gates,
    )


def _standing(row: Mapping[str, Any], question: Mapping[str, Any], settings: Mapping[str, Any]) -> FloorStanding | None:
    floor: Mapping[str, Any] = settings.get("floor") or {}
    level = (settings.get("bootstrap") or {}).get("level")
    if level is None:
        return None
    yes, judged = question.get("yes", 0), question.get("judged", 0)
    rate = max(yes, judged - yes) / judged if judged and row["scale"] == "nominal" else None
    return hold_to_floor(row, alpha=floor.get("alpha"), raw=floor.get("raw"), level=level, base_rate=rate)


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
