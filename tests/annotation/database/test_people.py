from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from vote_world import World, spec_of, tasks_of

from benchbuilder.core.errors import DataError


def test_people_get_codes_by_role(world: World):
    world.annotators(2)
    world.invite("仲裁", "adjudicator")
    world.invite("负责人", "lead")
    world.invite("专家3")
    found = {person.name: person.code for person in world.store.people()}
    assert found == {"专家1": "A1", "专家2": "A2", "专家3": "A3", "仲裁": "J1", "负责人": "L1"}
    assert [person.role for person in world.store.people()] == ["annotator"] * 3 + ["adjudicator", "lead"]


def test_a_name_is_taken_once(world: World):
    world.invite("Li Wei")
    for again in ("Li Wei", " li wei "):
        with pytest.raises(DataError, match="somebody is called"):
            world.invite(again, "lead")
    for bad in ("", "  ", "a\nb", "x" * 81):
        with pytest.raises(DataError, match="nobody can be called"):
            world.invite(bad)
    assert len(world.store.people()) == 1


def test_unknown_people_are_named_with_those_who_are_known(world: World):
    world.annotators(2)
    for change in (world.store.revoke, world.store.reinvite):
        with pytest.raises(DataError, match="专家1, 专家2"):
            change("谁")


def test_a_token_lets_in_and_a_forged_one_does_not(world: World):
    person = world.invite("专家1")
    begun = world.store.begin_session(world.tokens["专家1"])
    assert begun is not None
    session, visitor = begun
    assert visitor.person.id == person.id
    found = world.store.find_visitor(session)
    assert found is not None
    assert found.csrf == visitor.csrf != session
    token = world.tokens["专家1"]
    for forged in ("", token[:-1], token + "A", token.swapcase(), "专家1", session, "\ud800", "\0"):
        assert world.store.begin_session(forged) is None
    for forged in ("", session[:-1], token, visitor.csrf, "\ud800", "\0"):
        assert world.store.find_visitor(forged) is None
        world.store.end_session(forged)
        world.store.choose_language(forged, "en")
    assert world.store.find_visitor(session) is not None


def test_a_token_expires(world: World):
    world.invite("专家1")
    world.clock.tick(days=30, seconds=-1)
    begun = world.store.begin_session(world.tokens["专家1"])
    assert begun is not None
    world.clock.tick(seconds=1)
    assert world.store.begin_session(world.tokens["专家1"]) is None
    assert world.store.find_visitor(begun[0]) is not None, "who is in stays in"


def test_a_session_ends_when_idle_and_after_a_week(world: World):
    world.invite("专家1")
    start = world.clock.now
    session = world.store.begin_session(world.tokens["专家1"])[0]
    for _ in range(14):
        world.clock.tick(hours=12, seconds=-1)
        found = world.store.find_visitor(session)
        assert found is not None
    assert found.expires_at == start + timedelta(days=7)
    world.clock.tick(seconds=14)
    assert world.store.find_visitor(session) is None, "a week is over"
    session = world.store.begin_session(world.tokens["专家1"])[0]
    world.clock.tick(hours=12)
    assert world.store.find_visitor(session) is None


def test_revoking_ends_everything_at_once(world: World):
    person = world.invite("专家1")
    session = world.store.begin_session(world.tokens["专家1"])[0]
    assert world.store.revoke("专家1").revoked
    assert world.store.find_visitor(session) is None
    assert world.store.begin_session(world.tokens["专家1"]) is None
    again, token = world.store.reinvite("专家1")
    assert (again.id, again.code, again.revoked) == (person.id, person.code, False)
    assert world.store.find_visitor(session) is None
    assert world.store.begin_session(world.tokens["专家1"]) is None
    assert world.store.begin_session(token) is not None


def test_another_invite_ends_the_first(world: World):
    world.invite("专家1")
    session = world.store.begin_session(world.tokens["专家1"])[0]
    _, token = world.store.reinvite("专家1", days=1)
    assert world.store.find_visitor(session) is None
    assert world.store.begin_session(world.tokens["专家1"]) is None
    assert world.store.begin_session(token) is not None
    world.clock.tick(days=1)
    assert world.store.begin_session(token) is None


def test_leaving_ends_one_session(world: World):
    world.invite("专家1")
    first, second = (world.store.begin_session(world.tokens["专家1"])[0] for _ in range(2))
    world.store.end_session(first)
    assert world.store.find_visitor(first) is None
    assert world.store.find_visitor(second) is not None


def test_the_language_stays_for_later_sessions(world: World):
    world.invite("专家1")
    session, visitor = world.store.begin_session(world.tokens["专家1"])
    assert visitor.language == ""
    world.store.choose_language(session, "en")
    assert world.store.find_visitor(session).language == "en"
    assert world.store.begin_session(world.tokens["专家1"])[1].language == "en"


def test_visits_are_noted(world: World):
    world.invite("专家1")
    assert world.store.people()[0].seen_at is None
    session = world.store.begin_session(world.tokens["专家1"])[0]
    world.clock.tick(minutes=5)
    world.store.find_visitor(session)
    assert world.store.people()[0].seen_at == world.clock.now


def test_who_was_shut_out_can_do_nothing_even_with_an_old_page(world: World):
    person = world.annotators(2)[0]
    world.lay_out(tasks_of(2), spec_of())
    found = world.open(person)
    world.store.revoke(person.name)
    assert world.store.assignment(person, "p", found.number) is None
    assert world.store.save_draft(person, found.task_id, {"v.a.b": "1"}) != "kept"
    assert not world.store.skip(person, found.task_id)
    assert not list(world.store.vote_events("p"))


def test_no_secret_is_in_the_file(tmp_path: Path):
    world = World(f"sqlite:///{tmp_path / 'votes.db'}")
    world.invite("专家1")
    world.tokens["again"] = world.store.reinvite("专家1")[1]
    session, visitor = world.store.begin_session(world.tokens["again"])
    world.store.find_visitor(session)
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    world.store.close()
    written += b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert "专家1".encode() in written
    for secret in (*world.tokens.values(), session, visitor.csrf):
        assert secret.encode() not in written
    with sqlite3.connect(tmp_path / "votes.db") as raw:
        assert "token_hash" in "".join(raw.iterdump())
    raw.close()
