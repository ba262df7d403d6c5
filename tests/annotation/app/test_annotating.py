"""What an annotator does: answer, submit, take back, put off, mark, come back."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from review_world import GUIDELINE, Browser, World, claim_tasks, claims_spec, fields_of, make_world

from benchbuilder.annotation.database.models import Project
from benchbuilder.core.errors import DataError

JSON = {"Accept": "application/json"}


def votes_of(world: World, project: str, name: str) -> list[Any]:
    return [vote for vote in world.store.vote_events(project) if vote.person == name]


def number_of(address: str) -> str:
    return address.partition("?")[0]


def test_home_lists_own_projects_with_progress(world: World) -> None:
    page = world.browser("Ann").get("/").text
    for project in ("claims", "ratings", "forms"):
        assert f'href="/p/{project}"' in page
    assert "0 of 4 done" in page
    assert "suggested: 5 min each" in page
    assert "about 20 min left" in page


def test_a_person_without_tasks_gets_a_message(tmp_path: Any) -> None:
    world = make_world(f"sqlite:///{tmp_path / 'v.db'}", [(Project("claims", claims_spec(), "", "zh", 1), [])])
    ann = world.browser("Ann")
    assert "nothing for you to do" in ann.get("/").text
    assert ann.get("/p/claims").status_code == 404
    world.store.close()


def test_the_page_shows_the_material_and_every_question_in_order(world: World) -> None:
    page = world.browser("Ann").get("/p/claims/1").text
    spec = claims_spec()
    places = [page.index(question.text) for question in spec.questions_about("claim").values()]
    assert places == sorted(places)
    beside = page.index(spec.questions_about()["supports"].text)
    assert places[2] < beside < places[3], "the line for evidence stands where its question does"
    assert page.count('data-name="v.p') == 4
    assert 'data-count="0">0/4<' in page
    for text in ("正确答案", "错误答案", "段落 1", "产科学讲义：子痫前期的病理生理"):
        assert text in page
    for hidden in ("secret-partition", "min_evidence"):
        assert hidden not in page
    assert 'lang="zh"' in page
    assert page.count('dir="auto"') > 10


def test_models_stay_hidden(world: World) -> None:
    ann = world.browser("Ann")
    for path in ("/p/ratings/1", "/p/ratings/list"):
        assert "hidden-model-name" not in ann.get(path).text


def test_a_set_is_done_from_start_to_end(world: World) -> None:
    ann = world.browser("Ann")
    address = ann.get("/p/claims").headers["location"]
    for done in range(4):
        world.clock.forward(seconds=60)
        assert f"<strong>{done}/4</strong>" in ann.get(number_of(address)).text
        answer = ann.submit(number_of(address))
        assert answer.status_code == 303
        address = answer.headers["location"]
        assert "saved=" in address
    assert number_of(address) == "/p/claims"
    end = ann.get(address)
    assert end.status_code == 200
    assert "All done. Thank you!" in end.text
    assert len(votes_of(world, "claims", "Ann")) == 4 * 9
    assert {vote.value for vote in votes_of(world, "claims", "Ann")} == {1}
    assert "4 of 4 done" in ann.get("/").text


def test_pace_and_time_left_come_from_the_own_median(world: World) -> None:
    ann = world.browser("Ann")
    for number in (1, 2):
        ann.get(f"/p/claims/{number}")
        world.clock.forward(seconds=90)
        assert ann.submit(f"/p/claims/{number}").status_code == 303
    page = ann.get("/p/claims/3").text
    assert "2 min each" in page
    assert "about 3 min left" in page


@pytest.mark.push
def test_scalars_scales_and_optional_answers(world: World) -> None:
    ann = world.browser("Ann")
    data = ann.form("/p/ratings/1")
    correctness, interpretability, tone = (name for name in data if name.startswith("v."))
    page = ann.get("/p/ratings/1").text
    assert "Mostly right; small gaps" in page
    assert 'class="here"' not in page, "no band before there is an answer"
    assert "checked" not in page
    filled = data | {correctness: "０，７5", interpretability: "0", tone: "", "action": "submit", "note": " why "}
    assert ann.client.post("/p/ratings/1", data=filled).status_code == 303
    votes = {vote.question: (vote.value, vote.note) for vote in votes_of(world, "ratings", "Ann")}
    assert votes == {"correctness": (0.75, "why"), "interpretability": (0, "why")}
    again = ann.form("/p/ratings/1")
    assert (again[correctness], again[interpretability], again[tone], again["note"]) == ("0.75", "0", "", "why")
    assert ann.get("/p/ratings/1").text.count('class="here"') == 2
    for said in ("3", ""):
        seen = {"base": ann.form("/p/ratings/1")["base"]}
        assert ann.client.post("/p/ratings/1", data=filled | seen | {tone: said}).status_code == 303
    history = [vote.value for vote in votes_of(world, "ratings", "Ann") if vote.question == "tone"]
    assert history == [3, None], "an answer that is taken away is taken back"


@pytest.mark.parametrize("wrong", ["1.01", "-0.1", "abc", "1e-3", "nan", "٠٫٥٫٥", "9" * 100])
def test_invalid_answers_are_shown_again_as_entered(world: World, wrong: str) -> None:
    ann = world.browser("Ann")
    data = ann.form("/p/ratings/1")
    correctness, interpretability, tone = (name for name in data if name.startswith("v."))
    answer = ann.client.post(
        "/p/ratings/1",
        data=data | {correctness: wrong, interpretability: "0.5", tone: "7", "action": "submit", "note": "kept note"},
    )
    assert answer.status_code == 422
    page = answer.text
    assert 'role="alert"' in page
    assert f'<a href="#{correctness}"' in page
    assert f'id="{correctness}-error"' in page
    assert f'aria-describedby="{correctness}-error"' in page
    assert "Please give a number from 0 to 1" in page
    assert "Please choose one of 1, 2, 3" in page
    shown = fields_of(page)
    assert shown[correctness] == wrong
    assert shown[interpretability] == "0.5"
    assert "kept note" in page
    assert not votes_of(world, "ratings", "Ann")
    assert ann.form("/p/ratings/1")[interpretability] == "0.5", "and kept as a draft"


def test_missing_answers_are_named_one_by_one(world: World) -> None:
    ann = world.browser("Ann")
    answer = ann.submit("/p/claims/1", fill=None)
    assert answer.status_code == 422
    assert answer.text.count("Please answer this question.") == 2 * 9
    assert "④ 段落支持 (3)" in answer.text


def test_forms_take_texts_as_they_are(world: World) -> None:
    ann = world.browser("Ann")
    data = ann.form("/p/forms/1")
    complaint, advice, drugs = (name for name in data if name.startswith("v."))
    text = "\nrest <b>now</b>\r\n\r\n“喝水” & \x00\x07 sleep 👩‍⚕️\n"
    sent = data | {complaint: '"head" & <neck>', advice: text, drugs: "", "action": "submit"}
    draft = ann.client.post("/p/forms/1", data=sent | {"action": "draft"})
    assert draft.status_code == 303
    page = ann.get("/p/forms/1").text
    assert "rest &lt;b&gt;now&lt;/b&gt;\n\n“喝水” &amp;  sleep 👩‍⚕️" in page
    assert "&#34;head&#34; &amp; &lt;neck&gt;" in page
    assert ann.client.post("/p/forms/1", data=sent).status_code == 303
    values = {vote.question: vote.value for vote in votes_of(world, "forms", "Ann")}
    assert values == {"complaint": '"head" & <neck>', "advice": "rest <b>now</b>\n\n“喝水” &  sleep 👩‍⚕️"}
    long = ann.client.post("/p/forms/2", data=ann.form("/p/forms/2") | {"action": "submit", "note": "n" * 4001})
    assert long.status_code == 422
    assert "it has 4001" in long.text


def test_a_draft_comes_back_and_is_for_its_task_alone(world: World) -> None:
    ann = world.browser("Ann")
    data = ann.form("/p/claims/2")
    first = next(name for name in data if name.startswith("v."))
    saved = ann.client.post("/p/claims/2", data=data | {first: "0", "note": "half", "action": "draft"}, headers=JSON)
    assert saved.json() == {"state": "saved"}
    again = world.browser("Ann").form("/p/claims/2")
    assert (again[first], again["note"]) == ("0", "half")
    assert ann.form("/p/claims/1")["note"] == ""
    assert not votes_of(world, "claims", "Ann")
    assert "Draft saved" in ann.get("/p/claims/2").text
    assert ann.submit("/p/claims/2").status_code == 303
    assert ann.form("/p/claims/2")[first] == "1", "the draft went with the submit"


def test_a_draft_that_is_too_large_says_so(world: World) -> None:
    ann = world.browser("Ann")
    data = ann.form("/p/forms/1") | {"action": "draft", "note": "n" * 950_000}
    assert ann.client.post("/p/forms/1", data=data, headers=JSON).json() == {"state": "too_big"}
    assert ann.client.post("/p/forms/1", data=data).status_code == 413
    assert ann.client.post("/p/forms/1", data=data | {"action": "submit"}).status_code == 422


def test_submitting_twice_is_submitting_once(world: World) -> None:
    ann = world.browser("Ann")
    data = ann.form("/p/claims/1") | {"action": "submit"}
    data |= {name: "1" for name in data if name.startswith("v.")}
    first, second = (ann.client.post("/p/claims/1", data=data) for _ in range(2))
    assert first.status_code == second.status_code == 303
    assert len(votes_of(world, "claims", "Ann")) == 9
    assert world.store.progress(ann.person, "claims").done == 1


def test_a_correction_is_added_to_the_history(world: World) -> None:
    ann = world.browser("Ann")
    ann.submit("/p/claims/1")
    page = ann.get("/p/claims/1").text
    assert "You have submitted this task" in page
    assert "Submit correction" in page
    data = fields_of(page)
    first = next(name for name in data if name.startswith("v."))
    assert data[first] == "1"
    assert ann.client.post("/p/claims/1", data=data | {first: "0", "action": "submit"}).status_code == 303
    assert [vote.value for vote in votes_of(world, "claims", "Ann")] == [1] * 9 + [0]


def test_undo_opens_the_last_one_again_with_its_answers(world: World) -> None:
    ann = world.browser("Ann")
    assert ann.undo("/p/claims/1").headers["location"] == "/p/claims", "nothing to take back"
    ann.submit("/p/claims/1")
    ann.submit("/p/claims/2", note="second")
    for number in (2, 1):
        back = ann.undo("/p/claims/1")
        assert back.headers["location"] == f"/p/claims/{number}?undone=1"
    assert "is open again" in ann.get("/p/claims/2?undone=1").text
    data = ann.form("/p/claims/2")
    assert {data[name] for name in data if name.startswith("v.")} == {"1"}
    assert data["note"] == "second"
    assert [vote.value for vote in votes_of(world, "claims", "Ann")] == [1] * 18 + [None] * 18
    assert not world.store.current_votes("claims").by_subject


def test_skipped_tasks_wait_at_the_end(world: World) -> None:
    ann = world.browser("Ann")
    data = ann.form("/p/claims/1") | {"action": "skip", "note": "for later"}
    skipped = ann.client.post("/p/claims/1", data=data)
    assert (skipped.status_code, skipped.headers["location"]) == (303, "/p/claims/2")
    assert ann.form("/p/claims/1")["note"] == "for later"
    assert ann.get("/p/claims").headers["location"] == "/p/claims/2"
    for number in (2, 3, 4):
        last = ann.submit(f"/p/claims/{number}")
    end = ann.get(last.headers["location"])
    assert end.status_code == 200
    assert "Almost done" in end.text
    assert 'href="/p/claims/1"' in end.text
    assert "You have skipped this task" in ann.get("/p/claims/1").text
    again = ann.client.post("/p/claims/1", data=data)
    assert again.headers["location"] == "/p/claims", "skipping the last one does not go round in circles"
    assert ann.submit("/p/claims/1").status_code == 303
    assert "All done" in ann.get("/p/claims").text


def test_a_flag_takes_the_note_along_and_keeps_what_was_entered(world: World) -> None:
    ann = world.browser("Ann")
    data = ann.form("/p/claims/1") | {"action": "flag", "note": "is this still so?"}
    first = next(name for name in data if name.startswith("v."))
    assert ann.client.post("/p/claims/1", data=data | {first: "0"}).headers["location"] == "/p/claims/1"
    page = ann.get("/p/claims/1").text
    assert "You flagged this task" in page
    assert 'value="unflag"' in page
    assert fields_of(page)[first] == "0"
    event = next(event for event in world.store.events("claims") if event.kind == "flag")
    assert "is this still so?" in str(event.detail)
    ann.client.post("/p/claims/1", data=data | {"action": "unflag"})
    assert "You flagged" not in ann.get("/p/claims/1").text


def test_scripts_get_an_address_and_go_there_themselves(world: World) -> None:
    ann = world.browser("Ann")
    data = ann.form("/p/claims/1")
    full = data | {name: "1" for name in data if name.startswith("v.")}
    answer = ann.client.post("/p/claims/1", data=full | {"action": "submit"}, headers=JSON)
    assert (answer.status_code, answer.json()) == (200, {"next": "/p/claims/2?saved=1"})
    second = ann.form("/p/claims/2") | {"action": "skip"}
    assert ann.client.post("/p/claims/2", data=second, headers=JSON).json()["next"] == "/p/claims/3"
    ann.post("/leave")
    late = ann.client.post("/p/claims/2", data=data | {"action": "draft"}, headers=JSON)
    assert (late.status_code, late.json()) == (403, {"state": "signed_out"})


def test_a_page_that_shows_something_else_than_now_is_not_submitted(world: World) -> None:
    ann = world.browser("Ann")
    data = ann.form("/p/claims/1") | {"action": "submit"}
    data |= {name: "1" for name in data if name.startswith("v.")}
    spec = claims_spec()
    reworded = {**spec.questions, "fluent": spec.questions["fluent"].model_copy(update={"text": "改过的问题？"})}  # type: ignore[union-attr]
    changed = spec.model_copy(update={"questions": reworded})
    world.store.sync_project(Project("claims", changed, GUIDELINE, "zh", 7), claim_tasks())
    answer = ann.client.post("/p/claims/1", data=data)
    assert answer.status_code == 409
    assert "The content has changed" in answer.text
    assert not votes_of(world, "claims", "Ann")
    page = ann.get("/p/claims/1").text
    assert "改过的问题？" in page
    now = fields_of(page)
    assert sorted(now[name] for name in now if name.startswith("v.")) == [""] + ["1"] * 8, "what is the same is kept"
    assert ann.client.post("/p/claims/1", data=data | {"shown": now["shown"]}).status_code == 422


def test_a_task_that_is_not_asked_any_more_is_not_submitted(world: World) -> None:
    ann = world.browser("Ann")
    data = ann.form("/p/claims/1") | {"action": "submit"}
    data |= {name: "1" for name in data if name.startswith("v.")}
    world.store.sync_project(Project("claims", claims_spec(), GUIDELINE, "zh", 7), [])
    answer = ann.client.post("/p/claims/1", data=data)
    assert answer.status_code == 409
    assert "no longer assigned to you" in answer.text
    assert "kept as a draft" in answer.text
    assert not votes_of(world, "claims", "Ann")
    assert ann.get("/p/claims").status_code < 500
    world.store.sync_project(Project("claims", claims_spec(), GUIDELINE, "zh", 7), claim_tasks())
    found = [ann.form(f"/p/claims/{number}") for number in range(1, 5)]
    (again,) = (form for form in found if form["task"] == data["task"])
    assert {again[name] for name in again if name.startswith("v.")} == {"1"}, "what was entered comes back with it"


def drafts_of(world: World, ann: Browser) -> dict[str, Any]:
    """What is kept of what was not submitted, by the key of the task; of those that Ann has now."""
    assert ann.person is not None
    found = [world.store.assignment(ann.person, "claims", number, opening=False) for number in range(1, 9)]
    return {task.task.key: task.draft and dict(task.draft.data) for task in found if task is not None}


@pytest.mark.parametrize("moved", [False, True])
def test_an_old_page_touches_no_other_task_than_the_one_it_shows(world: World, moved: bool) -> None:
    ann = world.browser("Ann")
    tasks = claim_tasks()
    pages = {number: ann.form(f"/p/claims/{number}") for number in range(1, 5)}
    for number, page in pages.items():
        ann.client.post(f"/p/claims/{number}", data=page | {"action": "draft", "note": f"precious {number}"})
    before = drafts_of(world, ann)
    shown = 2 if moved else 1  # the first one goes: 1 shows nothing that is asked, and 2 is another one now
    old = pages[shown] | {name: "0" for name in pages[shown] if name.startswith("v.")} | {"note": "of the old page"}
    rest = [task for task in tasks if task.key != pages[1]["task"]]
    world.store.sync_project(Project("claims", claims_spec(), GUIDELINE, "zh", 7), rest)
    assert ann.form(f"/p/claims/{shown}")["task"] != old["task"]
    for action in ("draft", "skip", "flag", "unflag", "submit"):
        for headers in (JSON, {}):
            answer = ann.client.post(f"/p/claims/{shown}", data=old | {"action": action}, headers=headers)
            assert (answer.status_code, answer.headers["draft-kept"]) == (409, "yes")
            if headers:
                assert answer.json() == {"state": "changed", "kept": True}
            else:
                assert ("has another number now" if moved else "no longer assigned to you") in answer.text
    assert not votes_of(world, "claims", "Ann")
    assert {event.kind for event in world.store.events("claims")} == {"open"}
    others = {key: draft for key, draft in drafts_of(world, ann).items() if key != old["task"]}
    assert others == {key: before[key] for key in others}
    assert len(others) == (2 if moved else 3)
    world.store.sync_project(Project("claims", claims_spec(), GUIDELINE, "zh", 7), tasks)
    assert drafts_of(world, ann)[old["task"]]["note"] == "of the old page"


def test_a_page_whose_number_is_gone_is_kept_too(world: World) -> None:
    ann = world.browser("Ann")
    last = ann.form("/p/claims/4") | {"action": "submit", "note": "typed"}
    gone = [task for task in claim_tasks() if task.key != last["task"]]
    world.store.sync_project(Project("claims", claims_spec(), GUIDELINE, "zh", 7), gone)
    for action in ("submit", "draft", "skip"):
        answer = ann.client.post("/p/claims/4", data=last | {"action": action})
        assert (answer.status_code, answer.headers["draft-kept"]) == (409, "yes")
    huge = ann.client.post("/p/claims/4", data=last | {"note": "n" * 950_000})
    assert (huge.status_code, huge.headers["draft-kept"]) == (409, "no")
    assert "could not be kept" in huge.text
    for key in ("", "x", "x" * 300):
        assert ann.client.post("/p/claims/4", data=last | {"task": key}).status_code == 404
        other = ann.client.post("/p/claims/1", data=last | {"task": key})
        assert (other.status_code, other.headers["draft-kept"]) == (409, "no")


def test_scripts_learn_whether_what_is_incomplete_was_kept(world: World) -> None:
    ann = world.browser("Ann")
    data = ann.form("/p/claims/1") | {"action": "submit"}
    assert ann.client.post("/p/claims/1", data=data).headers["draft-kept"] == "yes"
    too_much = ann.client.post("/p/claims/1", data=data | {"note": "n" * 950_000})
    assert (too_much.status_code, too_much.headers["draft-kept"]) == (422, "no")
    assert "data-lost" in too_much.text


def test_pages_say_from_which_answers_they_started(world: World) -> None:
    ann = world.browser("Ann")

    def base() -> str:
        found = re.search(r'data-base="(\w*)"', ann.get("/p/claims/1").text)
        assert found
        return found[1]

    fresh = base()
    ann.submit("/p/claims/1", None, action="draft", note="half")
    assert base() == fresh, "a draft is no answer yet"
    ann.submit("/p/claims/1")
    assert base() != fresh
    ann.undo("/p/claims/1")
    assert base() == fresh


def test_a_database_error_has_a_plain_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = world.browser("Ann")
    data = ann.form("/p/claims/1")

    def locked(*_: Any) -> bool:
        raise DataError("the database is locked", why="secret why")

    monkeypatch.setattr(world.store, "save_draft", locked)
    for action in ("draft", "submit", "skip", "flag"):
        answer = ann.client.post("/p/claims/1", data=data | {"action": action})
        assert answer.status_code == 503
        assert "Nothing can be saved at the moment" in answer.text
        assert "secret" not in answer.text
        assert "default-src" in answer.headers["content-security-policy"]
        told = ann.client.post("/p/claims/1", data=data | {"action": action}, headers=JSON)
        assert (told.status_code, told.json()) == (503, {"state": "refused"})


@pytest.mark.push
def test_nobody_reaches_the_tasks_of_others(world: World) -> None:
    ann = world.browser("Ann")
    for number in ("0", "-1", "5", "99999999", "9" * 30, "1.0", "１", "x", "%00", "1%20or%201=1"):
        assert ann.get(f"/p/claims/{number}").status_code == 404
        assert ann.post(f"/p/claims/{number}", {"action": "submit"}).status_code == 404
    assert ann.post("/p/nothing/1", {"action": "submit"}).status_code == 404
    assert ann.post("/p/nothing/undo").status_code == 404
    assert ann.get("/p/nothing/list").status_code == 404
    assert ann.post("/p/claims/1", {"action": "explode"}).status_code == 400
    assert ann.get("/p/" + "x" * 3000).status_code == 404


def test_the_list_links_to_every_task_with_its_state(tmp_path: Any) -> None:
    project = Project("claims", claims_spec(), GUIDELINE, "zh", 7)
    world = make_world(f"sqlite:///{tmp_path / 'v.db'}", [(project, claim_tasks(120))])
    ann = world.browser("Ann")
    ann.submit("/p/claims/1")
    ann.submit("/p/claims/2", action="skip", fill=None)
    ann.submit("/p/claims/3", action="flag", fill=None)
    page = ann.get("/p/claims/list").text
    assert page.count('<li><a href="/p/claims/') == 50
    for word in ("done", "skipped", "open", "draft", "flagged"):
        assert word in page
    assert "start=51" in page
    last = ann.get("/p/claims/list?start=101").text
    assert last.count('<li><a href="/p/claims/') == 20
    assert "start=51" in last
    only = ann.get("/p/claims/list?state=skipped").text
    assert only.count('<li><a href="/p/claims/') == 1
    for odd in ("state=x", "start=x", "start=-5", "start=0", "start=99999999999999999999", "state=%00&start=%F0"):
        assert ann.get(f"/p/claims/list?{odd}").status_code == 200
    world.store.close()


def test_the_banner_counts_from_the_servers_clock(world: World) -> None:
    ann = world.browser("Ann")
    page = ann.get("/p/claims/1").text
    assert 'data-late="300"' in page
    assert '<noscript><link rel="stylesheet" href="/late/300.css"></noscript>' in page
    world.clock.now += timedelta(seconds=100)
    again = ann.get("/p/claims/1").text
    assert 'data-late="200"' in again
    sheet = ann.get("/late/200.css")
    assert "200s" in sheet.text
    assert sheet.headers["content-type"].startswith("text/css")
    world.clock.now += timedelta(seconds=900)
    assert 'data-late="0"' in ann.get("/p/claims/1").text
    assert "data-late" not in ann.get("/p/forms/1").text


def test_two_browsers_of_one_person_work_on_the_same(world: World) -> None:
    phone, desk = world.browser("Ann"), world.browser("Ann")
    phone.submit("/p/claims/1")
    assert desk.get("/p/claims").headers["location"] == "/p/claims/2"
    assert "You have submitted" in desk.get("/p/claims/1").text


def test_what_browsers_keep_has_a_name_of_its_own_for_each_person_and_task(world: World) -> None:
    ann, bo = world.browser("Ann"), world.browser("Bo")

    def names(browser: Browser) -> set[str]:
        pages = [browser.get(f"/p/claims/{n}").text for n in (1, 2)]
        return {page.partition('data-store="')[2].partition('"')[0] for page in pages}

    assert len(names(ann)) == len(names(bo)) == 2
    assert not names(ann) & names(bo)
    assert names(ann) == names(world.browser("Ann"))


def test_right_to_left_interfaces(tmp_path: Any) -> None:
    arabic = tmp_path / "ar.yaml"
    arabic.write_text("meta: {name: العربية, direction: rtl}\n", encoding="utf-8")
    world = make_world(f"sqlite:///{tmp_path / 'v.db'}", strings={"ar": arabic})
    page = world.browser("Ann").get("/p/claims/1", headers={"Accept-Language": "ar"}).text
    assert '<html lang="ar" dir="rtl">' in page
    world.store.close()
