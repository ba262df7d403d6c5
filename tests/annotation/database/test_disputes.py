from __future__ import annotations

import pytest
from vote_world import World, spec_of, task_of, tasks_of

from benchbuilder.annotation.base import Task
from benchbuilder.annotation.database.models import ImportedVote, Person, Submission
from benchbuilder.annotation.database.sanitise import form_field_name


@pytest.fixture
def people(world: World) -> tuple[Person, Person, Person]:
    """Two annotators and an adjudicator."""
    first, second = world.annotators(2)
    return first, second, world.invite("仲裁", "adjudicator")


def argue(world: World, people: tuple[Person, Person, Person], task: Task, one: dict, other: dict) -> None:
    world.submit(people[0], task, "甲的备注", **one)
    world.submit(people[1], task, "", **other)


def test_only_what_is_in_dispute_comes_before_the_adjudicator(world: World, people):
    task = task_of(1, 2)
    world.lay_out([task], spec_of("sound", "grade", "degree", "supports", "remark"))
    world.submit(people[0], task, sound=1, grade=1, degree=0.4, remark="一")
    assert world.store.count_disputes("p") == 0, "an annotator is missing"
    assert world.store.next_dispute(people[2], "p") is None
    world.submit(people[1], task, sound=1, grade=3, degree=0.5, remark="二")
    assert world.store.count_disputes("p") == 1
    found = world.store.dispute(people[2], "p", world.id_of(task))
    assert [question for _, question in found.subjects] == ["grade", "degree"]
    assert found.subjects[0][0].text == task.text
    assert found.agreement == pytest.approx(1 - 2 / 5, abs=1e-6)
    assert found.task.about == ()
    assert (found.remaining, found.decisions, found.reason, found.draft) == (1, {}, "", None)


@pytest.mark.push
def test_the_order_of_peers_is_constant_and_anonymous(world: World, people):
    world.lay_out(tasks_of(40), spec_of("sound", "grade"))
    firsts = set()
    for task in tasks_of(40)[:12]:
        argue(world, people, task, {"sound": 1, "grade": 1}, {"sound": 0, "grade": 3})
        found = world.store.dispute(people[2], "p", world.id_of(task))
        sound, grade = (found.peer_answers[subject] for subject, _ in found.subjects)
        assert {sound, grade} in ({(1, 0), (1, 3)}, {(0, 1), (3, 1)})
        assert found.notes == (("甲的备注", "") if sound[0] == 1 else ("", "甲的备注"))
        assert "A1" not in repr(found)
        assert "专家" not in repr(found)
        firsts.add(sound[0])
        again = world.store.dispute(people[2], "p", world.id_of(task))
        assert (again.peer_answers, again.notes) == (found.peer_answers, found.notes)
    assert firsts == {0, 1}


def test_the_lowest_agreement_comes_first_and_what_was_put_off_last(world: World, people):
    tasks = [task_of(number, 2) for number in range(3)]
    world.lay_out(tasks, spec_of("sound", "supports"))
    argue(world, people, tasks[0], {"sound": 1}, {"sound": 0})
    argue(world, people, tasks[1], {"supports": 1}, {"supports": 0})
    argue(world, people, tasks[2], {"sound": 1, "supports": 1}, {"sound": 0, "supports": 0})
    ids, judge = [world.id_of(task) for task in tasks], people[2]
    assert world.store.count_disputes("p") == 3
    assert world.store.next_dispute(judge, "p") == ids[2]
    assert world.store.next_dispute(judge, "p", frozenset({ids[2]})) == ids[1]
    world.store.dispute(judge, "p", ids[2])
    assert world.store.skip(judge, ids[2])
    assert world.store.next_dispute(judge, "p") == ids[1]
    progress = world.store.progress(judge, "p")
    assert (progress.done, progress.open, progress.skipped) == (0, 2, 1)
    assert world.decide(judge, ids[1], 1) == "kept"
    assert world.decide(judge, ids[0], 1) == "kept"
    assert world.store.next_dispute(judge, "p") == ids[2]
    assert world.decide(judge, ids[2], 0) == "kept"
    assert world.store.next_dispute(judge, "p") is None
    assert world.store.progress(judge, "p").done == 3
    assert world.store.count_disputes("p") == 0


def test_two_adjudicators_get_different_tasks(world: World, people):
    other = world.invite("仲裁二", "adjudicator")
    world.lay_out(tasks_of(2))
    for task in tasks_of(2):
        argue(world, people, task, {"sound": 1}, {"sound": 0})
    first = world.store.next_dispute(people[2], "p")
    world.store.dispute(people[2], "p", first)
    second = world.store.next_dispute(other, "p")
    assert second != first
    world.clock.tick(minutes=31)
    assert world.store.next_dispute(other, "p") == first, "nobody is at it any more"


def test_overriding_everybody_takes_a_reason(world: World, people):
    task = task_of(1)
    world.lay_out([task], spec_of("sound", "grade"))
    argue(world, people, task, {"grade": 1}, {"grade": 3})
    id_, judge = world.id_of(task), people[2]
    assert world.decide(judge, id_, 2) == "reasonless"
    assert world.decide(judge, id_, 2, reason="  ") == "reasonless"
    assert world.decide(judge, id_, 4, reason="一") == "incomplete"
    assert world.store.submit_decisions(judge, id_, Submission({})) == "incomplete"
    more = {world.subject(task, "grade"): 3, world.subject(task, "sound"): 1}
    assert world.store.submit_decisions(judge, id_, Submission(more)) == "retired"
    assert not [vote for vote in world.store.vote_events("p") if vote.code == "J1"]
    said = {"reason": "介于两者之间", "error_kinds": ("edge_case",), "guideline_gap": True, "confidence": "high"}
    assert world.decide(judge, id_, 2, **said, note="附注") == "kept"
    assert world.store.current_votes("p").decisions == {world.subject(task, "grade"): ("J1", 2)}
    event = list(world.store.events("p"))[-1]
    assert event.detail == said | {"error_kinds": ["edge_case"], "note": "附注"}
    assert list(world.store.vote_events("p"))[-1].note == "附注"


def test_annotators_and_project_owners_decide_nothing(world: World, people):
    lead = world.invite("负责人", "lead")
    task = task_of(1)
    world.lay_out([task])
    argue(world, people, task, {"sound": 1}, {"sound": 0})
    id_ = world.id_of(task)
    for person in (*people[:2], lead):
        assert world.store.next_dispute(person, "p") is None
        assert world.store.dispute(person, "p", id_) is None
        assert world.store.submit_decisions(person, id_, Submission({world.subject(task): 1})) == "foreign"
    assert world.store.dispute(people[2], "q", id_) is None
    assert world.store.dispute(people[2], "p", 10**6) is None
    world.store.revoke("仲裁")
    assert world.store.dispute(people[2], "p", id_) is None
    assert world.store.submit_decisions(people[2], id_, Submission({world.subject(task): 1})) == "foreign"


def test_a_decision_can_be_looked_at_corrected_and_taken_back(world: World, people):
    task, judge = task_of(1), people[2]
    world.lay_out([task, task_of(2)], spec_of("grade"))
    argue(world, people, task, {"grade": 1}, {"grade": 3})
    id_, subject = world.id_of(task), world.subject(task, "grade")
    world.decide(judge, id_, 2, reason="一", confidence="low", error_kinds=("other", "edge_case"), guideline_gap=True)
    found = world.store.dispute(judge, "p", id_)
    assert (found.decisions, found.reason, found.remaining) == ({subject: 2}, "一", 0)
    world.decide(judge, id_, 3)
    assert world.store.current_votes("p").decisions == {subject: ("J1", 3)}
    world.decide(judge, id_, 2, reason="一", confidence="low", error_kinds=("other", "edge_case"), guideline_gap=True)
    assert world.store.undo_last(judge, "p") == id_
    assert world.store.count_disputes("p") == 1
    found = world.store.dispute(judge, "p", id_)
    assert found.decisions == {}
    kept = {"reason": "一", "confidence": "low", "error_kinds": "other,edge_case", "guideline_gap": "1"}
    assert found.draft.data == {form_field_name(subject): "2"} | kept
    assert world.store.undo_last(judge, "p") is None
    assert world.store.save_draft(judge, id_, {"reason": "二"}) == "kept"
    assert world.store.dispute(judge, "p", id_).draft.data == {"reason": "二"}
    assert world.store.flag(judge, id_, True)
    assert world.store.progress(judge, "p").flagged == 1


def test_of_two_adjudicators_the_last_decision_counts(world: World, people):
    other = world.invite("仲裁二", "adjudicator")
    task, judge = task_of(1), people[2]
    world.lay_out([task])
    argue(world, people, task, {"sound": 1}, {"sound": 0})
    id_, subject = world.id_of(task), world.subject(task)
    seen = world.store.dispute(other, "p", id_)
    assert world.decide(judge, id_, 1) == "kept"
    assert world.store.dispute(other, "p", id_) is None, "it was decided meanwhile"
    assert seen is not None
    world.store.undo_last(judge, "p")
    assert world.decide(other, id_, 0) == "kept"
    assert world.store.current_votes("p").decisions[subject] == ("J2", 0)


def test_annotators_who_come_to_agree_leave_nothing_to_decide(world: World, people):
    task, judge = task_of(1), people[2]
    world.lay_out([task])
    argue(world, people, task, {"sound": 1}, {"sound": 0})
    id_ = world.id_of(task)
    world.submit(people[1], task, sound=1)
    assert world.store.count_disputes("p") == 0
    assert world.store.dispute(judge, "p", id_) is None
    assert world.store.submit_decisions(judge, id_, Submission({world.subject(task): 1})) == "foreign"


def test_taking_back_a_vote_on_what_was_decided(world: World, people):
    task, judge = task_of(1), people[2]
    world.lay_out([task])
    argue(world, people, task, {"sound": 1}, {"sound": 0})
    world.decide(judge, world.id_of(task), 1)
    assert world.store.undo_last(people[0], "p") is not None
    assert world.store.count_disputes("p") == 0
    assert world.store.current_votes("p").decisions[world.subject(task)] == ("J1", 1), "it stays in the history"
    world.submit(people[0], task, sound=1)
    assert world.store.count_disputes("p") == 0, "it is decided already"


def test_gold_and_means_are_never_in_dispute(world: World, people):
    gold = task_of(9, expected={"sound": 1})
    world.lay_out([task_of(1), gold])
    argue(world, people, gold, {"sound": 1}, {"sound": 0})
    assert world.store.count_disputes("p") == 0
    assert world.store.dispute(people[2], "p", world.id_of(gold)) is None
    assert world.store.current_votes("p").by_subject == {}
    world.lay_out([task_of(1), gold], spec_of(rule="mean"))
    argue(world, people, task_of(1), {"sound": 1}, {"sound": 0})
    assert world.store.count_disputes("p") == 0
    assert world.store.next_dispute(people[2], "p") is None


def test_time_of_adjudicators_is_kept(world: World, people):
    task, judge = task_of(1), people[2]
    world.lay_out([task])
    argue(world, people, task, {"sound": 1}, {"sound": 0})
    found = world.store.dispute(judge, "p", world.id_of(task))
    world.clock.tick(seconds=42)
    world.store.submit_decisions(judge, found.task_id, Submission({world.subject(task): 1}, active_seconds=30))
    event = list(world.store.events("p"))[-1]
    assert (event.kind, event.person, event.seconds, event.active_seconds) == ("submit", "仲裁", 42, 30)
    assert world.store.progress(judge, "p").median_seconds == 42


@pytest.mark.parametrize(("question", "one", "other"), [("degree", 0.1, 0.6), ("grade", 1, 3)])
def test_a_decision_about_other_votes_than_those_of_now_does_not_count(world: World, people, question, one, other):
    task, judge = task_of(1), people[2]
    world.lay_out([task], spec_of(question))
    argue(world, people, task, {question: one}, {question: other})
    assert world.decide(judge, world.id_of(task), one) == "kept"
    decided, digest = world.store.current_votes("p").decisions, world.store.votes_digest("p")
    assert len(decided) == 1
    assert world.store.count_disputes("p") == 0
    world.store.undo_last(people[1], "p")
    assert world.submit(people[1], task, **{question: other}) == "kept"
    assert world.store.current_votes("p").decisions == decided, "the votes are those that it judged"
    assert world.store.votes_digest("p") == digest
    assert world.submit(people[0], task, **{question: 2 if question == "grade" else 1.0}) == "kept"
    assert world.store.current_votes("p").decisions == {}
    assert world.store.count_disputes("p") == 1
    assert world.store.next_dispute(judge, "p") == world.id_of(task)
    found = world.store.dispute(judge, "p", world.id_of(task))
    assert (found.decisions, found.remaining) == ({}, 1)
    assert world.store.progress(judge, "p").done == 0
    assert world.decide(judge, world.id_of(task), one, reason="仍然") == "kept", "the same value again"
    assert len(world.store.current_votes("p").decisions) == 1
    assert world.store.count_disputes("p") == 0


def test_a_binary_decision_stays(world: World, people):
    task = task_of(1)
    world.lay_out([task])
    argue(world, people, task, {"sound": 1}, {"sound": 0})
    assert world.decide(people[2], world.id_of(task), 1) == "kept"
    world.submit(people[0], task, sound=0)
    world.submit(people[1], task, sound=1)
    assert world.store.count_disputes("p") == 0


def test_imported_decisions_are_about_the_votes_that_come_with_them(world: World, people):
    task = task_of(1)
    world.lay_out([task], spec_of("degree"))
    subject = world.subject(task, "degree")
    votes = [
        ImportedVote("仲裁", subject, 0.2, role="adjudicator"), ImportedVote("专家1", subject, 0.1),
        ImportedVote("专家2", subject, 0.6),
    ]  # fmt: skip
    assert world.store.import_votes("p", votes, "csv").new == 3
    assert len(world.store.current_votes("p").decisions) == 1
    assert world.store.import_votes("p", votes, "csv").same == 3
    world.store.import_votes("p", [ImportedVote("专家1", subject, 0.9)], "csv")
    assert world.store.count_disputes("p") == 1
    world.store.import_votes("p", votes[:1], "csv")
    assert world.store.count_disputes("p") == 0
