"""The data that formats write and read: votes, notes, and the losses that formats share."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import IO

from benchbuilder.annotation.base import Subject, Task, Value
from benchbuilder.annotation.database.models import (
    AnnotationEvent,
    DecisionDetails,
    ImportedVote,
    Project,
    QuestionWording,
    Role,
    VoteEvent,
)
from benchbuilder.annotation.formats.task_summary import TaskSummary
from benchbuilder.annotation.formats.vote_index import VoteIndex
from benchbuilder.annotation.spool import Spool
from benchbuilder.annotation.subject_index import SubjectIndex
from benchbuilder.core import (
    make_folder,
    make_folder_beside,
    move_into_place,
    name_file_in_errors,
    raise_row_errors,
    sync_paths,
)


@dataclass(frozen=True)
class Rater:
    """A person who votes; `code` replaces their name wherever others can see it."""

    person: str
    code: str
    role: Role


@dataclass(frozen=True)
class VoteRecord:
    """A vote; `value` is ``None`` if it was withdrawn. `seconds` is the duration of its submission."""

    person: str
    code: str
    role: Role
    subject: Subject
    question: str
    value: Value | None
    note: str
    created_at: datetime
    seconds: float | None = None
    channel: str = "app"

    @property
    def rater(self) -> Rater:
        """Who gave it."""
        return Rater(self.person, self.code, self.role)


@dataclass(frozen=True)
class SkipRecord:
    """A task that a person skipped."""

    rater: Rater
    task: str
    created_at: datetime
    seconds: float | None = None


@dataclass(frozen=True)
class AdjudicationNote(DecisionDetails):
    """What an adjudicator noted about their decisions on a task."""

    rater: Rater
    task: str
    created_at: datetime
    seconds: float | None = None


@dataclass(frozen=True)
class ExportInput:
    """All data for an export.

    `votes` are in chronological order; of several votes by one person on one subject the last counts. `people` includes
    people without votes. Only the export of the history needs `history`, `events`, `retired` (tasks that are no longer
    asked) and `wordings` (all that were ever asked). Tasks and votes may be in files: what is held of them are keys and
    numbers. Passes through all of them read a file in order. `task_with`, `votes_on` and `last_vote` read single ones
    from their places, which is slower unless they are near the one before.
    """

    project: Project
    tasks: Sequence[Task]
    votes: Sequence[VoteRecord] = ()
    people: Sequence[Rater] = ()
    skips: Sequence[SkipRecord] = ()
    adjudication_notes: Sequence[AdjudicationNote] = ()
    history: Sequence[VoteEvent] = ()
    events: Sequence[AnnotationEvent] = ()
    retired: Sequence[Task] = ()
    wordings: Sequence[QuestionWording] = ()

    @cached_property
    def summary(self) -> TaskSummary:
        """What is said of all tasks together."""
        return TaskSummary(self.tasks)

    @cached_property
    def subjects(self) -> SubjectIndex:
        """Where texts are shown, and what is asked about them."""
        return SubjectIndex(self.tasks, self.project.spec)

    @cached_property
    def vote_index(self) -> VoteIndex:
        """Which votes count, and on which tasks."""
        return VoteIndex(self.votes, self.subjects)

    def task_with(self, key: str) -> Task | None:
        """The task that shows the text with the key `key`, as a whole or as a paragraph."""
        number = self.subjects.task_number(key)
        return None if number is None else self.tasks[number]

    def all_raters(self) -> list[Rater]:
        """`people` and everybody with votes or skips, by code."""
        known = {rater.code: rater for rater in self.people}
        for vote in map(self.votes.__getitem__, self.vote_index.first_of_person):
            known.setdefault(vote.code, vote.rater)
        for skip in self.skips:
            known.setdefault(skip.rater.code, skip.rater)
        return sorted(known.values(), key=lambda rater: (rater.code[:1], len(rater.code), rater.code))

    def counting_votes(self) -> Iterator[VoteRecord]:
        """The votes that count, in chronological order."""
        return compress(self.votes, self.vote_index.counts)

    def last_vote(self, code: str, subject: Subject) -> VoteRecord | None:
        """The last vote of a person on a subject, also if it withdraws the one before."""
        place = self.vote_index.last_place(code, subject)
        return None if place is None else self.votes[place]

    def votes_on(self, task: Task) -> list[VoteRecord]:
        """The votes that count on what is asked about `task`, in chronological order."""
        number = self.subjects.task_number(task.key)
        return [] if number is None else [self.votes[place] for place in self.vote_index.places_on(number)]

    def votes_of_people(self, task: Task) -> list[list[VoteRecord]]:
        """The votes that count on what is asked about `task`, by person."""
        people: dict[str, list[VoteRecord]] = {}
        for vote in self.votes_on(task):
            people.setdefault(vote.code, []).append(vote)
        return list(people.values())


@dataclass(frozen=True)
class ExportLoss:
    """Something that a format cannot express, and how often it occurs here (``None``: it applies to everything)."""

    description: str
    count: int | None = None

    def __str__(self) -> str:
        return self.description if self.count is None else f"{self.description}: {self.count}"


class VoteExport:
    """The names of the files of an export, and what they lack: `losses` without those that do not occur."""

    def __init__(self, files: Sequence[str], losses: Iterable[ExportLoss]) -> None:
        self.files = files
        self.losses = [loss for loss in losses if loss.count != 0]


@contextmanager
def _moved_together(folder: Path) -> Generator[Path]:
    """An empty folder in `folder`; at the end its files move there, and after an error none does.

    Every export has one of its own, so that two exports at once do not write into each other's files.
    """
    make_folder(folder)
    made = make_folder_beside(folder / "export")
    try:
        yield made
        files = list(made.iterdir())
        sync_paths(files)
        for file in files:
            move_into_place(file, folder / file.name)
        sync_paths([folder])
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def export_file(path: Path) -> Generator[IO[bytes]]:
    """A file that is written piece by piece, and is there whole or not at all."""
    with _moved_together(path.parent) as made, name_file_in_errors(path), (made / path.name).open("wb") as stream:
        yield stream


def write_files(folder: Path, files: Mapping[str, Iterable[bytes]]) -> None:
    """Write each of `files` from its pieces, in their order. All are there at the end; after an error, the former."""
    with _moved_together(folder) as made:
        for name, pieces in files.items():
            with name_file_in_errors(folder / name), (made / name).open("wb") as stream:
                stream.writelines(pieces)


@dataclass
class ParsedVotes:
    """The content of a file: votes on current tasks, problems with their locations, and what was left out.

    `stale` counts answers to texts or questions that are no longer asked. `omitted` counts other omissions by their
    description. If there are problems, no vote may count: use `votes_or_raise`.
    """

    votes: Spool[ImportedVote] = field(default_factory=Spool[ImportedVote])
    problems: list[str] = field(default_factory=list[str])
    stale: int = 0
    omitted: dict[str, int] = field(default_factory=dict[str, int])

    def add_omitted(self, description: str, count: int = 1) -> None:
        """Count something that is not a vote."""
        self.omitted[description] = self.omitted.get(description, 0) + count

    def votes_or_raise(self) -> Sequence[ImportedVote]:
        """The votes; DataError if there are problems, listing the first ones."""
        raise_row_errors(
            self.problems,
            "the imported votes cannot be used",
            "correct them, then run the same command again; no vote was counted",
        )
        return self.votes


def judging_losses(export: ExportInput, *, hides_metadata: bool = True) -> list[ExportLoss]:
    """Losses of tools without adjudication and thresholds; `hides_metadata` if they omit what is not shown."""
    spec = export.project.spec
    losses = [ExportLoss("the aggregation rule, gates and thresholds of the recipe")]
    if spec.rule != "mean":
        losses.append(ExportLoss("the queue of disputes with anonymous peers"))
    if any(q.answer == "scalar" for q in spec.questions_about().values()):
        losses.append(ExportLoss("tolerance and threshold for disputes about numbers"))
    if spec.suggested_seconds is not None or spec.min_seconds is not None:
        losses.append(ExportLoss("the banner after the suggested time, and the mark of too fast work"))
    about = export.summary.with_about if hides_metadata else 0
    return [*losses, ExportLoss("metadata that annotators do not see (such as the source of a task)", about)]


def vote_losses(export: ExportInput) -> list[ExportLoss]:
    """Losses of formats that hold only votes that count on current tasks."""
    index = export.vote_index
    imported = sum(vote.channel != "app" for vote in export.counting_votes())
    return [
        ExportLoss("earlier votes of the same person, and withdrawn votes", len(export.votes) - index.counting),
        ExportLoss("votes on texts or questions that are no longer asked", index.counting - index.counting_asked),
        ExportLoss("the channel of votes that were imported", imported),
    ]
