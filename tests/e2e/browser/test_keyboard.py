"""An annotator works by keyboard alone."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from benchbuilder.annotation.base import Subject, Task
from browser.projects import claim_tasks, claims_spec
from browser.sites import Seat, Site, answer, field, in_steps, subjects

SPEC = claims_spec()
COUNT = 10
FIELDS = 5
NOTE = "第2段 <b>10</b> 看不懂 & 太短"


def plan(number: int) -> list[int]:
    """What is answered to the questions of a task in their order."""
    return [int(number * (place + 3) % 7 < 4) for place in range(FIELDS)]


def press_on(seat: Seat, key: str, onto: str) -> None:
    """Press `key`, and come to the page `onto`."""
    with seat.loading():
        seat.press(key)
    assert re.search(rf"/p/p{onto}(\?|$)", seat.page.url), seat.page.url


def submit(seat: Seat, key: str, onto: str) -> None:
    """The same; if the key is Enter, the button to submit has the focus by now."""
    if key == "Enter":
        expect(seat.page.locator("button[value=submit]")).to_be_focused()
    press_on(seat, key, onto)


def open_task(seat: Seat) -> None:
    seat.page.goto(seat.link)
    expect(seat.page.locator("main form button")).to_be_focused()  # it takes the focus soon after the page is there
    with seat.loading():
        seat.press("Enter")


def come_in(seat: Seat) -> None:
    open_task(seat)
    seat.tab_to(seat.page.get_by_role("link", name="Begin"))
    press_on(seat, "Enter", "/1")


def digits(number: int) -> list[str]:
    return [str(value) for value in plan(number)]


def test_ten_tasks_by_keyboard_from_the_invite_link_to_the_end(site: Site):
    site.lay_out(SPEC, claim_tasks(COUNT))
    seat = site.seat("Ana")
    page = seat.page
    come_in(seat)

    # 1: the digits alone, then Enter on the button to which they lead
    seat.press(*digits(1))
    submit(seat, "Enter", "/2")

    # 2: all wrong at first; k goes back to each question from the button, and a digit answers it anew
    seat.press(*(str(1 - value) for value in plan(2)))
    for place, digit in enumerate(digits(2)):
        seat.press(*["k"] * (FIELDS - place), digit)
    submit(seat, "Enter", "/3")

    # 3: j to the first question and past it; the last digit answers what was left open
    seat.press("j", "j", *digits(3)[1:], digits(3)[0])
    submit(seat, "Enter", "/4")

    # 4: a note in which nothing is a key, then a flag; both stay, and so does the answer that was there before
    seat.press(digits(4)[0])
    seat.tab_to(page.locator("#note"))
    page.keyboard.type(NOTE)
    seat.press("Escape")
    press_on(seat, "g", "/4")
    expect(page.locator("#note")).to_have_value(NOTE)
    expect(page.get_by_role("button", name="Unflag")).to_be_visible()
    seat.press(*digits(4)[1:])
    submit(seat, "Control+Enter", "/5")

    # 5: put off
    press_on(seat, "s", "/6")

    # 6: help stands over the page, where no digit answers anything
    seat.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    seat.press("1", "0", "s", "Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator("input:checked")).to_have_count(0)
    seat.press(*(str(1 - value) for value in plan(6)))
    submit(seat, "Enter", "/7")

    # taken back: what was answered is still there, and all of it is corrected
    press_on(seat, "u", "/6")
    expect(page.locator("input:checked")).to_have_count(FIELDS)
    for place, digit in enumerate(digits(6)):
        seat.press(*["k"] * (FIELDS - place), digit)
    submit(seat, "Enter", "/7")

    for number in range(7, COUNT):
        seat.press(*digits(number))
        submit(seat, "Enter", f"/{number + 1}")
    seat.press(*digits(COUNT))
    submit(seat, "Control+Enter", "")

    # the one that was put off
    expect(page.get_by_role("heading", level=1)).to_have_text("Almost done")
    seat.tab_to(page.locator("ul.tasks a"))
    press_on(seat, "Enter", "/5")
    seat.press(*digits(5))
    submit(seat, "Enter", "")
    expect(page.get_by_role("heading", level=1)).to_have_text("All done. Thank you!")
    holds_what_was_typed(site)


def test_one_key_answers_the_rest_of_the_paragraphs_with_no_and_u_works_at_the_end(site: Site):
    site.lay_out(SPEC, claim_tasks(1, paragraphs=6))
    seat = site.seat("Ana")
    come_in(seat)
    seat.press("1", "1", "1", "n", "0")  # two of the claim, the first paragraph, the other five, the last of the claim
    submit(seat, "Enter", "")
    wanted = [1, 1, 1, 0, 0, 0, 0, 0, 0]
    assert [site.votes()["Ana"][subject] for subject in in_order(site.asked("Ana", 1).task)] == wanted
    expect(seat.page.get_by_role("heading", level=1)).to_have_text("All done. Thank you!")
    press_on(seat, "u", "/1")
    expect(seat.page.locator("input:checked")).to_have_count(len(wanted))
    assert site.votes() == {"Ana": {}}


def test_the_questions_beside_a_task_are_never_cut_off(site: Site):
    site.lay_out(SPEC, claim_tasks(1, paragraphs=6), guideline="1\n\n" * 40)
    seat = site.seat("Ana")
    come_in(seat)
    page = seat.page
    page.locator(".guide summary").click()
    assert page.evaluate("document.scrollingElement.scrollHeight") > page.evaluate("innerHeight")
    assert page.evaluate("(e => e.scrollHeight - e.clientHeight)(document.querySelector('.panel'))") <= 0
    for name in (*in_steps(page), "note"):
        found = page.locator(f'[name="{name}"]').first
        found.scroll_into_view_if_needed()
        found.click(trial=True)  # it fails where something lies above it


def holds_what_was_typed(site: Site) -> None:
    done = [site.asked("Ana", number) for number in range(1, COUNT + 1)]
    wanted = {
        subject: value
        for number, task in enumerate(done, start=1)
        for subject, value in zip(in_order(task.task), plan(number), strict=True)
    }
    assert site.votes() == {"Ana": wanted}
    assert [task.note for task in done] == ["", "", "", NOTE, *[""] * 6]
    assert [task.number for task in done if task.flagged] == [4]
    assert {task.state for task in done} == {"done"}
    assert [task.number for task in done if task.draft is not None] == []
    kinds: dict[str, list[str]] = {}
    for event in site.store.events("p"):
        kinds.setdefault(event.task, []).append(event.kind)
    happened = [[kind for kind in kinds[task.task.key] if kind != "open"] for task in done]
    plain = ["submit"]
    assert happened == [
        plain, plain, plain, ["flag", "submit"], ["skip", "submit"], ["submit", "undo", "submit"], *[plain] * 4,
    ]  # fmt: skip
    history = [vote.value for vote in site.store.vote_events("p") if vote.task == done[5].task.key]
    assert history == [*(1 - value for value in plan(6)), *[None] * FIELDS, *plan(6)]


def in_order(task: Task) -> list[Subject]:
    """What is asked about a task, as the keys go through it: the questions about evidence stand in the middle."""
    order = {name: question.order for name, question in SPEC.questions_about().items()}
    return sorted(subjects(task, SPEC), key=lambda subject: order[subjects(task, SPEC)[subject]])


def test_fields_are_gone_through_in_the_order_of_the_questions(site: Site):
    site.lay_out(SPEC, claim_tasks(1))
    seat = site.seat("Ana")
    seat.enter()
    page = seat.go("/p/p/1")
    names = [field(subject) for subject in in_order(site.asked("Ana", 1).task)]
    assert in_steps(page) == names
    for name in names:
        seat.press("j")
        assert page.evaluate("document.activeElement.name") == name
    seat.press("j")  # there is nothing after the last one
    assert page.evaluate("document.activeElement.name") == names[-1]
    seat.press(*"kkkkk")
    assert page.evaluate("document.activeElement.name") == names[0]


def test_enter_submits_nothing_while_an_answer_is_missing(site: Site):
    site.lay_out(SPEC, claim_tasks(1))
    seat = site.seat("Ana")
    seat.expects("status of 422")
    seat.enter()
    page = seat.go("/p/p/1")
    seat.press("1", "1", "1", "1", "Enter")  # Enter goes on to the next open question: there is just the one in focus
    names = in_steps(page)
    assert page.evaluate("document.activeElement.name") == names[-1]
    with seat.loading():
        seat.press("Control+Enter")
    expect(page.get_by_role("alert")).to_be_focused()
    expect(page.get_by_role("alert")).to_contain_text("④ 语句通顺")
    expect(page.locator("input:checked")).to_have_count(FIELDS - 1)
    assert site.votes() == {}
    seat.press("0")
    submit(seat, "Enter", "")
    assert list(site.votes()["Ana"].values()) == [1, 1, 1, 1, 0]


def test_an_adjudicator_works_by_keyboard_too(site: Site):
    for name in ("Ana", "Ben"):
        site.invite(name)
    site.lay_out(SPEC, claim_tasks(2))
    for number in (1, 2):
        answer(site, "Ana", number, SPEC, single=0)
        answer(site, "Ben", number, SPEC)
    seat = site.seat("Judy", "adjudicator")
    page = seat.page
    open_task(seat)
    seat.tab_to(page.get_by_role("link", name="Decide"))
    with seat.loading():
        seat.press("Enter")
    first = page.url
    with seat.loading():
        seat.press("s")
    assert page.url != first
    with seat.loading():
        seat.press("g")
    seat.press("1")
    expect(page.locator("button[value=submit]")).to_be_focused()
    with seat.loading():
        seat.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Only skipped tasks are left")
    assert list(site.votes()["Judy"].values()) == [1]
    seat.tab_to(page.get_by_role("link", name="Continue with the skipped tasks"))
    with seat.loading():
        seat.press("Enter")
    assert page.url == first
    seat.press("0")
    expect(page.locator("button[value=submit]")).to_be_focused()
    with seat.loading():
        seat.press("Enter")
    assert sorted(site.votes()["Judy"].values()) == [0, 1]
    kinds = [event.kind for event in site.store.events("p") if event.person == "Judy" and event.kind != "open"]
    assert kinds == ["skip", "flag", "submit", "submit"]
