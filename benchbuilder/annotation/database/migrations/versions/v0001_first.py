"""The first tables, and the triggers that keep history from being rewritten."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_Column = sa.Column[Any]
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)
_APPEND_ONLY = ("events", "votes")


def upgrade() -> None:
    """Create everything."""
    _people()
    _projects()
    _tasks()
    _assignments()
    _events()
    _votes()
    if op.get_bind().dialect.name == "sqlite":
        _guard_sqlite()
    else:
        _guard_postgresql()


def _guard_sqlite() -> None:
    for table in _APPEND_ONLY:
        guards = {"update": "UPDATE", "delete": "DELETE", "replace": "INSERT"}
        for name, change in guards.items():
            exists = f"WHEN EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id)" if name == "replace" else ""
            op.execute(
                f"CREATE TRIGGER {table}_no_{name} BEFORE {change} ON {table} {exists} "
                f"BEGIN SELECT RAISE(ABORT, '{table} can only be added to'); END"
            )


def _guard_postgresql() -> None:
    op.execute(
        "CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION '% can only be added to', TG_TABLE_NAME; END $$"
    )
    for table in _APPEND_ONLY:
        op.execute(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )


def _id() -> _Column:
    return sa.Column("id", _NUMBER, primary_key=True)


def _ref(name: str, *, key: bool = False) -> _Column:
    """A reference to the table that `name` is called after, such as ``person_id``."""
    tables = {"person_id": "people", "project_id": "projects", "task_id": "tasks", "event_id": "events"}
    return sa.Column(name, _NUMBER, sa.ForeignKey(f"{tables[name]}.id"), nullable=False, primary_key=key)


def _required(type_: Any, *names: str) -> list[_Column]:
    return [sa.Column(name, type_, nullable=False) for name in names]


def _texts(*names: str) -> list[_Column]:
    return _required(sa.Text(), *names)


def _optional(type_: Any, *names: str) -> list[_Column]:
    return [sa.Column(name, type_) for name in names]


def _text_keys(*names: str) -> list[_Column]:
    return [sa.Column(name, sa.Text(), primary_key=True) for name in names]


def _partial_index(name: str, table: str, columns: list[str], *, sqlite: str, postgresql: str) -> None:
    op.create_index(name, table, columns, sqlite_where=sa.text(sqlite), postgresql_where=sa.text(postgresql))


def _people() -> None:
    op.create_table(
        "people", _id(), *_texts("name", "role", "code"), *_optional(sa.Text(), "token_hash"), *_texts("language"),
        *_required(_TIME, "invited_at", "expires_at"), *_required(sa.Boolean(), "revoked"),
        *_optional(_TIME, "seen_at"), *_texts("projects"),
        sa.UniqueConstraint("code"), sa.UniqueConstraint("name"), sa.UniqueConstraint("token_hash"),
    )  # fmt: skip
    op.create_table(
        "sessions", *_text_keys("hash"), _ref("person_id"), *_texts("language"),
        *_required(_TIME, "started_at", "seen_at"),
    )  # fmt: skip
    op.create_index("sessions_of_person", "sessions", ["person_id"])


def _projects() -> None:
    op.create_table(
        "projects", _id(), *_texts("name", "spec", "guideline", "language"), *_required(sa.BigInteger(), "seed"),
        *_texts("benchmark"), *_required(sa.Boolean(), "live"), sa.UniqueConstraint("name"),
    )  # fmt: skip
    op.create_table(
        "wordings", _ref("project_id", key=True), *_text_keys("wording", "question"), *_texts("definition"),
        *_required(_TIME, "since"),
    )  # fmt: skip


def _tasks() -> None:
    op.create_table(
        "tasks", _id(), _ref("project_id"), *_texts("key"), *_required(sa.Integer(), "ordinal"),
        *_texts("shown", "about", "expected"), *_required(sa.Boolean(), "gold", "live"),
        *_required(sa.Integer(), "open_disputes"), *_required(sa.Float(), "agreement"),
        sa.UniqueConstraint("project_id", "key"), sqlite_autoincrement=True,
    )  # fmt: skip
    waits = "open_disputes > 0"
    _partial_index("tasks_in_dispute", "tasks", ["project_id", "agreement", "id"], sqlite=waits, postgresql=waits)


def _assignments() -> None:
    op.create_table(
        "assignments", _id(), _ref("project_id"), _ref("task_id"), _ref("person_id"),
        *_optional(sa.Integer(), "place"), *_required(sa.Boolean(), "live"), *_texts("state"),
        *_required(sa.Boolean(), "flagged"), *_texts("note"), *_optional(_TIME, "opened_at", "alive_at"),
        *_required(sa.Float(), "seconds", "spent"), *_optional(_NUMBER, "done_event"),
        sa.UniqueConstraint("task_id", "person_id"), sqlite_autoincrement=True,
    )  # fmt: skip
    own = ["person_id", "project_id"]
    op.create_index("assignments_by_state", "assignments", [*own, "live", "state", "place"])
    op.create_index("assignments_by_time", "assignments", [*own, "live", "state", "seconds"])
    op.create_index("assignments_done", "assignments", [*own, "done_event"])
    _partial_index(
        "assignments_flagged", "assignments", [*own, "live"], sqlite="flagged IS 1", postgresql="flagged IS true"
    )
    op.create_index("assignments_in_order", "assignments", [*own, "place"])
    op.create_index("assignments_of_project", "assignments", ["project_id"])
    assignment = sa.ForeignKey("assignments.id", ondelete="CASCADE")
    op.create_table(
        "drafts", sa.Column("assignment_id", _NUMBER, assignment, primary_key=True), *_texts("data"),
        *_required(_TIME, "saved_at"),
    )  # fmt: skip


def _events() -> None:
    op.create_table(
        "events", _id(), _ref("project_id"), _ref("task_id"), _ref("person_id"), *_texts("kind"),
        *_required(_TIME, "at"), *_optional(sa.Float(), "seconds", "active_seconds"), *_texts("detail"),
        sqlite_autoincrement=True,
    )  # fmt: skip
    op.create_index("events_of_project", "events", ["project_id", "id"])


def _votes() -> None:
    op.create_table(
        "votes", _id(), _ref("project_id"), _ref("task_id"), _ref("person_id"), _ref("event_id"),
        *_texts("key", "wording", "question"), *_optional(sa.Text(), "value"), *_texts("door"),
        *_required(_TIME, "at"), sqlite_autoincrement=True,
    )  # fmt: skip
    op.create_index("votes_of_project", "votes", ["project_id", "id"])
    op.create_index("votes_of_event", "votes", ["event_id"])
    op.create_index("votes_of_task", "votes", ["task_id"])
    op.create_table(
        "current_votes", _ref("task_id", key=True), _ref("person_id", key=True), *_text_keys("key", "wording"),
        _ref("project_id"), *_texts("value"), *_required(_NUMBER, "vote_id"),
    )  # fmt: skip
    op.create_index("current_of_project", "current_votes", ["project_id"])
