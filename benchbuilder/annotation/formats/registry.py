"""The formats by name: what they are called, what writes and reads them, and what they never carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from benchbuilder.annotation.formats.adjudication import read_adjudication, write_adjudication
from benchbuilder.annotation.formats.argilla import write_argilla
from benchbuilder.annotation.formats.argilla_import import read_argilla
from benchbuilder.annotation.formats.history import read_history, write_history
from benchbuilder.annotation.formats.label_studio import write_label_studio
from benchbuilder.annotation.formats.label_studio_import import read_label_studio
from benchbuilder.annotation.formats.models import Brought, Export, Material
from benchbuilder.annotation.formats.packet_import import read_packet
from benchbuilder.annotation.formats.sheets import read_sheet, write_csv, write_xlsx
from benchbuilder.annotation.formats.user_table import Users


class Writes(Protocol):
    """Makes the files of an export; `users` is a table of users of tools that have their own."""

    def __call__(self, material: Material, users: Users | None = None) -> Export:
        """Call it."""
        ...


class Reads(Protocol):
    """Reads the file `name` back, bound to the tasks and people of `material`."""

    def __call__(self, name: str, data: bytes, material: Material, users: Users | None = None) -> Brought:
        """Call it."""
        ...


@dataclass(frozen=True)
class Format:
    """A format: the suffix of the file that is read back, whether it needs a table of users, what it cannot carry.

    What is lost of the votes at hand, with numbers, comes with each export. One without `writes` is only read.
    """

    suffix: str
    writes: Writes | None
    reads: Reads
    users: bool
    cannot: tuple[str, ...]


FORMATS: dict[str, Format] = {
    "label_studio": Format(
        ".json",
        write_label_studio,
        read_label_studio,
        users=True,
        cannot=("blind judging in its community edition", "adjudication", "assignment and order", "thresholds",
                "earlier votes", "a number of paragraphs that differs from task to task"),
    ),
    "argilla": Format(
        ".json",
        write_argilla,
        read_argilla,
        users=True,
        cannot=("numbers finer than 0.1", "decisions of adjudicators", "times", "assignment and order", "thresholds",
                "earlier votes", "a number of paragraphs that differs from task to task"),
    ),
    "csv": Format(".csv", write_csv, read_sheet, users=False, cannot=("names", "skips", "thresholds")),
    "xlsx": Format(
        ".xlsx", write_xlsx, read_sheet, users=False, cannot=("names", "skips", "thresholds", "very long texts")
    ),
    "adjudication": Format(
        ".jsonl",
        write_adjudication,
        read_adjudication,
        users=False,
        cannot=("names", "when annotators voted and their remarks", "earlier votes", "planted tasks"),
    ),
    "packets": Format(".xlsx or .csv", None, read_packet, users=False, cannot=("times", "adjudicators' reasons")),
    "history": Format(".jsonl", write_history, read_history, users=False, cannot=("names", "drafts")),
}  # fmt: skip
