"""The files of an audit: a page, data, and tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchbuilder.core import PageTexts, write_atomically
from benchbuilder.evaluation.audit.built import AuditOfTask
from benchbuilder.exporters import (
    AuditedView,
    AuditedWord,
    AuditResult,
    AuditSentences,
    LanguageLink,
    csv_table,
    render_html,
    report_settings,
    shown_charts,
    write_pages,
)

AUDIT_SCHEMA = 1
"""Version of the data file."""
_PACKAGE = ("benchbuilder.evaluation.audit",)
_CHECK = (
    "target", "view", "scope", "group", "n", "families", "score", "low", "high", "upper", "p", "p_family", "smallest",
    "word", "gates", "allowed", "until",
)  # fmt: skip
_WORD = ("target", "scope", "group", "text", "n", "yes", "z", "p", "share", "score", "leaks", "allowed")


def write_audit(audit: AuditOfTask) -> list[Path]:
    """Write ``audit.html``, ``audit.json`` and the tables; the files that were written."""
    recipe, result = audit.loaded.recipe, audit.result
    data = {"schema": AUDIT_SCHEMA, "name": recipe.name, "title": audit.title, **result.model_dump(mode="json")}
    files = {
        "audit.json": json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n",
        "tables/checks.csv": csv_table(_CHECK, list(_rows(result.checks, _CHECK))),
        "tables/words.csv": csv_table(_WORD, list(_rows(result.words, _WORD))),
    }
    (audit.folder / "tables").mkdir(parents=True, exist_ok=True)
    texts = report_settings(recipe.outputs).reader_texts()
    pages = write_pages(audit.folder, "audit.html", texts, partial(audit_page, audit))
    return [*pages, *(write_atomically(audit.folder / name, text) for name, text in files.items())]


def _rows(found: tuple[AuditedView, ...] | tuple[AuditedWord, ...], names: tuple[str, ...]) -> Iterator[list[Any]]:
    for finding in found:
        yield [getattr(finding, name) for name in names]


def audit_page(audit: AuditOfTask, t: PageTexts, languages: Sequence[LanguageLink] = ()) -> str:
    """The page of an audit in the language of `t`, with links to those in other `languages`."""
    recipe, result = audit.loaded.recipe, audit.result
    says = AuditSentences(result, t)
    return render_html(
        "audit.html.j2", _PACKAGE, t=t, says=says, result=result, title=audit.title, recipe=recipe, card=recipe.card,
        notes=audit.notes, tiles=_tiles(result, says), charts=shown_charts(result, t),
        languages=languages,
    )  # fmt: skip


def _tiles(result: AuditResult, says: AuditSentences) -> list[tuple[str, str]]:
    """How many checks that gate have each finding."""
    counts = Counter(says.finding(check) for check in result.checks if check.gates)
    return [(f"{counts[says.word(name)]:,}", says.word(name)) for name, _ in says.colours()]
