"""How far a project is: what is judged, how far people agree, and what stays by the votes so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from benchbuilder.annotation.aggregate import Verdicts, decide
from benchbuilder.annotation.base import Ballot, Subject, Task
from benchbuilder.annotation.gates import EVIDENCE_GATE, Judged, first_failed, funnel, gates, survivors
from benchbuilder.annotation.progress.agreement import QuestionStanding, question_standings
from benchbuilder.annotation.tasks import Asked, everything_asked
from benchbuilder.annotation.values import passes
from benchbuilder.config.spec.review_project import ProjectSpec

Fate = Literal["kept", "dropped", "open"]


@dataclass(frozen=True)
class Completion:
    """How much is judged. A task is judged in full when every required question about it has its annotators.

    `votes_wanted` and `votes_given` count judgements on required questions; those of more annotators than the recipe
    wants do not count. `decisions_wanted` are disputes, of which `decisions_given` are decided.
    """

    tasks: int
    full: int
    partly: int
    votes_wanted: int
    votes_given: int
    decisions_wanted: int
    decisions_given: int

    @property
    def untouched(self) -> int:
        """Tasks on which there is no vote."""
        return self.tasks - self.full - self.partly


@dataclass(frozen=True)
class TaskStanding:
    """What the votes so far make of a task; `number` counts from 1 in the order of the tasks.

    ``open`` tasks miss `votes` of annotators or `decisions` of an adjudicator. A ``dropped`` one failed `gate` first
    (a guiding question or ``min_evidence``), where `decided` was decided and `needed` is required. `adjudicated`
    counts what an adjudicator decided about it.
    """

    number: int
    key: str
    text: str
    partition: str
    fate: Fate
    votes: int = 0
    decisions: int = 0
    gate: str = ""
    decided: float | None = None
    needed: float | None = None
    adjudicated: int = 0


@dataclass(frozen=True)
class Threshold:
    """How many tasks stay if at least `minimum` paragraphs must support them.

    `without` says for each gating question how many would stay if it did not gate.
    """

    minimum: int
    kept: int
    by_partition: Mapping[str, int]
    without: Mapping[str, int]


@dataclass(frozen=True)
class Gate:
    """What one gate dropped, and what was left after it. `name` is a guiding question or ``min_evidence``."""

    name: str
    dropped: int
    kept: int


@dataclass(frozen=True)
class Standing:
    """The standing of a project by the votes so far. Gold tasks count nowhere.

    `thresholds` and `gates` are of the tasks that are not open. `samples` is how many resamples the intervals of
    `questions` come from. `gating` is false where the recipe drops nothing, so that ``kept`` means judged.
    """

    completion: Completion
    questions: tuple[QuestionStanding, ...]
    thresholds: tuple[Threshold, ...]
    gates: tuple[Gate, ...]
    tasks: tuple[TaskStanding, ...]
    samples: int
    gating: bool

    def count(self, fate: Fate) -> int:
        """How many tasks are kept, dropped or open."""
        return sum(task.fate == fate for task in self.tasks)


def standing(
    spec: ProjectSpec,
    tasks: Sequence[Task],
    ballot: Ballot,
    *,
    samples: int | None = None,
    asked: Mapping[Subject, Asked] | None = None,
) -> Standing:
    """The standing of the project `spec` with `tasks`, by the rules that the build has too.

    `samples` replaces the recipe's number of resamples for intervals: fewer are quicker and coarser. `asked` is
    everything that is asked about the tasks that are not gold, where it is known already.
    """
    live = [task for task in tasks if not task.expected]
    if asked is None:
        asked = everything_asked(live, spec)
    verdicts = decide(asked, ballot, spec)
    view = _View(spec, asked, ballot, verdicts)
    looked = [view.look(number, task) for number, task in enumerate(live, start=1)]
    closed = Counter(judged for _, judged in looked if judged is not None)
    drawn = samples or spec.bootstrap.samples
    return Standing(
        completion=view.completion(),
        questions=question_standings(spec, asked, ballot, verdicts, drawn),
        thresholds=_thresholds(closed, spec),
        gates=_gates(closed, spec),
        tasks=tuple(task for task, _ in looked),
        samples=drawn,
        gating=bool(spec.required("claim") or spec.min_evidence or spec.thresholds),
    )


class _Profile(NamedTuple):
    """All of a judged task that gates look at; few tasks differ in it."""

    partition: str
    answers: tuple[tuple[str, float], ...]
    supporting: int

    def judged(self) -> Judged:
        return Judged(self.partition, dict(self.answers), self.supporting)


class _View:
    """What verdicts make of single tasks, and what that comes to."""

    def __init__(self, spec: ProjectSpec, asked: Mapping[Subject, Asked], ballot: Ballot, verdicts: Verdicts) -> None:
        self._spec, self._ballot, self._verdicts = spec, ballot, verdicts
        self._disputed = set(verdicts.disputed)
        self._questions, self._each = spec.asked(), spec.votes_each()
        self._required = {name for name, question in self._questions.items() if question.required}
        self._gating, self._supporting = spec.required("claim"), spec.required("evidence")
        self._adjudicated = Counter(asked[subject].claim for subject in verdicts.adjudicated)
        self._by_task: dict[str, list[tuple[Subject, Asked]]] = {}
        for subject, what in asked.items():
            self._by_task.setdefault(what.claim, []).append((subject, what))
        self._failed: dict[_Profile, str | None] = {}
        self._full = self._partly = self._given = self._wanted = 0

    def look(self, number: int, task: Task) -> tuple[TaskStanding, _Profile | None]:
        """What is known of a task, and what gates look at if no decision is missing."""
        decided, asked = self._verdicts.decided, self._by_task.get(task.key, [])
        votes = decisions = 0
        answers: dict[str, float] = {}
        idle: set[str] = set()
        for subject, what in asked:
            value = decided.get(subject)
            if value is None:
                if subject in self._disputed:
                    decisions += 1
                else:
                    votes += self._verdicts.wanting.get(subject, 0)
            elif what.about == "claim":
                answers[what.question] = value
            elif self._is_idle(what.question, value):
                idle.add(subject.key)
        self._tally(asked, votes)
        known = TaskStanding(
            number, task.key, task.text, _partition(task), "open", votes, decisions,
            adjudicated=self._adjudicated[task.key],
        )  # fmt: skip
        if votes or decisions:
            return known, None
        gating = tuple((name, answers[name]) for name in self._gating)
        profile = _Profile(known.partition, gating, len(task.paragraphs) - len(idle))
        return self._closed(known, profile), profile

    def completion(self) -> Completion:
        """Of the tasks looked at so far."""
        decided = len(self._verdicts.adjudicated)
        return Completion(
            tasks=len(self._by_task),
            full=self._full,
            partly=self._partly,
            votes_wanted=self._wanted,
            votes_given=self._given,
            decisions_wanted=decided + len(self._disputed),
            decisions_given=decided,
        )

    def _tally(self, asked: Sequence[tuple[Subject, Asked]], missing: int) -> None:
        wanted = self._each * sum(what.question in self._required for _, what in asked)
        self._wanted += wanted
        self._given += wanted - missing
        if missing < wanted or any(self._ballot.votes.get(subject) for subject, _ in asked):
            self._full += not missing
            self._partly += bool(missing)

    def _is_idle(self, question: str, value: float) -> bool:
        needed = self._supporting.get(question)
        return needed is not None and not passes(self._questions[question], value, needed)

    def _closed(self, known: TaskStanding, profile: _Profile) -> TaskStanding:
        if profile not in self._failed:
            self._failed[profile] = first_failed(profile.judged(), self._spec, self._spec.min_evidence)
        gate = self._failed[profile]
        if gate is None:
            return replace(known, fate="kept")
        if gate == EVIDENCE_GATE:
            decided, needed = float(profile.supporting), float(self._spec.min_evidence)
        else:
            decided, needed = dict(profile.answers)[gate], self._gating[gate]
        return replace(known, fate="dropped", gate=gate, decided=decided, needed=needed)


def _partition(task: Task) -> str:
    return next((value for name, value in task.about if name == "partition"), "")


def _thresholds(closed: Mapping[_Profile, int], spec: ProjectSpec) -> tuple[Threshold, ...]:
    """The survivors under each threshold: those of every profile, as often as there are tasks with it."""
    kept = [Counter[str]() for _ in spec.thresholds]
    without = [Counter[str]() for _ in spec.thresholds]
    for profile, count in closed.items():
        for place, row in enumerate(survivors([profile.judged()], spec)):
            kept[place][profile.partition] += count * row["kept"]
            without[place].update({gate: count * stays for gate, stays in row["without"].items()})
    return tuple(
        Threshold(minimum, kept[place].total(), dict(sorted(kept[place].items())), dict(without[place]))
        for place, minimum in enumerate(spec.thresholds)
    )


def _gates(closed: Mapping[_Profile, int], spec: ProjectSpec) -> tuple[Gate, ...]:
    """The funnel of the tasks that are not open."""
    dropped = Counter[str]()
    for profile, count in closed.items():
        dropped.update({row["gate"]: count * row["dropped"] for row in funnel([profile.judged()], spec)})
    steps: list[Gate] = []
    left = sum(closed.values())
    for name in gates(spec):
        left -= dropped[name]
        steps.append(Gate(name, dropped[name], left))
    return tuple(steps)
