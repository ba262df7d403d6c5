"""The database of the review app: people, projects, assignments, votes and their history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import Connection

from benchbuilder.annotation.base import Task, Votes
from benchbuilder.annotation.database import assign, history, import_votes, progress, sync_tasks, users
from benchbuilder.annotation.database import projects as project_rows
from benchbuilder.annotation.database.adjudicator_queries import AdjudicatorStore
from benchbuilder.annotation.database.annotator_queries import AnnotatorStore
from benchbuilder.annotation.database.connection import Transactions
from benchbuilder.annotation.database.migrate import migrate
from benchbuilder.annotation.database.models import (
    AnnotationEvent,
    ImportedVote,
    ImportReport,
    Person,
    Progress,
    Project,
    QuestionWording,
    Role,
    StaffProgress,
    VoteEvent,
)
from benchbuilder.annotation.database.users import SessionStore
from benchbuilder.annotation.spool import Spool
from benchbuilder.core import DataError

_NOW = partial(datetime.now, UTC)


class AnnotationStore(SessionStore, AnnotatorStore, AdjudicatorStore):
    """People, projects with their tasks, and votes, in SQLite or PostgreSQL.

    Each method is one transaction: it saves all its changes, or none. Threads and processes may use one database at
    the same time. Every method may raise DataError if the database cannot be used.
    """

    @classmethod
    def open(cls, url: str, clock: Callable[[], datetime] = _NOW) -> AnnotationStore:
        """Open the database at `url` (``sqlite:///FILE`` or ``postgresql://...``), and migrate it if it is older.

        Raises:
            DataError: it cannot be opened, or was written by a newer version.
        """
        with ExitStack() as stack:
            transactions = Transactions(url)
            stack.callback(transactions.close)  # unless the migration succeeds
            migrate(transactions)
            stack.pop_all()
        return cls(transactions, clock)

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

    # --- projects

    def sync_project(self, project: Project, tasks: Sequence[Task]) -> None:
        """Save `project` and ask exactly `tasks`: existing tasks keep their ids, all others are retired.

        Votes on retired tasks stay, and count again when the task returns. Tasks with ``expected`` are gold tasks.

        Raises:
            DataError: the database holds the votes of another benchmark.
        """
        with self._transactions.writing(exclusive=True) as connection:
            ref = sync_tasks.sync_project(connection, project, tasks, self._clock())
            assign.balance_assignments(connection, ref, self._clock())

    def retire_project(self, project: str) -> None:
        """Retire a project: it is no longer asked or listed. Votes stay, and `sync_project` restores it."""
        with self._transactions.writing(exclusive=True) as connection:
            ref = self._find_project(connection, project)
            sync_tasks.retire_project(connection, ref)
            assign.balance_assignments(connection, ref, self._clock())

    def projects(self) -> list[Project]:
        """All projects that are not retired, by name."""
        with self._transactions.reading() as connection:
            return project_rows.find_projects(connection)

    def project(self, name: str) -> Project | None:
        """The project called `name`, retired or not."""
        with self._transactions.reading() as connection:
            return next(iter(project_rows.find_projects(connection, name)), None) if name else None

    def progress(self, person: Person, project: str) -> Progress:
        """A person's progress in a project."""
        with self._transactions.reading() as connection:
            if not users.works_on_project(connection, person, project):
                return Progress(0, 0, 0, 0, None)
            return progress.person_progress(connection, person, project)

    # --- the project owner, the build, and other tools

    def tasks(self, project: str, *, include_retired: bool = False) -> list[tuple[int, Task]]:
        """Ids and tasks in their order, with gold tasks; retired ones only with `include_retired`."""
        with self._transactions.reading() as connection:
            ref = project_rows.find_project_ref(connection, project)
            rows = project_rows.live_tasks(connection, ref, include_retired=include_retired) if ref else ()
            return [(row.id, task) for row, task in rows]

    def each_task(self, project: str) -> Iterator[tuple[bool, Task]]:
        """Every task in order, with gold tasks and retired ones, and whether it is live; some are read at a time."""
        with self._transactions.reading() as connection:
            ref = project_rows.find_project_ref(connection, project)
            for row, task in project_rows.live_tasks(connection, ref, include_retired=True) if ref else ():
                yield row.live, task

    def current_votes(self, project: str, *, include_retired: bool = False) -> Votes:
        """Votes and decisions that count, by people's codes, and remarks, on live tasks without gold tasks.

        `include_retired` adds votes on tasks and wordings that are no longer asked.
        """
        with self._transactions.reading() as connection:
            ref = project_rows.find_project_ref(connection, project)
            return history.project_votes(connection, ref, include_retired=include_retired) if ref else Votes()

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
    ) -> ImportReport:
        """Add votes from another tool, all or none.

        A repeated value counts once. Another value replaces the former one, or is an error with `strict`.

        Raises:
            DataError: votes cannot be added; it lists the problems.
        """
        imported = votes if isinstance(votes, Sequence) else Spool(votes)
        with self._transactions.writing(exclusive=True) as connection:
            ref = self._find_project(connection, project)
            report = import_votes.import_votes(connection, ref, imported, channel, self._clock(), strict=strict)
            assign.balance_assignments(connection, ref, self._clock())
            return report

    def staff_progress(self, project: str) -> StaffProgress:
        """Counts of tasks, and each person's progress, times and answers to gold tasks."""
        with self._transactions.reading() as connection:
            return progress.staff_progress(connection, self._find_project(connection, project), self._clock())

    @staticmethod
    def _find_project(connection: Connection, project: str) -> project_rows.ProjectRef:
        ref = project_rows.find_project_ref(connection, project)
        if ref is None:
            names = ", ".join(found.name for found in project_rows.find_projects(connection)) or "none"
            raise DataError(f"there is no project {project!r} in the database", next=f"projects: {names}")
        return ref

    def _balance_all(self, connection: Connection, person: Person) -> None:
        if person.role == "annotator":
            for project in project_rows.find_projects(connection):
                assign.balance_assignments(connection, self._find_project(connection, project.name), self._clock())
