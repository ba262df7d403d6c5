"""Gold tasks look like the others."""

from __future__ import annotations

from collections import Counter

import pytest
from vote_world import World, spec_of, task_of

from benchbuilder.annotation.database.project_setup import TaskShape


def test_a_gold_task_gets_as_many_paragraphs_as_the_others():
    others = [task_of(number, 4) for number in range(5)]
    golds = [task_of(100 + number, number, expected={"sound": 0}) for number in range(5)]
    fitted = [TaskShape(others).fit(gold) for gold in golds]
    assert [len(task.paragraphs) for task in fitted] == [4] * 5
    for gold, task in zip(golds, fitted, strict=True):
        own = [p.text for p in gold.paragraphs]
        assert [p.text for p in task.paragraphs][: len(own)] == own, "the best stand first, as in the others"
        assert len({p.key for p in task.paragraphs}) == 4
        assert (task.key, task.expected) == (gold.key, gold.expected)
    assert fitted == [TaskShape(others[::-1]).fit(gold) for gold in golds], "whatever the order of the others"


def test_numbers_of_paragraphs_are_those_of_the_others():
    shape = TaskShape([task_of(number, number % 3 * 2) for number in range(9)])
    found = Counter(len(shape.fit(task_of(100 + n)).paragraphs) for n in range(300))
    assert set(found) == {0, 2, 4}
    assert min(found.values()) > 60


def test_what_cannot_look_like_the_others_is_refused():
    with pytest.raises(ValueError, match="has 3, other tasks at most 2"):
        TaskShape([task_of(1, 2)]).fit(task_of(9, 3))
    untitled = task_of(1, 2)
    titled = TaskShape([type(untitled)(untitled.key, untitled.fields, tuple(
        type(p)(p.key, p.base, "title", p.text) for p in untitled.paragraphs))])  # fmt: skip
    with pytest.raises(ValueError, match="title"):
        titled.fit(type(untitled)("k", untitled.fields, (type(untitled.paragraphs[0])("p", "", "", "other"),)))
    with pytest.raises(ValueError, match="fields: all other tasks differ in text"):
        TaskShape([task_of(1)]).fit(type(untitled)("k", (("text", ""),)))
    assert TaskShape([]).fit(task_of(1, 1)) == task_of(1, 1)


def test_places_of_gold_tasks_differ_from_person_to_person(world: World):
    people = world.annotators(4)
    golds = [task_of(100 + number, expected={"sound": 0}) for number in range(6)]
    spec = spec_of(per_task=4, gold={"file": "gold.jsonl", "every": 4})
    world.lay_out([*(task_of(number) for number in range(24)), *golds], spec)
    keys = {task.key for task in golds}
    tasks = dict(world.store.tasks("p"))
    places = [tuple(at for at, id_ in enumerate(world.ids(person)) if tasks[id_].key in keys) for person in people]
    assert len(set(places)) == 4
    for mine in places:
        assert [place // 5 for place in mine] == list(range(6)), "one in every five"
        assert len({place % 5 for place in mine}) > 1
