"""Everything works in a browser that runs no scripts."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from benchbuilder.annotation.base import Subject
from browser.projects import claim_tasks, claims_spec, rating_tasks, ratings_spec
from browser.sites import PHONE, Seat, Site, answer, field, radio, subjects

SPEC = claims_spec()
RATINGS = ratings_spec()


def press(seat: Seat, name: str, role: str = "button") -> None:
    """Click what opens another page."""
    with seat.loading():
        seat.page.get_by_role(role, name=name, exact=True).click()


def title(seat: Seat) -> str:
    return seat.page.locator("h1").inner_text()


def asked(site: Site, number: int) -> list[Subject]:
    return list(subjects(site.asked("Ana", number).task, SPEC))


def choose_all(site: Site, seat: Seat, number: int, value: int) -> None:
    for subject in asked(site, number):
        radio(seat.page, subject, value).click()


def test_an_annotator_needs_no_script(site: Site):
    site.lay_out(SPEC, claim_tasks(4))
    seat = site.seat("Ana", java_script_enabled=False, **PHONE)
    seat.expects("status of 422")
    page = seat.enter()
    press(seat, "Begin", "link")

    # an answer is missing: it is said where, what was entered stays, and nothing is submitted
    for subject in asked(site, 1)[1:]:
        radio(page, subject, 1).click()
    page.locator("#note").fill("第一行\n第二行")
    press(seat, "Submit")
    complaint = page.get_by_role("alert")
    expect(complaint).to_contain_text("① 答案唯一: Please answer this question.")
    expect(page.locator("input:checked")).to_have_count(4)
    expect(page.locator("#note")).to_have_value("第一行\n第二行")
    assert site.votes() == {}
    complaint.get_by_role("link").click()
    radio(page, asked(site, 1)[0], 0).click()
    press(seat, "Submit")
    first = dict(zip(asked(site, 1), [0, 1, 1, 1, 1], strict=True))
    assert site.votes() == {"Ana": first}
    assert site.asked("Ana", 1).note == "第一行\n第二行"

    # a draft, a flag and another language, on the way to and from the list
    radio(page, asked(site, 2)[0], 0).click()
    press(seat, "Save draft")
    expect(page.locator("#state")).to_have_text("Draft saved")
    press(seat, "Flag")
    expect(page.get_by_role("button", name="Unflag")).to_be_visible()
    press(seat, "中文")
    expect(page.get_by_role("button", name="提交", exact=True)).to_be_visible()
    assert re.search("/p/p/2$", page.url)
    press(seat, "English")
    press(seat, "List", "link")
    rows = page.locator("ul.tasks li")
    states = [" ".join(text.split()[-3:]) for text in rows.all_inner_texts()]
    assert "done" in states[0]
    assert "draft" in states[1]
    assert "flagged" in states[1]
    with seat.loading():
        rows.nth(1).get_by_role("link").click()
    expect(page.locator("input:checked")).to_have_count(1)

    # put off, and another one done meanwhile
    press(seat, "Skip")
    assert "/p/p/3" in page.url
    choose_all(site, seat, 3, 1)
    press(seat, "Submit")
    assert "/p/p/4" in page.url

    # taken back, corrected
    with seat.loading():
        page.locator(".bar").get_by_role("button", name="Undo").click()
    assert "/p/p/3" in page.url
    expect(page.locator("input:checked")).to_have_count(5)
    assert site.votes() == {"Ana": first}
    radio(page, asked(site, 3)[0], 0).click()
    press(seat, "Submit")
    choose_all(site, seat, 4, 1)
    press(seat, "Submit")
    assert title(seat) == "Almost done"
    with seat.loading():
        page.locator("ul.tasks a").click()
    choose_all(site, seat, 2, 0)
    press(seat, "Submit")
    assert title(seat) == "All done. Thank you!"

    # a submitted one is corrected from the list
    seat.go("/p/p/list?state=done")
    with seat.loading():
        rows.first.get_by_role("link").click()
    expect(page.locator("input:checked")).to_have_count(5)
    choose_all(site, seat, 1, 1)
    press(seat, "Submit correction")
    values = {number: [1] * 5 for number in (1, 4)} | {2: [0] * 5, 3: [0, 1, 1, 1, 1]}
    assert site.votes()["Ana"] == {
        subject: value
        for number, given in values.items()
        for subject, value in zip(asked(site, number), given, strict=True)
    }
    press(seat, "Sign out")
    assert title(seat) == "You have signed out"


def test_an_adjudicator_and_a_lead_need_no_script(site: Site):
    for name in ("Ana", "Ben"):
        site.invite(name)
    site.lay_out(RATINGS, rating_tasks(2), language="en")
    for number in (1, 2):
        answer(site, "Ana", number, RATINGS, correctness=0.1, clarity=0.9, tone=2)
        answer(site, "Ben", number, RATINGS, correctness=0.9, clarity=0.85, tone=6)
    seat = site.seat("Judy", "adjudicator", java_script_enabled=False)
    seat.expects("status of 422")
    page = seat.enter()
    press(seat, "Decide", "link")
    task = next(task for _, task in site.store.tasks("p") if task.text in page.locator("main").inner_text())
    names = {name: subject for subject, name in subjects(task, RATINGS).items()}
    disputed = {field(names[name]) for name in ("correctness", "tone")}
    assert set(page.locator("[data-step]").evaluate_all("all => all.map(q => q.dataset.name)")) == disputed
    number = page.locator(f'input[name="{field(names["correctness"])}"]')

    press(seat, "Decide")
    expect(page.get_by_role("alert").locator("li")).to_have_count(2)
    number.fill("0.5")  # between the two
    radio(page, names["tone"], 4).click()  # what neither said
    press(seat, "Decide")
    expect(page.get_by_role("alert")).to_contain_text("Please explain your decision")
    assert "Judy" not in site.votes()
    expect(number).to_have_value("0.5")
    page.locator("#note").fill("Two is curt, six is warm; it is neither.")
    page.get_by_text("An edge case").click()
    page.get_by_text("fairly sure").click()
    press(seat, "Decide")
    assert site.votes()["Judy"] == {names["correctness"]: 0.5, names["tone"]: 4}

    press(seat, "Skip")
    assert title(seat) == "Only skipped tasks are left"
    press(seat, "Continue with the skipped tasks", "link")
    page.locator("input.number").fill("0,9")
    page.locator("label.choice:has(input[value='6'])").click()
    press(seat, "Decide")
    assert title(seat) == "Nothing is waiting for a decision"
    assert sorted(site.votes()["Judy"].values()) == [0.5, 0.9, 4, 6]
    press(seat, "Undo the last decision")
    expect(page.locator("input.number")).to_have_value("0.9")
    assert sorted(site.votes()["Judy"].values()) == [0.5, 4]

    lead = site.seat("Lea", "lead", java_script_enabled=False)
    lead.enter()
    press(lead, RATINGS.title, "link")
    expect(lead.page.locator("main")).to_contain_text("2 of 4 disputes decided")
    expect(lead.page.locator("main")).to_contain_text("2 of 2 tasks fully judged")
