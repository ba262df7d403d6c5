"""The notes on changes of a release: what was corrected, by whom is not said, and which errata are part of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from benchbuilder.core import DataError, PageTexts, printable_text, read_given_text, read_json, write_atomically
from benchbuilder.exporters import render_markdown, texts_as_markdown
from benchbuilder.publishing.release.item_changes import CHANGES_FILE, ChangedItems
from benchbuilder.publishing.release.item_checks import ItemChecks
from benchbuilder.publishing.release.private_folder import PRIVATE_FOLDER, PrivateFolder, make_private
from benchbuilder.publishing.release.record import ReleaseRecord
from benchbuilder.steps import Erratum

_PACKAGES = ("benchbuilder.publishing.release",)
_SECTION = "\n## "
_ERRATA_FILE = "errata.json"


def write_changes(
    folder: Path,
    before: Path | None,
    record: ReleaseRecord,
    changes: ChangedItems,
    t: PageTexts,
    checks: ItemChecks | None = None,
) -> None:
    """Write ``CHANGES.md``: a section for this version, then those of the versions before.

    Reasons are published. Reports and the names of people are not.
    """
    rows = [
        {**row.__dict__, "reason": printable_text(row.reason)} for row in changes.rows if row.field in ("id", "item")
    ]
    text = render_markdown(
        "changes.md.j2", _PACKAGES, release=record, raw=Markup, t=texts_as_markdown(t), texts=t, checks=checks,
        fixed=[row for row in rows if row["field"] == "id" and row["erratum"]],
        withdrawn=[row for row in rows if row["after"] == "withdrawn"],
        removed=[row for row in rows if row["after"] == "removed"],
    )  # fmt: skip
    former = "" if before is None else _former_sections(before)
    (folder / CHANGES_FILE).write_text(text.rstrip() + "\n" + former, encoding="utf-8", newline="\n")


def _former_sections(before: Path) -> str:
    """The sections of the versions before; of a release without notes, none."""
    try:
        text = read_given_text(before / CHANGES_FILE)
    except FileNotFoundError:
        return ""
    return text[text.index(_SECTION) :] if _SECTION in text else ""


def note_errata(private: PrivateFolder, version: str, errata: Mapping[str, Erratum]) -> None:
    """Note in the private folder which errata a version follows, those about private items included."""
    names = [erratum.id for erratum in errata.values() if erratum.is_in_force]
    file = private.version_folder(version) / _ERRATA_FILE
    if not names and not file.exists():  # one may be left of a release that was interrupted
        return
    make_private(private.folder)
    make_private(file.parent)
    write_atomically(file, json.dumps(names, indent=1) + "\n")


def released_errata(release: Path) -> list[str]:
    """The ids of the errata that the release in a folder follows; DataError if its private note is damaged."""
    path = release.parent / PRIVATE_FOLDER / release.name / _ERRATA_FILE
    try:
        return list(read_json(path))
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise DataError("the note about released errata is damaged", where=str(path), why=str(error),
                        next="bring the private folder back from a copy") from error  # fmt: skip
