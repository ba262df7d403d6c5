from __future__ import annotations

from dataclasses import replace

from vote_world import QUESTIONS, World, spec_of, task_of, tasks_of

from benchbuilder.annotation.database.models import Project, Submission
from benchbuilder.config.spec.annotation import ProjectSpec, ReviewProjectSpec


def test_a_project_comes_back_as_it_was(world: World):
    spec = spec_of(
        "sound", "grade", "degree", "supports", "remark",
        guideline="g.md", suggested_seconds=300, gold={"file": "gold.jsonl", "every": 3}, keep={"grade": 2},
    )  # fmt: skip
    world.lay_out(tasks_of(1), spec)
    world.store.sync_project(Project("a", spec_of(), "", "en", 3), [])
    assert world.store.project("p") == Project("p", spec, "# 指南", "zh", 7)
    assert [project.name for project in world.store.projects()] == ["a", "p"]
    assert world.store.project("b") is None
    assert world.store.project("") is None


def test_what_only_some_kinds_of_projects_have_is_left_out(world: World):
    review = ReviewProjectSpec.model_validate(spec_of().model_dump() | {"rows": {"items": True, "show": {"text": "q"}}})
    world.lay_out(tasks_of(1), review)
    found = world.store.project("p").spec
    assert type(found) is ProjectSpec
    assert found == spec_of()


def test_tasks_keep_their_ids_and_missing_ones_are_retired(world: World):
    first, second = world.annotators(2)
    world.lay_out(tasks_of(4))
    before = {task.key: id_ for id_, task in world.store.tasks("p")}
    for person in (first, second):
        world.submit(person, task_of(1))
    found = world.open(first, task_of(2))
    world.lay_out([task_of(3), task_of(9), task_of(0)])
    after = {task.key: id_ for id_, task in world.store.tasks("p")}
    assert list(after) == [task_of(3).key, task_of(9).key, task_of(0).key]
    assert {key: id_ for key, id_ in after.items() if key in before}.items() <= before.items()
    assert len(world.store.tasks("p", include_retired=True)) == 5
    assert world.numbers(first) == [1, 2, 3]
    assert world.store.submit(first, found.task_id, Submission(world.answers(found.task))) == "retired"
    assert world.store.save_draft(first, found.task_id, {}) == "kept", "it may come back"
    assert world.store.current_votes("p").by_subject == {}
    assert world.store.current_votes("p").stale == {"app": 2}
    assert len(world.store.current_votes("p", include_retired=True).by_subject) == 1
    world.lay_out(tasks_of(4))
    assert len(world.store.current_votes("p").by_subject[world.subject(task_of(1))]) == 2
    assert world.open(first, task_of(1)).state == "done"
    assert world.store.progress(first, "p").done == 1


def test_tasks_are_read_back_unchanged(world: World):
    person = world.annotators(1)[0]
    gold = task_of(5, 1, expected={"sound": 0})
    tasks = [task_of(1, 3), gold, task_of(1, 3)]
    world.lay_out(tasks)
    assert [task for _, task in world.store.tasks("p")] == [tasks[0], gold]
    assert len(world.ids(person)) == 2
    assert world.store.tasks("q") == []


def test_more_paragraphs_are_asked_and_the_rest_is_not_asked_again(world: World):
    first, second = world.annotators(2)
    world.lay_out([task_of(1, 2), task_of(2, 2)], spec_of("sound", "supports"))
    for person in (first, second):
        world.submit(person, task_of(1))
    before = world.store.votes_digest("p")
    more = task_of(1, 3)
    world.lay_out([more, task_of(2, 2)])
    assert world.store.votes_digest("p") == before
    found = world.open(first, more)
    assert found.state == "open"
    assert len(found.answers) == 3
    old_page = Submission(world.answers(task_of(1, 2)))
    assert world.store.submit(first, found.task_id, old_page) == "incomplete"
    assert world.submit(first, more) == "kept"
    assert len([vote for vote in world.store.vote_events("p") if vote.code == "A1"]) == 4
    world.lay_out([task_of(1, 2), task_of(2, 2)])
    assert world.open(second, task_of(1)).state == "done", "all that is asked now is answered"


def test_a_new_wording_is_asked_again_and_the_old_votes_stay(world: World):
    first, second = world.annotators(2)
    world.lay_out(tasks_of(2))
    for person in (first, second):
        world.submit(person, task_of(0))
    question = QUESTIONS["sound"] | {"text": "题干本身是不是成立？"}
    world.lay_out(tasks_of(2), spec_of(questions={"sound": question}))
    assert world.store.current_votes("p").by_subject == {}
    assert world.store.current_votes("p").stale == {"app": 2}
    assert world.open(first, task_of(0)).state == "open"
    assert world.subject(task_of(0)) not in world.open(first, task_of(0)).answers
    assert world.submit(first, task_of(0), sound=0) == "kept"
    assert [vote.value for vote in world.store.vote_events("p")] == [1, 1, 0]
    assert len(world.store.current_votes("p", include_retired=True).by_subject) == 2
    used = {wording.key: wording.definition["text"] for wording in world.store.wordings("p")}
    texts = [used[vote.subject.wording] for vote in world.store.vote_events("p")]
    assert texts == ["题干本身是否成立？"] * 2 + ["题干本身是不是成立？"]


def test_a_new_rule_settles_disputes_again(world: World):
    first, second = world.annotators(2)
    spec = spec_of("degree")
    world.lay_out(tasks_of(2), spec)
    for person, degree in ((first, 0.6), (second, 0.8)):
        world.submit(person, task_of(0), degree=degree)
    assert world.store.count_disputes("p") == 0
    strict = QUESTIONS["degree"] | {"tolerance": 0.1}
    world.lay_out(tasks_of(2), spec_of(questions={"degree": strict}))
    assert world.store.count_disputes("p") == 1
    world.lay_out(tasks_of(2), spec_of(questions={"degree": strict}, rule="mean"))
    assert world.store.count_disputes("p") == 0
    world.lay_out(tasks_of(2), spec)
    world.lay_out([task_of(1)], spec_of(questions={"degree": strict}))
    assert world.store.count_disputes("p") == 0
    world.lay_out(tasks_of(2))
    assert world.store.count_disputes("p") == 1, "it came back"


def test_syncing_the_same_tasks_again_changes_nothing(world: World):
    first, _ = world.annotators(2)
    tasks = [*tasks_of(10, 2), task_of(50, expected={"sound": 1})]
    world.lay_out(tasks)
    world.submit(first)
    before = (
        world.store.tasks("p"),
        world.ids(first),
        list(world.store.events("p")),
        world.store.votes_digest("p"),
    )
    world.lay_out(tasks)
    after = (
        world.store.tasks("p"),
        world.ids(first),
        list(world.store.events("p")),
        world.store.votes_digest("p"),
    )
    assert before == after


def test_two_projects_do_not_touch(world: World):
    first, second = world.annotators(2)
    world.lay_out(tasks_of(3))
    world.store.sync_project(Project("q", world.spec, "", "zh", 1), tasks_of(3))
    for person in (first, second):
        world.submit(person, task_of(0), sound=int(person.code == "A1"))
    assert world.store.progress(first, "q").done == 0
    assert world.store.count_disputes("q") == 0
    assert world.store.count_disputes("p") == 1
    assert world.store.current_votes("q").by_subject == {}
    assert not list(world.store.vote_events("q"))
    assert not list(world.store.events("q"))
    assert world.store.votes_digest("p") != world.store.votes_digest("q")
    assert replace(world.store.project("q"), name="p", guideline="# 指南", seed=7) == world.store.project("p")
