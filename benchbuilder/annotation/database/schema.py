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


def _required(type_: Any, *names: str) -> list[Column[Any]]:
    return [Column(name, type_, nullable=False) for name in names]


def _optional(type_: Any, *names: str) -> list[Column[Any]]:
    return [Column(name, type_) for name in names]


def _default(type_: Any, name: str, value: object) -> Column[Any]:
    return Column(name, type_, nullable=False, default=value)


def _text_keys(*names: str) -> list[Column[Any]]:
    return [Column(name, StorableText, primary_key=True) for name in names]


people = Table(
    "people",
    metadata,
    _id(),
    Column("name", StorableText, nullable=False, unique=True),
    *_required(StorableText, "role"),
    Column("code", StorableText, nullable=False, unique=True),
    Column("token_hash", StorableText, unique=True),
    _default(StorableText, "language", ""),
    *_required(UtcDateTime, "invited_at", "expires_at"),
    _default(Boolean, "revoked", False),
    *_optional(UtcDateTime, "seen_at"),
    _default(StorableText, "projects", "[]"),
)

sessions = Table(
    "sessions",
    metadata,
    *_text_keys("hash"),
    _ref(people.c.id, "person_id"),
    _default(StorableText, "language", ""),
    *_required(UtcDateTime, "started_at", "seen_at"),
    Index("sessions_of_person", "person_id"),
)

projects = Table(
    "projects",
    metadata,
    _id(),
    Column("name", StorableText, nullable=False, unique=True),
    *_required(StorableText, "spec", "guideline", "language"),
    *_required(BigInteger, "seed"),
    _default(StorableText, "benchmark", ""),
    _default(Boolean, "live", True),
)

wordings = Table(
    "wordings",
    metadata,
    _ref(projects.c.id, "project_id", primary_key=True),
    *_text_keys("wording", "question"),
    *_required(StorableText, "definition"),
    *_required(UtcDateTime, "since"),
)

tasks = Table(
    "tasks",
    metadata,
    _id(),
    _ref(projects.c.id, "project_id"),
    *_required(StorableText, "key"),
    *_required(Integer, "ordinal"),
    *_required(StorableText, "shown", "about", "expected"),
    *_required(Boolean, "gold", "live"),
    _default(Integer, "open_disputes", 0),
    _default(Float, "agreement", 1.0),
    UniqueConstraint("project_id", "key"),
    sqlite_autoincrement=True,
)

IS_DISPUTED = tasks.c.open_disputes > literal_column("0")
"""Whether a task waits for an adjudicator, worded so that the database uses its partial index."""
Index(
    "tasks_in_dispute", tasks.c.project_id, tasks.c.agreement, tasks.c.id,
    sqlite_where=IS_DISPUTED, postgresql_where=IS_DISPUTED,
)  # fmt: skip


def _person_and_task() -> list[Column[Any]]:
    """The columns of everything that a person does with a task."""
    return [_ref(projects.c.id, "project_id"), _ref(tasks.c.id, "task_id"), _ref(people.c.id, "person_id")]


assignments = Table(
    "assignments",
    metadata,
    _id(),
    *_person_and_task(),
    *_optional(Integer, "place"),
    _default(Boolean, "live", True),
    _default(StorableText, "state", "open"),
    _default(Boolean, "flagged", False),
    _default(StorableText, "note", ""),
    *_optional(UtcDateTime, "opened_at", "alive_at"),
    _default(Float, "seconds", 0.0),
    _default(Float, "spent", 0.0),
    *_optional(IdInteger, "done_event"),
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

_ASSIGNMENT = ForeignKey(assignments.c.id, ondelete="CASCADE")
drafts = Table(
    "drafts",
    metadata,
    Column("assignment_id", IdInteger, _ASSIGNMENT, primary_key=True, autoincrement=False),
    *_required(StorableText, "data"),
    *_required(UtcDateTime, "saved_at"),
)

events = Table(
    "events",
    metadata,
    _id(),
    *_person_and_task(),
    *_required(StorableText, "kind"),
    *_required(UtcDateTime, "at"),
    *_optional(Float, "seconds", "active_seconds"),
    _default(StorableText, "detail", "{}"),
    Index("events_of_project", "project_id", "id"),
    sqlite_autoincrement=True,
)

votes = Table(
    "votes",
    metadata,
    _id(),
    *_person_and_task(),
    _ref(events.c.id, "event_id"),
    *_required(StorableText, "key", "wording", "question"),
    *_optional(StorableText, "value"),
    *_required(StorableText, "channel"),
    *_required(UtcDateTime, "at"),
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
    *_text_keys("key", "wording"),
    _ref(projects.c.id, "project_id"),
    *_required(StorableText, "value"),
    *_required(IdInteger, "vote_id"),
    Index("current_of_project", "project_id"),
)


def bounded_number(number: int) -> int:
    """`number`, or 0 (which no row has) if it is out of range."""
    return number if 0 < number < 2**31 else 0
