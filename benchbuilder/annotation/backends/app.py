"""Votes by way of the review app: candidates are laid out in its database, and votes are read from there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from benchbuilder.annotation.aggregate import count_missing
from benchbuilder.annotation.base import Ballot, Instructions, Subject, Task, Votes, Wanted
from benchbuilder.annotation.database.open import begun, open_ballots
from benchbuilder.annotation.database.project_setup import CLAIMS, project_of, with_gold
from benchbuilder.config.spec.annotation import JudgingSpec
from benchbuilder.config.spec.base import FileRef, KindSpec, Knob
from benchbuilder.config.spec.review_project import ProjectSpec
from benchbuilder.core.context import Context

if TYPE_CHECKING:
    from benchbuilder.annotation.database.store import Ballots


class AppSpec(ProjectSpec):
    """Judgements in the review app; the `fields` of a candidate are ``text``, ``right``, ``wrong``.

    `strings` maps languages to files with the words of the interface, for those that the app does not bring.
    `database_env` is the name of the environment variable with the URL of a shared database; by default the votes
    stand in a file in the folder of the build. Both hold for the reviews of the recipe, too.
    """

    strings: Annotated[dict[str, FileRef], Knob()] = {}
    database_env: Annotated[str | None, Knob()] = None


class AppVotes(Votes):
    """Lays out what is to be judged as tasks of a project, and reads what people voted.

    Candidates with their paragraphs are the project ``claims``; the rows of another step have one of its name.

    The tasks stay there when all votes are in: a vote that is corrected then shows up in ``plan`` as late. Votes of
    people whose invite was revoked count. InstallationError without the extra ``review``.
    """

    kind: ClassVar[str] = "app"
    spec_class: ClassVar[type[KindSpec]] = AppSpec

    spec: AppSpec

    @property
    def name(self) -> str:
        """The name of the project in the app."""
        return self.project or CLAIMS

    @property
    def judging(self) -> JudgingSpec | None:
        """The spec itself."""
        return self.spec

    def observes(self, workplace: Path) -> Mapping[str, str]:
        """A digest of the votes that count; nothing before the first build."""
        if not begun(self.spec.database_env, workplace):
            return {}
        with open_ballots(self.spec.database_env, workplace) as ballots:
            return {"votes in the app": ballots.digest(self.name)}

    def collect(self, subjects: Collection[Subject], workplace: Path) -> Ballot:
        """Every vote on `subjects`; others are counted as stale."""
        if not begun(self.spec.database_env, workplace):
            return Ballot()
        with open_ballots(self.spec.database_env, workplace) as ballots:
            found = ballots.ballot(self.name, everything=True)
        wanted = frozenset(subjects)
        keys = {subject.key for subject in wanted}
        stale = sum(len(votes) for subject, votes in found.votes.items() if subject not in wanted)
        stale += sum(subject not in wanted for subject in found.decisions)
        return Ballot(
            {subject: votes for subject, votes in found.votes.items() if subject in wanted},
            {subject: decision for subject, decision in found.decisions.items() if subject in wanted},
            {"review app": stale} if stale else {},
            [comment for comment in found.comments if comment.key in keys],
        )

    def ask(self, tasks: Sequence[Task], ballot: Ballot, wanted: Wanted, context: Context) -> Instructions:  # noqa: ARG002
        """Lay the tasks out, whether something is wanted or not: the app shows just what is shown now."""
        context.workplace.mkdir(parents=True, exist_ok=True)
        project = project_of(self.name, self.spec, context.language, context.seed, context.benchmark)
        with open_ballots(self.spec.database_env, context.workplace) as ballots:
            before = _asked(ballots, self.name)
            ballots.lay_out(project, with_gold(tasks, self.spec))
            warning = _changes(before, _asked(ballots, self.name))
            members = [p for p in ballots.people() if not p.revoked and self.name in (p.projects or (self.name,))]
        there = Counter(person.role for person in members)
        return Instructions(
            missing=count_missing(wanted, "annotators", "adjudicator"),
            where=f"the review app, project {self.project}" if self.project else "the review app",
            next=_next(wanted, there["annotator"], there["adjudicator"], self.spec),
            warning=warning,
        )


def _asked(ballots: Ballots, project: str) -> set[str]:
    """The keys of the tasks of a project that are asked; none if it is not laid out yet."""
    if ballots.project(project) is None:
        return set()
    live = ballots.live_tasks(project)
    return {task.key for number, task in ballots.tasks(project) if number in live}


def _changes(before: set[str], now: set[str]) -> str:
    """What is other than it was, if people could have begun."""
    if not before or before == now:
        return ""
    return (
        f"the app asks about other tasks than before: {len(now - before)} are new, {len(before - now)} are asked no "
        "more; if that was not meant, build with the former words"
    )


def _next(wanted: Wanted, annotators: int, adjudicators: int, spec: AppSpec) -> str:
    """What to do next: invite people if there are too few, then let them judge."""
    steps: list[str] = []
    if annotators < spec.per_task:
        steps.append(f"invite {spec.per_task - annotators} more with `benchbuild people invite NAME --role annotator`")
    if wanted.decisions and not adjudicators:
        steps.append("invite somebody with `benchbuild people invite NAME --role adjudicator`")
    steps.append("serve the app with `benchbuild review`")
    return ", ".join(steps) + ", with the same arguments as this build; then run the same command again"
