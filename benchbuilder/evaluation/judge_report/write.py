"""The parts of the judge report, written as a page, Markdown and data, and every table as CSV and LaTeX."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from benchbuilder.core import PageTexts, read_json, write_atomically
from benchbuilder.evaluation.judge_report import PACKAGES
from benchbuilder.evaluation.judge_report.held_out import THRESHOLD, HeldOutAnswers, JudgeReportFrame
from benchbuilder.evaluation.judge_report.robustness_card import ProbeFinding, ProbeVerdict
from benchbuilder.evaluation.judge_report.robustness_tables import probe_label, probe_meaning
from benchbuilder.evaluation.judge_training.predictions import ValidationRun
from benchbuilder.evaluation.results.context import PAGE_FUNCTIONS
from benchbuilder.exporters import (
    LanguageLink,
    ResultTable,
    render_html,
    render_markdown,
    table_as_csv,
    table_as_data,
    table_as_latex,
    write_pages,
)

JUDGE_REPORT_SCHEMA = 1
"""Version of the data file."""
JUDGE_REPORT_STEM = "judges"
"""First part of the file names of a full report."""
_TABLE = re.compile(r"[a-z0-9_]+")
_OF_JUDGE = ("kind", "aspect", "language", "evidence", "split", "data_sha256", "rubric_sha256", "artefact_sha256")


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


def write_judge_report_files(
    folder: Path, frame: JudgeReportFrame, sections_in: Callable[[JudgeReportFrame], Sequence[AspectSection]],
    runs: Sequence[ValidationRun], texts: Sequence[PageTexts], *, language: str, illustrative: bool,
    stem: str = JUDGE_REPORT_STEM,
) -> list[Path]:  # fmt: skip
    """Write all files of the report and return their paths; tables that only an earlier report of this `stem` had are
    removed. The page is written in each language of `texts`, all else in that of `frame`."""
    sections = sections_in(frame)

    def context(t: PageTexts) -> dict[str, Any]:
        own = replace(frame, t=t)
        chapters = sections if t.language == frame.t.language else sections_in(own)
        said = {"language": language, "illustrative": illustrative, "threshold": f"{THRESHOLD:g}", "stem": stem}
        probes = {"label": partial(probe_label, own), "meaning": partial(probe_meaning, own)}
        tables = f"{stem}_tables"
        return {"t": t, "frame": own, "chapters": chapters, "tables": tables, **said, **probes, **PAGE_FUNCTIONS}

    def page(t: PageTexts, languages: Sequence[LanguageLink]) -> str:
        return render_html("judges.html.j2", PACKAGES, languages=languages, **context(t))

    files = {
        f"{stem}.md": render_markdown("judges.md.j2", PACKAGES, **context(frame.t)),
        f"{stem}.json": _data(frame, sections, runs, language),
    }
    for chapter in sections:
        stamp = _stamp(chapter)
        for sheet in chapter.all_tables():
            files[f"{stem}_tables/{sheet.name}.csv"] = table_as_csv(sheet, stamp)
            files[f"{stem}_tables/{sheet.name}.tex"] = table_as_latex(sheet, stamp)
    for name in _written_before(folder, stem) - set(files):
        (folder / name).unlink(missing_ok=True)
    return [
        *write_pages(folder, f"{stem}.html", texts, page),
        *(write_atomically(folder / name, text) for name, text in files.items()),
    ]


def _written_before(folder: Path, stem: str) -> set[str]:
    """The tables that the last report with this stem wrote, according to its data file."""
    try:
        data: Any = read_json(folder / f"{stem}.json")
        names = [str(sheet["name"]) for aspect in data["aspects"] for sheet in aspect["tables"]]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    kept = [name for name in names if _TABLE.fullmatch(name)]
    return {f"{stem}_tables/{name}.{suffix}" for name in kept for suffix in ("csv", "tex")}


def _stamp(chapter: AspectSection) -> dict[str, str]:
    """The provenance that every line of a table names."""
    splits = dict.fromkeys(answers.split for answers in chapter.judges)
    data = dict.fromkeys(str(answers.card.get("data_sha256", ""))[:12] for answers in chapter.judges)
    return {"split": " ".join(splits), "data": " ".join(data).strip()}


def _data(
    frame: JudgeReportFrame, chapters: Sequence[AspectSection], trials: Sequence[ValidationRun], language: str
) -> str:
    data: dict[str, Any] = {
        "schema": JUDGE_REPORT_SCHEMA,
        "language": language,
        "bootstrap": dict(frame.bootstrap),
        "threshold": THRESHOLD,
        "numbers": frame.numbers.model_dump(),
        "judges": {
            trial.name: {name: trial.card[name] for name in _OF_JUDGE if name in trial.card} for trial in trials
        },
        "aspects": [
            {
                "aspect": chapter.aspect,
                "warnings": list(chapter.warnings),
                "tables": [table_as_data(sheet) for sheet in chapter.all_tables()],
                "robustness": {card.judge: list(map(_finding_data, card.findings)) for card in chapter.cards},
            }
            for chapter in chapters
        ],
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def _finding_data(finding: ProbeFinding) -> dict[str, Any]:
    """A finding as plain data."""
    return {
        "probe": finding.name, "group": finding.probe.group, "expect": finding.probe.expect,
        "verdict": finding.verdict, "why": finding.why, "delta": vars(finding.delta), "flips": vars(finding.flips),
        "limits": {
            "delta": finding.probe.delta.model_dump(),
            "flip": finding.probe.flip.model_dump() if finding.probe.flip is not None else None,
        },
    }  # fmt: skip
