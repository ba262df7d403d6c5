"""Writes the pages of a release as static files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from benchbuilder.config import display_path, load_recipe
from benchbuilder.core import DataError, page_texts, read_given_text
from benchbuilder.explorer import FormerItem, SiteItem, SitePassage, SiteRelease, WrittenSite, write_site
from benchbuilder.publishing import (
    ERRATUM_KINDS,
    ReleaseRecord,
    SharedItem,
    latest_release,
    read_changes,
    read_record,
    read_release,
)

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_TABLE_LINK = re.compile(r"\[([^\]]+)\]\(tables/\w+\.md\)")
_GONE = ("withdrawn", "removed")
_NOT_TEXTS = frozenset((
    "id", "canary", "source", "type", "expected", "context", "question", "answer", "answer_wrong", "evidence", "fact",
    "family", "reviewed", "form", "wrong_from", "verdict_only", "tags", "origin", "language", "licence", "replaces",
    "q_type", "full_question", "canary", "task",
))  # fmt: skip
"""Columns of a release that the site shows in places of their own, or not at all."""


def export_site(release: Path, out: Path, *, language: str = "") -> WrittenSite:
    """Write the public items of a release, its card and its changes as static pages.

    Nothing is read but the folder of the release: private labels, votes, people and prompts are not in it, or are left
    out here.

    Args:
        release: The folder of the release, such as ``releases/care_mi/1.0.0``.
        out: The folder of the site; an earlier site there is replaced.
        language: The language of the pages (empty: that of the benchmark).

    Raises:
        DataError: There is no whole release in the folder, or `out` holds something else.
    """
    shared, record = read_release(release), read_record(release)
    site = SiteRelease(
        name=shared.name, title=shared.title, version=shared.version, date=record.date, licence=shared.licence,
        language=shared.language, items=[_site_item(item) for item in shared.items], former=_former_items(release),
        kinds=ERRATUM_KINDS, contact=_contact(record), card=_card(release),
    )  # fmt: skip
    return write_site(site, out, page_texts(language or shared.language))


def release_of(overrides: list[str], recipes: list[str] | None, cwd: Path) -> Path:
    """The folder of the newest release of a recipe; DataError if there is none."""
    recipe = load_recipe(overrides, recipes=recipes).whole
    releases = cwd / recipe.release.dir / recipe.benchmark_name
    newest = latest_release(releases)
    if newest is None:
        raise DataError(
            f"{recipe.benchmark_name} was never released",
            where=display_path(releases),
            why="the pages show what a release publishes: its checks say what may be public",
            next="make a release first: benchbuild release recipe=NAME version=1.0.0",
        )
    return newest


def _site_item(item: SharedItem) -> SiteItem:
    """The fields of a released item that a site may show."""
    columns = item.columns
    passages = [
        SitePassage(*(str(passage.get(name) or "") for name in ("title", "document", "base", "text")))
        for passage in columns.get("evidence") or ()
        if isinstance(passage, Mapping)
    ]
    return SiteItem(
        id=item.id, task=item.task, type=item.type, source=item.source, form=str(columns.get("form") or ""),
        language=item.language, split=item.split, expected=item.expected, context=item.context,
        question=item.question, answer=item.answer, answer_wrong=item.answer_wrong, texts=_other_texts(columns),
        tags=tuple(map(str, columns.get("tags") or ())), reviewed=bool(columns.get("reviewed")), family=item.family,
        origin=PurePosixPath(str(columns.get("origin") or "")).name, licence=str(columns.get("licence") or ""),
        evidence=tuple(passages),
    )  # fmt: skip


def _other_texts(columns: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The texts of a payload besides question and answers, such as options or the turns of a dialogue."""
    found: list[tuple[str, str]] = []
    for name, value in columns.items():
        if name in _NOT_TEXTS or "-" in name:
            continue
        text = _text_of(value)
        if text:
            found.append((name, text))
    return tuple(found)


def _text_of(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return " ".join(filter(None, map(_text_of, value.values())))
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text_of, value)))
    return ""


def _former_items(release: Path) -> list[FormerItem]:
    """The items of earlier releases that have another id now, or are gone."""
    former: dict[str, FormerItem] = {}
    for item, version, field, before, after, reason, _ in read_changes(release):
        if field == "id":
            former[before] = FormerItem(before, item, version, reason)
        elif after in _GONE:
            former[item] = FormerItem(item, "", version, reason)
    return list(former.values())


def _contact(record: ReleaseRecord) -> str:
    """Where to report an error: as the recipe says, or at the release's place on the Hub."""
    if record.contact or not record.repository:
        return record.contact
    return f"https://huggingface.co/datasets/{record.repository}/discussions"


def _card(release: Path) -> str:
    """The card with its tables below it: a page of a site has one file."""
    path = release / "README.md"
    if not path.is_file():
        return ""
    text = _TABLE_LINK.sub(r"\1", _FRONT_MATTER.sub("", read_given_text(path)))
    tables = sorted((release / "tables").glob("*.md"))
    return "\n".join([text, *(f"#{read_given_text(table)}" for table in tables)])
