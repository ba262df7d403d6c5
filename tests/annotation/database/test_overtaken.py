"""Two pages that were made from the same state: the first one to be sent wins, and nothing of it is replaced."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from vote_world import World, task_of, tasks_of

from benchbuilder.annotation.database.models import ImportedVote, OvertakenError, PageState, Submission
from benchbuilder.core import DataError

T = TypeVar("T")

_TASKS = 8
_AT_ONCE = 3


def at_once(jobs: list[Callable[[], T]]) -> list[T]:
    start = threading.Barrier(len(jobs))

    def run(job: Callable[[], T]) -> T:
        start.wait()
        return job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return [future.result() for future in [pool.submit(run, job) for job in jobs]]


@pytest.mark.push
@pytest.mark.parametrize("correcting", [False, True])
def test_of_submissions_from_one_state_exactly_one_counts(world: World, correcting: bool):
    person, _ = world.annotators(2)
    world.lay_out(tasks_of(_TASKS))
    for number in range(1, _TASKS + 1):
        page = world.store.assignment(person, "p", number)
        assert page is not None
        if correcting:
            world.submit(person, page.task, sound=1, note="first")
            page = world.store.assignment(person, "p", number)
            assert page is not None
        seen = PageState(page.version, "", "")

        def submit(value: int, note: str, page=page, seen=seen) -> str:
            given = Submission(world.answers(page.task, sound=value), note=note, seen=seen)
            return world.store.submit(person, page.task_id, given)

        outcomes = at_once([lambda n=n: submit(n % 2, f"page {n}") for n in range(_AT_ONCE)])
        assert sorted(outcomes) == ["kept"] + ["overtaken"] * (_AT_ONCE - 1)
        stands = world.store.assignment(person, "p", number)
        assert stands is not None
        winner = outcomes.index("kept")
        assert (stands.note, list(stands.answers.values())) == (f"page {winner}", [winner % 2])
    submits = [event for event in world.store.events("p") if event.kind == "submit"]
    assert len(submits) == _TASKS * (1 + correcting)


def test_the_same_form_twice_and_a_page_after_an_undo(world: World):
    (person,) = world.annotators(1)
    world.lay_out(tasks_of(1))
    page = world.open(person)
    given = Submission(world.answers(page.task), note="一", seen=PageState(page.version))
    assert at_once([lambda: world.store.submit(person, page.task_id, given)] * 2) == ["kept", "kept"]
    later = world.store.assignment(person, "p", 1)
    assert later is not None
    assert world.store.undo_last(person, "p") == 1
    stale = Submission(world.answers(page.task), note="二", seen=PageState(later.version))
    assert world.store.submit(person, page.task_id, stale) == "overtaken"
    assert world.store.current_votes("p").by_subject == {}


def test_an_import_makes_older_pages_stale(world: World):
    (person,) = world.annotators(1)
    world.lay_out(tasks_of(1))
    page = world.open(person)
    world.store.import_votes("p", [ImportedVote(person.name, world.subject(page.task), 0)], "csv")
    given = Submission(world.answers(page.task, sound=1), seen=PageState(page.version))
    assert world.store.submit(person, page.task_id, given) == "overtaken"
    reports = at_once(
        [lambda v=v: world.store.import_votes("p", [ImportedVote(person.name, world.subject(page.task), v)], "csv")
         for v in (1, 1, 1)]
    )  # fmt: skip
    assert sorted((r.changed, r.same) for r in reports) == [(0, 1), (0, 1), (1, 0)]


def test_of_two_decisions_from_one_state_the_first_counts(world: World):
    people, judge = world.annotators(2), world.invite("仲裁", "adjudicator")
    other = world.invite("另一仲裁", "adjudicator")
    world.lay_out(tasks_of(_TASKS))
    for person, value in zip(people, (0, 1), strict=True):
        for id_ in list(world.ids(person)):
            task = dict(world.store.tasks("p"))[id_]
            world.store.submit(person, id_, Submission(world.answers(task, sound=value)))
    for id_, _ in world.store.tasks("p"):
        page = world.store.dispute(judge, "p", id_)
        assert page is not None

        def decide(who, value: int, page=page, id_=id_) -> str:
            values = {subject: value for subject, _ in page.subjects}
            given = Submission(values, reason=f"r{value}", seen=PageState(page.version))
            return world.store.submit_decisions(who, id_, given)

        outcomes = at_once([lambda: decide(judge, 0), lambda: decide(judge, 1), lambda: decide(other, 1)])
        assert outcomes.count("kept") == 1
        assert set(outcomes) <= {"kept", "overtaken", "foreign"}
        stands = world.store.dispute(judge if outcomes[2] != "kept" else other, "p", id_)
        assert stands is not None
        assert set(stands.decisions.values()) == {0 if outcomes[0] == "kept" else 1}
        late = Submission(dict.fromkeys(stands.decisions, 1), reason="later", seen=PageState(page.version))
        assert world.store.submit_decisions(judge, id_, late) in ("overtaken", "foreign")


def test_a_dispute_that_changed_is_not_decided(world: World):
    (one, two), judge = world.annotators(2), world.invite("仲裁", "adjudicator")
    world.lay_out([task_of(0)])
    world.submit(one, sound=0)
    world.submit(two, sound=1)
    page = world.store.dispute(judge, "p", world.id_of(task_of(0)))
    assert page is not None
    spare = world.invite("第三", "annotator")
    world.store.import_votes("p", [ImportedVote(spare.name, world.subject(task_of(0)), 1)], "csv")
    given = Submission({subject: 1 for subject, _ in page.subjects}, seen=PageState(page.version))
    assert world.store.submit_decisions(judge, page.task_id, given) == "overtaken"


def test_a_draft_replaces_no_draft_that_its_page_did_not_show(world: World):
    (person,) = world.annotators(1)
    world.lay_out(tasks_of(_TASKS))
    for number in range(1, _TASKS + 1):
        page = world.store.assignment(person, "p", number)
        assert page is not None
        marks = [PageState(page=f"mark{n}") for n in range(_AT_ONCE)]
        jobs = [
            lambda mark=mark, page=page: world.store.save_draft(person, page.task_id, {"note": mark.page}, mark)
            for mark in marks
        ]
        outcomes = at_once(jobs)
        assert sorted(outcomes) == ["kept"] + ["overtaken"] * (_AT_ONCE - 1)
        winner = marks[outcomes.index("kept")]
        assert world.store.save_draft(person, page.task_id, {"note": "more"}, winner) == "kept", "its own page goes on"
        answered = Submission(world.answers(page.task), seen=PageState(page=marks[outcomes.index("overtaken")].page))
        assert world.store.submit(person, page.task_id, answered) == "kept"
        after = world.store.assignment(person, "p", number)
        assert after is not None
        assert after.draft is not None
        assert after.draft.data["note"] == "more", "no page showed it, so it is not thrown away"


def test_an_undo_withdraws_no_other_submission_than_the_one_shown(world: World):
    (person,) = world.annotators(1)
    world.lay_out(tasks_of(4))
    for _ in range(4):
        world.submit(person)
    last = world.store.last_submission(person, "p")

    def undo() -> int | None:
        try:
            return world.store.undo_last(person, "p", last)
        except OvertakenError:
            return None

    assert sorted(at_once([undo] * 3), key=str) == [4, None, None]
    assert world.store.progress(person, "p").done == 3
    with pytest.raises(OvertakenError):
        world.store.undo_last(person, "p", "")


def test_of_two_people_with_one_name_the_first_is_invited(world: World):
    def invite() -> str:
        try:
            return world.store.invite("王", "annotator")[0].code
        except DataError:
            return ""

    assert sorted(at_once([invite] * 3)) == ["", "", "A1"]
