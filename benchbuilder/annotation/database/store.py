"""The database of the review app: people, projects, assignments, votes and their history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Self

from sqlalchemy import Connection

from benchbuilder.annotation.base import Task, Votes
from benchbuilder.annotation.database import (
    adjudicator_queries,
    annotator_queries,
    assign,
    assignments,
    history,
    import_votes,
    progress,
    sync_tasks,
    users,
)
from benchbuilder.annotation.database import projects as project_rows
from benchbuilder.annotation.database.connection import Transactions
from benchbuilder.annotation.database.migrate import migrate
from benchbuilder.annotation.database.models import (
    AnnotationEvent,
    Assignment,
    Dispute,
    ImportedVote,
    ImportReport,
    ListedAssignment,
    Person,
    Progress,
    Project,
    QuestionWording,
    Role,
    StaffProgress,
    Submission,
    SubmissionOutcome,
    Visitor,
    VoteEvent,
)  # fmt: skip
from benchbuilder.core import DataError


def _now() -> datetime:
    return datetime.now(UTC)


class AnnotationStore:
    """People, projects with their tasks, and votes, in SQLite or PostgreSQL.

    Each method is one transaction: it saves all its changes, or none. Threads and processes may use one database at
    the same time. Every method may raise DataError if the database cannot be used.
    """

    def __init__(self, transactions: Transactions, clock: Callable[[], datetime]) -> None:
        self._transactions = transactions
        self._clock = clock

    @classmethod
    def open(cls, url: str, clock: Callable[[], datetime] = _now) -> AnnotationStore:
        """Open the database at `url` (``sqlite:///FILE`` or ``postgresql://...``), and migrate it if it is older.

        Raises:
            DataError: it cannot be opened, or was written by a newer version.
        """
        transactions = Transactions(url)
        try:
            migrate(transactions)
        except BaseException:
            transactions.close()
            raise
        return cls(transactions, clock)

    def now(self) -> datetime:
        """The current time by the clock of the store."""
        return self._clock()

    def close(self) -> None:
        """Close all connections."""
        self._transactions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- people

    def invite(self, name: str, role: Role, days: int = 30, projects: Sequence[str] = ()) -> tuple[Person, str]:
        """Add a person, and make a token that is valid for `days`; annotators get tasks of every project.

        If `projects` are given, the person works only on these and cannot see others.

        Raises:
            DataError: the name is taken or not allowed, or there is no such role.
        """
        with self._transactions.writing(exclusive=True) as connection:
            person, token = users.add_person(connection, name, role, days, self._clock(), projects)
            self._balance_all(connection, person)
            return person, token

    def allow_projects(self, name: str, projects: Sequence[str] = ()) -> Person:
        """Let a person work only on `projects` from now on (all, if empty); the projects need not exist yet.

        Finished tasks of other projects count; unfinished ones are assigned to others.
        """
        with self._transactions.writing(exclusive=True) as connection:
            person = users.set_projects(connection, name, projects)
            self._balance_all(connection, person)
            return person

    def reinvite(self, name: str, days: int = 30) -> tuple[Person, str]:
        """Make a new token; the former token and all sessions end. It also readmits a revoked person."""
        with self._transactions.writing(exclusive=True) as connection:
            person, token = users.renew_token(connection, name, days, self._clock())
            self._balance_all(connection, person)
            return person, token

    def revoke(self, name: str) -> Person:
        """End the token and all sessions of a person. Votes stay; unfinished tasks are assigned to others."""
        with self._transactions.writing(exclusive=True) as connection:
            person = users.revoke_person(connection, name)
            self._balance_all(connection, person)
            return person

    def people(self) -> list[Person]:
        """Everybody who was ever invited, by role."""
        with self._transactions.reading() as connection:
            return users.list_people(connection)

    def admits(self, token: str) -> bool:
        """Whether `token` is valid."""
        with self._transactions.reading() as connection:
            return users.find_token_row(connection, token, self._clock()) is not None

    def begin_session(self, token: str) -> tuple[str, Visitor] | None:
        """Begin a session for the person with `token`; ``None`` if it is unknown, expired or revoked."""
        if not self.admits(token):
            return None
        with self._transactions.writing() as connection:
            return users.begin_session(connection, token, self._clock())

    def find_visitor(self, session: str) -> Visitor | None:
        """The visitor of a `session`; ``None`` if it is unknown, idle for 12 hours, 7 days old, or revoked."""
        now = self._clock()
        with self._transactions.reading() as connection:
            found = users.find_visitor(connection, session, now)
        if found is not None and found[1]:
            with self._transactions.writing() as connection:
                users.record_visit(connection, session, found[0].person, now)
        return None if found is None else found[0]

    def end_session(self, session: str) -> None:
        """End a session."""
        with self._transactions.writing() as connection:
            users.end_session(connection, session)

    def choose_language(self, session: str, language: str) -> None:
        """Set the language of the interface, for this session and later ones of the person."""
        with self._transactions.writing() as connection:
            users.choose_language(connection, session, language)

    # --- projects

    def sync_project(self, project: Project, tasks: Sequence[Task]) -> None:
        """Save `project` and ask exactly `tasks`: existing tasks keep their ids, all others are retired.

        Votes on retired tasks stay, and count again when the task returns. Tasks with ``expected`` are gold tasks.

        Raises:
            DataError: the database holds the votes of another benchmark.
        """
        with self._transactions.writing(exclusive=True) as connection:
            work = sync_tasks.sync_project(connection, project, tasks, self._clock())
            assign.balance_assignments(connection, work, self._clock())

    def retire_project(self, project: str) -> None:
        """Retire a project: it is no longer asked or listed. Votes stay, and `sync_project` restores it."""
        with self._transactions.writing(exclusive=True) as connection:
            work = self._find_project(connection, project)
            sync_tasks.retire_project(connection, work)
            assign.balance_assignments(connection, work, self._clock())

    def balance_assignments(self, project: str) -> None:
        """Assign every task to as many annotators as it needs; unopened tasks are spread evenly."""
        with self._transactions.writing(exclusive=True) as connection:
            assign.balance_assignments(connection, self._find_project(connection, project), self._clock())

    def projects(self) -> list[Project]:
        """All projects that are not retired, by name."""
        with self._transactions.reading() as connection:
            return project_rows.find_projects(connection)

    def project(self, name: str) -> Project | None:
        """The project called `name`, retired or not."""
        with self._transactions.reading() as connection:
            return next(iter(project_rows.find_projects(connection, name)), None) if name else None

    # --- annotators

    def next_number(self, person: Person, project: str, after: int = 0) -> int | None:
        """The number of their next task: open ones after number `after`, then other open ones, then skipped ones."""
        with self._transactions.reading() as connection:
            known = users.works_on_project(connection, person, project)
            return annotator_queries.next_number(connection, person, project, after) if known else None

    def assignment(self, person: Person, project: str, number: int, *, opening: bool = True) -> Assignment | None:
        """Their task with `number`; `opening` starts its clock if it is not running yet."""
        now = self._clock()
        with self._transactions.reading() as connection:
            row = assignments.find_by_number(connection, person, project, number)
            if row is None or not row.task_live:
                return None
            if not opening or not assignments.needs_opening(row, now):
                return annotator_queries.make_assignment(connection, person, row, {})
        with self._transactions.writing() as connection:
            row = assignments.find_by_number(connection, person, project, number, lock=True)
            if row is None or not row.task_live:
                return None
            return annotator_queries.make_assignment(
                connection, person, row, assignments.open_assignment(connection, row, now)
            )

    def list_assignments(
        self, person: Person, project: str, *, state: str = "", start: int = 1, count: int = 50
    ) -> list[ListedAssignment]:  # fmt: skip
        """Up to `count` of their tasks from number `start` on, by number; `state` may also be ``flagged``."""
        with self._transactions.reading() as connection:
            known = users.works_on_project(connection, person, project)
            return annotator_queries.list_assignments(connection, person, project, state, start, count) if known else []

    def save_draft(self, person: Person, task_id: int, data: Mapping[str, str]) -> bool:
        """Save entered answers as a draft; ``False`` if the task was never theirs, or the draft exceeds 900 kB.

        Tasks that were retired or assigned to others keep their drafts, in case they return.
        """
        with self._transactions.writing() as connection:
            return assignments.save_draft(connection, person, task_id, data, self._clock())

    def find_own_task(self, person: Person, project: str, key: str) -> tuple[int, bool] | None:
        """Id of the task with the key `key` if it is or was theirs, and whether it still is theirs and live."""
        with self._transactions.reading() as connection:
            return assignments.find_own_task(connection, person, project, key)

    def submit(self, person: Person, task_id: int, submission: Submission) -> SubmissionOutcome:
        """Save an annotator's votes on all questions of a task."""
        with self._transactions.writing() as connection:
            return annotator_queries.submit_answers(connection, person, task_id, submission, self._clock())

    def undo_last(self, person: Person, project: str) -> int | None:
        """Withdraw their last submission, one more with each call: the task is open again, with a draft of the answers.

        Returns the number of the task (for an adjudicator its id), or ``None`` if nothing is left. Imported votes are
        never withdrawn.
        """
        with self._transactions.writing() as connection:
            row = annotator_queries.undo_last(connection, person, project, self._clock())
            return None if row is None else row.task_id if row.role == "adjudicator" else row.place

    def skip(self, person: Person, task_id: int) -> bool:
        """Skip a task until the others are done; ``False`` if it is not theirs."""
        with self._transactions.writing() as connection:
            return assignments.skip_assignment(connection, person, task_id, self._clock())

    def flag(self, person: Person, task_id: int, flagged: bool, reason: str = "") -> bool:
        """Flag a task for the project owner, or remove the flag; ``False`` if it is not theirs."""
        with self._transactions.writing() as connection:
            return assignments.flag_assignment(connection, person, task_id, flagged, reason, self._clock())

    def progress(self, person: Person, project: str) -> Progress:
        """A person's progress in a project."""
        with self._transactions.reading() as connection:
            if not users.works_on_project(connection, person, project):
                return Progress(0, 0, 0, 0, None)
            if person.role == "adjudicator":
                return adjudicator_queries.adjudicator_progress(connection, person, project)
            return annotator_queries.annotator_progress(connection, person, project)

    # --- adjudicators

    def count_disputes(self, project: str) -> int:
        """How many tasks wait for an adjudicator."""
        with self._transactions.reading() as connection:
            return adjudicator_queries.count_waiting(connection, project)

    def next_dispute(self, person: Person, project: str, skip: frozenset[int] = frozenset()) -> int | None:
        """Id of the task that an adjudicator decides next: the one with the lowest agreement, except those in `skip`.

        Tasks that another adjudicator has open come later, and skipped ones last.
        """
        if person.role != "adjudicator":
            return None
        with self._transactions.reading() as connection:
            if not users.works_on_project(connection, person, project):
                return None
            return adjudicator_queries.next_disputed_task(connection, person, project, skip, self._clock())

    def dispute(self, person: Person, project: str, task_id: int, *, opening: bool = True) -> Dispute | None:
        """A disputed task that waits or that they decided; `opening` starts its clock."""
        now = self._clock()
        with self._transactions.reading() as connection:
            matter = adjudicator_queries.find_disputed_task(connection, person, project, task_id)
            if matter is None:
                return None
            row = adjudicator_queries.adjudicator_assignment(connection, person, task_id)
            if not opening or (row is not None and not assignments.needs_opening(row, now)):
                return adjudicator_queries.make_dispute(connection, matter, row)
        with self._transactions.writing() as connection:
            matter = adjudicator_queries.find_disputed_task(connection, person, project, task_id, lock=True)
            if matter is None:
                return None
            row = adjudicator_queries.ensure_assignment(connection, person, matter)
            assignments.open_assignment(connection, row, now)
            return adjudicator_queries.make_dispute(connection, matter, row)

    def submit_decisions(self, person: Person, task_id: int, submission: Submission) -> SubmissionOutcome:
        """Save an adjudicator's decisions on everything in dispute in a task."""
        with self._transactions.writing() as connection:
            return adjudicator_queries.submit_decisions(connection, person, task_id, submission, self._clock())

    # --- the project owner, the build, and other tools

    def tasks(self, project: str, *, include_retired: bool = False) -> list[tuple[int, Task]]:
        """Ids and tasks in their order, with gold tasks; retired ones only with `include_retired`."""
        with self._transactions.reading() as connection:
            work = project_rows.find_project_ref(connection, project)
            rows = project_rows.live_tasks(connection, work, include_retired=include_retired) if work else ()
            return [(row.id, task) for row, task in rows]

    def live_task_ids(self, project: str) -> frozenset[int]:
        """Ids of the live tasks."""
        with self._transactions.reading() as connection:
            work = project_rows.find_project_ref(connection, project)
            return project_rows.live_task_ids(connection, work) if work else frozenset()

    def current_votes(self, project: str, *, include_retired: bool = False) -> Votes:
        """Votes and decisions that count, by people's codes, and remarks, on live tasks without gold tasks.

        `include_retired` adds votes on tasks and wordings that are no longer asked.
        """
        with self._transactions.reading() as connection:
            work = project_rows.find_project_ref(connection, project)
            return history.project_votes(connection, work, include_retired=include_retired) if work else Votes()

    def vote_events(self, project: str, since: int = 0) -> Iterator[VoteEvent]:
        """Every vote after the one with the id `since`, in order."""
        return history.vote_events(self._transactions, project, since)

    def events(self, project: str) -> Iterator[AnnotationEvent]:
        """Every event of a project, in order."""
        return history.all_events(self._transactions, project)

    def wordings(self, project: str) -> list[QuestionWording]:
        """Every wording of every guiding question that was ever asked, for the votes of the history."""
        with self._transactions.reading() as connection:
            return project_rows.find_wordings(connection, self._find_project(connection, project))

    def votes_digest(self, project: str) -> str:
        """Hash of the votes and decisions that count, also on retired tasks, without gold tasks."""
        return history.votes_digest(self.current_votes(project, include_retired=True))

    def import_votes(
        self, project: str, votes: Iterable[ImportedVote], channel: str, *, strict: bool = False
    ) -> ImportReport:  # fmt: skip
        """Add votes from another tool, all or none.

        A repeated value counts once. Another value replaces the former one, or is an error with `strict`.

        Raises:
            DataError: votes cannot be added; it lists the problems.
        """
        imported = list(votes)
        with self._transactions.writing(exclusive=True) as connection:
            work = self._find_project(connection, project)
            report = import_votes.import_votes(connection, work, imported, channel, self._clock(), strict=strict)
            assign.balance_assignments(connection, work, self._clock())
            return report

    def staff_progress(self, project: str) -> StaffProgress:
        """Counts of tasks, and each person's progress, times and answers to gold tasks."""
        with self._transactions.reading() as connection:
            return progress.staff_progress(connection, self._find_project(connection, project), self._clock())

    @staticmethod
    def _find_project(connection: Connection, project: str) -> project_rows.ProjectRef:
        work = project_rows.find_project_ref(connection, project)
        if work is None:
            known = ", ".join(found.name for found in project_rows.find_projects(connection)) or "none"
            raise DataError(f"there is no project {project!r} in the database", next=f"projects: {known}")
        return work

    def _balance_all(self, connection: Connection, person: Person) -> None:
        if person.role == "annotator":
            for project in project_rows.find_projects(connection):
                assign.balance_assignments(connection, self._find_project(connection, project.name), self._clock())
