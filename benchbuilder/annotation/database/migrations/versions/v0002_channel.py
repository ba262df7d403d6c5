"""Renames the column of votes that says how they came in: ``door`` becomes ``channel``."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Rename the column in place: SQLite (from 3.25 on) and PostgreSQL keep rows, indexes and triggers."""
    op.execute("ALTER TABLE votes RENAME COLUMN door TO channel")
