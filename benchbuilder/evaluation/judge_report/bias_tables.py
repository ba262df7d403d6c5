"""Bias cards as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchbuilder.evaluation.judge_report.bias_card import Finding
from benchbuilder.evaluation.judge_report.held_out import Frame
from benchbuilder.evaluation.judge_report.probe_spec import Limits
from benchbuilder.exporters.render.tables import Cell, Form, Line, Sheet, count, words


def card_sheet(frame: Frame, aspect: str, cards: Mapping[str, Sequence[Finding]]) -> Sheet:
    """Every probe of every judge: the mean change, the flips, what was expected, and the verdict."""
    columns: dict[str, Form] = {
        "judge": "words", "group": "words", "probe": "words", "verdict": "words", "expected": "words", "n": "count",
        "delta": "signed", "flips": "percent", "limits": "words",
    }  # fmt: skip
    lines = [_line(frame, judge, finding) for judge, findings in cards.items() for finding in findings]
    return frame.sheet(aspect, "bias", columns, lines, keys=3)


def _line(frame: Frame, judge: str, finding: Finding) -> Line:
    t, probe = frame.t, finding.probe
    delta, flips = frame.cell(finding.delta), frame.cell(finding.flips)
    if finding.why:
        delta = Cell(delta.value, low=delta.low, high=delta.high, n=delta.n, why=t(f"judges.open.{finding.why}"))
    cells = (
        words(judge),
        words(t.get(f"judges.group.{probe.group}", probe.group)),
        words(label(frame, finding)),
        words(t(f"judges.verdict.{finding.verdict}")),
        words(t(f"judges.expect.{probe.expect}")),
        count(finding.delta.n),
        delta,
        flips,
        words(_limits(frame, finding)),
    )
    return Line(cells, finding.verdict)


def label(frame: Frame, finding: Finding) -> str:
    """What a probe is called in the language of the report, else in any, else by its name."""
    said = finding.probe.label
    return said.get(frame.language) or next(iter(said.values()), finding.name)


def meaning(frame: Frame, finding: Finding) -> str:
    """What a probe does, in the language of the report or any other."""
    said = finding.probe.meaning
    return said.get(frame.language) or next(iter(said.values()), "")


def _limits(frame: Frame, finding: Finding) -> str:
    probe = finding.probe
    parts = [frame.t("judges.limits.delta", limits=_pair(probe.delta))]
    if probe.flip is not None:
        parts.append(frame.t("judges.limits.flip", limits=_pair(probe.flip)))
    return "; ".join(parts)


def _pair(limits: Limits) -> str:
    return f"{limits.warn:g}" if limits.fail is None else f"{limits.warn:g} / {limits.fail:g}"
