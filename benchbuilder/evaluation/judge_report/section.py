"""The parts of the judge report about one aspect, before they are rendered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from benchbuilder.evaluation.judge_report.held_out import HeldOutAnswers
from benchbuilder.evaluation.judge_report.robustness_card import ProbeFinding, ProbeVerdict
from benchbuilder.exporters import ResultTable


@dataclass(frozen=True)
class JudgePlots:
    """The two plots of one judge."""

    judge: str
    scatter: Markup
    reliability: Markup


@dataclass(frozen=True)
class RobustnessCard:
    """The robustness card of one judge, with the number of probes per verdict."""

    judge: str
    findings: Sequence[ProbeFinding]
    counts: Mapping[ProbeVerdict, int]
    forest: Markup


@dataclass(frozen=True)
class AspectSection:
    """Everything about the judges of one aspect.

    `warnings` are sentences that a reader must know first. `folded` names the tables that the page hides until they are
    opened. `unprobed` are the judges without a robustness card.
    """

    aspect: str
    label: str
    judges: Sequence[HeldOutAnswers]
    warnings: Sequence[str]
    remarks: Sequence[str]
    overview: Markup | None
    plots: Sequence[JudgePlots]
    tables: Sequence[ResultTable]
    folded: frozenset[str]
    cards: Sequence[RobustnessCard]
    robustness: ResultTable | None
    unprobed: Sequence[str]

    def all_tables(self) -> list[ResultTable]:
        """All tables, the robustness cards last."""
        return [*self.tables, *([self.robustness] if self.robustness is not None else [])]


def finding_data(finding: ProbeFinding) -> dict[str, Any]:
    """A finding as plain data."""
    return {
        "probe": finding.name, "group": finding.probe.group, "expect": finding.probe.expect,
        "verdict": finding.verdict, "why": finding.why, "delta": vars(finding.delta), "flips": vars(finding.flips),
        "limits": {
            "delta": finding.probe.delta.model_dump(),
            "flip": finding.probe.flip.model_dump() if finding.probe.flip is not None else None,
        },
    }  # fmt: skip
