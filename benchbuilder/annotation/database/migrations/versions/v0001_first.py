"""The first tables, and the triggers that keep history from being rewritten."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

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
            there = f"WHEN EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id)" if name == "replace" else ""
            op.execute(
                f"CREATE TRIGGER {table}_no_{name} BEFORE {change} ON {table} {there} "
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


def _people() -> None:
    op.create_table(
        "people",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.Text()),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("invited_at", _TIME, nullable=False),
        sa.Column("expires_at", _TIME, nullable=False),
        sa.Column("revoked", sa.Boolean(), nullable=False),
        sa.Column("seen_at", _TIME),
        sa.Column("projects", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="people_pk"),
        sa.UniqueConstraint("code", name="people_code_unique"),
        sa.UniqueConstraint("name", name="people_name_unique"),
        sa.UniqueConstraint("token_hash", name="people_token_hash_unique"),
    )
    op.create_table(
        "sessions",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("person_id", _NUMBER, nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("started_at", _TIME, nullable=False),
        sa.Column("seen_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="sessions_person_id_fk"),
        sa.PrimaryKeyConstraint("hash", name="sessions_pk"),
    )
    op.create_index("sessions_of_person", "sessions", ["person_id"])


def _projects() -> None:
    op.create_table(
        "projects",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("guideline", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("benchmark", sa.Text(), nullable=False),
        sa.Column("live", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="projects_pk"),
        sa.UniqueConstraint("name", name="projects_name_unique"),
    )
    op.create_table(
        "wordings",
        sa.Column("project_id", _NUMBER, nullable=False),
        sa.Column("wording", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("since", _TIME, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="wordings_project_id_fk"),
        sa.PrimaryKeyConstraint("project_id", "wording", "question", name="wordings_pk"),
    )


def _tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("project_id", _NUMBER, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("shown", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("expected", sa.Text(), nullable=False),
        sa.Column("gold", sa.Boolean(), nullable=False),
        sa.Column("live", sa.Boolean(), nullable=False),
        sa.Column("open_disputes", sa.Integer(), nullable=False),
        sa.Column("agreement", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="tasks_project_id_fk"),
        sa.PrimaryKeyConstraint("id", name="tasks_pk"),
        sa.UniqueConstraint("project_id", "key", name="tasks_project_id_key_unique"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "tasks_in_dispute",
        "tasks",
        ["project_id", "agreement", "id"],
        sqlite_where=sa.text("open_disputes > 0"),
        postgresql_where=sa.text("open_disputes > 0"),
    )


def _assignments() -> None:
    op.create_table(
        "assignments",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("project_id", _NUMBER, nullable=False),
        sa.Column("task_id", _NUMBER, nullable=False),
        sa.Column("person_id", _NUMBER, nullable=False),
        sa.Column("place", sa.Integer()),
        sa.Column("live", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("flagged", sa.Boolean(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("opened_at", _TIME),
        sa.Column("alive_at", _TIME),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("spent", sa.Float(), nullable=False),
        sa.Column("done_event", _NUMBER),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="assignments_person_id_fk"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="assignments_project_id_fk"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="assignments_task_id_fk"),
        sa.PrimaryKeyConstraint("id", name="assignments_pk"),
        sa.UniqueConstraint("task_id", "person_id", name="assignments_task_id_person_id_unique"),
        sqlite_autoincrement=True,
    )
    op.create_index("assignments_by_state", "assignments", ["person_id", "project_id", "live", "state", "place"])
    op.create_index("assignments_by_time", "assignments", ["person_id", "project_id", "live", "state", "seconds"])
    op.create_index("assignments_done", "assignments", ["person_id", "project_id", "done_event"])
    op.create_index(
        "assignments_flagged",
        "assignments",
        ["person_id", "project_id", "live"],
        sqlite_where=sa.text("flagged IS 1"),
        postgresql_where=sa.text("flagged IS true"),
    )
    op.create_index("assignments_in_order", "assignments", ["person_id", "project_id", "place"])
    op.create_index("assignments_of_project", "assignments", ["project_id"])
    op.create_table(
        "drafts",
        sa.Column("assignment_id", _NUMBER, nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("saved_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignments.id"], name="drafts_assignment_id_fk", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("assignment_id", name="drafts_pk"),
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("project_id", _NUMBER, nullable=False),
        sa.Column("task_id", _NUMBER, nullable=False),
        sa.Column("person_id", _NUMBER, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("seconds", sa.Float()),
        sa.Column("active_seconds", sa.Float()),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="events_person_id_fk"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="events_project_id_fk"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="events_task_id_fk"),
        sa.PrimaryKeyConstraint("id", name="events_pk"),
        sqlite_autoincrement=True,
    )
    op.create_index("events_of_project", "events", ["project_id", "id"])


def _votes() -> None:
    op.create_table(
        "votes",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("project_id", _NUMBER, nullable=False),
        sa.Column("task_id", _NUMBER, nullable=False),
        sa.Column("person_id", _NUMBER, nullable=False),
        sa.Column("event_id", _NUMBER, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("wording", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("value", sa.Text()),
        sa.Column("door", sa.Text(), nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(["event_id"], ["events.id"], name="votes_event_id_fk"),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="votes_person_id_fk"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="votes_project_id_fk"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="votes_task_id_fk"),
        sa.PrimaryKeyConstraint("id", name="votes_pk"),
        sqlite_autoincrement=True,
    )
    op.create_index("votes_of_project", "votes", ["project_id", "id"])
    op.create_index("votes_of_event", "votes", ["event_id"])
    op.create_index("votes_of_task", "votes", ["task_id"])

    op.create_table(
        "current_votes",
        sa.Column("task_id", _NUMBER, nullable=False),
        sa.Column("person_id", _NUMBER, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("wording", sa.Text(), nullable=False),
        sa.Column("project_id", _NUMBER, nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("vote_id", _NUMBER, nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="current_votes_person_id_fk"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="current_votes_project_id_fk"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="current_votes_task_id_fk"),
        sa.PrimaryKeyConstraint("task_id", "person_id", "key", "wording", name="current_votes_pk"),
    )
    op.create_index("current_of_project", "current_votes", ["project_id"])
