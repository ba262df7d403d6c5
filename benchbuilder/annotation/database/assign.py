"""Assigns tasks to annotators: as many per task as it needs, evenly, and in a separate order for each person."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from benchbuilder.annotation.database import bulk
from benchbuilder.annotation.database.projects import ProjectRef
from benchbuilder.annotation.database.sanitise import load_json
from benchbuilder.annotation.database.schema import assignments, people, tasks
from benchbuilder.annotation.database.users import active_person_ids, is_project_member
from benchbuilder.annotation.recheck import VOTERS, is_barred

_GOLD_EVERY = 10


@dataclass
class AssignmentPlan:
    """`annotators` maps task ids to person ids; `movable` maps person ids to their unopened tasks.

    `barred` maps task ids to the people who may not get them, because they voted on the item before.
    """

    annotators: dict[int, set[int]] = field(default_factory=dict[int, set[int]])
    movable: dict[int, set[int]] = field(default_factory=dict[int, set[int]])
    barred: dict[int, set[int]] = field(default_factory=dict[int, set[int]])

    def assign(self, task: int, person: int) -> None:
        """Assign an unopened task to `person`."""
        self.annotators[task].add(person)
        self.movable[person].add(task)

    def unassign(self, task: int, person: int) -> None:
        """Take an unopened task from `person`."""
        self.annotators[task].discard(person)
        self.movable[person].discard(task)


def balance_assignments(connection: Connection, project: ProjectRef, now: datetime) -> None:
    """Assign tasks that nobody opened to members of the project with a valid link or session.

    Opened tasks stay with their annotator unless their access was revoked; finished tasks always stay. Nothing changes
    unless people or tasks changed.
    """
    query = select(people.c.id, people.c.code, people.c.name, people.c.revoked, people.c.projects)
    query = query.where(people.c.role == "annotator")
    everybody = connection.execute(query.order_by(people.c.id)).all()
    active = {row.id for row in everybody if not row.revoked and is_project_member(row.projects, project.name)}
    coming = active & active_person_ids(connection, now)
    query = select(tasks.c.id, tasks.c.key, tasks.c.gold, tasks.c.about).where(
        tasks.c.project_id == project.id, tasks.c.live
    )
    live = {row.id: row for row in connection.execute(query.order_by(tasks.c.ordinal, tasks.c.id))}
    query = select(assignments).where(assignments.c.project_id == project.id)
    existing = {
        (row.task_id, row.person_id): row
        for row in connection.execute(query.where(assignments.c.person_id.in_([row.id for row in everybody])))
    }
    barred = {
        id_: {row.id for row in everybody if is_barred(about, row.code, row.name)}
        for id_, task in live.items()
        if VOTERS in task.about and (about := load_json(task.about))
    }
    plan = _plan_assignments(project, live, active, coming, existing, barred)
    places: dict[tuple[int, int], int | None] = {}
    for row in everybody:
        mine = [id_ for id_ in live if row.id in plan.annotators[id_]]
        ordered = _order_tasks(project, row, [live[id_] for id_ in mine], existing)
        places |= {(id_, row.id): place for place, id_ in enumerate(ordered, start=1)}
    _write_assignments(connection, project, existing, places)


# --- which person


def _plan_assignments(
    project: ProjectRef, live: Mapping[int, Any], active: set[int], coming: set[int], existing: Mapping[Any, Any],
    barred: dict[int, set[int]],
) -> AssignmentPlan:  # fmt: skip
    plan = AssignmentPlan({id_: set() for id_ in live}, {person: set() for person in sorted(coming)}, barred)
    by_task: dict[int, list[Any]] = {id_: [] for id_ in live}
    for (task, _), row in sorted(existing.items()):
        if task in live:
            by_task[task].append(row)
    for id_, task in live.items():
        if task.gold:
            _assign_gold(plan, id_, by_task[id_], active)
        else:
            mine = [row for row in by_task[id_] if row.person_id not in barred.get(id_, ()) or row.state == "done"]
            _keep_assignments(plan, id_, mine, active, project.spec.per_task)
    for id_, task in live.items():
        if not task.gold and len(plan.annotators[id_]) < project.spec.per_task:
            _assign_missing(plan, id_, project.spec.per_task, random.Random(f"{project.seed}:{task.key}"))
    _level_loads(plan, {id_: task.key for id_, task in live.items() if not task.gold}, project.seed)
    return plan


def _assign_gold(plan: AssignmentPlan, task: int, rows: list[Any], active: set[int]) -> None:
    theirs = {row.person_id for row in rows if row.state == "done" or _has_opened(row, active)}
    plan.annotators[task] = {*plan.movable, *theirs}


def _keep_assignments(plan: AssignmentPlan, task: int, rows: list[Any], active: set[int], most: int) -> None:
    """Keep the task with those who finished it, then with those who opened it, then with the others."""
    judges = plan.annotators[task]
    judges |= {row.person_id for row in rows if row.state == "done" or (_has_opened(row, active) and row.live)}
    for row in rows:
        if len(judges) < most and _has_opened(row, active):
            judges.add(row.person_id)
    unopened = [row.person_id for row in rows if row.opened_at is None and row.person_id in plan.movable]
    for person in sorted(unopened, key=lambda person: (len(plan.movable[person]), person)):
        if len(judges) < most:
            plan.assign(task, person)


def _has_opened(row: Any, active: set[int]) -> bool:
    return row.opened_at is not None and row.person_id in active


def _assign_missing(plan: AssignmentPlan, task: int, most: int, draw: random.Random) -> None:
    """Assign the task to people with the fewest unopened tasks; `draw` breaks ties."""
    judges = plan.annotators[task]
    free = [person for person in plan.movable if person not in judges and person not in plan.barred.get(task, ())]
    draw.shuffle(free)
    free.sort(key=lambda person: len(plan.movable[person]))
    for person in free[: most - len(judges)]:
        plan.assign(task, person)


def _level_loads(plan: AssignmentPlan, keys: Mapping[int, str], seed: int) -> None:
    """Move unopened tasks from people with the most to people with the fewest, as long as that helps."""
    pools: dict[tuple[int, int], list[int]] = {}
    while True:
        load = {person: len(mine) for person, mine in plan.movable.items()}
        pairs = [
            (load[few] - load[many], many, few) for many in load for few in load
            if load[many] - load[few] > 1 and pools.get((many, few)) != []
        ]  # fmt: skip
        if not pairs:
            return
        _, many, few = min(pairs)
        if (many, few) not in pools:
            pools[many, few] = sorted(plan.movable[many], key=lambda task: _rank(seed, f"{many}>{few}", keys[task]))
        pool = pools[many, few]
        while pool:
            task = pool.pop()
            taken = plan.annotators[task] | plan.barred.get(task, set())
            if task in plan.movable[many] and few not in taken:
                plan.unassign(task, many)
                plan.assign(task, few)
                break


# --- in which order


def _order_tasks(project: ProjectRef, person: Any, mine: list[Any], existing: Mapping[Any, Any]) -> list[int]:
    """Ids of the tasks `mine` in the person's order. Opened tasks keep their place if it still exists.

    One gold task goes with so many others, at a place among them that nobody can foresee.
    """
    every = project.spec.gold.every if project.spec.gold is not None else _GOLD_EVERY
    fixed: dict[int, Any] = {}
    rest: dict[bool, list[Any]] = {False: [], True: []}
    for task in sorted(mine, key=lambda task: _rank(project.seed, person.code, task.key), reverse=True):
        row = existing.get((task.id, person.id))
        if row is not None and row.opened_at is not None and row.place is not None and row.place not in fixed:
            fixed[row.place] = task
        else:
            rest[task.gold].append(task)
    ordered: list[int] = []
    block = others = 0
    planted = False
    while len(ordered) < len(mine):
        place = len(ordered) + 1
        if place in fixed:
            task = fixed.pop(place)
        elif rest[True] and not planted and (others >= _gold_offset(project, person, block, every) or not rest[False]):
            task = rest[True].pop()
        else:
            task = (rest[False] or rest[True]).pop() if rest[False] or rest[True] else fixed.pop(min(fixed))
        planted, others = planted or task.gold, others + (not task.gold)
        if planted and others >= every:
            block, others, planted = block + 1, 0, False
        ordered.append(task.id)
    return ordered


def _gold_offset(project: ProjectRef, person: Any, block: int, every: int) -> int:
    """How many of the other tasks of a block come before its gold task."""
    return int.from_bytes(_rank(project.seed, person.code, f"gold {block}")) % (every + 1)


def _rank(seed: int, who: str, key: str) -> bytes:
    return hashlib.blake2b(f"{seed}:{who}:{key}".encode(), digest_size=8).digest()


# --- into the database


def _write_assignments(
    connection: Connection, project: ProjectRef, existing: Mapping[Any, Any], places: Mapping[Any, int | None]
) -> None:
    new = [
        {
            "project_id": project.id, "task_id": task, "person_id": person, "place": place, "live": True,
            "state": "open",
            "flagged": False, "note": "", "seconds": 0.0, "spent": 0.0,
        }
        for (task, person), place in places.items() if (task, person) not in existing
    ]  # fmt: skip
    gone = [row.id for pair, row in existing.items() if pair not in places and row.opened_at is None]
    moved = [
        {"id": row.id, "place": places.get(pair), "live": pair in places}
        for pair, row in existing.items()
        if (row.place, row.live) != (places.get(pair), pair in places)
    ]
    bulk.delete_assignments(connection, gone)
    removed = set(gone)
    bulk.update_rows(connection, assignments, [row for row in moved if row["id"] not in removed])
    bulk.insert_rows(connection, assignments, new)
