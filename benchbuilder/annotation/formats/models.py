"""The data that formats write and read: votes, notes, and the losses that formats share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

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
from benchbuilder.annotation.tasks import JudgementRequest, judgement_requests
from benchbuilder.core import raise_row_errors


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
    asked) and `wordings` (all that were ever asked).
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


class VoteExport:
    """The files of an export by name, and what they lack: `losses` without those that do not occur."""

    def __init__(self, files: Mapping[str, bytes], losses: Iterable[ExportLoss]) -> None:
        self.files = files
        self.losses = [loss for loss in losses if loss.count != 0]


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
        raise_row_errors(
            self.problems, "the imported votes cannot be used",
            "correct them, then run the same command again; no vote was counted",
        )  # fmt: skip
        return self.votes


def votes_by_task(export: ExportInput) -> dict[str, dict[str, list[VoteRecord]]]:
    """The votes that count on current tasks, by task and by the person's code."""
    tasks = {subject: asked.task_key for subject, asked in export.judgement_requests().items()}
    result: dict[str, dict[str, list[VoteRecord]]] = {}
    for vote in export.counting_votes():
        if vote.subject in tasks:
            result.setdefault(tasks[vote.subject], {}).setdefault(vote.code, []).append(vote)
    return result


def judging_losses(export: ExportInput, *, hides_metadata: bool = True) -> list[ExportLoss]:
    """Losses of tools without adjudication and thresholds; `hides_metadata` if they omit what is not shown."""
    spec = export.project.spec
    losses = [ExportLoss("the aggregation rule, gates and thresholds of the recipe")]
    if spec.rule == "adjudicate":
        losses.append(ExportLoss("the queue of disputes with anonymous peers"))
    if any(q.answer == "scalar" for q in spec.questions_about().values()):
        losses.append(ExportLoss("tolerance and threshold for disputes about numbers"))
    if spec.suggested_seconds is not None or spec.min_seconds is not None:
        losses.append(ExportLoss("the banner after the suggested time, and the mark of too fast work"))
    about = sum(bool(task.about) for task in export.tasks) if hides_metadata else 0
    return [*losses, ExportLoss("metadata that annotators do not see (such as the source of a task)", about)]


def vote_losses(export: ExportInput) -> list[ExportLoss]:
    """Losses of formats that hold only votes that count on current tasks."""
    requests = export.judgement_requests()
    counting = export.counting_votes()
    stale = sum(vote.subject not in requests for vote in counting)
    return [
        ExportLoss("earlier votes of the same person, and withdrawn votes", len(export.votes) - len(counting)),
        ExportLoss("votes on texts or questions that are no longer asked", stale),
        ExportLoss("the channel of votes that were imported", sum(vote.channel != "app" for vote in counting)),
    ]
