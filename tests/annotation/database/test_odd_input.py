"""Whatever comes in by a page or an address, the database takes it or refuses it, and never breaks."""

from __future__ import annotations

from ballot_world import World, spec_of, tasks_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchbuilder.annotation.database.models import Submission
from benchbuilder.annotation.database.sanitise import storable_text

texts = st.text(st.characters(), max_size=60) | st.sampled_from(["\0", "\ud800", "a\0b", "'; DROP TABLE votes; --"])
numbers = st.integers() | st.sampled_from([0, -1, 2**31, 2**63, 2**64, 10**30])
floats = st.floats() | st.none()
few = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@few
@given(name=texts, number=numbers, count=numbers, state=texts)
def test_addresses(world: World, name: str, number: int, count: int, state: str):
    person = world.ballots.people()[0] if world.ballots.people() else world.invite("专家1")
    assert world.ballots.project(name) is None
    assert world.ballots.next_number(person, name, number) is None
    assert world.ballots.assignment(person, name, number) is None
    assert world.ballots.list_assignments(person, name, state=state, start=number, count=count) == []
    assert world.ballots.undo_last(person, name) is None
    assert world.ballots.progress(person, name).done == 0
    assert world.ballots.count_disputes(name) == 0
    assert world.ballots.next_dispute(person, name, frozenset({number})) is None
    assert world.ballots.dispute(person, name, number) is None
    assert world.ballots.submit(person, number, Submission({})) == "foreign"
    assert world.ballots.submit_decisions(person, number, Submission({})) == "foreign"
    assert not world.ballots.save_draft(person, number, {})
    assert not world.ballots.skip(person, number)
    assert not world.ballots.flag(person, number, True)
    assert world.ballots.begin_session(name) is None
    assert world.ballots.find_visitor(name) is None
    assert world.ballots.tasks(name) == list(world.ballots.vote_events(name)) == list(world.ballots.events(name)) == []


@few
@given(remark=texts, note=texts, why=texts, draft=st.dictionaries(texts, texts), degree=floats, active=floats)
def test_forms(world: World, remark, note, why, draft, degree, active):
    if not world.ballots.people():
        world.annotators(2)
        world.lay_out(tasks_of(1), spec_of("degree", "remark"))
    person = world.ballots.people()[0]
    found = world.ballots.assignment(person, "p", 1)
    assert world.ballots.save_draft(person, found.task_id, draft)
    kept = world.ballots.assignment(person, "p", 1).draft.data
    assert kept == {storable_text(name): storable_text(text) for name, text in draft.items()}
    world.ballots.flag(person, found.task_id, True, why)
    world.ballots.flag(person, found.task_id, False)
    values = world.answers(found.task, remark=remark, degree=degree)
    submission = Submission(values, note=note, active_seconds=active)
    outcome = world.ballots.submit(person, found.task_id, submission)
    possible = degree is not None and 0 <= degree <= 1 and 0 < len(storable_text(remark)) <= 4000
    assert outcome == ("kept" if possible else "incomplete")
    if possible:
        assert world.ballots.assignment(person, "p", 1).answers[world.subject(found.task, "degree")] == degree
        assert world.ballots.undo_last(person, "p") == 1
