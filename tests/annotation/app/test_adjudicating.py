import re

import pytest
from lead_world import NAMES, lead_world, person_of, vote
from review_world import fields_of, hidden

from benchbuilder.annotation.aggregate import overrides_annotators
from benchbuilder.annotation.database.sanitise import form_field_name
from benchbuilder.config.spec.annotation import GuidingQuestion


@pytest.fixture
def world(disputes):
    return disputes


@pytest.fixture
def judge(world):
    return world.browser("Meta 元", "adjudicator")


def waiting(world):
    """Ids of the tasks that wait, in their order."""
    person, found = person_of(world, "Meta 元"), []
    while (task := world.store.next_dispute(person, "claims", frozenset(found))) is not None:
        found.append(task)
    return found


def without_tokens(html):
    """The page without its random token, which may contain any short text."""
    return re.sub(r'name="csrf" value="[^"]*"', "", html)


def points(html):
    """The fields of the questions on a page."""
    return dict.fromkeys(re.findall(r'name="(v\.[^"]+)"', html))


@pytest.mark.push
def test_annotators_and_project_owners_have_nothing_to_decide(world, judge):
    path = f"/adjudicate/claims/{waiting(world)[0]}"
    for other in (world.browser("林晓岚"), world.browser("Lead", "lead"), world.browser()):
        for place in ("/adjudicate/claims", path):
            assert other.get(place).status_code == 403
        assert not other.token or other.post(path, {"action": "submit"}).status_code == 403
    assert judge.get(path).status_code == 200
    assert judge.get("/p/claims/1").status_code == 403
    assert judge.get("/adjudicate/nothing").status_code == 404
    for wrong in ("0", "99", "x", "-1", "1e3", "9" * 40):
        assert judge.get(f"/adjudicate/claims/{wrong}").status_code == 404


def test_the_lowest_agreement_comes_first(world, judge):
    assert judge.get("/adjudicate/claims").headers["location"] == f"/adjudicate/claims/{waiting(world)[0]}"
    agreements = [
        world.store.dispute(person_of(world, "Meta 元"), "claims", task, opening=False).agreement
        for task in waiting(world)
    ]
    assert len(agreements) == 2
    assert agreements == sorted(agreements)


def test_ten_disputes_come_in_the_order_of_agreement(tmp_path):
    world = lead_world(tmp_path, 6)
    world.browser("Meta 元", "adjudicator")
    for place, wrong in enumerate((1, 3, 0, 2, 4, 1)):
        vote(world, NAMES[0], place)
        vote(world, NAMES[1], place, **{f"supports{k}": 0 for k in range(wrong)})
    ids = [id_ for id_, _ in world.store.tasks("claims")]
    assert waiting(world) == [ids[4], ids[1], ids[3], ids[0], ids[5]]


def test_only_what_is_in_dispute_is_asked_and_nobody_is_named(world, judge):
    for task in waiting(world):
        page = without_tokens(judge.get(f"/adjudicate/claims/{task}").text)
        assert len(points(page)) == 2
        for name in (*NAMES, "A1", "A2", "secret-partition"):
            assert name not in page
        assert "Judge 1" in page
        assert "Judge 2" in page
        assert "Judge 3" not in page
        assert "style=" not in page
    text = "".join(judge.get(f"/adjudicate/claims/{task}").text for task in waiting(world))
    assert "① 答案唯一" in text
    assert "⑤ 语句通顺" not in text
    assert "第一个人的备注" in text


@pytest.mark.push
def test_the_order_of_judges_differs_between_tasks_and_stays_within_one(tmp_path):
    world = lead_world(tmp_path, 12)
    judge = world.browser("Meta 元", "adjudicator")
    for place in range(12):
        vote(world, NAMES[0], place, single_answer=1, accurate_answer=1)
        vote(world, NAMES[1], place, single_answer=0, accurate_answer=0)
    orders = []
    for task in waiting(world):
        page = judge.get(f"/adjudicate/claims/{task}").text
        lists = [
            tuple(re.findall("<b>([01])</b>", part))
            for part in re.findall('<ul class="judges".*?</ul>', page, re.DOTALL)
        ]
        assert len(set(lists)) == 1  # the same judge has the same number on every question of a task
        assert page.count("Judge 1") == len(lists)
        orders.append(lists[0])
        assert re.findall("<b>([01])</b>", judge.get(f"/adjudicate/claims/{task}").text)[:2] == list(lists[0])
    assert set(orders) == {("0", "1"), ("1", "0")}


def test_a_decision_settles_the_dispute_and_leads_on(world, judge):
    first, second = waiting(world)
    answer = judge.submit(f"/adjudicate/claims/{first}", "1")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/adjudicate/claims/{second}?saved=1")
    assert "Your decision is saved." in judge.get(answer.headers["location"]).text
    assert (
        judge.submit(f"/adjudicate/claims/{second}", "1", note="x").headers["location"] == "/adjudicate/claims?saved=1"
    )
    page = judge.get("/adjudicate/claims?saved=1").text
    assert "Nothing is waiting for a decision" in page
    assert "Decided so far: 2." in page
    assert sorted(who for who, _ in world.store.current_votes("claims").decisions.values()) == ["J1"] * 4


def scalar_task(world):
    """The task with the scalar, and the fields of its two questions."""
    for task in waiting(world):
        dispute = world.store.dispute(person_of(world, "Meta 元"), "claims", task, opening=False)
        names = {name: form_field_name(subject) for subject, name in dispute.subjects}
        if "complete" in names:
            return task, names
    raise AssertionError("no scalar is in dispute")


def test_a_reason_is_needed_against_all_judges(world, judge):
    task, names = scalar_task(world)
    path = f"/adjudicate/claims/{task}"
    given = {names["supports"]: "1"}
    answer = judge.submit(path, None, **given, **{names["complete"]: "0.1"})  # they gave 0.9 and 0.3
    assert answer.status_code == 422
    assert "No judge gave this answer." in answer.text
    assert 'value="0.1"' in answer.text
    assert not world.store.current_votes("claims").decisions
    answer = judge.submit(path, None, note="两人都看错了", **given, **{names["complete"]: "0.1"})
    assert answer.status_code == 303
    (event,) = [event for event in world.store.events("claims") if event.code == "J1" and event.kind == "submit"]
    assert event.detail["reason"] == "两人都看错了"


def test_what_one_judge_gave_needs_no_reason(world, judge):
    task, names = scalar_task(world)
    answer = judge.submit(f"/adjudicate/claims/{task}", None, **{names["supports"]: "0", names["complete"]: "0.9"})
    assert answer.status_code == 303


def test_a_scalar_between_those_of_the_judges_needs_no_reason(world, judge):
    task, names = scalar_task(world)
    answer = judge.submit(f"/adjudicate/claims/{task}", None, **{names["supports"]: "0", names["complete"]: "0.6"})
    assert answer.status_code == 303


def test_overriding():
    binary = GuidingQuestion(order=1, subject="claim", label="a", text="b")
    scalar = GuidingQuestion(order=1, subject="claim", label="a", text="b", answer="scalar")
    assert not overrides_annotators(binary, 1, (0, 1))
    assert overrides_annotators(binary, 1, (None, None))
    assert not overrides_annotators(scalar, 0.5, (0.2, None, 0.9))
    assert not overrides_annotators(scalar, 0.9, (0.2, 0.9))
    assert overrides_annotators(scalar, 0.91, (0.2, 0.9))


def test_everything_in_dispute_must_be_decided(world, judge):
    task, names = scalar_task(world)
    answer = judge.submit(f"/adjudicate/claims/{task}", None, **{names["supports"]: "1"})
    assert answer.status_code == 422
    assert "Please answer this question." in answer.text
    answer = judge.submit(f"/adjudicate/claims/{task}", None, **{names["supports"]: "7", names["complete"]: "2"})
    assert answer.status_code == 422
    assert "Please choose 1 or 0." in answer.text


def test_why_they_differ_how_sure_and_the_guideline(world, judge):
    task = waiting(world)[0]
    said = {"error_kinds": ["edge_case", "nonsense", "other"], "guideline_gap": "1", "confidence": "low"}
    data = judge.form(f"/adjudicate/claims/{task}")
    data |= {name: "1" for name in data if name.startswith("v.")} | said | {"action": "submit"}
    assert judge.client.post(f"/adjudicate/claims/{task}", data=data).status_code == 303
    (event,) = [event for event in world.store.events("claims") if event.code == "J1" and event.kind == "submit"]
    assert event.detail == {"error_kinds": ["edge_case", "other"], "guideline_gap": True, "confidence": "low"}


def test_undo_brings_everything_back(world, judge):
    task = waiting(world)[0]
    data = judge.form(f"/adjudicate/claims/{task}")
    data |= {name: "1" for name in data if name.startswith("v.")}
    data |= {"action": "submit", "note": "Grund", "error_kinds": "edge_case", "guideline_gap": "1", "confidence": "low"}
    judge.client.post(f"/adjudicate/claims/{task}", data=data)
    answer = judge.undo("/adjudicate/claims")
    assert answer.headers["location"] == f"/adjudicate/claims/{task}?undone=1"
    assert not world.store.current_votes("claims").decisions
    page = judge.get(answer.headers["location"]).text
    assert "Your decision is withdrawn" in page
    assert re.search(r'<textarea id="note"[^>]*>\nGrund', page)
    assert 'value="edge_case" checked' in page
    assert 'name="guideline_gap" value="1" checked' in page
    assert 'name="confidence" value="low" checked' in page
    assert len(re.findall(r'name="v\.[^"]*" value="1"[^>]*checked', page)) >= 1
    assert judge.undo("/adjudicate/claims").headers["location"] == "/adjudicate/claims"


def test_a_decision_can_be_corrected(world, judge):
    task = waiting(world)[0]
    judge.submit(f"/adjudicate/claims/{task}", "1")
    page = judge.get(f"/adjudicate/claims/{task}").text
    assert "You have decided this task." in page
    judge.submit(f"/adjudicate/claims/{task}", "0")
    assert {value for _, value in world.store.current_votes("claims").decisions.values()} == {0}


@pytest.mark.push
def test_drafts_skip_and_flag(world, judge):
    first, second = waiting(world)
    path = f"/adjudicate/claims/{first}"
    answer = judge.submit(path, "1", action="draft", note="erst mal", error_kinds="other")
    assert answer.headers["location"] == path
    page = judge.get(path).text
    assert "erst mal" in page
    assert 'value="other" checked' in page
    assert judge.submit(path, None, action="skip").headers["location"] == f"/adjudicate/claims/{second}"
    assert judge.submit(f"/adjudicate/claims/{second}", None, action="skip").headers["location"] == "/adjudicate/claims"
    page = judge.get("/adjudicate/claims").text
    assert "Only skipped tasks are left" in page
    assert judge.get("/adjudicate/claims?again=1").headers["location"] == path
    judge.submit(path, None, action="flag", note="siehe Leitlinie")
    lead = world.browser("Lead", "lead").get("/lead/claims").text
    assert "siehe Leitlinie" in lead
    assert "Meta 元" in lead
    assert judge.submit(path, "1", action="other").status_code == 400


def test_the_script_gets_data(world, judge):
    first, second = waiting(world)
    data = judge.form(f"/adjudicate/claims/{first}")
    data |= {name: "1" for name in data if name.startswith("v.")}
    as_json = {"headers": {"Accept": "application/json"}}
    kept = judge.client.post(f"/adjudicate/claims/{first}", data=data | {"action": "draft"}, **as_json)
    assert kept.json() == {"state": "saved"}
    done = judge.client.post(f"/adjudicate/claims/{first}", data=data | {"action": "submit"}, **as_json)
    assert done.json() == {"next": f"/adjudicate/claims/{second}?saved=1"}


def test_a_dispute_that_is_gone(world, judge):
    first = waiting(world)[0]
    path = f"/adjudicate/claims/{first}"
    data = judge.form(path) | {"action": "submit"}
    data |= {name: "1" for name in data if name.startswith("v.")}
    for name in NAMES:
        while world.store.undo_last(person_of(world, name), "claims") is not None:
            pass
    answer = judge.client.post(path, data=data)
    assert answer.status_code == 409
    assert "no longer in dispute" in answer.text
    assert not world.store.current_votes("claims").decisions
    assert judge.get(path).status_code == 404


@pytest.mark.push
def test_what_was_entered_is_kept_when_another_decided_meanwhile(world, judge):
    task, names = scalar_task(world)
    path = f"/adjudicate/claims/{task}"
    data = judge.form(path) | {names["supports"]: "0", names["complete"]: "0.33", "note": "lange Begründung"}
    other = world.browser("Zweite", "adjudicator")
    assert other.submit(path, "1", note="weil").status_code == 303
    for action in ("submit", "draft", "skip", "flag"):
        answer = judge.client.post(path, data=data | {"action": action, "error_kinds": "edge_case"})
        assert (answer.status_code, answer.headers["draft-kept"]) == (409, "yes")
        assert "no longer in dispute" in answer.text
        told = judge.client.post(path, data=data | {"action": action}, headers={"Accept": "application/json"})
        assert told.json() == {"state": "changed", "kept": True}
    assert {code for code, _ in world.store.current_votes("claims").decisions.values()} == {"J2"}
    other.undo("/adjudicate/claims")
    page = judge.get(path).text
    assert "lange Begründung" in page
    assert 'value="0.33"' in page
    huge = judge.client.post(path, data=data | {"action": "submit", "note": "n" * 950_000})
    assert (huge.status_code, huge.headers["draft-kept"]) == (422, "no")


def test_undo_of_a_settled_dispute_goes_to_the_project(world, judge):
    task = waiting(world)[0]
    assert judge.submit(f"/adjudicate/claims/{task}", "1").status_code == 303
    for name in NAMES:
        while world.store.undo_last(person_of(world, name), "claims") is not None:
            pass
    answer = judge.undo("/adjudicate/claims")
    assert (answer.status_code, answer.headers["location"]) == (303, "/adjudicate/claims")
    assert judge.get("/adjudicate/claims").status_code == 200


def test_a_dispute_that_is_another_one(world, judge):
    task, names = scalar_task(world)
    path = f"/adjudicate/claims/{task}"
    data = judge.form(path) | {"action": "submit", names["supports"]: "1", names["complete"]: "0.9"}
    place = [id_ for id_, _ in world.store.tasks("claims")].index(task)
    vote(world, NAMES[1], place, supports1=1, complete=0.1)
    answer = judge.client.post(path, data=data)
    assert answer.status_code == 409
    assert "An answer changed" in answer.text
    assert 'value="0.9"' in judge.get(path).text  # kept as a draft
    assert hidden(judge.get(path).text, "shown") != data["shown"]


def test_another_adjudicator_sees_neither_drafts_nor_decisions(world, judge):
    task, names = scalar_task(world)
    path = f"/adjudicate/claims/{task}"
    judge.submit(path, None, action="draft", note="geheimer Entwurf", **{names["complete"]: "0.77"})
    other = world.browser("Zweite", "adjudicator")
    page = other.get(path).text
    assert "geheimer Entwurf" not in page
    assert "0.77" not in fields_of(page).values()
    assert "Meta 元" not in page


def test_without_csrf_nothing_is_decided(world, judge):
    task = waiting(world)[0]
    answer = judge.submit(f"/adjudicate/claims/{task}", "1", csrf="wrong")
    assert answer.status_code == 403
    assert not world.store.current_votes("claims").decisions


def test_pages_in_chinese(world, judge):
    page = judge.get(f"/adjudicate/claims/{waiting(world)[0]}", headers={"Accept-Language": "zh"}).text
    assert "评审人 1" in page
    assert set(re.findall(r"\{[a-z]+\}", page)) <= {"{time}"}  # which the script fills in
    done = judge.get("/adjudicate/claims", headers={"Accept-Language": "zh"})
    assert done.status_code == 303


def test_material_that_is_not_in_dispute_is_there_to_read(world, judge):
    pages = {task: judge.get(f"/adjudicate/claims/{task}").text for task in waiting(world)}
    rests = sorted(int(re.search(r"aragraphs \((\d)\)", page)[1]) for page in pages.values())
    assert rests == [3, 4]
    for page in pages.values():
        assert page.count('class="passage"') == 4
        assert "判断原则" in page
        steps = [int(step) for step in re.findall(r'data-step="(\d+)"', page)]
        assert sorted(steps) == [1, 2]
