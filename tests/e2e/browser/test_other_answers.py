"""Ratings, scales, forms and free answers: what stands in the database is what was meant."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, expect

from benchbuilder.annotation.base import Subject
from benchbuilder.annotation.database.project_setup import make_task
from benchbuilder.config.spec.annotation import ProjectSpec
from browser.measures import too_small, too_wide
from browser.projects import BANDS, TONE, form_spec, form_tasks, rating_tasks, ratings_spec, spec_of
from browser.sites import PHONE, Seat, Site, answer, field, in_steps, radio, subjects

RATINGS = ratings_spec()
FORMS = form_spec()


def begin(site: Site, spec: ProjectSpec, **options: Any) -> tuple[Seat, dict[str, Subject]]:
    """Ana at her first task, and what it asks by question."""
    seat = site.seat("Ana", **options)
    seat.enter()
    seat.go("/p/p/1")
    return seat, {name: subject for subject, name in subjects(site.asked("Ana", 1).task, spec).items()}


def submit(seat: Seat) -> None:
    with seat.loading():
        seat.press("Control+Enter")


class Scalar:
    """A question with a slider and a number."""

    def __init__(self, seat: Seat, subject: Subject) -> None:
        self.root = seat.page.locator(f'[data-name="{field(subject)}"]')
        self.slider = self.root.locator("[data-slider]")
        self.number = self.root.locator("input.number")

    def stands_at(self, text: str, band: str = "") -> None:
        """The number, the slider and the marked band say the same."""
        expect(self.number).to_have_value(text)
        expect(self.slider).to_have_value(text or "0.5")
        expect(self.root.locator("[data-unset]")).to_be_visible(visible=not text)
        marked = self.root.locator(".bands .here")
        expect(marked).to_have_count(1 if text else 0)
        if band:
            expect(marked).to_contain_text(BANDS[band]["text"])


def test_a_scalar_is_not_answered_until_somebody_does(site: Site):
    site.lay_out(RATINGS, rating_tasks(1), language="en")
    seat, names = begin(site, RATINGS)
    seat.expects("status of 422")
    correctness, clarity = Scalar(seat, names["correctness"]), Scalar(seat, names["clarity"])
    correctness.stands_at("")
    radio(seat.page, names["tone"], 3).click()
    submit(seat)
    complaint = seat.page.get_by_role("alert")
    expect(complaint.locator("li")).to_have_text(
        ["Correctness: Please answer this question.", "Clarity: Please answer this question."]
    )
    assert site.votes() == {}
    correctness.stands_at("")
    correctness.number.fill("0")
    clarity.number.fill("1.5")
    submit(seat)
    expect(complaint.locator("li")).to_have_count(1)
    expect(complaint).to_contain_text("Please give a number from 0 to 1")
    expect(clarity.number).to_have_value("1.5")
    clarity.number.fill("０,７５")  # full width and a comma
    submit(seat)
    assert site.votes()["Ana"] == {names["correctness"]: 0, names["clarity"]: 0.75, names["tone"]: 3}


def test_slider_number_and_bands_keep_in_step(site: Site):
    site.lay_out(RATINGS, rating_tasks(1), language="en")
    seat, names = begin(site, RATINGS)
    found = Scalar(seat, names["correctness"])
    found.number.fill("0.85")
    found.stands_at("0.85", "full")
    found.slider.focus()
    seat.press("ArrowLeft")
    found.stands_at("0.8", "full")
    seat.press("ArrowLeft")
    found.stands_at("0.75", "most")
    seat.press("Home")
    found.stands_at("0", "none")
    seat.press("End")
    found.stands_at("1", "full")
    found.number.fill("")
    found.stands_at("")
    box = found.slider.bounding_box()
    assert box is not None
    found.slider.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    found.stands_at("0.5", "most")


def test_digits_give_scalars_and_scales(site: Site):
    site.lay_out(RATINGS, rating_tasks(3), language="en")
    seat, names = begin(site, RATINGS)
    correctness, clarity = Scalar(seat, names["correctness"]), Scalar(seat, names["clarity"])
    for number, (keys, values) in enumerate(
        [("7", "0.7"), ("75", "0.75"), ("10", "1"), ("0", "0"), ("05", "0.05"), ("1", "0.1"), ("0.4", "0.4")]
    ):
        seat.press("j" if not number else "Backspace", *keys)
        correctness.stands_at(values)
    seat.press("Backspace")
    correctness.stands_at("")
    seat.press("3", "Enter")  # on to the next question
    clarity.stands_at("")
    seat.press("9", "5", "Enter", "6")
    expect(seat.page.locator("button[value=submit]")).to_be_focused()
    with seat.loading():
        seat.press("Enter")
    assert site.votes()["Ana"] == {names["correctness"]: 0.3, names["clarity"]: 0.95, names["tone"]: 6}
    assert "hidden-model-name" not in seat.page.content()
    seat.press("8")  # the first open question takes it
    assert seat.page.evaluate("document.activeElement.closest('[data-step]').dataset.step") == "1"
    expect(seat.page.locator(".number").first).to_have_value("0.8")


def test_a_scale_of_seven_takes_only_what_it_has(site: Site):
    spec = spec_of({"tone": TONE}, fields={"question": "Question"})
    site.lay_out(spec, [make_task([("question", "How?")])])
    seat, names = begin(site, spec)
    choices = seat.page.locator("label.choice")
    assert [text.split()[0] for text in choices.all_inner_texts()] == list("1234567")
    expect(choices.nth(3)).to_contain_text("level 4 of seven")
    seat.press("8", "9", "0")
    expect(seat.page.locator("input:checked")).to_have_count(0)
    seat.press("7")
    expect(seat.page.locator("input:checked")).to_have_value("7")
    submit(seat)
    assert site.votes()["Ana"] == {names["tone"]: 7}


def test_a_form_of_seven_fields(site: Site):
    site.lay_out(FORMS, form_tasks(2), language="en")
    seat, names = begin(site, FORMS)
    seat.expects("status of 422")
    page = seat.page
    assert in_steps(page) == [field(subject) for subject in names.values()]
    texts = {name: f"  {name} 10 jk us? <i>&  " for name in names if name != "doubts"}
    seat.press("j")
    for place, name in enumerate(texts):
        expect(page.locator(f'[name="{field(names[name])}"]')).to_be_focused()
        page.keyboard.type(texts[name])
        if place < 3:
            seat.press("Enter")  # on from a field of one line
        else:
            seat.press("Enter", "x", "Escape", "j")  # a field of more lines takes it
    assert page.url.endswith("/p/p/1")
    submit(seat)
    wanted = {names[name]: text.strip() if place < 3 else text.lstrip() + "\nx" for place, (name, text) in
              enumerate(texts.items())}  # fmt: skip
    assert site.votes() == {"Ana": wanted}

    seat.go("/p/p/2")
    complaint = too_long(seat, site)
    expect(complaint).to_contain_text("Please shorten this to 80 characters; it has 81.")
    expect(complaint).to_contain_text("Since when: Please answer this question.")
    expect(complaint).not_to_contain_text("Doubts")
    assert site.votes() == {"Ana": wanted}


def too_long(seat: Seat, site: Site) -> Locator:
    names = {name: subject for subject, name in subjects(site.asked("Ana", 2).task, FORMS).items()}
    seat.page.locator(f'[name="{field(names["complaint"])}"]').fill("头" * 81)
    submit(seat)
    return seat.page.get_by_role("alert")


def test_a_free_answer_keeps_its_lines(site: Site):
    question = {
        "order": 1,
        "subject": "claim",
        "answer": "text",
        "label": "回答",
        "text": "请写出你的回答。",
        "lines": 8,
    }
    spec = spec_of({"answer": question}, rule="mean", per_task=1, suggested_seconds=120, fields={"question": "问题"})
    site.lay_out(spec, [make_task([("question", "子痫的首选药物是什么？")])])
    seat, names = begin(site, spec, **PHONE)
    text = "首选硫酸镁。\n\n理由：\n1. 解痉；\n2. 镇静。 👩🏽‍⚕️"
    seat.page.locator("textarea").first.fill(text)
    assert too_wide(seat.page) == []
    assert too_small(seat.page) == []
    with seat.loading():
        seat.page.get_by_role("button", name="Submit").tap()
    assert site.votes() == {"Ana": {names["answer"]: text}}


def test_an_adjudicator_decides_just_what_is_in_dispute(site: Site):
    """0.6 and 0.8 lie close enough; 0.45 and 0.55 lie on both sides of the threshold; 2 and 6 are not the same."""
    spec = ratings_spec()
    for name in ("Ana", "Ben"):
        site.invite(name)
    site.lay_out(spec, rating_tasks(1), language="en")
    answer(site, "Ana", 1, spec, correctness=0.45, clarity=0.6, tone=2)
    answer(site, "Ben", 1, spec, correctness=0.55, clarity=0.8, tone=6)
    seat = site.seat("Judy", "adjudicator")
    seat.expects("status of 422")
    seat.enter()
    page = seat.go("/adjudicate/p")
    names = {name: subject for subject, name in subjects(site.asked("Ana", 1).task, spec).items()}
    assert in_steps(page) == [field(names["correctness"]), field(names["tone"])]
    said = page.locator(".disputed").nth(0).locator(".judges li")
    assert sorted(re.findall(r"0\.\d+", " ".join(said.all_inner_texts()))) == ["0.45", "0.55"]
    assert [name for name in ("Ana", "Ben", ">A1<", ">A2<") if name in page.content()] == []

    seat.press("j", "9", "Enter", "4")  # 0.9 is above both; 4 is neither
    submit(seat)
    expect(page.get_by_role("alert")).to_contain_text("Please explain your decision in a few words.")
    assert "Judy" not in site.votes()
    page.locator("#note").fill("Both miss the second half of the answer.")
    submit(seat)
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is waiting for a decision")
    assert site.votes()["Judy"] == {names["correctness"]: 0.9, names["tone"]: 4}
