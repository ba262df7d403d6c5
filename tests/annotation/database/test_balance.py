from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from vote_world import World, spec_of, task_of, tasks_of

from benchbuilder.annotation.base import Task
from benchbuilder.annotation.database.models import ImportedVote, Person
from benchbuilder.core.errors import DataError


def judges(world: World, people: list[Person]) -> dict[int, set[str]]:
    """Who has which task."""
    found: dict[int, set[str]] = {}
    for person in people:
        for task in world.ids(person):
            found.setdefault(task, set()).add(person.code)
    return found


@pytest.mark.parametrize(("count", "per_task"), [(2, 2), (3, 2), (5, 2), (4, 3), (7, 1)])
def test_every_task_has_just_as_many_as_it_needs(world: World, count: int, per_task: int):
    people = world.annotators(count)
    spec = spec_of(per_task=per_task, rule="mean" if per_task == 1 else "adjudicate")
    world.lay_out(tasks_of(61), spec)
    found = judges(world, people)
    assert len(found) == 61
    assert {len(who) for who in found.values()} == {per_task}
    loads = [len(world.ids(person)) for person in people]
    assert max(loads) - min(loads) <= 1
    assert all(world.numbers(person) == list(range(1, load + 1)) for person, load in zip(people, loads, strict=True))


def test_invited_before_or_after_the_tasks_loads_are_even(world: World):
    world.lay_out(tasks_of(60))
    people = world.annotators(4)
    assert [len(world.ids(person)) for person in people] == [30] * 4
    pairs = Counter(tuple(sorted(who)) for who in judges(world, people).values())
    assert len(pairs) == 6, "everybody judges together with everybody"


def test_too_few_annotators_get_everything(world: World):
    people = world.annotators(1)
    world.lay_out(tasks_of(5))
    assert len(world.ids(people[0])) == 5
    assert world.store.staff_progress("p").unassigned == 5
    world.invite("专家2")
    assert world.store.staff_progress("p").unassigned == 0


def test_orders_are_their_own_and_the_same_again(world: World):
    people = world.annotators(3)
    world.lay_out(tasks_of(40), spec_of(per_task=3))
    orders = [world.ids(person) for person in people]
    assert [set(order) for order in orders] == [set(orders[0])] * 3
    assert len({tuple(order) for order in orders} | {tuple(sorted(orders[0]))}) == 4
    world.lay_out(tasks_of(40))
    assert [world.ids(person) for person in people] == orders


def test_a_seed_gives_the_same_orders_in_another_database(world: World, tmp_path):
    other = World(f"sqlite:///{tmp_path / 'other.db'}")
    shown = []
    for each in (world, other):
        people = each.annotators(3)
        each.lay_out(tasks_of(30))
        shown.append([[line.text for line in each.store.list_assignments(person, "p")] for person in people])
    other.store.close()
    assert shown[0] == shown[1]


def test_what_was_opened_stays_when_somebody_joins(world: World):
    people = world.annotators(2)
    world.lay_out(tasks_of(40))
    for _ in range(5):
        world.submit(people[0])
    opened = world.open(people[0])
    before = {line.task_id: line.number for line in world.store.list_assignments(people[0], "p", count=6)}
    third = world.invite("专家3")
    after = {line.task_id: line.number for line in world.store.list_assignments(people[0], "p", count=100)}
    assert before.items() <= after.items()
    assert opened.task_id in after
    unopened = [
        len(world.ids(people[0])) - 6,
        len(world.ids(people[1])),
        len(world.ids(third)),
    ]
    assert sum(unopened) == 80 - 6
    assert max(unopened) - min(unopened) <= 1
    assert {len(who) for who in judges(world, [*people, third]).values()} == {2}


def test_who_is_shut_out_leaves_the_rest_to_others(world: World):
    people = world.annotators(3)
    world.lay_out(tasks_of(30))
    gone = people[0]
    for _ in range(4):
        world.submit(gone)
    half = world.open(gone)
    world.store.save_draft(gone, half.task_id, {"note": "未完"})
    done = set(world.ids(gone)[:4])
    world.store.revoke(gone.name)
    found = judges(world, people[1:])
    assert all(len(found.get(task, ())) == (1 if task in done else 2) for task, _ in world.store.tasks("p"))
    assert len(world.store.current_votes("p").by_subject) == 4
    world.store.reinvite(gone.name)
    assert set(world.ids(gone)) >= done
    assert {len(who) for who in judges(world, people).values()} == {2}


def test_who_comes_back_finds_their_draft_if_the_task_is_free(world: World):
    people = world.annotators(2)
    world.lay_out(tasks_of(3))
    half = world.open(people[0])
    world.store.save_draft(people[0], half.task_id, {"note": "未完"})
    world.store.revoke(people[0].name)
    world.store.reinvite(people[0].name)
    again = world.open(people[0], half.task)
    assert again.draft is not None
    assert again.draft.data == {"note": "未完"}
    assert world.numbers(people[0]) == [1, 2, 3]


def test_gold_comes_once_among_every_few_others_for_everybody(world: World):
    people = world.annotators(4)
    gold = [task_of(1000 + number, expected={"sound": 1}) for number in range(3)]
    spec = spec_of(gold={"file": "gold.jsonl", "every": 4})
    world.lay_out(tasks_of(60) + gold, spec)
    marked = {world.id_of(task) for task in gold}
    for person in people:
        places = [place for place, id_ in enumerate(world.ids(person), start=1) if id_ in marked]
        assert [(place - 1) // 5 for place in places] == [0, 1, 2]
    orders = {tuple(id_ for id_ in world.ids(person) if id_ in marked) for person in people}
    assert len(orders) > 1
    late = world.invite("专家5")
    assert marked <= set(world.ids(late))


def test_gold_that_is_left_over_comes_at_the_end(world: World):
    person = world.annotators(2)[0]
    gold = [task_of(1000 + number, expected={"sound": 1}) for number in range(4)]
    world.lay_out(tasks_of(5) + gold, spec_of(gold={"file": "gold.jsonl", "every": 3}))
    marked = {world.id_of(task) for task in gold}
    assert [id_ in marked for id_ in world.ids(person)] == [False] * 3 + [True] + [False] * 2 + [True] * 3


def test_gold_grows_into_work_that_has_begun(world: World):
    person = world.annotators(2)[0]
    world.lay_out(tasks_of(30), spec_of(gold={"file": "gold.jsonl", "every": 5}))
    for _ in range(7):
        world.submit(person)
    gold = [task_of(1000 + number, expected={"sound": 1}) for number in range(2)]
    world.lay_out(tasks_of(30) + gold)
    marked = {world.id_of(task) for task in gold}
    places = [place for place, id_ in enumerate(world.ids(person), start=1) if id_ in marked]
    assert places[0] == 8
    assert all(1 <= b - a <= 6 for a, b in pairwise(places))


def test_a_lower_number_of_annotators_takes_unopened_ones_back(world: World):
    people = world.annotators(3)
    world.lay_out(tasks_of(12), spec_of(per_task=3))
    opened = world.open(people[0])
    world.lay_out(tasks_of(12), spec_of(per_task=2))
    found = judges(world, people)
    assert {len(who) for who in found.values()} == {2}
    assert opened.task_id in world.ids(people[0])


def test_numbers_close_up_when_nothing_is_left_to_fill_them(world: World):
    people = world.annotators(2)
    world.lay_out(tasks_of(6))
    for _ in range(6):
        world.submit(people[0])
    shown = [world.store.assignment(people[0], "p", n, opening=False).task for n in range(1, 7)]
    world.lay_out([task for task in tasks_of(6) if task.key not in {shown[1].key, shown[2].key}])
    assert world.numbers(people[0]) == [1, 2, 3, 4]
    assert world.store.progress(people[0], "p").done == 4


def barred_tasks(count: int, voters: str) -> list[Task]:
    return [replace(task, about=(*task.about, ("voters", voters))) for task in tasks_of(count)]


def test_nobody_gets_an_item_that_they_voted_on(world: World):
    people = world.annotators(4)
    tasks = [*barred_tasks(20, "A1"), *(replace(task_of(n), about=(("voters", "专家2 | A3"),)) for n in range(20, 40))]
    world.lay_out(tasks)
    of = {world.id_of(task): dict(task.about)["voters"] for task in tasks}
    for person in people:
        got = world.ids(person)
        assert got
        assert not [task for task in got if {person.code, person.name} & set(of[task].split(" | "))]
    assert {len(who) for who in judges(world, people).values()} == {2}
    alone = world.invite("专家9")
    assert {len(who) for who in judges(world, [*people, alone]).values()} == {2}
    assert not set(world.ids(people[0])) & {task for task, voters in of.items() if voters == "A1"}


def test_an_opened_item_is_taken_from_somebody_who_votes_on_it_elsewhere(world: World):
    people = world.annotators(3)
    world.lay_out(tasks_of(6))
    opened = world.open(people[0])
    world.lay_out([replace(task, about=(("voters", "A1"),)) if task.key == opened.task.key else task
                   for task in tasks_of(6)])  # fmt: skip
    assert opened.task_id not in world.ids(people[0])
    assert len(judges(world, people)[opened.task_id]) == 2


def test_without_enough_others_the_owner_is_told(world: World):
    world.annotators(2)
    world.lay_out(barred_tasks(5, "A1"))
    assert world.store.staff_progress("p").unassigned == 5


def test_an_adjudicator_does_not_get_an_item_that_they_decided_before(world: World):
    people = world.annotators(2)
    judge, other = world.invite("裁定1", "adjudicator"), world.invite("裁定2", "adjudicator")
    (task,) = barred_tasks(1, judge.code)
    world.lay_out([task])
    for person, value in zip(people, (0, 1), strict=True):
        world.submit(person, task, sound=value)
    assert world.store.next_dispute(judge, "p") is None
    assert world.store.dispute(judge, "p", world.id_of(task)) is None
    assert world.store.next_dispute(other, "p") == world.id_of(task)
    assert [world.store.count_disputes("p", person) for person in (judge, other)] == [0, 1]
    assert world.store.count_disputes("p") == 1


def test_imported_votes_of_somebody_who_voted_before_are_refused(world: World):
    (person,) = world.annotators(1)
    (task,) = barred_tasks(1, person.name)
    world.lay_out([task])
    vote = ImportedVote(person=person.name, subject=world.subject(task), value=1)
    with pytest.raises(DataError, match="voted on this item before"):
        world.store.import_votes("p", [vote], "csv")
