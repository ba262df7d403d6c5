from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from vote_world import World, replayed, spec_of, task_of, tasks_of

from benchbuilder.annotation.database.models import ImportedVote, Person, Submission
from benchbuilder.annotation.database.store import AnnotationStore

_PEOPLE = 16
_EACH = 50


def together(jobs: list[Callable[[], None]]) -> None:
    """Run `jobs` at the same time; the first error is raised."""
    start = threading.Barrier(len(jobs))

    def run(job: Callable[[], None]) -> None:
        start.wait()
        job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        for future in [pool.submit(run, job) for job in jobs]:
            future.result()


@pytest.mark.full
def test_sixteen_annotators_at_once_lose_nothing(world: World):
    people = world.annotators(_PEOPLE)
    spec = spec_of("sound", "degree", per_task=2)
    world.lay_out(tasks_of(_PEOPLE * _EACH // 2), spec)
    kept: dict[tuple[str, str], float] = {}

    def work(store: AnnotationStore, person: Person) -> None:
        for turn in range(_EACH):
            number = store.next_number(person, "p")
            assert number is not None
            found = store.assignment(person, "p", number)
            if turn % 5 == 0:
                store.save_draft(person, found.task_id, {"note": "一"})
            degree = (turn % 20) / 20
            values = world.answers(found.task, degree=degree)
            assert store.submit(person, found.task_id, Submission(values)) == "kept"
            kept[person.code, found.task.key] = degree
            if turn % 17 == 0:
                store.undo_last(person, "p")
                assert store.submit(person, found.task_id, Submission(values)) == "kept"

    with AnnotationStore.open(world.url) as other:
        halves = [(world.store if index % 2 else other, person) for index, person in enumerate(people)]
        together([lambda pair=pair: work(*pair) for pair in halves])
    assert len(kept) == _PEOPLE * _EACH
    votes = world.store.current_votes("p")
    subject = world.subject(task_of(0), "degree")
    stored = {
        (who, s.key): value
        for s, given in votes.by_subject.items()
        if s.wording == subject.wording
        for who, value in given.items()
    }
    assert stored == kept
    assert votes.by_subject == replayed(world.store, "p").by_subject
    assert all(world.store.progress(person, "p").done == _EACH for person in people)
    apart = sum(
        abs(one - other) > 0.25 or (one < 0.5) != (other < 0.5)
        for one, other in (
            tuple(given.values()) for s, given in votes.by_subject.items() if s.wording == subject.wording
        )
    )
    assert world.store.count_disputes("p") == apart > 0


def test_both_annotators_of_a_task_at_once_leave_the_right_dispute(world: World):
    people = world.annotators(2)
    world.lay_out(tasks_of(30))
    tasks = {id_: task for id_, task in world.store.tasks("p")}  # noqa: C416

    def work(person: Person, value: int) -> None:
        for id_, task in tasks.items():
            outcome = world.store.submit(person, id_, Submission(world.answers(task, sound=value)))
            assert outcome == "kept"

    together([lambda: work(people[0], 1), lambda: work(people[1], 0)])
    assert world.store.count_disputes("p") == 30


@pytest.mark.push
def test_votes_come_in_while_people_and_tasks_change(world: World):
    people = world.annotators(6)
    judge = world.invite("仲裁", "adjudicator")
    world.lay_out(tasks_of(60))
    others = [task_of(number) for number in range(10, 70)]
    world.clock.now = datetime(2026, 3, 2, tzinfo=UTC)
    kept: set[tuple[str, str]] = set()

    def annotate(person: Person) -> None:
        for turn in range(12):
            number = world.store.next_number(person, "p")
            found = world.store.assignment(person, "p", number) if number is not None else None
            if found is not None:
                values = world.answers(found.task, sound=turn % 2)
                outcome = world.store.submit(person, found.task_id, Submission(values))
                assert outcome in ("kept", "retired")
                if outcome == "kept":
                    kept.add((person.code, found.task.key))

    def adjudicate() -> None:
        for _ in range(12):
            id_ = world.store.next_dispute(judge, "p")
            dispute = world.store.dispute(judge, "p", id_) if id_ is not None else None
            if dispute is not None:
                world.store.submit_decisions(judge, id_, Submission({s: 1 for s, _ in dispute.subjects}))

    def administer() -> None:
        for turn in range(4):
            world.store.invite(f"新专家{turn}", "annotator")
            world.lay_out(others if turn % 2 else tasks_of(60))
            world.store.import_votes("p", [ImportedVote("新专家0", world.subject(task_of(20)), turn % 2)], "csv")
            world.store.revoke(f"新专家{turn}")
            world.store.reinvite(f"新专家{turn}")

    together([*(lambda person=person: annotate(person) for person in people), adjudicate, administer])
    assert kept <= {(vote.code, vote.task) for vote in world.store.vote_events("p")}
    everything = world.store.current_votes("p", include_retired=True)
    naive = replayed(world.store, "p")
    assert (everything.by_subject, everything.decisions) == (naive.by_subject, naive.decisions)
    world.lay_out(others)
    annotators = [person for person in world.store.people() if person.role == "annotator"]
    assert all(world.numbers(person) == list(range(1, len(world.ids(person)) + 1)) for person in annotators)
    judges = Counter(id_ for person in annotators for id_ in world.ids(person))
    assert {judges[id_] for id_, _ in world.store.tasks("p")} <= {2, 3}
