"""How the pages of the lead put figures into words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchbuilder.annotation.app.i18n import Texts
from benchbuilder.annotation.database.models import Person, Progress, Share
from benchbuilder.annotation.gates import EVIDENCE_GATE
from benchbuilder.annotation.progress.agreement import MEASURES, Figure, QuestionStanding
from benchbuilder.annotation.progress.annotators import Gold, Pace, pace
from benchbuilder.annotation.progress.project import Fate, Standing, TaskStanding
from benchbuilder.config.spec.review_project import ProjectSpec

_SHARES = ("percent", "within_tolerance")
_DASH = "–"


@dataclass(frozen=True)
class Worker:
    """A person with their counts, their pace, and how often they were right on planted tasks."""

    person: Person
    progress: Progress
    pace: Pace
    gold: Gold


def workers(shares: Iterable[Share], spec: ProjectSpec) -> list[Worker]:
    """Those who have a part in the project: its annotators, and its adjudicators if there is something to decide."""
    roles = ("annotator", "adjudicator") if spec.rule == "adjudicate" else ("annotator",)
    return [
        Worker(
            share.person,
            share.progress,
            pace(share.seconds, spec.min_seconds),
            Gold(sum(answer.right for answer in share.gold), len(share.gold)),
        )
        for share in shares
        if share.person.role in roles
    ]


def columns(rows: Iterable[QuestionStanding]) -> list[str]:
    """The measures that a table of `rows` has columns for."""
    found = {name for row in rows for name in row.measures}
    return [name for name in MEASURES if name in found]


class Glossary:
    """Figures, gates and reasons in the words of one language."""

    def __init__(self, texts: Texts, spec: ProjectSpec) -> None:
        self._t, self._questions = texts, spec.asked()

    def gate(self, name: str) -> str:
        """What a gate is called: the label of its question."""
        if name == EVIDENCE_GATE:
            return self._t("lead.gate_evidence")
        question = self._questions.get(name)
        return name if question is None else question.label

    def reason(self, task: TaskStanding) -> str:
        """Why a task is dropped, or what it still takes."""
        if task.fate == "open":
            parts = [("lead.missing_votes", task.votes), ("lead.missing_decisions", task.decisions)]
            return self._t("lead.and").join(self._t(key, n=n) for key, n in parts if n)
        if task.fate != "dropped" or task.decided is None or task.needed is None:
            return ""
        exact = task.gate in self._questions and self._questions[task.gate].answer == "binary"
        key = "lead.because_exact" if exact else "lead.because_least"
        return self._t(key, gate=self.gate(task.gate), decided=f"{task.decided:.4g}", needed=f"{task.needed:g}")

    @staticmethod
    def fate(standing: Standing, fate: Fate) -> str:
        """What to call what becomes of tasks: where nothing is dropped, a task is not kept but judged."""
        return "judged" if fate == "kept" and not standing.gating else fate

    @staticmethod
    def measure(row: QuestionStanding, name: str) -> str:
        """What to call a measure of `row`: there is more than one kappa."""
        return f"kappa_{row.kappa_kind}" if name == "kappa" else name

    def value(self, name: str, figure: Figure) -> str:
        """A measure as a number, or why there is none."""
        if figure.value is None:
            return self._t(f"lead.why.{figure.why}", only=f"{figure.only or 0:g}")
        return self._number(name, figure.value)

    def interval(self, name: str, figure: Figure) -> str:
        """Its interval, or why there is none; empty where the measure itself is not defined."""
        if figure.value is None:
            return ""
        if figure.low is None or figure.high is None:
            return self._t(f"lead.without.{figure.without}")
        return f"{self._number(name, figure.low)} {_DASH} {self._number(name, figure.high)}"

    def paradox(self, row: QuestionStanding) -> str:
        """Why kappa is low although people agree, in plain words with the figures of `row`."""
        answer, share = row.common or (0.0, 0.0)
        return self._t(
            "lead.paradox",
            label=row.question.label,
            percent=self.value("percent", row.measures["percent"]),
            kappa=self.value("kappa", row.measures["kappa"]),
            gwet=self.value("ac1", row.measures["ac1"]),
            answer=f"{answer:g}",
            share=f"{share * 100:.0f} %",
        )

    @staticmethod
    def share(part: float, whole: float) -> str:
        """A part in whole per cent, never 0 or 100 unless it is just that."""
        if not whole:
            return _DASH
        percent = round(100 * part / whole)
        percent = max(percent, 1) if part else 0
        return f"{min(percent, 99) if part < whole else 100} %"

    @staticmethod
    def width(part: float, whole: float) -> str:
        """The same as the width of a bar that is 100 wide."""
        return f"{100 * part / whole:.2f}" if whole else "0"

    @staticmethod
    def _number(name: str, value: float) -> str:
        if name in _SHARES:
            return f"{value * 100:.1f} %"
        return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "\N{MINUS SIGN}")
