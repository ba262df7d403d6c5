"""What the database of votes tells: people, projects, tasks as somebody sees them, votes and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from benchbuilder.annotation.base import Subject, Task, Value
from benchbuilder.config import ProjectSpec

Role = Literal["annotator", "adjudicator", "lead"]
AssignmentState = Literal["open", "done", "skipped"]
EventKind = Literal["open", "submit", "undo", "skip", "flag", "unflag", "import"]


@dataclass(frozen=True)
class Person:
    """Somebody with a role. `code` (A1, J2, L1) stands for them wherever others may look."""

    id: int
    name: str
    role: Role
    code: str
    invited_at: datetime
    expires_at: datetime
    """When the invite link stops working."""
    revoked: bool
    seen_at: datetime | None
    projects: tuple[str, ...] = ()
    """The projects that they work on; every one if empty."""

    def belongs_to(self, project: str) -> bool:
        """Whether they work on `project`."""
        return not self.projects or project in self.projects


@dataclass(frozen=True)
class Visitor:
    """A person in a session; forms carry `csrf`."""

    person: Person
    csrf: str
    language: str
    """The language that they chose, empty if none."""
    expires_at: datetime


@dataclass(frozen=True)
class Project:
    """A body of work: its name, what the recipe says, the guideline as Markdown text, language and seed.

    `benchmark` names the benchmark that it belongs to, if that is known.
    """

    name: str
    spec: ProjectSpec
    guideline: str
    language: str
    seed: int
    benchmark: str = ""


@dataclass(frozen=True)
class AnswerDraft:
    """What somebody entered and has not submitted: text by name of the form field."""

    data: Mapping[str, str]
    saved_at: datetime


@dataclass(frozen=True)
class Assignment:
    """A task as its annotator has it. `number` counts from 1 in their own order, of `total`.

    `answers` are their own submitted votes by subject; `note` their remark; `seconds` the time they took so far.
    """

    id: int
    project: str
    task: Task
    task_id: int
    number: int
    total: int
    state: AssignmentState
    flagged: bool
    answers: Mapping[Subject, Value]
    note: str
    draft: AnswerDraft | None
    opened_at: datetime | None
    seconds: float


@dataclass(frozen=True)
class Progress:
    """How far somebody is in a project: tasks by state, and the median of the seconds that the done ones took."""

    done: int
    open: int
    skipped: int
    flagged: int
    median_seconds: float | None


@dataclass(frozen=True)
class Dispute:
    """A task on which annotators are in dispute, as an adjudicator has it.

    `subjects` are just those in dispute; `peer_answers` holds for each what the annotators answered, in an order of their
    own that is random and the same for all subjects of the task, and never says who; `notes` are their remarks in the
    same order ("" if none). `agreement` is the share of judgements of the task that are not in dispute.
    """

    project: str
    task: Task
    task_id: int
    subjects: tuple[tuple[Subject, str], ...]
    """Subject and name of the guiding question."""
    peer_answers: Mapping[Subject, tuple[Value | None, ...]]
    notes: tuple[str, ...]
    agreement: float
    decisions: Mapping[Subject, Value]
    reason: str
    flagged: bool
    draft: AnswerDraft | None
    remaining: int
    """Tasks that wait for an adjudicator, this one included."""


@dataclass(frozen=True)
class Submission:
    """What somebody hands in about a task: values by subject, a remark, and the seconds that the page was in view.

    `error_kinds`, `guideline_gap` and `confidence` are an adjudicator's.
    """

    values: Mapping[Subject, Value]
    note: str = ""
    active_seconds: float | None = None
    reason: str = ""
    error_kinds: tuple[str, ...] = ()
    guideline_gap: bool = False
    confidence: str = ""


@dataclass(frozen=True)
class VoteEvent:
    """A line of the history: a value, or ``None`` where it was taken back. `channel` is app, csv, label_studio, ...

    The vote that counts is, for each person and subject, the last one by `id`.
    """

    id: int
    project: str
    task: str
    subject: Subject
    question: str
    person: str
    """The person's name; their code is in `code`."""
    code: str
    role: Role
    value: Value | None
    note: str
    created_at: datetime
    channel: str
    event: int


@dataclass(frozen=True)
class AnnotationEvent:
    """What somebody did with a task, and how long it took; `detail` is plain JSON data."""

    id: int
    project: str
    task: str
    person: str
    code: str
    kind: EventKind
    created_at: datetime
    seconds: float | None
    active_seconds: float | None
    detail: Mapping[str, object] = field(default_factory=dict[str, object])


SubmissionOutcome = Literal["kept", "foreign", "retired", "incomplete", "reasonless"]
"""What became of a submission. Nothing is kept unless it is ``kept``.

``foreign``: the task is not theirs. ``retired``: it is not asked any more, or what was shown has changed.
``incomplete``: a required answer is missing or not allowed. ``reasonless``: an adjudicator overrides every annotator
without a reason.
"""


@dataclass(frozen=True)
class QuestionWording:
    """A guiding question as it was asked from `since` on; `key` is the ``wording`` of the votes on it."""

    key: str
    question: str
    definition: Mapping[str, Any]
    since: datetime


@dataclass(frozen=True)
class ListedAssignment:
    """A line of somebody's list of tasks; `text` is the first field, `has_draft` says that a draft waits."""

    number: int
    task_id: int
    state: AssignmentState
    flagged: bool
    has_draft: bool
    text: str


@dataclass(frozen=True)
class ImportedVote:
    """A vote from another door: what the person called `person`, with the role `role`, answered about `subject`.

    `where` says where it stands, for complaints (``file.csv:12``). `seconds` is the time that the whole task took,
    `note` a remark. `reason`, `error_kinds`, `guideline_gap` and `confidence` are an adjudicator's.
    """

    person: str
    subject: Subject
    value: Value
    role: Role = "annotator"
    note: str = ""
    seconds: float | None = None
    where: str = ""
    reason: str = ""
    error_kinds: tuple[str, ...] = ()
    guideline_gap: bool = False
    confidence: str = ""


@dataclass(frozen=True)
class ImportReport:
    """What an import did: votes that are `new`, that `changed` one, the `same` as one, and `stale` ones.

    Stale votes are about nothing that is shown now; they are counted and left out.
    """

    new: int
    changed: int
    same: int
    stale: int


@dataclass(frozen=True)
class GoldAnswer:
    """What somebody answered to a guiding question of the gold task with the key `task`."""

    task: str
    question: str
    expected: Value
    value: Value
    correct: bool


@dataclass(frozen=True)
class PersonProgress:
    """A person's part in a project: `seconds` of each task that is done, in the order in which they were; `hasty_count` ones.

    Counts are of what is asked now, gold included.
    """

    person: Person
    progress: Progress
    seconds: tuple[float, ...]
    hasty_count: int
    gold_answers: tuple[GoldAnswer, ...]
    may_enter: bool = True
    """Whether they have a link that works or a session; who has neither gets no new tasks."""


@dataclass(frozen=True)
class StaffProgress:
    """Where a project stands, for the lead: `complete` of `tasks` have all their annotators, gold aside.

    `unassigned` is how many judgements of tasks nobody is there to make: too few annotators are invited.
    """

    tasks: int
    complete: int
    gold_tasks: int
    retired: int
    disputes: int
    unassigned: int
    people: tuple[PersonProgress, ...]
