"""Drafts of rules in the folder of a build: nothing of the build or of the recipe is touched."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from benchbuilder.config import check_links
from benchbuilder.core import read_json, write_atomically
from benchbuilder.explorer.workbench.rule_files import RuleFile

_FOLDER = "workbench"


@dataclass(frozen=True)
class RuleDraft:
    """A draft: its text, and the digest and the text of the file that it began from."""

    file: str
    begun: str
    base: str
    text: str


def draft_place(folder: Path, file: RuleFile) -> Path:
    """Where the draft of a file of rules is kept below the folder of a build."""
    return folder / _FOLDER / f"{file.path.stem}.json"


def read_rule_draft(folder: Path, file: RuleFile) -> RuleDraft:
    """The draft of a file; one that equals the file if there is none, or if it is of another file."""
    fresh = RuleDraft(str(file.path), file.digest, file.text, file.text)
    with suppress(OSError, ValueError, TypeError):
        draft = RuleDraft(**read_json(draft_place(folder, file)))
        if draft.file == str(file.path) and all(isinstance(value, str) for value in asdict(draft).values()):
            return fresh if draft.text == draft.base else draft
    return fresh


def keep_rule_draft(folder: Path, file: RuleFile, draft: RuleDraft) -> None:
    """Keep a draft; one that changes nothing is removed. StoreError if a link leads it out of the working folder."""
    check_links(folder)
    place = draft_place(folder, file)
    if draft.text == draft.base:
        place.unlink(missing_ok=True)
    else:
        write_atomically(place, json.dumps(asdict(draft), ensure_ascii=False))


def drop_rule_draft(folder: Path, file: RuleFile) -> None:
    """Remove the draft of a file."""
    draft_place(folder, file).unlink(missing_ok=True)
