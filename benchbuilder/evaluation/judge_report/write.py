"""Writing the judge report down: a page, Markdown, data, and every table as CSV and LaTeX."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from benchbuilder.core.atomic_write import write_whole
from benchbuilder.evaluation.judge_report import PACKAGES
from benchbuilder.evaluation.judge_report.bias_tables import label, meaning
from benchbuilder.evaluation.judge_report.held_out import THRESHOLD, Frame
from benchbuilder.evaluation.judge_report.section import Chapter, as_plain
from benchbuilder.evaluation.judge_training.predictions import Trial
from benchbuilder.exporters.render.table_formats import as_csv, as_latex, as_markdown
from benchbuilder.exporters.render.tables import Sheet, as_data, interval, plain, shown
from benchbuilder.exporters.render.templates import render_html, render_markdown

SCHEMA = 1
"""The version of what stands in the data file."""
STEM = "judges"
"""What the names of the files of a whole report begin with."""
_SHEET = re.compile(r"[a-z0-9_]+")
_OF_JUDGE = ("kind", "aspect", "language", "evidence", "split", "data_sha256", "rubric_sha256", "artefact_sha256")


def write_files(
    folder: Path, frame: Frame, chapters: Sequence[Chapter], trials: Sequence[Trial], *, language: str,
    illustrative: bool, stem: str = STEM,
) -> list[Path]:  # fmt: skip
    """Write all files of the report and give their paths; tables that only an earlier report of this `stem` had go."""
    context = {
        "t": frame.t,
        "frame": frame,
        "chapters": chapters,
        "language": language,
        "illustrative": illustrative,
        "threshold": f"{THRESHOLD:g}",
        "tables": f"{stem}_tables",
        "stem": stem,
        "shown": shown,
        "interval": interval,
        "plain": plain,
        "label": partial(label, frame),
        "meaning": partial(meaning, frame),
        "as_markdown": _markdown,
    }
    files = {
        f"{stem}.html": render_html("judges.html.j2", PACKAGES, **context),
        f"{stem}.md": render_markdown("judges.md.j2", PACKAGES, **context),
        f"{stem}.json": _data(frame, chapters, trials, language),
    }
    for chapter in chapters:
        stamp = _stamp(chapter)
        for sheet in chapter.every_sheet():
            files[f"{stem}_tables/{sheet.name}.csv"] = as_csv(sheet, stamp)
            files[f"{stem}_tables/{sheet.name}.tex"] = as_latex(sheet, stamp)
    for name in _written_before(folder, stem) - set(files):
        (folder / name).unlink(missing_ok=True)
    return [write_whole(folder / name, text) for name, text in files.items()]


def _written_before(folder: Path, stem: str) -> set[str]:
    """The tables that the last report of this name wrote, as its data say."""
    try:
        data: Any = json.loads((folder / f"{stem}.json").read_bytes())
        names = [str(sheet["name"]) for aspect in data["aspects"] for sheet in aspect["sheets"]]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    kept = [name for name in names if _SHEET.fullmatch(name)]
    return {f"{stem}_tables/{name}.{suffix}" for name in kept for suffix in ("csv", "tex")}


def _markdown(sheet: Sheet) -> Markup:
    return Markup(as_markdown(sheet))


def _stamp(chapter: Chapter) -> dict[str, str]:
    """What every line of a table says of where it comes from."""
    splits = dict.fromkeys(held.split for held in chapter.judges)
    data = dict.fromkeys(str(held.card.get("data_sha256", ""))[:12] for held in chapter.judges)
    return {"split": " ".join(splits), "data": " ".join(data).strip()}


def _data(frame: Frame, chapters: Sequence[Chapter], trials: Sequence[Trial], language: str) -> str:
    cards = {trial.name: trial.card for trial in trials}
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "language": language,
        "bootstrap": dict(frame.drawn),
        "threshold": THRESHOLD,
        "numbers": frame.numbers.model_dump(),
        "judges": {name: _judge(card) for name, card in cards.items()},
        "aspects": [
            {
                "aspect": chapter.aspect,
                "alarms": list(chapter.alarms),
                "sheets": [as_data(sheet) for sheet in chapter.every_sheet()],
                "bias": {card.judge: [as_plain(finding) for finding in card.findings] for card in chapter.cards},
            }
            for chapter in chapters
        ],
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def _judge(card: Mapping[str, Any]) -> dict[str, Any]:
    return {name: card[name] for name in _OF_JUDGE if name in card}
