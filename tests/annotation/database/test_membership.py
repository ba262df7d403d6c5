from __future__ import annotations

import pytest
from ballot_world import World, task_of, tasks_of

from benchbuilder.annotation.database.models import Progress, Project, Submission
from benchbuilder.core.errors import DataError


def both(world: World) -> None:
    world.lay_out(tasks_of(4))
    world.ballots.sync_project(Project("q", world.spec, "", "zh", 7), tasks_of(4))


def test_people_get_just_the_tasks_of_their_projects(world: World):
    only, _ = world.ballots.invite("专家1", "annotator", projects=["q", "later"])
    every = world.invite("专家2")
    both(world)
    assert only.projects == ("later", "q")
    assert every.projects == ()
    assert world.ballots.next_number(only, "p") is None
    assert world.ballots.assignment(only, "p", 1) is None
    assert world.ballots.list_assignments(only, "p") == []
    assert world.ballots.progress(only, "p") == Progress(0, 0, 0, 0, None)
    assert world.ballots.next_number(only, "q") == 1
    assert world.ballots.progress(every, "p").open == world.ballots.progress(every, "q").open == 4
    standing = world.ballots.staff_progress("p")
    assert standing.unassigned == 4
    assert [share.person.name for share in standing.people] == ["专家2"]
    assert world.ballots.staff_progress("q").unassigned == 0


def test_who_leaves_a_project_loses_what_they_are_not_done_with(world: World):
    first, _ = world.annotators(2)
    both(world)
    world.submit(first)
    opened = world.open(first)
    done = world.ballots.assignment(first, "p", 1, opening=False)
    assert world.ballots.allow_projects("专家1", ["q"]).projects == ("q",)
    assert world.ballots.submit(first, opened.task_id, Submission(world.answers(opened.task))) == "foreign"
    assert not world.ballots.skip(first, opened.task_id)
    assert world.ballots.undo_last(first, "p") is None
    assert world.ballots.assignment(first, "p", 1) is None
    assert world.ballots.find_own_task(first, "p", done.task.key) == (done.task_id, False)
    assert world.ballots.save_draft(first, opened.task_id, {"note": "不能丢"})
    assert len(world.ballots.current_votes("p").by_subject) == 1
    assert world.ballots.staff_progress("p").unassigned == 3
    assert "专家1" in [share.person.name for share in world.ballots.staff_progress("p").people]
    world.ballots.allow_projects("专家1")
    assert world.ballots.progress(first, "p").open == 3
    assert dict(world.open(first, opened.task).draft.data) == {"note": "不能丢"}


def test_adjudicators_of_another_project_see_no_dispute(world: World):
    people = world.annotators(2)
    judge, _ = world.ballots.invite("仲裁", "adjudicator", projects=["q"])
    both(world)
    for value, person in enumerate(people):
        world.submit(person, task_of(1), sound=value)
    id_ = world.id_of(task_of(1))
    assert world.ballots.next_dispute(judge, "p") is None
    assert world.ballots.dispute(judge, "p", id_) is None
    assert world.ballots.progress(judge, "p").open == 0
    assert world.ballots.submit_decisions(judge, id_, Submission({world.subject(task_of(1)): 1})) == "foreign"
    world.ballots.allow_projects("仲裁", ["p"])
    assert world.ballots.next_dispute(judge, "p") == id_
    assert world.decide(judge, id_, 1) == "kept"


def test_who_cannot_come_in_gets_nothing_new(world: World):
    late, _ = world.ballots.invite("专家1", "annotator", 1)
    there, _ = world.ballots.invite("专家2", "annotator", 1)
    world.invite("专家3")
    world.clock.tick(hours=23)
    assert world.ballots.begin_session(world.ballots.reinvite("专家2", 1)[1]) is not None
    world.lay_out(tasks_of(6), world.spec)
    opened = world.open(late)
    world.clock.tick(days=2)
    both(world)
    assert world.ballots.progress(late, "p").open == (opened.task.key in {task.key for task in tasks_of(4)})
    assert world.ballots.progress(late, "q").open == 0
    shares = {share.person.name: share.may_enter for share in world.ballots.staff_progress("p").people}
    assert shares == {"专家1": False, "专家2": False, "专家3": True}
    world.ballots.reinvite("专家1")
    assert world.ballots.progress(late, "q").open == 4
    assert world.ballots.progress(there, "q").open == 0


def test_a_session_that_goes_on_is_enough(world: World):
    person, token = world.ballots.invite("专家1", "annotator", 1)
    world.clock.tick(hours=23)
    session, _ = world.ballots.begin_session(token)
    world.clock.tick(hours=2)
    assert world.ballots.find_visitor(session) is not None
    world.lay_out(tasks_of(2))
    assert world.ballots.progress(person, "p").open == 2


def test_a_database_is_of_one_benchmark(world: World):
    person = world.annotators(2)[0]
    project = Project("p", world.spec, "", "zh", 7)
    world.ballots.sync_project(project, tasks_of(2))
    mine = Project("p", world.spec, "", "zh", 7, "care_mi")
    world.ballots.sync_project(mine, tasks_of(2))
    assert world.ballots.project("p") == mine
    world.ballots.sync_project(project, tasks_of(2))
    assert world.ballots.project("p") == mine
    for name in ("p", "q"):
        with pytest.raises(DataError, match="holds the votes of care_mi") as caught:
            world.ballots.sync_project(Project(name, world.spec, "", "en", 1, "other"), [task_of(9)])
        assert "database of its own" in caught.value.next
    assert world.ballots.progress(person, "p").open == 2


def test_a_retired_project_is_out_of_sight(world: World):
    person = world.annotators(2)[0]
    both(world)
    world.submit(person, task_of(1), sound=0)
    digest = world.ballots.votes_digest("p")
    world.ballots.retire_project("p")
    assert [project.name for project in world.ballots.projects()] == ["q"]
    assert world.ballots.project("p") is not None
    assert world.ballots.next_number(person, "p") is None
    assert world.ballots.progress(person, "p").open == 0
    assert world.ballots.live_task_ids("p") == frozenset()
    assert len(world.ballots.tasks("p", include_retired=True)) == 4
    assert world.ballots.votes_digest("p") == digest
    both(world)
    assert len(world.ballots.live_task_ids("p")) == 4
    assert world.ballots.progress(person, "p").done == 1
