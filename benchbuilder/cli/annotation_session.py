"""What the annotation commands share: the recipe with the review app, and its database of votes."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from benchbuilder.annotation import (
    CLAIMS_PROJECT,
    AppBackend,
    AppSpec,
    add_gold_tasks,
    make_project,
    open_annotation_store,
    rating_tasks,
    row_decisions,
)
from benchbuilder.cli.session import Session
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import ProjectSpec, Recipe
from benchbuilder.core import Problem, RecipeError, Table, make_folder
from benchbuilder.evaluation import TO_EXPERTS
from benchbuilder.pipeline import item_voters, judging_option, recheck_sample

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
            loaded = self.session.loaded
            app = judging_option(loaded.roots, loaded.recipe, "app")
            hint = f"annotation={app} has candidates judged in the app" if name == CLAIMS_PROJECT else ""
            raise RecipeError([Problem(f"the recipe has no project {name!r}", where=f"command line: --project {name}",
                                       allowed=", ".join(specs), hint=hint)])  # fmt: skip
        return name


@contextlib.contextmanager
def open_annotation_session(session: Session) -> Generator[AnnotationSession]:
    """The database of a session's projects, created if it is missing."""
    annotation = session.plan.recipe.annotation
    app = annotation if isinstance(annotation, AppSpec) else None
    workplace = session.store.workplace
    make_folder(workplace)
    with open_annotation_store(app.database_env if app else None, workplace) as store:
        yield AnnotationSession(session, store, app)


def _voters_of_sample(
    annotation: AnnotationSession, name: str, part: Recipe, items: Table[Any] | None, flagged: Path
) -> dict[str, frozenset[str]] | None:
    """The items that the recheck `name` shows, each with those who voted on it, here or in another review."""
    if items is None:
        return None
    session, store = annotation.session, annotation.store
    voters = item_voters(session.plan, session.store, items)
    for review in session.plan.recipe.reviews:
        for one in row_decisions(store, review) if review != name else ():
            for item in set(one.about("id")) & set(voters):
                voters[item] |= one.people
    return {item: voters[item] for item in recheck_sample(part, items, flagged).drawn}


def create_rating_projects(annotation: AnnotationSession, console: Console) -> None:
    """Make the rating projects of the recipe and their tasks, or bring them up to date; print what is left out."""
    recipe, store = annotation.session.plan.recipe, annotation.session.store
    for name, spec in recipe.reviews.items():
        part = recipe.for_task(spec.rows.task) if spec.rows.task else recipe
        node = annotation.session.plan.nodes.get(part.items)
        manifest = None if node is None else store.manifest(node.name, node.key)
        items = None if manifest is None else store.rows(manifest)
        flagged = store.folder / (spec.rows.task or "") / "analysis" / TO_EXPERTS
        voters = _voters_of_sample(annotation, name, part, items, flagged) if spec.rows.recheck else None
        tasks = rating_tasks(name, spec, items, recipe.seed, flagged, voters)
        if tasks is None:
            of_items = spec.rows.items or spec.rows.recheck
            reason = "the items are not built yet with these settings" if of_items else "no file of rows is named"
            if spec.rows.flagged:
                reason = "benchbuild analyse has sent no items back yet"
            print_line(console, f"{name}: left out, {reason}")
            continue
        project = make_project(name, spec, recipe.language, recipe.seed, recipe.benchmark_name)
        annotation.store.sync_project(project, add_gold_tasks(tasks, spec))
    for project in annotation.store.projects():
        if project.name not in annotation.project_specs():
            annotation.store.retire_project(project.name)
            print_line(console, f"{project.name}: no longer in the recipe; it is closed and its votes stay")
