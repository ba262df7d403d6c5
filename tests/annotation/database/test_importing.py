from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from vote_world import World, replayed, spec_of, task_of, tasks_of

from benchbuilder.annotation.base import Subject, Task, Value
from benchbuilder.annotation.database import bulk, import_votes
from benchbuilder.annotation.database.models import ImportedVote, ImportReport
from benchbuilder.core.errors import DataError


def row(world: World, person: str, task: Task, value: Value, question: str = "sound", **more: object) -> ImportedVote:
    return ImportedVote(person, world.subject(task, question), value, **more)


def file_of(world: World, people: list[str], tasks: list[Task]) -> list[ImportedVote]:
    return [
        row(world, person, task, index % 2, where=f"a.csv:{2 + index}", note=f"备注{index}", seconds=30.0)
        for person in people
        for index, task in enumerate(tasks)
    ]


def everything(world: World) -> tuple:
    return list(world.store.vote_events("p")), list(world.store.events("p")), world.store.votes_digest("p")


def test_the_same_file_twice_adds_nothing(world: World):
    people = world.annotators(2)
    world.lay_out(tasks_of(6))
    rows = file_of(world, ["专家1", "专家2"], tasks_of(6))
    assert world.store.import_votes("p", rows, "csv") == ImportReport(new=12, changed=0, same=0, stale=0)
    before = everything(world)
    assert world.store.import_votes("p", iter(rows), "csv", strict=True) == ImportReport(0, 0, 12, 0)
    assert everything(world) == before
    assert {vote.channel for vote in world.store.vote_events("p")} == {"csv"}
    assert {event.kind for event in world.store.events("p")} == {"import"}
    assert {event.seconds for event in world.store.events("p")} == {30}
    assert [world.store.progress(person, "p").done for person in people] == [6, 6]
    assert world.store.undo_last(people[0], "p") is None, "an import is not taken back from a page"
    assert len(world.store.current_votes("p").comments) == 12


def test_votes_meet_those_of_the_app(world: World):
    first, _ = world.annotators(2)
    world.invite("仲裁", "adjudicator")
    world.lay_out(tasks_of(3))
    world.submit(first, task_of(0), sound=1)
    rows = [row(world, "专家2", task_of(0), 0), row(world, "专家1", task_of(0), 1), row(world, "专家1", task_of(1), 1)]
    assert world.store.import_votes("p", rows, "label_studio") == ImportReport(new=2, changed=0, same=1, stale=0)
    assert world.store.count_disputes("p") == 1
    decision = row(world, "仲裁", task_of(0), 1, role="adjudicator", reason="据教科书", error_kinds=("other",))
    assert world.store.import_votes("p", [decision], "csv").new == 1
    assert world.store.count_disputes("p") == 0
    votes = world.store.current_votes("p")
    assert votes.decisions == {world.subject(task_of(0)): ("J1", 1)}
    assert votes.by_subject == replayed(world.store, "p").by_subject
    detail = list(world.store.events("p"))[-1].detail
    assert detail == {"channel": "csv", "reason": "据教科书", "error_kinds": ["other"]}
    assert world.store.progress(first, "p").done == 2


def test_another_value_replaces_unless_strict(world: World):
    world.annotators(2)
    world.lay_out(tasks_of(2))
    world.store.import_votes("p", [row(world, "专家1", task_of(0), 1)], "csv")
    again = [row(world, "专家1", task_of(0), 0, where="b.csv:2"), row(world, "专家1", task_of(1), 0)]
    before = everything(world)
    with pytest.raises(DataError, match=r"b\.csv:2: 专家1 gave 1 before, and now 0"):
        world.store.import_votes("p", again, "csv", strict=True)
    assert everything(world) == before
    assert world.store.import_votes("p", again, "csv") == ImportReport(new=1, changed=1, same=0, stale=0)
    assert [vote.value for vote in world.store.vote_events("p")] == [1, 0, 0]


def test_all_problems_are_reported_and_nothing_is_saved(world: World):
    world.annotators(2)
    world.invite("仲裁", "adjudicator")
    world.invite("负责人", "lead")
    world.lay_out(tasks_of(3))
    good = row(world, "专家1", task_of(0), 1, where="a.csv:2")
    rows = [
        good,
        row(world, "陌生人", task_of(0), 1, where="a.csv:3"),
        row(world, "仲裁", task_of(0), 1, where="a.csv:4"),
        row(world, "专家2", task_of(0), 1, where="a.csv:5", role="adjudicator"),
        row(world, "负责人", task_of(0), 1, where="a.csv:6", role="lead"),
        row(world, "专家2", task_of(1), 7, where="a.csv:7"),
        dataclasses.replace(good, value=0, where="a.csv:8"),
    ]
    with pytest.raises(DataError) as caught:
        world.store.import_votes("p", rows, "csv")
    told = str(caught.value)
    assert all(f"a.csv:{line}: " in told for line in range(3, 9))
    assert "see a.csv:2" in told
    assert "6 problems" in told
    assert not list(world.store.vote_events("p"))
    assert not list(world.store.events("p"))
    with pytest.raises(DataError, match="projects: p"):
        world.store.import_votes("q", rows, "csv")


def test_stale_votes_are_counted(world: World):
    world.annotators(2)
    world.lay_out(tasks_of(3))
    rows = [*file_of(world, ["专家1"], tasks_of(3)), ImportedVote("专家1", Subject("c00", "w00"), 1)]
    world.lay_out(tasks_of(2))
    assert world.store.import_votes("p", rows, "csv") == ImportReport(new=2, changed=0, same=0, stale=2)


def test_half_a_task_stays_open_with_what_is_there(world: World):
    first, second = world.annotators(2)
    task = task_of(0)
    world.lay_out([task], spec_of("sound", "grade"))
    world.store.import_votes("p", [row(world, "专家1", task, 0)], "csv")
    found = world.open(first)
    assert (found.state, dict(found.answers)) == ("open", {world.subject(task): 0})
    world.store.import_votes("p", [row(world, "专家1", task, 3, "grade")], "csv")
    assert world.store.progress(first, "p").done == 1
    assert world.store.progress(second, "p").done == 0


def test_who_judged_elsewhere_spares_others_the_work(world: World):
    world.annotators(4)
    world.lay_out(tasks_of(20))
    world.store.import_votes("p", file_of(world, ["专家1"], tasks_of(20)), "csv")
    people = world.store.people()
    assert len(world.ids(people[0])) == 20
    rest = [len(world.ids(person)) for person in people[1:]]
    assert sum(rest) == 20
    assert max(rest) - min(rest) <= 1


def test_a_correction_from_elsewhere_opens_and_closes_disputes(world: World):
    first, second = world.annotators(2)
    world.lay_out(tasks_of(1))
    for person in (first, second):
        world.submit(person, sound=1)
    world.store.import_votes("p", [row(world, "专家2", task_of(0), 0)], "csv")
    assert world.store.count_disputes("p") == 1
    world.store.import_votes("p", [row(world, "专家1", task_of(0), 0)], "csv")
    assert world.store.count_disputes("p") == 0
    assert world.store.undo_last(second, "p") is None, "an import is not taken back"
    assert world.store.current_votes("p").by_subject == replayed(world.store, "p").by_subject


def test_many_votes_are_added_as_few_are(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    other = World(f"sqlite:///{tmp_path / 'other.db'}")
    found = []
    for each in (world, other):
        each.annotators(3)
        each.invite("仲裁", "adjudicator")
        each.lay_out(tasks_of(7, 2), spec_of("sound", "grade"))
        rows = [row(each, f"专家{1 + n % 2}", task_of(n // 2 % 7), n % 2, note=str(n % 3)) for n in range(14)]
        rows[3:3] = [row(each, "仲裁", task_of(n), n % 2, role="adjudicator") for n in range(0, 7, 2)]
        report = each.store.import_votes("p", [*rows, *rows[::3]], "csv")
        changed = [dataclasses.replace(one, value=1 - one.value) for one in rows[::4] if isinstance(one.value, int)]
        with pytest.raises(DataError) as caught:
            each.store.import_votes("p", [*changed, *rows[:5]], "csv", strict=True)
        again = each.store.import_votes("p", changed, "csv")
        progress = [each.store.progress(person, "p") for person in each.store.people()]
        ids = [(one.id, one.question, one.value, one.event) for one in each.store.vote_events("p")]
        found.append((report, str(caught.value), again, ids, progress, each.store.count_disputes("p"),
                      each.store.votes_digest("p")))  # fmt: skip
        monkeypatch.setattr(import_votes, "_BATCHES_AT_ONCE", 2)
        monkeypatch.setattr(bulk, "_CHUNK", 2)
    other.store.close()
    assert found[0] == found[1]
