"""What the commands about people's work share: the recipe with the review app, and its database of votes."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console

from benchbuilder.annotation.backends.app import AppSpec, AppVotes
from benchbuilder.annotation.database.open import open_ballots
from benchbuilder.annotation.database.project_setup import CLAIMS
from benchbuilder.cli.session import Session, open_session
from benchbuilder.config.load import load_recipe
from benchbuilder.config.spec.review_project import ProjectSpec
from benchbuilder.core.errors import Problem, RecipeError

if TYPE_CHECKING:
    from benchbuilder.annotation.database.store import Ballots


@dataclass(frozen=True)
class Desk:
    """A session and the database in which the votes of its projects stand.

    `annotation` is ``None`` where the recipe has nobody judge its candidates in the app.
    """

    session: Session
    ballots: Ballots
    annotation: AppSpec | None

    def specs(self) -> dict[str, ProjectSpec]:
        """What the recipe says of each of its projects: candidates, rows that steps have people vote on, reviews."""
        claims: dict[str, ProjectSpec] = {} if self.annotation is None else {CLAIMS: self.annotation}
        asking = [getattr(node.maker, "votes", None) for node in self.session.plan.nodes.values()]
        steps: dict[str, ProjectSpec] = {votes.name: votes.spec for votes in asking if isinstance(votes, AppVotes)}
        return {**claims, **steps, **self.session.plan.recipe.reviews}

    def project(self, name: str) -> str:
        """The project called `name`; RecipeError if the recipe has none of that name."""
        specs = self.specs()
        if name not in specs:
            raise RecipeError([Problem(f"there is no project {name!r}", where=f"command line: --project {name}",
                                       allowed=", ".join(specs))])  # fmt: skip
        return name


def app_session(args: argparse.Namespace, console: Console) -> Session:
    """A session in which experts judge candidates in the app, as the recipe or the words say.

    Where they say otherwise and no word chooses an `annotation`, it is ``annotation=app``.
    """
    chosen = any(word.startswith("annotation=") for word in args.overrides)
    if not chosen and not isinstance(load_recipe(args.overrides, recipes=args.recipes).recipe.annotation, AppSpec):
        args.overrides.append("annotation=app")
    return open_session(args, console)


@contextlib.contextmanager
def open_desk(session: Session) -> Generator[Desk]:
    """The database of a session's projects; it is made if it is not there."""
    annotation = session.plan.recipe.annotation
    app = annotation if isinstance(annotation, AppSpec) else None
    workplace = session.store.workplace
    workplace.mkdir(parents=True, exist_ok=True)
    with open_ballots(app.database_env if app else None, workplace) as ballots:
        yield Desk(session, ballots, app)
