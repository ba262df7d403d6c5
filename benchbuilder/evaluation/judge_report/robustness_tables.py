"""Robustness cards as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchbuilder.evaluation.judge_report.held_out import JudgeReportFrame
from benchbuilder.evaluation.judge_report.probe_spec import ProbeLimits
from benchbuilder.evaluation.judge_report.robustness_card import ProbeFinding
from benchbuilder.evaluation.results.context import table_line
from benchbuilder.exporters import ResultTable, TableLine


def robustness_table(frame: JudgeReportFrame, aspect: str, cards: Mapping[str, Sequence[ProbeFinding]]) -> ResultTable:
    """Every probe of every judge: mean change, flips, expected effect, and verdict."""
    lines = [_line(frame, judge, finding) for judge, findings in cards.items() for finding in findings]
    columns = "judge group probe verdict expected n delta flips limits"
    return frame.table(aspect, "robustness", columns, lines, keys=3)


def _line(frame: JudgeReportFrame, judge: str, finding: ProbeFinding) -> TableLine:
    t, probe = frame.t, finding.probe
    delta = frame.cell(finding.delta)
    if finding.why:
        delta = replace(delta, why=t(f"judges.open.{finding.why}"))
    return table_line(
        judge, t.get(f"judges.group.{probe.group}", probe.group), probe_label(frame, finding),
        t(f"judges.verdict.{finding.verdict}"), t(f"judges.expect.{probe.expect}"), finding.delta.n, delta,
        frame.cell(finding.flips), _limits(frame, finding), group=finding.verdict,
    )  # fmt: skip


def probe_label(frame: JudgeReportFrame, finding: ProbeFinding) -> str:
    """The label of a probe in the language of the report, else in any language, else its name."""
    labels = finding.probe.label
    return labels.get(frame.t.language) or next(iter(labels.values()), finding.name)


def probe_meaning(frame: JudgeReportFrame, finding: ProbeFinding) -> str:
    """The description of a probe in the language of the report, or any other."""
    meanings = finding.probe.meaning
    return meanings.get(frame.t.language) or next(iter(meanings.values()), "")


def _limits(frame: JudgeReportFrame, finding: ProbeFinding) -> str:
    probe = finding.probe
    parts = [frame.t("judges.limits.delta", limits=_pair(probe.delta))]
    if probe.flip is not None:
        parts.append(frame.t("judges.limits.flip", limits=_pair(probe.flip)))
    return "; ".join(parts)


def _pair(limits: ProbeLimits) -> str:
    return f"{limits.warn:g}" if limits.fail is None else f"{limits.warn:g} / {limits.fail:g}"
