"""The formats by name, with their writers, readers and limitations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from benchbuilder.annotation.formats.adjudication import read_adjudication, write_adjudication
from benchbuilder.annotation.formats.argilla import read_argilla, write_argilla
from benchbuilder.annotation.formats.history import read_history, write_history
from benchbuilder.annotation.formats.label_studio import write_label_studio
from benchbuilder.annotation.formats.label_studio_import import read_label_studio
from benchbuilder.annotation.formats.models import ExportInput, ParsedVotes, VoteExport
from benchbuilder.annotation.formats.sheets import (
    read_annotation_sheet,
    read_vote_table,
    write_vote_csv,
    write_vote_xlsx,
)
from benchbuilder.annotation.formats.user_table import UserTable

FormatWriter = Callable[[ExportInput, UserTable | None, Path], VoteExport]
"""Writes the files of an export to a folder; the table has the tool's own users."""
FormatReader = Callable[[str, IO[bytes], ExportInput, UserTable | None], ParsedVotes]
"""Reads a file (name and content), and matches its votes to the tasks and people of an export."""


@dataclass(frozen=True)
class VoteFormat:
    """A format: the suffix of the file to read, whether it needs a table of users, and what it never carries.

    Each export also reports its losses with numbers. A format without `writer` is only read.
    """

    suffix: str
    writer: FormatWriter | None
    reader: FormatReader
    needs_users: bool
    limitations: tuple[str, ...]


_TOOL_LIMITATIONS = (
    "assignment and order", "thresholds", "earlier votes", "a number of paragraphs that differs from task to task",
)  # fmt: skip
_TABLE_LIMITATIONS = ("names", "skips", "thresholds")

VOTE_FORMATS: dict[str, VoteFormat] = {
    "label_studio": VoteFormat(
        ".json", write_label_studio, read_label_studio, needs_users=True,
        limitations=("blind judging in its community edition", "adjudication", *_TOOL_LIMITATIONS),
    ),
    "argilla": VoteFormat(
        ".json", write_argilla, read_argilla, needs_users=True,
        limitations=("numbers finer than 0.1", "decisions of adjudicators", "times", *_TOOL_LIMITATIONS),
    ),
    "csv": VoteFormat(".csv", write_vote_csv, read_vote_table, needs_users=False, limitations=_TABLE_LIMITATIONS),
    "xlsx": VoteFormat(
        ".xlsx", write_vote_xlsx, read_vote_table, needs_users=False,
        limitations=(*_TABLE_LIMITATIONS, "very long texts"),
    ),
    "adjudication": VoteFormat(
        ".jsonl", write_adjudication, read_adjudication, needs_users=False,
        limitations=("names", "when annotators voted and their remarks", "earlier votes", "gold tasks"),
    ),
    "packets": VoteFormat(
        ".xlsx or .csv", None, read_annotation_sheet, needs_users=False, limitations=("times", "adjudicators' reasons")
    ),
    "history": VoteFormat(".jsonl", write_history, read_history, needs_users=False, limitations=("names", "drafts")),
}  # fmt: skip
