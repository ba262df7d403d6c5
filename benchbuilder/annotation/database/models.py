"""The data that the database of votes returns: people, projects, assignments, disputes, votes and events."""

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
    """A person with a role. `code` (A1, J2, L1) replaces the name wherever others can see it."""

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
    """The projects that they work on; empty means all."""

    def belongs_to(self, project: str) -> bool:
        """Whether they work on `project`."""
        return not self.projects or project in self.projects


@dataclass(frozen=True)
class Visitor:
    """A person in a session; forms carry `csrf`."""

    person: Person
    csrf: str
    language: str
    """The chosen language, empty if none."""
    expires_at: datetime


@dataclass(frozen=True)
class Project:
    """A project: name, settings in the recipe, guideline (Markdown), language, seed, and its benchmark if known."""

    name: str
    spec: ProjectSpec
    guideline: str
    language: str
    seed: int
    benchmark: str = ""


@dataclass(frozen=True)
class AnswerDraft:
    """Entered answers that are not submitted: text by name of the form field, and the mark of the page (if any)."""

    data: Mapping[str, str]
    saved_at: datetime
    page: str = ""


@dataclass(frozen=True)
class Assignment:
    """A task assigned to an annotator. `number` counts from 1 in their own order, of `total`.

    `answers` are their submitted votes by subject, `note` their remark, and `seconds` the time spent so far.
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
    version: str
    """Hash of the answers and the remark, empty if there are none; see `PageState`."""


@dataclass(frozen=True)
class Progress:
    """A person's progress in a project: tasks by state, and the median seconds of finished tasks."""

    done: int
    open: int
    skipped: int
    flagged: int
    median_seconds: float | None


@dataclass(frozen=True)
class Dispute:
    """A disputed task as an adjudicator sees it.

    `subjects` are only those in dispute. `peer_answers` has the answers of the annotators to each, without their names,
    in a random order that is the same for all subjects of the task. `notes` are their remarks in the same order (""
    if none). `agreement` is the proportion of judgements of the task that are not in dispute.
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
    version: str
    """Hash of what is in dispute, the answers to it, and the decisions with their details; see `PageState`."""


@dataclass(frozen=True, kw_only=True)
class DecisionDetails:
    """What only adjudicators say: why they decide so, why annotators differed, and how sure they are."""

    reason: str = ""
    error_kinds: tuple[str, ...] = ()
    guideline_gap: bool = False
    confidence: str = ""


@dataclass(frozen=True)
class PageState:
    """What a page showed: hashes of the `answers` that counted and of the `draft` (empty if there were none).

    `page` is a mark that the script of the page draws: a page may always replace its own draft.
    """

    answers: str = ""
    draft: str = ""
    page: str = ""


@dataclass(frozen=True)
class Submission(DecisionDetails):
    """A submission about a task: values by subject, a remark, and the seconds that the page was visible.

    `seen` is what its page showed. Without it, the submission replaces whatever counts now.
    """

    values: Mapping[Subject, Value]
    note: str = ""
    active_seconds: float | None = None
    seen: PageState | None = None


class OvertakenError(Exception):
    """Something else was saved since the page was made: nothing was changed."""


@dataclass(frozen=True)
class VoteEvent:
    """A vote in the history: a value, or ``None`` if withdrawn. `channel` is app, csv, label_studio, ...

    For each person and subject, the last vote by `id` counts.
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
    """What a person did with a task, and how long it took; `detail` is plain JSON data."""

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


DraftOutcome = Literal["kept", "foreign", "too_big", "overtaken"]
"""The outcome of saving a draft: saved, never theirs, over 900 kB, or another page saved another draft meanwhile."""

SubmissionOutcome = Literal["kept", "foreign", "retired", "incomplete", "reasonless", "overtaken"]
"""The outcome of a submission. Nothing is saved unless it is ``kept``.

``foreign``: the task is not theirs. ``retired``: it is no longer asked, or its content changed. ``incomplete``: a
required answer is missing or not allowed. ``reasonless``: an adjudicator contradicts every annotator without a reason.
``overtaken``: something else counts now than what the page showed.
"""


@dataclass(frozen=True)
class QuestionWording:
    """A guiding question as asked since `since`; `key` is the ``wording`` of its votes."""

    key: str
    question: str
    definition: Mapping[str, Any]
    since: datetime


@dataclass(frozen=True)
class ListedAssignment:
    """A line of a person's list of tasks; `text` is the first field of the task."""

    number: int
    task_id: int
    state: AssignmentState
    flagged: bool
    has_draft: bool
    text: str


@dataclass(frozen=True)
class ImportedVote(DecisionDetails):
    """A vote from another tool: what the person called `person`, with the role `role`, answered about `subject`.

    `where` is its location for messages (``file.csv:12``), `seconds` the time of the whole task, `note` a remark.
    """

    person: str
    subject: Subject
    value: Value
    role: Role = "annotator"
    note: str = ""
    seconds: float | None = None
    where: str = ""


@dataclass(frozen=True)
class ImportReport:
    """Counts of imported votes: `new`, `changed`, the `same` as before, `stale` (not about what is shown: left out)."""

    new: int
    changed: int
    same: int
    stale: int


@dataclass(frozen=True)
class GoldAccuracy:
    """How many judgements on gold tasks were `correct`, of those `judged`."""

    correct: int = 0
    judged: int = 0

    @property
    def proportion(self) -> float | None:
        """The proportion of correct judgements; ``None`` if there are none."""
        return self.correct / self.judged if self.judged else None


@dataclass(frozen=True)
class PersonProgress:
    """A person's part in a project: `seconds` of each finished live task in order, gold tasks included."""

    person: Person
    progress: Progress
    seconds: tuple[float, ...]
    gold: GoldAccuracy
    may_enter: bool = True
    """Whether they have a valid link or a session; a person without either gets no new tasks."""


@dataclass(frozen=True)
class StaffProgress:
    """The progress of a project for its owner: `complete` of `tasks` have all their votes, without gold tasks.

    `unassigned` counts votes on tasks that nobody is invited to give.
    """

    tasks: int
    complete: int
    gold_tasks: int
    retired: int
    disputes: int
    unassigned: int
    people: tuple[PersonProgress, ...]
