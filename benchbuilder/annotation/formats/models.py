"""The data that formats write and read: votes, notes, and the losses of a format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from benchbuilder.annotation.base import Subject, Task, Value
from benchbuilder.annotation.database.models import (
    AnnotationEvent,
    ImportedVote,
    Project,
    QuestionWording,
    Role,
    VoteEvent,
)
from benchbuilder.annotation.tasks import JudgementRequest, judgement_requests
from benchbuilder.core import DataError

MAX_SHOWN_PROBLEMS = 20


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
class Suggestion:
    """The answer of a model; `score` is its confidence from 0 to 1."""

    agent: str
    subject: Subject
    question: str
    value: Value
    score: float | None = None


@dataclass(frozen=True)
class SkipRecord:
    """A task that a person skipped."""

    rater: Rater
    task: str
    created_at: datetime
    seconds: float | None = None


@dataclass(frozen=True)
class AdjudicationNote:
    """What an adjudicator noted about their decisions on a task."""

    rater: Rater
    task: str
    created_at: datetime
    reason: str = ""
    confidence: str = ""
    error_kinds: tuple[str, ...] = ()
    guideline_gap: bool = False
    seconds: float | None = None


@dataclass(frozen=True)
class ExportInput:
    """All data for an export.

    `votes` are in chronological order; of several votes by one person on one subject the last counts. `people` includes
    people without votes. Only the export of the history needs `history`, `events`, `retired` (tasks that are no longer
    asked) and `wordings` (all that were ever asked).
    """

    project: Project
    tasks: Sequence[Task]
    votes: Sequence[VoteRecord] = ()
    people: Sequence[Rater] = ()
    suggestions: Sequence[Suggestion] = ()
    skips: Sequence[SkipRecord] = ()
    adjudication_notes: Sequence[AdjudicationNote] = ()
    history: Sequence[VoteEvent] = ()
    events: Sequence[AnnotationEvent] = ()
    retired: Sequence[Task] = ()
    wordings: Sequence[QuestionWording] = ()

    def judgement_requests(self) -> dict[Subject, JudgementRequest]:
        """Every judgement that the project requests about the tasks."""
        return judgement_requests(self.tasks, self.project.spec)

    def all_raters(self) -> list[Rater]:
        """`people` and everybody with votes or skips, by code."""
        known = {rater.code: rater for rater in self.people}
        for rater in [vote.rater for vote in self.votes] + [skip.rater for skip in self.skips]:
            known.setdefault(rater.code, rater)
        return sorted(known.values(), key=lambda rater: (rater.code[:1], len(rater.code), rater.code))

    def counting_votes(self) -> list[VoteRecord]:
        """The votes that count, in chronological order."""
        last = {(vote.code, vote.subject): vote for vote in self.votes}
        return [vote for vote in self.votes if last[vote.code, vote.subject] is vote and vote.value is not None]


@dataclass(frozen=True)
class ExportLoss:
    """Something that a format cannot express, and how often it occurs here (``None``: it applies to everything)."""

    description: str
    count: int | None = None

    def __str__(self) -> str:
        return self.description if self.count is None else f"{self.description}: {self.count}"


@dataclass(frozen=True)
class VoteExport:
    """The files of an export by name, and what they lack."""

    files: Mapping[str, bytes]
    losses: Sequence[ExportLoss]


@dataclass
class ParsedVotes:
    """The content of a file: votes on current tasks, problems with their locations, and what was left out.

    `stale` counts answers to texts or questions that are no longer asked. `omitted` counts other omissions by their
    description. If there are problems, no vote may count: use `votes_or_raise`.
    """

    votes: list[ImportedVote] = field(default_factory=list[ImportedVote])
    problems: list[str] = field(default_factory=list[str])
    stale: int = 0
    omitted: dict[str, int] = field(default_factory=dict[str, int])

    def add_omitted(self, description: str, count: int = 1) -> None:
        """Count something that is not a vote."""
        self.omitted[description] = self.omitted.get(description, 0) + count

    def votes_or_raise(self) -> list[ImportedVote]:
        """The votes; DataError if there are problems, listing the first ones."""
        if not self.problems:
            return self.votes
        shown = self.problems[:MAX_SHOWN_PROBLEMS]
        if more := len(self.problems) - len(shown):
            shown = [*shown, f"and {more} more"]
        raise DataError(
            f"{len(self.problems)} problem{'s' if len(self.problems) > 1 else ''} in the imported votes",
            where=self.problems[0].partition(": ")[0],
            why="\n         ".join(shown),
            next="correct them, then run the same command again; no vote was counted",
        )
