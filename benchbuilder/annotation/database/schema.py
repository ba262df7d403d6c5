"""Tables of the database: people and sessions, projects and tasks, assignments and drafts, events and votes.

`events` and `votes` are append-only; triggers enforce it. `current_votes` holds the votes that count, to keep pages
fast: the last vote of each person on each subject, unless it was withdrawn.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    literal_column,
)

from benchbuilder.annotation.database.sanitise import storable_text

metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pk",
        "fk": "%(table_name)s_%(column_0_name)s_fk",
        "uq": "%(table_name)s_%(column_0_N_name)s_unique",
    }
)


class UtcDateTime(TypeDecorator[datetime]):
    """A point in time in UTC; SQLite has no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC, without time zone for SQLite."""
        if value is None:
            return None
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Add the time zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class StorableText(TypeDecorator[str]):
    """Text, stored and searched without characters that databases refuse: NUL and lone surrogates."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Make the text storable."""
        return None if value is None else storable_text(value)


IdInteger = BigInteger().with_variant(Integer(), "sqlite")


def _id() -> Column[Any]:
    return Column("id", IdInteger, primary_key=True, autoincrement=True)


def _ref(to: Column[Any], name: str, *, primary_key: bool = False) -> Column[Any]:
    return Column(name, IdInteger, ForeignKey(to), nullable=False, primary_key=primary_key, autoincrement=False)


people = Table(
    "people",
    metadata,
    _id(),
    Column("name", StorableText, nullable=False, unique=True),
    Column("role", StorableText, nullable=False),
    Column("code", StorableText, nullable=False, unique=True),
    Column("token_hash", StorableText, unique=True),
    Column("language", StorableText, nullable=False, default=""),
    Column("invited_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("revoked", Boolean, nullable=False, default=False),
    Column("seen_at", UtcDateTime),
    Column("projects", StorableText, nullable=False, default="[]"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("hash", StorableText, primary_key=True),
    _ref(people.c.id, "person_id"),
    Column("language", StorableText, nullable=False, default=""),
    Column("started_at", UtcDateTime, nullable=False),
    Column("seen_at", UtcDateTime, nullable=False),
    Index("sessions_of_person", "person_id"),
)

projects = Table(
    "projects",
    metadata,
    _id(),
    Column("name", StorableText, nullable=False, unique=True),
    Column("spec", StorableText, nullable=False),
    Column("guideline", StorableText, nullable=False),
    Column("language", StorableText, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("benchmark", StorableText, nullable=False, default=""),
    Column("live", Boolean, nullable=False, default=True),
)

wordings = Table(
    "wordings",
    metadata,
    _ref(projects.c.id, "project_id", primary_key=True),
    Column("wording", StorableText, primary_key=True),
    Column("question", StorableText, primary_key=True),
    Column("definition", StorableText, nullable=False),
    Column("since", UtcDateTime, nullable=False),
)

tasks = Table(
    "tasks",
    metadata,
    _id(),
    _ref(projects.c.id, "project_id"),
    Column("key", StorableText, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("shown", StorableText, nullable=False),
    Column("about", StorableText, nullable=False),
    Column("expected", StorableText, nullable=False),
    Column("gold", Boolean, nullable=False),
    Column("live", Boolean, nullable=False),
    Column("open_disputes", Integer, nullable=False, default=0),
    Column("agreement", Float, nullable=False, default=1.0),
    UniqueConstraint("project_id", "key"),
    sqlite_autoincrement=True,
)

IS_DISPUTED = tasks.c.open_disputes > literal_column("0")
"""Whether a task waits for an adjudicator, worded so that the database uses its partial index."""
Index(
    "tasks_in_dispute", tasks.c.project_id, tasks.c.agreement, tasks.c.id,
    sqlite_where=IS_DISPUTED, postgresql_where=IS_DISPUTED,
)  # fmt: skip

assignments = Table(
    "assignments",
    metadata,
    _id(),
    _ref(projects.c.id, "project_id"),
    _ref(tasks.c.id, "task_id"),
    _ref(people.c.id, "person_id"),
    Column("place", Integer),
    Column("live", Boolean, nullable=False, default=True),
    Column("state", StorableText, nullable=False, default="open"),
    Column("flagged", Boolean, nullable=False, default=False),
    Column("note", StorableText, nullable=False, default=""),
    Column("opened_at", UtcDateTime),
    Column("alive_at", UtcDateTime),
    Column("seconds", Float, nullable=False, default=0.0),
    Column("spent", Float, nullable=False, default=0.0),
    Column("done_event", IdInteger),
    UniqueConstraint("task_id", "person_id"),
    Index("assignments_in_order", "person_id", "project_id", "place"),
    Index("assignments_by_state", "person_id", "project_id", "live", "state", "place"),
    Index("assignments_by_time", "person_id", "project_id", "live", "state", "seconds"),
    Index("assignments_done", "person_id", "project_id", "done_event"),
    Index("assignments_of_project", "project_id"),
    sqlite_autoincrement=True,
)

IS_FLAGGED = assignments.c.flagged.is_(True)
"""Whether a task is flagged, worded so that the database uses its partial index."""
Index(
    "assignments_flagged", assignments.c.person_id, assignments.c.project_id, assignments.c.live,
    sqlite_where=IS_FLAGGED, postgresql_where=IS_FLAGGED,
)  # fmt: skip

drafts = Table(
    "drafts",
    metadata,
    Column(
        "assignment_id",
        IdInteger,
        ForeignKey(assignments.c.id, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("data", StorableText, nullable=False),
    Column("saved_at", UtcDateTime, nullable=False),
)

events = Table(
    "events",
    metadata,
    _id(),
    _ref(projects.c.id, "project_id"),
    _ref(tasks.c.id, "task_id"),
    _ref(people.c.id, "person_id"),
    Column("kind", StorableText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("seconds", Float),
    Column("active_seconds", Float),
    Column("detail", StorableText, nullable=False, default="{}"),
    Index("events_of_project", "project_id", "id"),
    sqlite_autoincrement=True,
)

votes = Table(
    "votes",
    metadata,
    _id(),
    _ref(projects.c.id, "project_id"),
    _ref(tasks.c.id, "task_id"),
    _ref(people.c.id, "person_id"),
    _ref(events.c.id, "event_id"),
    Column("key", StorableText, nullable=False),
    Column("wording", StorableText, nullable=False),
    Column("question", StorableText, nullable=False),
    Column("value", StorableText),
    Column("channel", StorableText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Index("votes_of_project", "project_id", "id"),
    Index("votes_of_event", "event_id"),
    Index("votes_of_task", "task_id"),
    sqlite_autoincrement=True,
)

current_votes = Table(
    "current_votes",
    metadata,
    _ref(tasks.c.id, "task_id", primary_key=True),
    _ref(people.c.id, "person_id", primary_key=True),
    Column("key", StorableText, primary_key=True),
    Column("wording", StorableText, primary_key=True),
    _ref(projects.c.id, "project_id"),
    Column("value", StorableText, nullable=False),
    Column("vote_id", IdInteger, nullable=False),
    Index("current_of_project", "project_id"),
)

APPEND_ONLY = ("events", "votes")


def bounded_number(number: int) -> int:
    """`number`, or 0 (which no row has) if it is out of range."""
    return number if 0 < number < 2**31 else 0
