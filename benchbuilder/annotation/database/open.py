"""Opens the database of votes of a build, if its libraries are installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchbuilder.annotation.database.project_setup import DATABASE_FILE, database_url
from benchbuilder.core import InstallationError

if TYPE_CHECKING:
    from benchbuilder.annotation.database.store import AnnotationStore


def may_have_votes(database_env: str | None, workplace: Path) -> bool:
    """Whether there may be votes: a shared database is configured, or the build has its own."""
    return database_env is not None or (workplace / DATABASE_FILE).exists()


def open_annotation_store(database_env: str | None, workplace: Path) -> AnnotationStore:
    """Open the database of votes of a build.

    Raises:
        InstallationError: the extra ``review`` is not installed.
        DataError: the database cannot be opened.
    """
    try:
        from benchbuilder.annotation.database.store import AnnotationStore
    except ModuleNotFoundError as error:
        raise missing_review_extra(error) from error
    return AnnotationStore.open(database_url(database_env, workplace))


def missing_review_extra(error: ModuleNotFoundError) -> InstallationError:
    """The error for a missing library of the review app."""
    return InstallationError(
        "the review app needs libraries that are not installed",
        why=f"there is no module {error.name}",
        next="pip install 'benchbuilder[review]'",
    )
