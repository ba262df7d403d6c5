"""The database of votes of a build, opened where the libraries for it are installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchbuilder.annotation.database.project_setup import FILE, database_url
from benchbuilder.core.errors import InstallationError

if TYPE_CHECKING:
    from benchbuilder.annotation.database.store import Ballots


def begun(database_env: str | None, workplace: Path) -> bool:
    """Whether there may be votes: a shared database is named, or the build has its own."""
    return database_env is not None or (workplace / FILE).exists()


def open_ballots(database_env: str | None, workplace: Path) -> Ballots:
    """The database of votes of a build. InstallationError without the extra ``review``."""
    try:
        from benchbuilder.annotation.database.store import Ballots
    except ModuleNotFoundError as error:
        raise needs_review(error) from error
    return Ballots.open(database_url(database_env, workplace))


def needs_review(error: ModuleNotFoundError) -> InstallationError:
    """What to say where a library of the review app is missing."""
    return InstallationError(
        "the review app needs libraries that are not installed",
        why=f"there is no module {error.name}",
        next="pip install 'benchbuilder[review]'",
    )
