"""Work on a phone, by finger."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from browser.projects import claim_tasks, claims_spec, rating_tasks, ratings_spec
from browser.sites import PHONE, Seat, Site, field, radio, subjects

CLAIMS = claims_spec()
RATINGS = ratings_spec()


def tap(seat: Seat, found: Locator) -> None:
    """Tap what opens another page."""
    with seat.loading():
        found.tap()


def test_tasks_are_done_by_finger(site: Site):
    site.lay_out(CLAIMS, claim_tasks(2))
    seat = site.seat("Ana", **PHONE)
    page = seat.page
    page.goto(seat.link)
    tap(seat, page.get_by_role("button", name="Begin"))
    tap(seat, page.get_by_role("link", name="Begin"))
    wanted = {}
    for number in (1, 2):
        task = site.asked("Ana", number).task
        for place, subject in enumerate(subjects(task, CLAIMS)):
            wanted[subject] = (number + place) % 2
            radio(page, subject, 1 - wanted[subject]).tap()
            radio(page, subject, wanted[subject]).tap()
        tap(seat, page.get_by_role("button", name="Submit"))
    expect(page.get_by_role("heading", level=1)).to_have_text("All done. Thank you!")
    assert site.votes() == {"Ana": wanted}


def test_a_slider_is_moved_by_finger(site: Site):
    site.lay_out(RATINGS, rating_tasks(1), language="en")
    seat = site.seat("Ana", **PHONE)
    seat.enter()
    page = seat.go("/p/p/1")
    names = {name: subject for subject, name in subjects(site.asked("Ana", 1).task, RATINGS).items()}
    for name, place in (("correctness", 0.8), ("clarity", 0.02)):
        slider = page.locator(f'[data-name="{field(names[name])}"] [data-slider]')
        box = slider.bounding_box()
        assert box is not None
        slider.tap(position={"x": box["width"] * place, "y": box["height"] / 2})
        number = page.locator(f'input[name="{field(names[name])}"]')
        expect(number).not_to_have_value("")
        assert abs(float(number.input_value()) - place) <= 0.1
    radio(page, names["tone"], 7).tap()
    typed = {name: float(page.locator(f'input[name="{field(names[name])}"]').input_value())
             for name in ("correctness", "clarity")}  # fmt: skip
    tap(seat, page.get_by_role("button", name="Submit"))
    assert site.votes()["Ana"] == {names["tone"]: 7, **{names[name]: value for name, value in typed.items()}}


def test_the_bar_of_buttons_stays_in_sight_and_covers_no_answer(site: Site):
    site.lay_out(CLAIMS, claim_tasks(1, paragraphs=6))
    seat = site.seat("Ana", **PHONE)
    seat.enter()
    page = seat.go("/p/p/1")
    expect(page.get_by_role("button", name="Submit")).to_be_in_viewport(ratio=1)
    last = page.locator("#note")
    last.scroll_into_view_if_needed()
    page.evaluate("scrollTo(0, document.scrollingElement.scrollHeight)")
    expect(page.get_by_role("button", name="Submit")).to_be_in_viewport(ratio=1)
    bar, note = page.locator(".bar").bounding_box(), last.bounding_box()
    assert bar is not None
    assert note is not None
    assert note["y"] + note["height"] <= bar["y"] + 1
