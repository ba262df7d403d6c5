"""Whatever comes in by a page or an address, the database takes it or refuses it, and never breaks."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from vote_world import World, spec_of, tasks_of

from benchbuilder.annotation.database.models import Submission
from benchbuilder.annotation.database.sanitise import storable_text

texts = st.text(st.characters(), max_size=60) | st.sampled_from(["\0", "\ud800", "a\0b", "'; DROP TABLE votes; --"])
numbers = st.integers() | st.sampled_from([0, -1, 2**31, 2**63, 2**64, 10**30])
floats = st.floats() | st.none()
few = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.push
@few
@given(name=texts, number=numbers, count=numbers, state=texts)
def test_addresses(world: World, name: str, number: int, count: int, state: str):
    person = world.store.people()[0] if world.store.people() else world.invite("专家1")
    assert world.store.project(name) is None
    assert world.store.next_number(person, name, number) is None
    assert world.store.assignment(person, name, number) is None
    assert world.store.list_assignments(person, name, state=state, start=number, count=count) == []
    assert world.store.undo_last(person, name) is None
    assert world.store.progress(person, name).done == 0
    assert world.store.count_disputes(name) == 0
    assert world.store.next_dispute(person, name, frozenset({number})) is None
    assert world.store.dispute(person, name, number) is None
    assert world.store.submit(person, number, Submission({})) == "foreign"
    assert world.store.submit_decisions(person, number, Submission({})) == "foreign"
    assert world.store.save_draft(person, number, {}) != "kept"
    assert not world.store.skip(person, number)
    assert not world.store.flag(person, number, True)
    assert world.store.begin_session(name) is None
    assert world.store.find_visitor(name) is None
    assert world.store.tasks(name) == list(world.store.vote_events(name)) == list(world.store.events(name)) == []


@pytest.mark.push
@few
@given(remark=texts, note=texts, why=texts, draft=st.dictionaries(texts, texts), degree=floats, active=floats)
def test_forms(world: World, remark, note, why, draft, degree, active):
    if not world.store.people():
        world.annotators(2)
        world.lay_out(tasks_of(1), spec_of("degree", "remark"))
    person = world.store.people()[0]
    found = world.store.assignment(person, "p", 1)
    assert world.store.save_draft(person, found.task_id, draft) == "kept"
    kept = world.store.assignment(person, "p", 1).draft.data
    assert kept == {storable_text(name): storable_text(text) for name, text in draft.items()}
    world.store.flag(person, found.task_id, True, why)
    world.store.flag(person, found.task_id, False)
    values = world.answers(found.task, remark=remark, degree=degree)
    submission = Submission(values, note=note, active_seconds=active)
    outcome = world.store.submit(person, found.task_id, submission)
    possible = degree is not None and 0 <= degree <= 1 and 0 < len(storable_text(remark)) <= 4000
    assert outcome == ("kept" if possible else "incomplete")
    if possible:
        assert world.store.assignment(person, "p", 1).answers[world.subject(found.task, "degree")] == degree
        assert world.store.undo_last(person, "p") == 1
