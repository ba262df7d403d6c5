"""The database of the review app: who judges what, what they said, and how it came about."""

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
from benchbuilder.annotation.database import projects as works
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
)
from benchbuilder.core import DataError


def _now() -> datetime:
    return datetime.now(UTC)


class AnnotationStore:
    """People, projects with their tasks, and votes, in SQLite or PostgreSQL.

    Each method is one transaction: all of it is in the database when it returns, or nothing. Threads and processes
    may use one database at the same time.
    """

    def __init__(self, transactions: Transactions, clock: Callable[[], datetime]) -> None:
        self._transactions = transactions
        self._clock = clock

    @classmethod
    def open(cls, url: str, clock: Callable[[], datetime] = _now) -> AnnotationStore:
        """The database at `url` (``sqlite:///FILE`` or ``postgresql://...``), brought to the newest shape.

        DataError says why it cannot be opened.
        """
        transactions = Transactions(url)
        try:
            migrate(transactions)
        except BaseException:
            transactions.close()
            raise
        return cls(transactions, clock)

    def close(self) -> None:
        """End all connections."""
        self._transactions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- people

    def invite(
        self, name: str, role: Role, days: int = 30, projects: Sequence[str] = ()
    ) -> tuple[Person, str]:  # fmt: skip
        """A new person, and the token that lets them in for `days`; annotators get a share of every project.

        If `projects` are named they work on just those, and it is as if there were no others. DataError if the name
        is taken.
        """
        with self._transactions.writing(exclusive=True) as connection:
            person, token = users.add_person(connection, name, role, days, self._clock(), projects)
            self._balance_all(connection, person)
            return person, token

    def allow_projects(self, name: str, projects: Sequence[str] = ()) -> Person:
        """Let them work on just `projects` (all, if none are named) from now on; they need not be there yet.

        What they are done with elsewhere counts; the rest goes to others.
        """
        with self._transactions.writing(exclusive=True) as connection:
            person = users.set_projects(connection, name, projects)
            self._balance_all(connection, person)
            return person

    def reinvite(self, name: str, days: int = 30) -> tuple[Person, str]:
        """Another token; the one before and all sessions end. It also lets in who was shut out."""
        with self._transactions.writing(exclusive=True) as connection:
            person, token = users.renew_token(connection, name, days, self._clock())
            self._balance_all(connection, person)
            return person, token

    def revoke(self, name: str) -> Person:
        """Token and sessions end at once. Votes stay; what they are not done with goes to others."""
        with self._transactions.writing(exclusive=True) as connection:
            person = users.revoke_person(connection, name)
            self._balance_all(connection, person)
            return person

    def people(self) -> list[Person]:
        """Everybody who ever was invited, by role."""
        with self._transactions.reading() as connection:
            return users.list_people(connection)

    def admits(self, token: str) -> bool:
        """Whether `token` lets somebody in."""
        with self._transactions.reading() as connection:
            return users.find_token_row(connection, token, self._clock()) is not None

    def begin_session(self, token: str) -> tuple[str, Visitor] | None:
        """A new session for whom `token` lets in; ``None`` if it is forged, expired or revoked."""
        if not self.admits(token):
            return None
        with self._transactions.writing() as connection:
            return users.begin_session(connection, token, self._clock())

    def find_visitor(self, session: str) -> Visitor | None:
        """Whose `session` it is; ``None`` if it is unknown, idle for 12 hours, 7 days old, or revoked."""
        now = self._clock()
        with self._transactions.reading() as connection:
            found = users.find_visitor(connection, session, now)
        if found is None:
            return None
        if found[1]:
            with self._transactions.writing() as connection:
                users.record_visit(connection, session, found[0].person, now)
        return found[0]

    def end_session(self, session: str) -> None:
        """End a session."""
        with self._transactions.writing() as connection:
            users.end_session(connection, session)

    def choose_language(self, session: str, language: str) -> None:
        """The language of the interface, in this session and those that the person begins later."""
        with self._transactions.writing() as connection:
            users.choose_language(connection, session, language)

    # --- projects

    def sync_project(self, project: Project, tasks: Sequence[Task]) -> None:
        """Keep `project` and ask just `tasks`: those that are there keep their ids, others are retired.

        Votes of retired tasks stay, and count again when the task comes back. Tasks with ``expected`` are gold.
        DataError if the database holds the votes of another benchmark.
        """
        with self._transactions.writing(exclusive=True) as connection:
            work = sync_tasks.sync_project(connection, project, tasks, self._clock())
            assign.balance_assignments(connection, work, self._clock())

    def retire_project(self, project: str) -> None:
        """Ask nothing of a project any more, nor list it; votes stay, and `sync_project` brings it back."""
        with self._transactions.writing(exclusive=True) as connection:
            work = self._find_project(connection, project)
            sync_tasks.retire_project(connection, work)
            assign.balance_assignments(connection, work, self._clock())

    def balance_assignments(self, project: str) -> None:
        """Give every task to as many annotators as it needs; what nobody opened is spread evenly among them."""
        with self._transactions.writing(exclusive=True) as connection:
            assign.balance_assignments(connection, self._find_project(connection, project), self._clock())

    def projects(self) -> list[Project]:
        """All projects that are not retired, by name."""
        with self._transactions.reading() as connection:
            return works.find_projects(connection)

    def project(self, name: str) -> Project | None:
        """The project called `name`, retired or not."""
        with self._transactions.reading() as connection:
            return next(iter(works.find_projects(connection, name)), None) if name else None

    # --- annotators

    def next_number(self, person: Person, project: str, after: int = 0) -> int | None:
        """Number of what they do next: open tasks, from the one after `after` on, then those that they put off."""
        with self._transactions.reading() as connection:
            known = users.works_on_project(connection, person, project)
            return annotator_queries.next_number(connection, person, project, after) if known else None

    def assignment(self, person: Person, project: str, number: int, *, opening: bool = True) -> Assignment | None:
        """Their task with `number`; with `opening`, the time that they take begins to run, if it does not yet."""
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
        """Keep what they entered; ``False`` if the task never was theirs, or it is larger than 900 kB.

        A task that is not asked any more, or has gone to others, keeps its draft in case that it comes back.
        """
        with self._transactions.writing() as connection:
            return assignments.save_draft(connection, person, task_id, data, self._clock())

    def find_own_task(self, person: Person, project: str, key: str) -> tuple[int, bool] | None:
        """Id of the task with the key `key` if it is or was theirs, and whether it still is, and is asked."""
        with self._transactions.reading() as connection:
            return assignments.find_own_task(connection, person, project, key)

    def submit(self, person: Person, task_id: int, submission: Submission) -> SubmissionOutcome:
        """Keep an annotator's votes about all that a task asks."""
        with self._transactions.writing() as connection:
            return annotator_queries.submit_answers(connection, person, task_id, submission, self._clock())

    def undo_last(self, person: Person, project: str) -> int | None:
        """Take back what they submitted last, one more each time: it is open again, with their answers as a draft.

        Its number, for an adjudicator the id of the task; ``None`` if there is nothing left. Imports are not taken
        back.
        """
        with self._transactions.writing() as connection:
            row = annotator_queries.undo_last(connection, person, project, self._clock())
            if row is None:
                return None
            return row.task_id if row.role == "adjudicator" else row.place

    def skip(self, person: Person, task_id: int) -> bool:
        """Put a task off until the others are done; ``False`` if it is not theirs."""
        with self._transactions.writing() as connection:
            return assignments.skip_assignment(connection, person, task_id, self._clock())

    def flag(self, person: Person, task_id: int, flagged: bool, reason: str = "") -> bool:
        """Mark a task for the lead, or take the mark away; ``False`` if it is not theirs."""
        with self._transactions.writing() as connection:
            return assignments.flag_assignment(connection, person, task_id, flagged, reason, self._clock())

    def progress(self, person: Person, project: str) -> Progress:
        """How far they are."""
        with self._transactions.reading() as connection:
            if not users.works_on_project(connection, person, project):
                return Progress(0, 0, 0, 0, None)
            count = (
                adjudicator_queries.adjudicator_progress
                if person.role == "adjudicator"
                else annotator_queries.annotator_progress
            )
            return count(connection, person, project)

    # --- adjudicators

    def count_disputes(self, project: str) -> int:
        """How many tasks wait for an adjudicator."""
        with self._transactions.reading() as connection:
            return adjudicator_queries.count_waiting(connection, project)

    def next_dispute(self, person: Person, project: str, skip: frozenset[int] = frozenset()) -> int | None:
        """Id of the task that an adjudicator decides next, none of `skip_assignment`: the one with the lowest agreement.

        Those that another adjudicator is at come later, and those that they put off last.
        """
        if person.role != "adjudicator":
            return None
        with self._transactions.reading() as connection:
            known = users.works_on_project(connection, person, project)
            return (
                adjudicator_queries.next_disputed_task(connection, person, project, skip, self._clock())
                if known
                else None
            )

    def dispute(self, person: Person, project: str, task_id: int, *, opening: bool = True) -> Dispute | None:
        """A task that waits, or that they decided; with `opening`, the time that they take begins to run."""
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
        """Keep an adjudicator's decisions about all that is in dispute in a task."""
        with self._transactions.writing() as connection:
            return adjudicator_queries.submit_decisions(connection, person, task_id, submission, self._clock())

    # --- the lead, the build, and doors

    def tasks(self, project: str, *, include_retired: bool = False) -> list[tuple[int, Task]]:
        """Ids and tasks in the order in which they were laid out, gold ones too; `include_retired` ones if wanted."""
        with self._transactions.reading() as connection:
            work = works.find_project_ref(connection, project)
            return (
                [(r.id, t) for r, t in works.live_tasks(connection, work, include_retired=include_retired)]
                if work
                else []
            )

    def live_task_ids(self, project: str) -> frozenset[int]:
        """Ids of the tasks that are asked now: those of `tasks` that are not retired."""
        with self._transactions.reading() as connection:
            work = works.find_project_ref(connection, project)
            return works.live_task_ids(connection, work) if work else frozenset()

    def current_votes(self, project: str, *, include_retired: bool = False) -> Votes:
        """Votes and decisions that count, by people's codes, and their remarks, on what is asked now; gold aside.

        With `include_retired`, also on what is not asked any more.
        """
        with self._transactions.reading() as connection:
            work = works.find_project_ref(connection, project)
            return history.project_votes(connection, work, include_retired=include_retired) if work else Votes()

    def vote_events(self, project: str, since: int = 0) -> Iterator[VoteEvent]:
        """Every vote after the one with the id `since`, in the order in which they came in."""
        return history.vote_events(self._transactions, project, since)

    def events(self, project: str) -> Iterator[AnnotationEvent]:
        """Everything that somebody did, in that order."""
        return history.all_events(self._transactions, project)

    def wordings(self, project: str) -> list[QuestionWording]:
        """Every wording of every guiding question that was ever asked: what the votes of the history are about."""
        with self._transactions.reading() as connection:
            return works.find_wordings(connection, self._find_project(connection, project))

    def votes_digest(self, project: str) -> str:
        """Hash of the votes and decisions that count, on whatever was ever asked, gold aside."""
        return history.votes_digest(self.current_votes(project, include_retired=True))

    def import_votes(
        self, project: str, votes: Iterable[ImportedVote], channel: str, *, strict: bool = False
    ) -> ImportReport:  # fmt: skip
        """Add votes from another door, all of them or, with a DataError that lists what is wrong, none.

        The same value again counts once; another value replaces the one before, or with `strict` is an error.
        """
        given = list(votes)
        with self._transactions.writing(exclusive=True) as connection:
            work = self._find_project(connection, project)
            report = import_votes.import_votes(connection, work, given, channel, self._clock(), strict=strict)
            assign.balance_assignments(connection, work, self._clock())
            return report

    def staff_progress(self, project: str) -> StaffProgress:
        """Counts, and everybody's share with their times and their answers to gold tasks."""
        with self._transactions.reading() as connection:
            return progress.staff_progress(connection, self._find_project(connection, project), self._clock())

    # ---

    @staticmethod
    def _find_project(connection: Connection, project: str) -> works.ProjectRef:
        work = works.find_project_ref(connection, project)
        if work is None:
            known = ", ".join(found.name for found in works.find_projects(connection)) or "none"
            raise DataError(f"there is no project {project!r} in the database", next=f"projects: {known}")
        return work

    def _balance_all(self, connection: Connection, person: Person) -> None:
        if person.role == "annotator":
            for project in works.find_projects(connection):
                assign.balance_assignments(connection, self._find_project(connection, project.name), self._clock())
