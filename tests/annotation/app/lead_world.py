"""Two annotators, an adjudicator and a lead over a project in which some tasks are in dispute."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from review_world import GUIDELINE, World, claim_tasks, claims_spec, make_world, task

from benchbuilder.annotation.base import Task, Value
from benchbuilder.annotation.database.models import Project, Submission
from benchbuilder.annotation.tasks import judgement_requests

NAMES = ("林晓岚", "Bo Ågren")
THRESHOLDS = {"keep": {"single_answer": 1, "accurate_answer": 1, "supports": 1}, "thresholds": [0, 1, 2, 3, 4]}
DEGREE = {
    "order": 9, "subject": "claim", "label": "⑦ 完整", "text": "答案有多完整？", "answer": "scalar", "tolerance": 0.25,
    "bands": {"high": {"low": 0.5, "high": 1, "text": "基本完整"}, "low": {"low": 0, "high": 0.5, "text": "残缺"}},
}  # fmt: skip


def spec_of(**changes: Any) -> Any:
    questions = {name: q.model_dump() for name, q in claims_spec().questions.items() if q is not None}
    return claims_spec(**{"questions": {**questions, "complete": DEGREE}, "min_seconds": 20, **THRESHOLDS, **changes})


@cache
def _default_spec() -> Any:
    return spec_of()


def gold() -> Task:
    return task(
        {"text": "叶酸应从何时开始补充？", "right": "孕前三个月", "wrong": "孕六个月"}, expected=(("fluent", 1),)
    )


def lead_world(folder: Path, count: int = 4, **changes: Any) -> World:
    """A world whose project ``claims`` has `count` tasks and a gold task."""
    spec = spec_of(**changes)
    tasks = [*claim_tasks(count), gold()]
    url = f"sqlite:///{folder / 'review.sqlite'}"
    world = make_world(url, [(Project("claims", spec, GUIDELINE, "zh", 7), tasks)])
    for name in NAMES:
        world.browser(name)
    return world


def person_of(world: World, name: str) -> Any:
    return next(person for person in world.store.people() if person.name == name)


def vote(world: World, name: str, place: int, note: str = "", seconds: float = 60, **values: Value) -> None:
    """What `name` says about the task number `place` of the project: 1 where nothing is said, 0.8 for scalars.

    ``supports0`` is about the first paragraph.
    """
    person = person_of(world, name)
    wanted = world.store.tasks("claims")[place]
    listed = world.store.list_assignments(person, "claims", count=1000)
    number = next(line.number for line in listed if line.task_id == wanted[0])
    assignment = world.store.assignment(person, "claims", number)
    assert assignment is not None
    world.clock.forward(seconds=seconds)
    questions = _default_spec().questions_about()
    keys = [paragraph.key for paragraph in assignment.task.paragraphs]
    given: dict[Any, Value] = {}
    for subject, what in judgement_requests([assignment.task], _default_spec()).items():
        name_ = what.question + (str(keys.index(subject.key)) if what.subject_kind == "evidence" else "")
        given[subject] = values.get(name_, 0.8 if questions[what.question].answer == "scalar" else 1)
    assert world.store.submit(person, assignment.task_id, Submission(given, note=note)) == "kept"


def disputed_world(folder: Path) -> World:
    """Task 0 agreed; 1 in dispute on two questions, 2 on one paragraph and the scalar, 3 judged by one alone."""
    world = lead_world(folder)
    a, b = NAMES
    vote(world, a, 0)
    vote(world, b, 0, seconds=5)
    vote(world, a, 1, note="第一个人的备注", single_answer=1, accurate_answer=0)
    vote(world, b, 1, single_answer=0, accurate_answer=1)
    vote(world, a, 2, supports1=0, complete=0.9)
    vote(world, b, 2, supports1=1, complete=0.3)
    vote(world, a, 3)
    return world
