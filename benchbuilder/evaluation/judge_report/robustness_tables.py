"""Robustness cards as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchbuilder.evaluation.judge_report.held_out import JudgeReportFrame
from benchbuilder.evaluation.judge_report.probe_spec import ProbeLimits
from benchbuilder.evaluation.judge_report.robustness_card import ProbeFinding
from benchbuilder.exporters import ResultTable, TableCell, TableLine, ValueFormat, count_cell, text_cell


def robustness_table(frame: JudgeReportFrame, aspect: str, cards: Mapping[str, Sequence[ProbeFinding]]) -> ResultTable:
    """Every probe of every judge: mean change, flips, expected effect, and verdict."""
    columns: dict[str, ValueFormat] = {
        "judge": "words", "group": "words", "probe": "words", "verdict": "words", "expected": "words", "n": "count",
        "delta": "signed", "flips": "percent", "limits": "words",
    }  # fmt: skip
    lines = [_line(frame, judge, finding) for judge, findings in cards.items() for finding in findings]
    return frame.table(aspect, "robustness", columns, lines, keys=3)


def _line(frame: JudgeReportFrame, judge: str, finding: ProbeFinding) -> TableLine:
    t, probe = frame.t, finding.probe
    delta, flips = frame.cell(finding.delta), frame.cell(finding.flips)
    if finding.why:
        delta = TableCell(delta.value, low=delta.low, high=delta.high, n=delta.n, why=t(f"judges.open.{finding.why}"))
    cells = (
        text_cell(judge),
        text_cell(t.get(f"judges.group.{probe.group}", probe.group)),
        text_cell(probe_label(frame, finding)),
        text_cell(t(f"judges.verdict.{finding.verdict}")),
        text_cell(t(f"judges.expect.{probe.expect}")),
        count_cell(finding.delta.n),
        delta,
        flips,
        text_cell(_limits(frame, finding)),
    )
    return TableLine(cells, finding.verdict)


def probe_label(frame: JudgeReportFrame, finding: ProbeFinding) -> str:
    """The label of a probe in the language of the report, else in any language, else its name."""
    said = finding.probe.label
    return said.get(frame.language) or next(iter(said.values()), finding.name)


def probe_meaning(frame: JudgeReportFrame, finding: ProbeFinding) -> str:
    """The description of a probe in the language of the report, or any other."""
    said = finding.probe.meaning
    return said.get(frame.language) or next(iter(said.values()), "")


def _limits(frame: JudgeReportFrame, finding: ProbeFinding) -> str:
    probe = finding.probe
    parts = [frame.t("judges.limits.delta", limits=_pair(probe.delta))]
    if probe.flip is not None:
        parts.append(frame.t("judges.limits.flip", limits=_pair(probe.flip)))
    return "; ".join(parts)


def _pair(limits: ProbeLimits) -> str:
    return f"{limits.warn:g}" if limits.fail is None else f"{limits.warn:g} / {limits.fail:g}"
