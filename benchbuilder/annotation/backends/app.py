"""The annotation backend for the review app: puts tasks into its database, and reads votes from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from benchbuilder.annotation.aggregate import count_missing
from benchbuilder.annotation.base import (
    AnnotationBackend,
    AnnotatorInstructions,
    MissingJudgements,
    Subject,
    Task,
    Votes,
)
from benchbuilder.annotation.database.project_setup import (
    CLAIMS_PROJECT,
    add_gold_tasks,
    make_project,
    may_have_votes,
    open_annotation_store,
)
from benchbuilder.config import FileRef, KindSpec, ProjectSpec, RuntimeOption
from benchbuilder.core import StepContext, make_folder

if TYPE_CHECKING:
    from benchbuilder.annotation.database.store import AnnotationStore


class AppSpec(ProjectSpec):
    """Annotation in the review app; the `fields` of a candidate are ``text``, ``right``, ``wrong``.

    `strings` maps languages to files with interface texts, for languages that the app does not include.
    `database_env` names the environment variable with the URL of a shared database. By default, votes are in a file in
    the folder of the build. Both settings also apply to the rating projects of the recipe.
    """

    strings: Annotated[dict[str, FileRef], RuntimeOption()] = {}
    database_env: Annotated[str | None, RuntimeOption()] = None

    @property
    def looks_elsewhere(self) -> bool:
        """A shared database is not in the folder of the build."""
        return self.database_env is not None


class AppBackend(AnnotationBackend):
    """Adds tasks to a project of the review app, and reads the votes.

    Candidates with their paragraphs are the project ``claims``; rows of another step are a project with its name.
    Tasks stay in the app when all votes are in. A later correction then appears in ``plan`` as a late vote. Votes of
    people with a revoked invitation count. Methods raise InstallationError without the extra ``review``.
    """

    kind: ClassVar[str] = "app"
    spec_class: ClassVar[type[KindSpec]] = AppSpec

    spec: AppSpec

    @property
    def project_name(self) -> str:
        """The name of the project in the app."""
        return self.project or CLAIMS_PROJECT

    def external_inputs(self, workplace: Path) -> Mapping[str, str]:
        """A digest of the votes that count; empty before the first build."""
        if not may_have_votes(self.spec.database_env, workplace):
            return {}
        with open_annotation_store(self.spec.database_env, workplace) as store:
            return {"votes in the app": store.votes_digest(self.project_name)}

    def collect(self, subjects: Collection[Subject], workplace: Path) -> Votes:
        """Collect every vote on `subjects`; other votes are counted as stale."""
        if not may_have_votes(self.spec.database_env, workplace):
            return Votes()
        with open_annotation_store(self.spec.database_env, workplace) as store:
            stored = store.current_votes(self.project_name, include_retired=True)
        wanted = frozenset(subjects)
        keys = {subject.key for subject in wanted}
        stale = sum(len(votes) for subject, votes in stored.by_subject.items() if subject not in wanted)
        stale += sum(subject not in wanted for subject in stored.decisions)
        return Votes(
            {subject: votes for subject, votes in stored.by_subject.items() if subject in wanted},
            {subject: decision for subject, decision in stored.decisions.items() if subject in wanted},
            {"review app": stale} if stale else {},
            [comment for comment in stored.comments if comment.key in keys],
        )

    def ask(
        self,
        tasks: Sequence[Task],
        votes: Votes,  # noqa: ARG002
        missing_judgements: MissingJudgements,
        context: StepContext,
    ) -> AnnotatorInstructions:
        """Sync the tasks, even if nothing is missing: the app must show exactly the current tasks."""
        make_folder(context.workplace)
        project = make_project(self.project_name, self.spec, context.language, context.seed, context.benchmark)
        with open_annotation_store(self.spec.database_env, context.workplace) as store:
            former_keys = _live_task_keys(store, self.project_name)
            store.sync_project(project, add_gold_tasks(tasks, self.spec))
            warning = _change_warning(former_keys, _live_task_keys(store, self.project_name))
            members = [
                person for person in store.people() if not person.revoked and person.belongs_to(self.project_name)
            ]
        members_by_role = Counter(person.role for person in members)
        return AnnotatorInstructions(
            missing=count_missing(missing_judgements, "annotators", "adjudicator"),
            where=f"the review app, project {self.project}" if self.project else "the review app",
            next=_next_steps(
                missing_judgements, members_by_role["annotator"], members_by_role["adjudicator"], self.spec
            ),
            warning=warning,
        )


def _live_task_keys(store: AnnotationStore, project: str) -> set[str]:
    """The keys of the live tasks of a project; empty if the project does not exist yet."""
    return {task.key for is_live, task in store.each_task(project) if is_live}


def _change_warning(former: set[str], now: set[str]) -> str:
    """A warning if the tasks changed since people could have begun, else an empty text."""
    if not former or former == now:
        return ""
    return (
        f"the tasks in the app changed: {len(now - former)} are new, {len(former - now)} are no longer asked; "
        "if this was not intended, build with the former overrides"
    )


def _next_steps(missing: MissingJudgements, annotators: int, adjudicators: int, spec: AppSpec) -> str:
    """The next steps: invite people if there are too few, then let them judge."""
    steps: list[str] = []
    if annotators < spec.per_task:
        steps.append(f"invite {spec.per_task - annotators} more with `benchbuild people invite NAME --role annotator`")
    if missing.decisions and not adjudicators:
        steps.append("invite somebody with `benchbuild people invite NAME --role adjudicator`")
    steps.append("serve the app with `benchbuild review`")
    return ", ".join(steps) + ", with the same arguments as this build; then run the same command again"
