"""What a page says when something else was saved since it was made: nothing is replaced, and it shows what counts."""

from __future__ import annotations

from typing import Any

import pytest
from review_world import Browser, World, fields_of

PATH = "/p/claims/1"


def two_pages(browser: Browser) -> tuple[dict[str, str], dict[str, str]]:
    """The form of the task in two tabs, filled with different answers."""
    pages = browser.form(PATH), browser.form(PATH)
    for mark, page in zip("ab", pages, strict=True):
        page |= {name: str("ba".index(mark)) for name in page if name.startswith("v.")}
        page |= {"page": mark, "note": f"tab {mark}", "action": "submit"}
    return pages


def send(browser: Browser, page: dict[str, str], **changes: Any) -> Any:
    return browser.client.post(PATH, data=page | changes)


def test_the_second_of_two_pages_is_told_what_counts(world: World) -> None:
    ann = world.browser("Ann")
    first, second = two_pages(ann)
    assert send(ann, first).status_code == 303
    answer = send(ann, second)
    assert (answer.status_code, answer.headers["draft-kept"]) == (409, "yes")
    for text in ("You submitted this task elsewhere", "What counts now", "tab a", "yes", "kept as a draft"):
        assert text in answer.text
    assert "tab b" not in answer.text
    assert "tab b" in ann.get(PATH).text, "a draft of the task"
    assert {vote.value for vote in world.store.vote_events("claims")} == {1}
    again = ann.form(PATH)
    assert send(ann, again, action="submit").status_code == 303, "whoever has seen what counts may replace it"
    assert {vote.value for vote in world.store.vote_events("claims")} == {0, 1}


@pytest.mark.parametrize("field", ["base", "draft", "page"])
def test_a_form_without_its_state_replaces_nothing(world: World, field: str) -> None:
    ann = world.browser("Ann")
    first, second = two_pages(ann)
    assert send(ann, first).status_code == 303
    del second[field]
    assert send(ann, second).status_code == 409


def test_the_same_form_twice_is_no_conflict(world: World) -> None:
    ann = world.browser("Ann")
    first, _ = two_pages(ann)
    assert [send(ann, first).status_code for _ in range(3)] == [303] * 3


def test_of_two_drafts_the_first_is_kept_and_the_second_told_so(world: World) -> None:
    ann = world.browser("Ann")
    first, second = two_pages(ann)
    json = {"Accept": "application/json"}
    for _ in range(2):
        assert send(ann, first, action="draft").status_code == 303
    refused = ann.client.post(PATH, data=second | {"action": "draft"}, headers=json)
    assert (refused.status_code, refused.json()) == (409, {"state": "changed", "kept": False})
    for action in ("draft", "skip", "flag"):
        page = send(ann, second, action=action)
        assert page.status_code == 409
        assert "You saved another draft elsewhere" in page.text
    assert "tab a" in ann.get(PATH).text
    assert send(ann, second).status_code == 303, "what was submitted is no draft"
    assert "tab a" in ann.get(PATH).text, "and the draft that it had not seen is kept"


@pytest.mark.push
def test_a_submission_that_was_undone_elsewhere(world: World) -> None:
    ann = world.browser("Ann")
    assert send(ann, two_pages(ann)[0]).status_code == 303
    done, other = two_pages(ann)[1], ann.get(PATH).text
    last = other.partition('name="last" value="')[2].partition('"')[0]
    assert ann.undo(PATH).status_code == 303
    answer = send(ann, done)
    assert answer.status_code == 409
    assert "You undid this submission elsewhere" in answer.text
    send(ann, ann.form(PATH), action="submit", note="again")
    refused = ann.post("/p/claims/undo", {"last": last})
    assert refused.status_code == 409
    assert "Nothing was undone" in refused.text
    assert world.store.progress(ann.person, "claims").done == 1


def test_decisions_in_two_tabs(disputes: World) -> None:
    judge = disputes.browser("Meta", "adjudicator")
    path = judge.get("/adjudicate/claims").headers["location"]
    pages = judge.form(path), judge.form(path)
    for value, page in zip("10", pages, strict=True):
        page |= {name: value for name in page if name.startswith("v.")}
        page |= {"page": value, "note": f"reason {value}", "action": "submit"}
    assert judge.client.post(path, data=pages[0]).status_code == 303
    answer = judge.client.post(path, data=pages[1])
    assert (answer.status_code, answer.headers["draft-kept"]) == (409, "yes")
    assert "What counts now" in answer.text
    assert "reason 1" in answer.text
    assert {vote.value for vote in disputes.store.vote_events("claims") if vote.role == "adjudicator"} == {1}
    last = judge.get(path).text.partition('name="last" value="')[2].partition('"')[0]
    assert judge.post("/adjudicate/claims/undo", {"last": "x"}).status_code == 409
    assert judge.post("/adjudicate/claims/undo", {"last": last}).status_code == 303


def test_a_refused_page_knows_the_draft_that_was_kept_of_it(world: World) -> None:
    """Without scripts nothing else tells its next version from another page."""
    ann = world.browser("Ann")
    incomplete = send(ann, two_pages(ann)[0] | {"page": ""}, **dict.fromkeys(_answers(ann)[:1], ""))
    assert incomplete.status_code == 422
    corrected = fields_of(incomplete.text) | {"page": "", "action": "submit"} | dict.fromkeys(_answers(ann), "1")
    assert send(ann, corrected).status_code == 303
    held = world.store.assignment(ann.person, "claims", 1)
    assert held is not None
    assert held.draft is None


def _answers(browser: Browser) -> list[str]:
    return [name for name in browser.form(PATH) if name.startswith("v.")]
