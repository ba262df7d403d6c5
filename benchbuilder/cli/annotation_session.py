"""What the annotation commands share: the recipe with the review app, and its database of votes."""

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
from benchbuilder.core import Problem, RecipeError, make_folder

if TYPE_CHECKING:
    from benchbuilder.annotation import AnnotationStore


@dataclass(frozen=True)
class AnnotationSession:
    """A session and the database with the votes of its projects.

    `app_spec` is ``None`` if candidates are not judged in the app.
    """

    session: Session
    store: AnnotationStore
    app_spec: AppSpec | None

    def project_specs(self) -> dict[str, ProjectSpec]:
        """The spec of each project: candidates, rows that steps have people vote on, and rating projects."""
        claims: dict[str, ProjectSpec] = {} if self.app_spec is None else {CLAIMS_PROJECT: self.app_spec}
        backends = [getattr(node.producer, "votes", None) for node in self.session.plan.nodes.values()]
        steps: dict[str, ProjectSpec] = {
            backend.project_name: backend.spec for backend in backends if isinstance(backend, AppBackend)
        }
        return {**claims, **steps, **self.session.plan.recipe.reviews}

    def checked_project(self, name: str) -> str:
        """`name`, if the recipe has a project of that name; else RecipeError."""
        specs = self.project_specs()
        if name not in specs:
            raise RecipeError([Problem(f"the recipe has no project {name!r}", where=f"command line: --project {name}",
                                       allowed=", ".join(specs))])  # fmt: skip
        return name


def app_session(args: argparse.Namespace, console: Console) -> Session:
    """A session in which experts judge candidates in the app.

    If the recipe uses another backend and no override chooses one, ``annotation=app`` is added.
    """
    is_chosen = any(override.startswith("annotation=") for override in args.overrides)
    if not is_chosen and not isinstance(load_recipe(args.overrides, recipes=args.recipes).recipe.annotation, AppSpec):
        args.overrides.append("annotation=app")
    return open_session(args, console)


@contextlib.contextmanager
def open_annotation_session(session: Session) -> Generator[AnnotationSession]:
    """The database of a session's projects, created if it is missing."""
    annotation = session.plan.recipe.annotation
    app = annotation if isinstance(annotation, AppSpec) else None
    workplace = session.store.workplace
    make_folder(workplace)
    with open_annotation_store(app.database_env if app else None, workplace) as store:
        yield AnnotationSession(session, store, app)
