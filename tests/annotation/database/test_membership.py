from __future__ import annotations

import pytest
from vote_world import World, task_of, tasks_of

from benchbuilder.annotation.database.models import Progress, Project, Submission
from benchbuilder.core.errors import DataError


def both(world: World) -> None:
    world.lay_out(tasks_of(4))
    world.store.sync_project(Project("q", world.spec, "", "zh", 7), tasks_of(4))


def test_people_get_just_the_tasks_of_their_projects(world: World):
    only, _ = world.store.invite("专家1", "annotator", projects=["q", "later"])
    every = world.invite("专家2")
    both(world)
    assert only.projects == ("later", "q")
    assert every.projects == ()
    assert world.store.next_number(only, "p") is None
    assert world.store.assignment(only, "p", 1) is None
    assert world.store.list_assignments(only, "p") == []
    assert world.store.progress(only, "p") == Progress(0, 0, 0, 0, None)
    assert world.store.next_number(only, "q") == 1
    assert world.store.progress(every, "p").open == world.store.progress(every, "q").open == 4
    progress = world.store.staff_progress("p")
    assert progress.unassigned == 4
    assert [share.person.name for share in progress.people] == ["专家2"]
    assert world.store.staff_progress("q").unassigned == 0


def test_who_leaves_a_project_loses_what_they_are_not_done_with(world: World):
    first, _ = world.annotators(2)
    both(world)
    world.submit(first)
    opened = world.open(first)
    done = world.store.assignment(first, "p", 1, opening=False)
    assert world.store.allow_projects("专家1", ["q"]).projects == ("q",)
    assert world.store.submit(first, opened.task_id, Submission(world.answers(opened.task))) == "foreign"
    assert not world.store.skip(first, opened.task_id)
    assert world.store.undo_last(first, "p") is None
    assert world.store.assignment(first, "p", 1) is None
    assert world.store.find_own_task(first, "p", done.task.key) == (done.task_id, False)
    assert world.store.save_draft(first, opened.task_id, {"note": "不能丢"}) == "kept"
    assert len(world.store.current_votes("p").by_subject) == 1
    assert world.store.staff_progress("p").unassigned == 3
    assert "专家1" in [share.person.name for share in world.store.staff_progress("p").people]
    world.store.allow_projects("专家1")
    assert world.store.progress(first, "p").open == 3
    assert dict(world.open(first, opened.task).draft.data) == {"note": "不能丢"}


def test_adjudicators_of_another_project_see_no_dispute(world: World):
    people = world.annotators(2)
    judge, _ = world.store.invite("仲裁", "adjudicator", projects=["q"])
    both(world)
    for value, person in enumerate(people):
        world.submit(person, task_of(1), sound=value)
    id_ = world.id_of(task_of(1))
    assert world.store.next_dispute(judge, "p") is None
    assert world.store.dispute(judge, "p", id_) is None
    assert world.store.progress(judge, "p").open == 0
    assert world.store.submit_decisions(judge, id_, Submission({world.subject(task_of(1)): 1})) == "foreign"
    world.store.allow_projects("仲裁", ["p"])
    assert world.store.next_dispute(judge, "p") == id_
    assert world.decide(judge, id_, 1) == "kept"


def test_who_cannot_come_in_gets_nothing_new(world: World):
    late, _ = world.store.invite("专家1", "annotator", 1)
    there, _ = world.store.invite("专家2", "annotator", 1)
    world.invite("专家3")
    world.clock.tick(hours=23)
    assert world.store.begin_session(world.store.reinvite("专家2", 1)[1]) is not None
    world.lay_out(tasks_of(6), world.spec)
    opened = world.open(late)
    world.clock.tick(days=2)
    both(world)
    assert world.store.progress(late, "p").open == (opened.task.key in {task.key for task in tasks_of(4)})
    assert world.store.progress(late, "q").open == 0
    shares = {share.person.name: share.may_enter for share in world.store.staff_progress("p").people}
    assert shares == {"专家1": False, "专家2": False, "专家3": True}
    world.store.reinvite("专家1")
    assert world.store.progress(late, "q").open == 4
    assert world.store.progress(there, "q").open == 0


def test_a_session_that_goes_on_is_enough(world: World):
    person, token = world.store.invite("专家1", "annotator", 1)
    world.clock.tick(hours=23)
    session, _ = world.store.begin_session(token)
    world.clock.tick(hours=2)
    assert world.store.find_visitor(session) is not None
    world.lay_out(tasks_of(2))
    assert world.store.progress(person, "p").open == 2


def test_a_database_is_of_one_benchmark(world: World):
    person = world.annotators(2)[0]
    project = Project("p", world.spec, "", "zh", 7)
    world.store.sync_project(project, tasks_of(2))
    mine = Project("p", world.spec, "", "zh", 7, "care_mi")
    world.store.sync_project(mine, tasks_of(2))
    assert world.store.project("p") == mine
    world.store.sync_project(project, tasks_of(2))
    assert world.store.project("p") == mine
    for name in ("p", "q"):
        with pytest.raises(DataError, match="holds the votes of care_mi") as caught:
            world.store.sync_project(Project(name, world.spec, "", "en", 1, "other"), [task_of(9)])
        assert "database of its own" in caught.value.next
    assert world.store.progress(person, "p").open == 2


def test_a_retired_project_is_out_of_sight(world: World):
    person = world.annotators(2)[0]
    both(world)
    world.submit(person, task_of(1), sound=0)
    digest = world.store.votes_digest("p")
    world.store.retire_project("p")
    assert [project.name for project in world.store.projects()] == ["q"]
    assert world.store.project("p") is not None
    assert world.store.next_number(person, "p") is None
    assert world.store.progress(person, "p").open == 0
    assert world.store.tasks("p") == []
    assert len(world.store.tasks("p", include_retired=True)) == 4
    assert world.store.votes_digest("p") == digest
    both(world)
    assert len(world.store.tasks("p")) == 4
    assert world.store.progress(person, "p").done == 1
