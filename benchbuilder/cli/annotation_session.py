"""What the commands about people's work share: the recipe with the review app, and its database of votes."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console

from benchbuilder.annotation import CLAIMS_PROJECT, AppBackend, AppSpec, open_annotation_store
from benchbuilder.cli.session import Session, open_session
from benchbuilder.config import ProjectSpec, load_recipe
from benchbuilder.core import Problem, RecipeError

if TYPE_CHECKING:
    from benchbuilder.annotation import AnnotationStore


@dataclass(frozen=True)
class AnnotationSession:
    """A session and the database in which the votes of its projects stand.

    `app_spec` is ``None`` where the recipe has nobody judge its candidates in the app.
    """

    session: Session
    store: AnnotationStore
    app_spec: AppSpec | None

    def project_specs(self) -> dict[str, ProjectSpec]:
        """What the recipe says of each of its projects: candidates, rows that steps have people vote on, reviews."""
        claims: dict[str, ProjectSpec] = {} if self.app_spec is None else {CLAIMS_PROJECT: self.app_spec}
        asking = [getattr(node.producer, "votes", None) for node in self.session.plan.nodes.values()]
        steps: dict[str, ProjectSpec] = {
            votes.project_name: votes.spec for votes in asking if isinstance(votes, AppBackend)
        }
        return {**claims, **steps, **self.session.plan.recipe.reviews}

    def checked_project(self, name: str) -> str:
        """The project called `project_name`; RecipeError if the recipe has none of that name."""
        specs = self.project_specs()
        if name not in specs:
            raise RecipeError([Problem(f"there is no project {name!r}", where=f"command line: --project {name}",
                                       allowed=", ".join(specs))])  # fmt: skip
        return name


def app_session(args: argparse.Namespace, console: Console) -> Session:
    """A session in which experts judge candidates in the app, as the recipe or the words say.

    Where they say otherwise and no word chooses an `app_spec`, it is ``annotation=app``.
    """
    chosen = any(word.startswith("annotation=") for word in args.overrides)
    if not chosen and not isinstance(load_recipe(args.overrides, recipes=args.recipes).recipe.annotation, AppSpec):
        args.overrides.append("annotation=app")
    return open_session(args, console)


@contextlib.contextmanager
def open_annotation_session(session: Session) -> Generator[AnnotationSession]:
    """The database of a session's projects; it is made if it is not there."""
    annotation = session.plan.recipe.annotation
    app = annotation if isinstance(annotation, AppSpec) else None
    workplace = session.store.workplace
    workplace.mkdir(parents=True, exist_ok=True)
    with open_annotation_store(app.database_env if app else None, workplace) as ballots:
        yield AnnotationSession(session, ballots, app)
