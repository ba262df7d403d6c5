"""What pages ask of the database is looked up by index, however many tasks there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy
from vote_world import World, spec_of, task_of, tasks_of

from benchbuilder.annotation.database.models import Submission

_LARGE = ("tasks", "assignments", "votes", "events", "current_votes", "drafts")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    found = World(f"sqlite:///{tmp_path / 'votes.db'}")
    yield found
    found.store.close()


class Spy:
    """Every statement that is executed, with its query plan."""

    def __init__(self, world: World) -> None:
        self.engine = world.store._transactions.engine
        self.seen: list[tuple[str, object]] = []
        sqlalchemy.event.listen(self.engine, "before_cursor_execute", self._note)

    def _note(self, connection, cursor, statement, parameters, context, many):
        self.seen.append((statement, parameters[0] if many else parameters))

    def plans(self) -> list[tuple[str, str]]:
        """Lines of query plans, each with its statement."""
        sqlalchemy.event.remove(self.engine, "before_cursor_execute", self._note)
        found = []
        with self.engine.connect() as connection:
            for statement, parameters in self.seen:
                if statement.startswith(("BEGIN", "PRAGMA")):
                    continue
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
                found += [(line[3], statement) for line in plan]
        return found

    def scans(self) -> list[str]:
        """Statements that read a large table from end to end."""
        large = re.compile(rf"SCAN ({'|'.join(_LARGE)})\b")
        return [f"{line}: {statement}" for line, statement in self.plans() if large.match(line)]


def test_pages_scan_nothing(world: World):
    first, second = world.annotators(2)
    judge = world.invite("仲裁", "adjudicator")
    world.lay_out(tasks_of(50, 1), spec_of("sound", "supports", "remark"))
    world.submit(second, task_of(0), sound=0)
    world.submit(second, task_of(1), sound=0)
    token = world.tokens["专家1"]
    spy = Spy(world)
    session, _ = world.store.begin_session(token)
    world.store.find_visitor(session)
    world.store.projects()
    world.store.project("p")
    number = world.store.next_number(first, "p", after=3)
    found = world.store.assignment(first, "p", number)
    world.store.save_draft(first, found.task_id, {"note": "一"})
    world.store.skip(first, found.task_id)
    world.store.flag(first, found.task_id, True)
    world.store.list_assignments(first, "p", state="skipped", start=2)
    for task in tasks_of(2, 1):
        id_ = world.store.assignment(first, "p", 5).task_id
        world.store.submit(first, id_, Submission(world.answers(world.store.assignment(first, "p", 5).task)))
        del task
    world.store.progress(first, "p")
    world.store.undo_last(first, "p")
    world.store.count_disputes("p")
    world.store.next_dispute(judge, "p")
    world.store.progress(judge, "p")
    world.store.end_session(session)
    assert len(spy.seen) > 60
    assert spy.scans() == []


def test_deciding_scans_nothing(world: World):
    first, second = world.annotators(2)
    judge = world.invite("仲裁", "adjudicator")
    world.lay_out(tasks_of(50), spec_of())
    for task in tasks_of(3):
        world.submit(first, task, sound=1)
        world.submit(second, task, sound=0)
    spy = Spy(world)
    id_ = world.store.next_dispute(judge, "p", frozenset({1}))
    dispute = world.store.dispute(judge, "p", id_)
    world.store.save_draft(judge, id_, {"reason": "一"})
    assert world.store.submit_decisions(judge, id_, Submission({s: 1 for s, _ in dispute.subjects})) == "kept"
    world.store.undo_last(judge, "p")
    world.store.count_disputes("p")
    assert spy.scans() == []


@pytest.mark.push
def test_a_large_project_is_no_slower(world: World):
    """Counts of the work that SQLite does rather than time: the same number of statements, all by index."""
    first, _ = world.annotators(2)
    counts = []
    for size in (20, 2000):
        world.lay_out(tasks_of(size))
        spy = Spy(world)
        number = world.store.next_number(first, "p")
        found = world.store.assignment(first, "p", number)
        world.store.submit(first, found.task_id, Submission(world.answers(found.task)))
        assert spy.scans() == []
        counts.append(len(spy.seen))
    assert counts[0] == counts[1]


def test_what_is_open_or_flagged_is_not_counted_one_by_one(world: World):
    first, _ = world.annotators(2)
    world.lay_out(tasks_of(50))
    spy = Spy(world)
    world.store.progress(first, "p")
    lines = [line for line, _ in spy.plans() if line.startswith("SEARCH assignments")]
    assert len(lines) == 4
    assert [line for line in lines if "state=?" not in line and "assignments_in_order" not in line] == [
        "SEARCH assignments USING INDEX assignments_flagged (person_id=? AND project_id=? AND live=?)"
    ]
