from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from vote_world import World, spec_of, task_of, tasks_of

from benchbuilder.annotation.database.models import ImportedVote, Submission
from benchbuilder.annotation.database.sanitise import form_field_name, value_as_typed


def test_undo_at_the_same_time_takes_each_back_once(world: World):
    person = world.annotators(2)[0]
    world.lay_out(tasks_of(3))
    for _ in range(3):
        world.submit(person)
        start = threading.Barrier(6)

        def undo(start: threading.Barrier = start) -> int | None:
            start.wait()
            return world.store.undo_last(person, "p")

        with ThreadPoolExecutor(6) as pool:
            found = [future.result() for future in [pool.submit(undo) for _ in range(6)]]
        assert sorted(found, key=str) == [1, *[None] * 5]
    history = [vote.value for vote in world.store.vote_events("p")]
    assert history == [1, None] * 3


def test_an_imported_decision_is_not_taken_back(world: World):
    people = world.annotators(2)
    judge = world.invite("仲裁", "adjudicator")
    tasks = tasks_of(2)
    world.lay_out(tasks)
    for task in tasks:
        for value, person in enumerate(people):
            world.submit(person, task, sound=value)
    world.decide(judge, world.id_of(tasks[0]), 1)
    world.store.import_votes(
        "p", [ImportedVote("仲裁", world.subject(tasks[1]), 1, role="adjudicator", reason="x")], "csv"
    )
    assert world.store.undo_last(judge, "p") == world.id_of(tasks[0])
    assert list(world.store.current_votes("p").decisions) == [world.subject(tasks[1])]
    assert world.store.undo_last(judge, "p") is None


def test_an_imported_correction_is_not_taken_back(world: World):
    person = world.annotators(2)[0]
    tasks = tasks_of(2)
    world.lay_out(tasks)
    for task in tasks:
        world.submit(person, task, sound=1)
    world.store.import_votes("p", [ImportedVote("专家1", world.subject(tasks[1]), 0)], "csv")
    assert world.store.undo_last(person, "p") == world.open(person, tasks[0]).number
    assert world.store.current_votes("p").by_subject == {world.subject(tasks[1]): {"A1": 0}}
    assert world.store.undo_last(person, "p") is None


@pytest.mark.parametrize("undone", [True, False])
def test_an_answer_to_what_was_not_asked_for_a_time_stays(world: World, undone: bool):
    person = world.annotators(2)[0]
    task = task_of(1)
    both, one = spec_of("sound", "remark"), spec_of("sound")
    world.lay_out([task], both)
    world.submit(person, task, remark="先前说过的")
    world.lay_out([task], one)
    if undone:
        world.store.undo_last(person, "p")
    found = world.open(person, task)
    world.store.save_draft(person, found.task_id, {form_field_name(world.subject(task)): "0"})
    world.lay_out([task], both)
    draft = world.open(person, task).draft
    remark = form_field_name(world.subject(task, "remark"))
    assert dict(draft.data) == {form_field_name(world.subject(task)): "0", remark: "先前说过的"}
    values = {world.subject(task): 0, world.subject(task, "remark"): draft.data[remark]}
    assert world.store.submit(person, found.task_id, Submission(values)) == "kept"
    assert {vote.value for vote in world.store.vote_events("p")} >= {0, "先前说过的"}
    assert world.store.current_votes("p").by_subject[world.subject(task, "remark")] == {"A1": "先前说过的"}


def test_large_whole_numbers_are_typed_in_full():
    assert [value_as_typed(value) for value in (2023001, 1.0, 0.25, 0.1234567, "一")] == [
        "2023001",
        "1",
        "0.25",
        "0.123457",
        "一",
    ]
