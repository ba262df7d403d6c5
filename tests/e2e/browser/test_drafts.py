"""What was entered and not submitted: over closed tabs, other devices, lost connections, and other people."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Route, expect

from browser.projects import claim_tasks, claims_spec, form_spec, form_tasks
from browser.sites import Seat, Site, answer, field, radio, subjects

SPEC = claims_spec()
FORMS = form_spec()
OFFLINE = ("ERR_INTERNET_DISCONNECTED", "Failed to load resource")
# A browser that is killed: from here on it sends nothing, neither when its page goes (that request may outlive the page
# until the connection is back) nor when the wait for the next try happens to end just then.
KILLED = """() => {
  window.fetch = () => new Promise(() => {});
  addEventListener("pagehide", (event) => event.stopImmediatePropagation(), true);
}"""
TEXTS = {"complaint": "Headache — “since Monday”", "history": "第一行\nsecond line\n\nأخرى", "drugs": "<b>&amp;</b>"}


def open_task(seat: Seat, number: int = 1) -> Page:
    return seat.go(f"/p/p/{number}")


def fill_half(site: Site, page: Page, name: str = "Ana") -> dict[str, str]:
    """Answer the first two questions and write a note; what was entered by field."""
    asked = list(subjects(site.asked(name, 1).task, SPEC))
    radio(page, asked[0], 1).click()
    radio(page, asked[1], 0).click()
    page.locator("#note").fill("还没看完 <第2段>")
    return {field(asked[0]): "1", field(asked[1]): "0", "note": "还没看完 <第2段>"}


def entered(page: Page) -> dict[str, str]:
    """Everything that stands in the form."""
    pairs = page.evaluate("[...new FormData(document.getElementById('work'))]")
    return {name: value for name, value in pairs if value and (name.startswith("v.") or name == "note")}


def test_a_draft_is_there_after_the_tab_was_closed_and_on_another_device(site: Site):
    site.lay_out(SPEC, claim_tasks(2))
    seat = site.seat("Ana")
    seat.enter()
    typed = fill_half(site, open_task(seat))
    expect(seat.page.locator("#state")).to_contain_text("Draft saved")
    seat.page.close()
    seat.reopen()
    assert entered(open_task(seat)) == typed
    other = site.seat("Ana")
    other.enter()
    assert entered(open_task(other)) == typed
    assert entered(open_task(other, 2)) == {}
    assert site.votes() == {}


def test_texts_of_a_form_come_back_as_they_were_typed(site: Site):
    site.lay_out(FORMS, form_tasks(1), language="en")
    seat = site.seat("Ana")
    seat.enter()
    page = open_task(seat)
    names = {name: subject for subject, name in subjects(site.asked("Ana", 1).task, FORMS).items()}
    for name, text in TEXTS.items():
        page.locator(f'[name="{field(names[name])}"]').fill(text)
    expect(page.locator("#state")).to_contain_text("Draft saved")
    page.close()
    seat.reopen()
    open_task(seat)
    for name, text in TEXTS.items():
        expect(seat.page.locator(f'[name="{field(names[name])}"]')).to_have_value(text)


def test_a_tab_that_is_closed_at_once_loses_nothing(site: Site):
    """The last keystroke is not on its way to the server yet when the tab goes."""
    site.lay_out(SPEC, claim_tasks(1))
    seat = site.seat("Ana")
    seat.enter()
    typed = fill_half(site, open_task(seat))
    seat.page.close(run_before_unload=True)
    seat.reopen()
    open_task(seat)
    assert entered(seat.page) == typed


def test_without_a_connection_answers_wait_in_the_browser(site: Site):
    site.lay_out(SPEC, claim_tasks(2))
    seat = site.seat("Ana")
    seat.expects(*OFFLINE)
    seat.enter()
    open_task(seat)
    seat.context.set_offline(True)
    typed = fill_half(site, seat.page)
    expect(seat.page.locator("#state")).to_contain_text("Not saved")
    with seat.page.expect_event("requestfailed"):
        seat.page.get_by_role("button", name="Submit").click()
    expect(seat.page.locator("#state")).to_contain_text("Not saved")
    assert entered(seat.page) == typed
    assert site.asked("Ana", 1).draft is None
    seat.page.evaluate(KILLED)
    seat.page.close()
    seat.context.set_offline(False)
    seat.reopen()
    open_task(seat)
    expect(seat.page.locator("#restored")).to_be_visible()
    assert entered(seat.page) == typed
    expect(seat.page.locator("#state")).to_contain_text("Draft saved")  # and the server has them now
    found = site.asked("Ana", 1).draft
    assert found is not None
    assert {name: text for name, text in found.data.items() if text} == typed
    open_task(seat)
    expect(seat.page.locator("#restored")).to_be_hidden()
    assert entered(seat.page) == typed


def test_what_was_not_sent_is_sent_when_the_connection_is_back(site: Site):
    site.lay_out(SPEC, claim_tasks(2))
    seat = site.seat("Ana")
    seat.expects(*OFFLINE)
    seat.enter()
    open_task(seat)
    seat.context.set_offline(True)
    fill_half(site, seat.page)
    expect(seat.page.locator("#state")).to_contain_text("Not saved")
    seat.context.set_offline(False)
    expect(seat.page.locator("#state")).to_contain_text("Draft saved")
    for subject in subjects(site.asked("Ana", 1).task, SPEC):
        radio(seat.page, subject, 1).click()
    seat.context.set_offline(True)
    with seat.page.expect_event("requestfailed"):
        seat.page.get_by_role("button", name="Submit").click()
    expect(seat.page.locator("#state")).to_contain_text("Not saved")
    assert site.votes() == {}
    seat.context.set_offline(False)
    with seat.loading():
        seat.page.get_by_role("button", name="Submit").click()
    assert list(site.votes()["Ana"].values()) == [1] * 5
    assert site.asked("Ana", 1).draft is None


def test_nobody_else_at_the_same_browser_sees_what_was_entered(site: Site):
    site.lay_out(SPEC, claim_tasks(1))
    site.invite("Ben")
    seat = site.seat("Ana")
    seat.expects(*OFFLINE)
    seat.enter()
    open_task(seat)
    seat.context.set_offline(True)
    fill_half(site, seat.page)
    expect(seat.page.locator("#state")).to_contain_text("Not saved")
    seat.page.close()
    seat.context.set_offline(False)
    mine = seat.link
    for link, name in ((site.links["Ben"], "Ben"), (mine, "Ana")):
        seat.reopen()
        seat.link = link
        seat.enter()
        page = open_task(seat)
        assert bool(entered(page)) == (name == "Ana")
        if name == "Ben":  # for Ana the server may have it by now: what a closing page sends can come through late
            assert not page.locator("#restored").is_visible()
            assert "还没看完" not in page.content()
            page.close()
    assert site.asked("Ben", 1).draft is None


def test_a_page_that_is_left_open_while_tasks_change_touches_no_other_task(site: Site):
    """The first task is retired, so that its number is another one's: what is typed on stays with the first."""
    tasks = claim_tasks(3)
    site.lay_out(SPEC, tasks)
    seat = site.seat("Ana")
    seat.expects("status of 409")
    seat.enter()
    page = open_task(seat)
    first = site.asked("Ana", 1)
    site.lay_out(SPEC, [task for task in tasks if task.key != first.task.key])
    assert site.asked("Ana", 1).task_id != first.task_id
    page.locator("#note").fill("typed meanwhile")
    expect(page.locator("#state")).to_contain_text("This task has changed. Your answers are kept")
    assert kept_here(page) == []
    with seat.loading():
        page.get_by_role("button", name="Skip").click()
    expect(page.get_by_role("main")).to_contain_text("no longer assigned to you")
    with seat.loading():
        page.get_by_role("link", name="To the next task").click()
    assert entered(page) == {}
    assert [(site.asked("Ana", n).draft, site.asked("Ana", n).state) for n in (1, 2)] == [(None, "open")] * 2
    site.lay_out(SPEC, tasks)
    drafts = {task.task_id: task.draft for task in (site.asked("Ana", number) for number in (1, 2, 3))}
    again = drafts.pop(first.task_id)
    assert again is not None
    assert again.data["note"] == "typed meanwhile"
    assert set(drafts.values()) == {None}


def kept_here(page: Page) -> list[str]:
    """What the browser keeps of what the server did not take."""
    return page.evaluate("Object.values(localStorage)")


def test_the_browser_keeps_what_the_server_says_it_did_not_keep(site: Site):
    site.lay_out(SPEC, claim_tasks(1))
    seat = site.seat("Ana")
    seat.expects("status of (413|422|503)")
    seat.enter()
    page = open_task(seat)
    page.route("**/p/p/1", lambda route: route.fulfill(status=503, body="{}") if asks(route) else route.continue_())
    page.locator("#note").fill("while the database is locked")
    expect(page.locator("#state")).to_contain_text("Not saved")
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#state")).to_contain_text("Not saved")
    (kept,) = kept_here(page)
    assert "while the database is locked" in kept
    page.unroute_all()
    page.route("**/p/p/1", no_drafts)
    page.evaluate(TOO_MUCH)
    with seat.loading():
        page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator("#work[data-lost]")).to_be_visible()
    assert site.asked("Ana", 1).draft is None
    (kept,) = kept_here(page)
    assert "while the database is locked" in kept


TOO_MUCH = """() => {
  const more = document.createElement("input");
  Object.assign(more, { type: "hidden", name: "v.x", value: "x".repeat(950000) });
  document.getElementById("work").append(more);
}"""


def no_drafts(route: Route) -> None:
    if asks(route) and "action=draft" in (route.request.post_data or ""):
        return route.fulfill(status=503, body="{}")
    return route.continue_()


def asks(route: Route) -> bool:
    return route.request.method == "POST"


def test_an_old_copy_in_a_browser_is_not_put_over_what_was_submitted_since(site: Site):
    site.lay_out(SPEC, claim_tasks(1))
    seat = site.seat("Ana")
    seat.expects(*OFFLINE)
    seat.enter()
    open_task(seat)
    seat.context.set_offline(True)
    typed = fill_half(site, seat.page)
    expect(seat.page.locator("#state")).to_contain_text("Not saved")
    seat.page.close()
    seat.context.set_offline(False)
    answer(site, "Ana", 1, SPEC)  # on another device
    seat.reopen()
    page = open_task(seat)
    expect(page.locator("#older")).to_be_visible()
    expect(page.locator("#restored")).to_be_hidden()
    submitted = dict.fromkeys(map(field, subjects(site.asked("Ana", 1).task, SPEC)), "1") | {"note": "记一笔"}
    assert entered(page) == submitted
    assert site.asked("Ana", 1).draft is None
    page.get_by_role("button", name="Restore them").click()
    expect(page.locator("#older")).to_be_hidden()
    assert entered(page) == typed
    expect(page.locator("#state")).to_contain_text("Draft saved")


def test_the_suggested_time_shows_a_banner_and_sends_nothing(site: Site):
    site.lay_out(claims_spec(suggested_seconds=1), claim_tasks(1))
    for options in ({}, {"java_script_enabled": False}):
        seat = site.seat("Ana", **options)
        seat.enter()
        page = open_task(seat)
        expect(page.locator("#late")).to_contain_text("The suggested time of 1 s is over.")
        expect(page.locator("#late")).to_be_visible()
        assert page.url.endswith("/p/p/1")
    assert site.votes() == {}
    assert site.asked("Ana", 1).state == "open"


def test_the_banner_waits_for_the_suggested_time(site: Site):
    site.lay_out(claims_spec(suggested_seconds=300), claim_tasks(1))
    for options in ({}, {"java_script_enabled": False}):
        seat = site.seat("Ana", **options)
        seat.enter()
        page = open_task(seat)
        if "java_script_enabled" not in options:
            expect(page.locator("input[name=active]")).to_have_value(re.compile("[1-9]"))  # its clock runs
        expect(page.get_by_role("button", name="Submit")).to_be_visible()
        expect(page.locator("#late")).to_be_hidden()
