"""Summarises the pace of people, and formats figures for the pages of the project owner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from benchbuilder.annotation.database.models import GoldAccuracy, Person, PersonProgress, Progress
from benchbuilder.annotation.gates import EVIDENCE_GATE
from benchbuilder.annotation.progress.agreement import AGREEMENT_MEASURES, AgreementFigure, QuestionAgreement
from benchbuilder.annotation.progress.project import ProjectProgress, TaskOutcome, TaskProgress
from benchbuilder.config import ProjectSpec
from benchbuilder.core import PageTexts, floor_lead, floor_reason, floor_word


@dataclass(frozen=True)
class WorkPace:
    """Seconds that `tasks` finished tasks took: the median, the 10th and the 90th percentile (``None`` without any).

    `hasty` counts tasks that took less than the recipe's minimum; `per_hour` is tasks per hour of work.
    """

    tasks: int
    median: float | None
    tenth: float | None
    ninetieth: float | None
    hasty: int
    per_hour: float | None


def measure_pace(seconds: Sequence[float], min_seconds: int | None) -> WorkPace:
    """Measure the pace; `min_seconds` is the recipe's minimum time in seconds, if any."""
    hasty = sum(taken < min_seconds for taken in seconds) if min_seconds is not None else 0
    if not seconds:
        return WorkPace(0, None, None, None, hasty, None)
    tenth, median, ninetieth = (float(value) for value in np.percentile(seconds, (10, 50, 90)))
    total = sum(seconds)
    return WorkPace(len(seconds), median, tenth, ninetieth, hasty, len(seconds) * 3600 / total if total else None)


_PERCENT_MEASURES = ("percent", "within_tolerance")
_DASH = "–"


@dataclass(frozen=True)
class AnnotatorSummary:
    """A person with their counts, their pace, and their accuracy on gold tasks."""

    person: Person
    progress: Progress
    pace: WorkPace
    gold: GoldAccuracy


def annotator_summaries(people: Iterable[PersonProgress], spec: ProjectSpec) -> list[AnnotatorSummary]:
    """Summaries of annotators, and of adjudicators if the project has adjudication."""
    roles = ("annotator", "adjudicator") if spec.rule == "adjudicate" else ("annotator",)
    return [
        AnnotatorSummary(work.person, work.progress, measure_pace(work.seconds, spec.min_seconds), work.gold)
        for work in people
        if work.person.role in roles
    ]


def measure_columns(rows: Iterable[QuestionAgreement]) -> list[str]:
    """The measures that a table of `rows` has columns for."""
    present = {name for row in rows for name in row.measures}
    return [name for name in AGREEMENT_MEASURES if name in present]


class DashboardTexts:
    """Figures, gates and reasons as texts of one language."""

    def __init__(self, texts: PageTexts, spec: ProjectSpec) -> None:
        self._t, self._questions = texts, spec.questions_about()

    def gate_label(self, name: str) -> str:
        """The label of a gate: that of its question."""
        if name == EVIDENCE_GATE:
            return self._t("lead.gate_evidence")
        question = self._questions.get(name)
        return name if question is None else question.label

    def outcome_reason(self, task: TaskProgress) -> str:
        """Why a task is dropped, or what is still missing."""
        if task.outcome == "open":
            parts = [("lead.missing_votes", task.missing_votes), ("lead.missing_decisions", task.missing_decisions)]
            return self._t("lead.and").join(self._t(key, n=n) for key, n in parts if n)
        if task.outcome != "dropped" or task.decision is None or task.required_decision is None:
            return ""
        exact = task.gate in self._questions and self._questions[task.gate].answer == "binary"
        key = "lead.because_exact" if exact else "lead.because_least"
        return self._t(
            key, gate=self.gate_label(task.gate), decided=f"{task.decision:.4g}", needed=f"{task.required_decision:g}"
        )

    @staticmethod
    def outcome_key(progress: ProjectProgress, outcome: TaskOutcome) -> str:
        """The text key of an outcome: without gates, tasks are not ``kept`` but ``judged``."""
        return "judged" if outcome == "kept" and not progress.has_gates else outcome

    @staticmethod
    def measure_key(row: QuestionAgreement, name: str) -> str:
        """The text key of a measure of `row`: there are two kinds of kappa."""
        return f"kappa_{row.kappa_kind}" if name == "kappa" else name

    def format_value(self, name: str, figure: AgreementFigure) -> str:
        """A measure as a number, or the reason why it is undefined."""
        if figure.value is None:
            return self._t(f"lead.why.{figure.undefined_reason}", only=f"{figure.only_value or 0:g}")
        return self._number(name, figure.value)

    def format_interval(self, name: str, figure: AgreementFigure) -> str:
        """The interval of a measure, or why it is missing; empty if the measure itself is undefined."""
        if figure.value is None:
            return ""
        if figure.low is None or figure.high is None:
            return self._t(f"lead.without.{figure.missing_interval_reason}")
        return f"{self._number(name, figure.low)} {_DASH} {self._number(name, figure.high)}"

    def floor_word(self, row: QuestionAgreement) -> str:
        """Where the agreement on a question stands against the floor; – without one."""
        return _DASH if row.standing is None else floor_word(self._t, row.standing)

    def floor_reason(self, row: QuestionAgreement) -> str:
        """Why; empty if the floor is reached."""
        return "" if row.standing is None else floor_reason(self._t, row.standing)

    def floor_lead(self, spec: ProjectSpec) -> str:
        """What the floor is; empty without one."""
        floor = spec.floor
        return "" if floor.alpha is None and floor.raw is None else floor_lead(self._t, floor.alpha, floor.raw)

    def paradox_text(self, row: QuestionAgreement) -> str:
        """Explain with the figures of `row` why kappa is low although people agree."""
        answer, proportion = row.most_common or (0.0, 0.0)
        return self._t(
            "lead.paradox",
            label=row.question.label,
            percent=self.format_value("percent", row.measures["percent"]),
            kappa=self.format_value("kappa", row.measures["kappa"]),
            gwet=self.format_value("ac1", row.measures["ac1"]),
            answer=f"{answer:g}",
            share=f"{proportion * 100:.0f} %",
        )

    @staticmethod
    def percentage(part: float, whole: float) -> str:
        """A part of a whole as integer per cent; 0 and 100 only if exact."""
        if not whole:
            return _DASH
        percent = round(100 * part / whole)
        percent = max(percent, 1) if part else 0
        return f"{min(percent, 99) if part < whole else 100} %"

    @staticmethod
    def bar_width(part: float, whole: float) -> str:
        """A part of a whole as the width of a bar that is 100 wide."""
        return f"{100 * part / whole:.2f}" if whole else "0"

    @staticmethod
    def _number(name: str, value: float) -> str:
        if name in _PERCENT_MEASURES:
            return f"{value * 100:.1f} %"
        return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "\N{MINUS SIGN}")
