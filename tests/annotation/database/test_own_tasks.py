from __future__ import annotations

import pytest
from vote_world import World, spec_of, task_of, tasks_of

from benchbuilder.annotation.base import Subject
from benchbuilder.annotation.database.models import Submission
from benchbuilder.annotation.database.sanitise import form_field_name


def test_a_task_is_shown_without_where_it_comes_from(world: World):
    person = world.annotators(2)[0]
    gold = task_of(99, 1, expected={"sound": 1})
    world.lay_out([task_of(1, 2), gold])
    for number in (1, 2):
        found = world.store.assignment(person, "p", number)
        assert (found.number, found.total, found.state) == (number, 2, "open")
        assert found.task.about == found.task.expected == ()
        assert len(found.task.paragraphs) in (1, 2)


def test_nobody_reaches_tasks_of_others(world: World):
    first, _ = world.annotators(2)
    world.lay_out(tasks_of(3))
    assert world.store.assignment(first, "p", 0) is None
    assert world.store.assignment(first, "p", 4) is None
    assert world.store.assignment(first, "q", 1) is None
    third = world.invite("专家3")
    free = next(id_ for id_, _ in world.store.tasks("p") if id_ not in world.ids(third))
    task = dict(world.store.tasks("p"))[free]
    assert world.store.submit(third, free, Submission(world.answers(task))) == "foreign"
    assert world.store.save_draft(third, free, {}) != "kept"
    assert not world.store.skip(third, free)
    assert not world.store.flag(third, free, True)
    judge = world.invite("仲裁", "adjudicator")
    lead = world.invite("负责人", "lead")
    for person in (judge, lead):
        assert world.store.submit(person, free, Submission(world.answers(task))) == "foreign"
        assert world.store.next_number(person, "p") is None
    assert world.store.submit(first, 10**6, Submission({})) == "foreign"
    assert not list(world.store.vote_events("p"))


def test_answers_and_notes_are_kept(world: World):
    first, second = world.annotators(2)
    task = task_of(1, 2)
    world.lay_out([task], spec_of("sound", "grade", "degree", "supports", "remark"))
    given = world.answers(task, sound=0, grade=3, degree=0.35, supports=1, remark="题干含糊\0\ud800")
    found = world.open(first)
    assert world.store.submit(first, found.task_id, Submission(given, note=" 请复核\0 ")) == "kept"
    mine = world.open(first, task)
    assert mine.state == "done"
    assert mine.note == "请复核"
    assert mine.answers == given | {world.subject(task, "remark"): "题干含糊?"}
    theirs = world.open(second, task)
    assert (theirs.state, theirs.answers, theirs.note, theirs.draft) == ("open", {}, "", None)
    votes = world.store.current_votes("p")
    assert votes.by_subject[world.subject(task, "degree")] == {"A1": 0.35}
    assert [tuple(comment) for comment in votes.comments] == [("A1", task.key, "请复核")]


@pytest.mark.parametrize(
    "changed", [{"sound": 2}, {"grade": 4}, {"degree": 1.5}, {"sound": "1"}, {"remark": "x" * 4001}]
)
def test_invalid_answers_are_not_saved(world: World, changed: dict):
    person = world.annotators(2)[0]
    world.lay_out(tasks_of(1), spec_of("sound", "grade", "degree", "remark"))
    assert world.submit(person, **changed) == "incomplete"
    assert not list(world.store.vote_events("p"))


def test_everything_required_must_be_answered_and_nothing_else(world: World):
    person = world.annotators(2)[0]
    task = task_of(1, 1)
    world.lay_out([task], spec_of("sound", "supports", "remark"))
    answers, id_ = world.answers(task), world.open(person).task_id
    for subject in answers:
        less = {s: v for s, v in answers.items() if s != subject}
        assert world.store.submit(person, id_, Submission(less)) == "incomplete"
    foreign = answers | {Subject(task.key, "w00"): 1}
    assert world.store.submit(person, id_, Submission(foreign)) == "retired"
    assert world.store.submit(person, id_, Submission(answers)) == "kept"


def test_one_is_one_however_it_is_written(world: World):
    first, second = world.annotators(2)
    task = task_of(1)
    world.lay_out([task], spec_of("sound", "degree"))
    world.submit(first, sound=1.0, degree=1)
    world.submit(second, sound=1, degree=1.0)
    votes = world.store.current_votes("p")
    assert {repr(value) for given in votes.by_subject.values() for value in given.values()} == {"1"}
    world.submit(first, task, sound=1, degree=1.0)
    assert len(list(world.store.vote_events("p"))) == 4


def test_only_what_changed_is_added_to_the_history(world: World):
    person = world.annotators(2)[0]
    task = task_of(1, 1)
    world.lay_out([task], spec_of("sound", "supports", "remark"))
    world.submit(person, remark="一")
    world.submit(person, task, supports=0)
    history = [(vote.question, vote.value) for vote in world.store.vote_events("p")]
    assert sorted(history[:3]) == [("remark", "一"), ("sound", 1), ("supports", 1)]
    assert sorted(history[3:], key=str) == [("remark", None), ("supports", 0)]
    assert [event.kind for event in world.store.events("p")] == ["open", "submit", "open", "submit"]


def test_a_form_that_is_sent_twice_counts_once(world: World):
    person = world.annotators(2)[0]
    task = task_of(1)
    world.lay_out([task])
    found = world.open(person)
    submission = Submission(world.answers(task), note="一")
    assert [world.store.submit(person, found.task_id, submission) for _ in range(3)] == ["kept"] * 3
    assert [event.kind for event in world.store.events("p")] == ["open", "submit"]
    assert world.store.submit(person, found.task_id, Submission(world.answers(task), note="二")) == "kept"
    assert world.open(person, task).note == "二"


def test_the_way_through(world: World):
    person = world.annotators(2)[0]
    world.lay_out(tasks_of(5))
    ids = world.ids(person)
    assert world.store.next_number(person, "p") == 1
    assert world.store.skip(person, ids[0])
    assert world.store.next_number(person, "p") == 2
    assert world.store.next_number(person, "p", after=3) == 4
    assert world.store.next_number(person, "p", after=5) == 2
    for id_ in ids[1:]:
        world.store.submit(person, id_, Submission(world.answers(dict(world.store.tasks("p"))[id_])))
    assert world.store.next_number(person, "p") == 1, "now what was put off"
    assert world.store.next_number(person, "p", after=1) == 1
    progress = world.store.progress(person, "p")
    assert (progress.done, progress.open, progress.skipped, progress.flagged) == (4, 0, 1, 0)
    assert world.submit(person) == "kept"
    assert world.store.next_number(person, "p") is None
    assert world.store.skip(person, ids[0]), "that changes nothing"
    assert world.store.progress(person, "p").done == 5


def test_the_list_says_how_things_are(world: World):
    person = world.annotators(2)[0]
    world.lay_out(tasks_of(6))
    ids = world.ids(person)
    world.submit(person)
    world.store.skip(person, ids[1])
    world.store.flag(person, ids[2], True, "看不懂")
    world.store.save_draft(person, ids[3], {"note": "一"})
    lines = world.store.list_assignments(person, "p")
    assert [line.state for line in lines] == ["done", "skipped", "open", "open", "open", "open"]
    assert [line.flagged for line in lines] == [False, False, True, False, False, False]
    assert [line.has_draft for line in lines] == [False, False, False, True, False, False]
    assert all("叶酸" in line.text for line in lines)
    shown = {state: [line.number for line in world.store.list_assignments(person, "p", state=state)] for state in
             ("open", "done", "skipped", "flagged")}  # fmt: skip
    assert shown == {"open": [3, 4, 5, 6], "done": [1], "skipped": [2], "flagged": [3]}
    assert [line.number for line in world.store.list_assignments(person, "p", start=3, count=2)] == [3, 4]
    world.store.flag(person, ids[2], False)
    assert world.store.progress(person, "p").flagged == 0
    kinds = [event.kind for event in world.store.events("p")]
    assert kinds == ["open", "submit", "skip", "flag", "unflag"]
    assert [event.detail for event in world.store.events("p") if event.kind == "flag"] == [{"why": "看不懂"}]


def test_drafts_are_kept_until_submitted(world: World):
    first, second = world.annotators(2)
    task = task_of(1)
    world.lay_out([task])
    found = world.open(first)
    name = form_field_name(world.subject(task))
    assert world.store.save_draft(first, found.task_id, {name: "1", "note": "还没想好\0\udfff"}) == "kept"
    assert world.store.save_draft(first, found.task_id, {name: "0"}) == "kept"
    draft = world.open(first).draft
    assert draft is not None
    assert (dict(draft.data), draft.saved_at) == ({name: "0"}, world.clock.now)
    assert world.open(second).draft is None
    assert world.store.save_draft(first, found.task_id, {name: "字" * 310_000}) != "kept"
    assert world.open(first).draft == draft
    world.submit(first, task)
    assert world.open(first, task).draft is None


def test_undo_takes_back_one_more_each_time(world: World):
    person = world.annotators(2)[0]
    world.lay_out(tasks_of(4), spec_of("sound", "remark"))
    for value in (0, 1, 0):
        world.submit(person, sound=value, note=f"第{value}")
        world.clock.tick(seconds=5)
    assert world.store.undo_last(person, "p") == 3
    again = world.store.assignment(person, "p", 3)
    assert (again.state, again.answers, again.note) == ("open", {}, "")
    assert dict(again.draft.data) == {form_field_name(world.subject(again.task)): "0", "note": "第0"}
    assert world.store.undo_last(person, "p") == 2
    assert len(world.store.current_votes("p").by_subject) == 1
    assert world.submit(person) == "kept"
    assert world.store.undo_last(person, "p") == 2
    assert world.store.undo_last(person, "p") == 1
    assert world.store.undo_last(person, "p") is None
    assert world.store.current_votes("p").by_subject == {}
    history = [vote.value for vote in world.store.vote_events("p")]
    assert history == [0, 1, 0, None, None, 1, None, None]
    undone = [event.detail["undone"] for event in world.store.events("p") if event.kind == "undo"]
    submitted = [event.id for event in world.store.events("p") if event.kind == "submit"]
    assert sorted(undone) == submitted


def test_undo_takes_back_a_corrected_task_as_a_whole(world: World):
    person = world.annotators(2)[0]
    task = task_of(1)
    world.lay_out([task, task_of(2)])
    world.submit(person, task, sound=0)
    world.submit(person, sound=1)
    world.submit(person, task, sound=1)
    assert world.store.undo_last(person, "p") == world.open(person, task).number
    assert list(world.store.current_votes("p").by_subject) != [world.subject(task)]
    assert world.store.undo_last(person, "p") is not None
    assert world.store.undo_last(person, "p") is None


def test_time_runs_from_opening_to_submit(world: World):
    person = world.annotators(2)[0]
    task = task_of(1)
    world.lay_out([task])
    found = world.open(person)
    assert found.opened_at == world.clock.now
    world.clock.tick(seconds=90)
    assert world.open(person).seconds == 90
    world.clock.tick(minutes=10)
    world.store.save_draft(person, found.task_id, {"note": "一"})
    world.clock.tick(minutes=31)
    assert world.open(person).seconds == 690, "a pause is not counted"
    world.clock.tick(seconds=10)
    given = Submission(world.answers(task), active_seconds=400.0)
    world.store.submit(person, found.task_id, given)
    submitted = list(world.store.events("p"))[-1]
    assert (submitted.kind, submitted.seconds, submitted.active_seconds) == ("submit", 700, 400)
    assert submitted.created_at == world.clock.now
    assert world.store.progress(person, "p").median_seconds == 700
    kinds = [event.kind for event in world.store.events("p")]
    assert kinds == ["open", "submit"], "looking again opens nothing again"


def test_a_page_left_open_counts_for_half_an_hour_at_most(world: World):
    person = world.annotators(2)[0]
    world.lay_out(tasks_of(1))
    found = world.open(person)
    world.clock.tick(hours=9)
    world.store.submit(person, found.task_id, Submission(world.answers(found.task)))
    assert world.store.progress(person, "p").median_seconds == 1800


def test_time_adds_up_over_openings_but_not_between_them(world: World):
    person = world.annotators(2)[0]
    task = task_of(1)
    world.lay_out([task, task_of(2)])
    first = world.open(person, task)
    world.clock.tick(seconds=20)
    world.store.skip(person, first.task_id)
    world.clock.tick(minutes=15)
    assert world.open(person, task).seconds == 20
    world.clock.tick(seconds=30)
    world.submit(person, task)
    world.clock.tick(minutes=5)
    assert world.open(person, task).seconds == 50, "looking at what is done takes no time"
    world.clock.tick(seconds=7)
    world.submit(person, task, sound=0)
    assert world.store.progress(person, "p").median_seconds == 57
    kinds = [(event.kind, event.seconds) for event in world.store.events("p")]
    assert kinds == [("open", None), ("skip", 20), ("open", None), ("submit", 30), ("open", None), ("submit", 7)]


def test_looking_without_opening_starts_no_clock(world: World):
    person = world.annotators(2)[0]
    world.lay_out(tasks_of(1))
    assert world.store.assignment(person, "p", 1, opening=False).opened_at is None
    assert not list(world.store.events("p"))


def test_the_median_is_of_all_that_are_done(world: World):
    person = world.annotators(2)[0]
    world.lay_out(tasks_of(4))
    seen = []
    for seconds in (10, 40, 20, 90):
        world.open(person)
        world.clock.tick(seconds=seconds)
        found = world.open(person)
        world.store.submit(person, found.task_id, Submission(world.answers(found.task)))
        seen.append(world.store.progress(person, "p").median_seconds)
    assert seen == [10, 25, 20, 30]


def test_a_draft_outlives_its_task(world: World):
    first, second = world.annotators(2)
    tasks = tasks_of(2)
    world.lay_out(tasks)
    found = world.open(first, tasks[0])
    key = found.task.key
    assert world.store.find_own_task(first, "p", key) == (found.task_id, True)
    world.lay_out(tasks[1:])
    assert world.store.find_own_task(first, "p", key) == (found.task_id, False)
    assert world.store.find_own_task(world.invite("专家3"), "p", key) is None
    assert world.store.find_own_task(first, "q", key) is None
    assert world.store.save_draft(first, found.task_id, {"note": "很长的备注"}) == "kept"
    assert world.store.save_draft(second, found.task_id, {"note": "从没看过"}) != "kept"
    world.lay_out(tasks)
    assert dict(world.open(first, tasks[0]).draft.data) == {"note": "很长的备注"}


def test_undo_keeps_what_is_longer_than_a_draft_may_be(world: World):
    person = world.annotators(2)[0]
    questions = {
        f"t{n}": {"order": n, "subject": "claim", "label": "T", "text": f"{n}?", "answer": "text", "max_chars": 100_000}
        for n in range(1, 5)
    }
    task = task_of(1)
    world.lay_out([task], spec_of(questions=questions))
    assert world.submit(person, **dict.fromkeys(questions, "孕" * 90_000)) == "kept"
    assert world.store.undo_last(person, "p") == 1
    assert [len(text) for text in world.open(person).draft.data.values()] == [90_000] * 4
