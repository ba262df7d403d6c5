"""Material in scripts of the world is shown and kept as it is, in its own direction."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from benchbuilder.annotation.database.project_setup import make_task
from browser.projects import spec_of
from browser.sites import Seat, Site, field, radio, subjects

MATERIAL = {
    "ar": ("هل يُعدّ كبريتات المغنيسيوم (MgSO₄) الخيار الأول في تسمّم الحمل؟", "نعم، 4–6 غ وريدياً.", "rtl"),
    "th": ("แมกนีเซียมซัลเฟตเป็นยาตัวแรกที่ใช้รักษาภาวะชักจากครรภ์เป็นพิษหรือไม่", "ใช่ — ให้ทางหลอดเลือดดำ", "ltr"),
    "hi": ("क्या एक्लेम्पसिया में मैग्नीशियम सल्फेट पहली पसंद है? क्‍षमा", "हाँ, अन्तःशिरा।", "ltr"),
    "yo": ("Ṣé magnesium sulphate ni oògùn àkọ́kọ́ fún gìrì oyún? ẹ̀kọ́", "Bẹ́ẹ̀ ni, nínú iṣan ẹ̀jẹ̀.", "ltr"),
    "zh": ("“子痫”首选硫酸镁（MgSO₄），对吗？䶮𠮷", "对；静脉给药4～6g，\n随后1～2g/h。", "ltr"),
}
SCALE = {1: "curt", 2: "neutral", 3: "kind"}


def spec(language: str) -> Any:
    question, text, _ = MATERIAL[language]
    return spec_of(
        {
            "right": {"order": 1, "subject": "claim", "label": text, "text": question},
            "tone": {"order": 2, "subject": "claim", "label": "Tone", "text": "Tone?", "answer": "scale",
                     "options": {number: f"{text} {number}" for number in SCALE}},
            "why": {"order": 3, "subject": "claim", "label": "Why", "text": "Why?", "answer": "text"},
        },
        title=text.replace("\n", " "), heading=text, paragraph=text, fields={"question": question, "answer": text},
    )  # fmt: skip


def shown(found: Locator) -> tuple[str, str]:
    """The text and the direction in which it runs."""
    return found.evaluate("element => [element.textContent, getComputedStyle(element).direction]")


def submit(seat: Seat) -> None:
    with seat.loading():
        seat.page.get_by_role("button", name="Submit").click()


@pytest.mark.parametrize("language", MATERIAL)
def test_material_is_shown_and_kept_as_it_is(site: Site, language: str):
    question, text, direction = MATERIAL[language]
    asking = spec(language)
    passage = f"{text}\n{question}"
    site.lay_out(
        asking, [make_task([("question", question), ("answer", text)], [("book", text, passage)])], language=language,
        guideline=f"# {question}\n\n- {text}",
    )  # fmt: skip
    seat = site.seat("Ana")
    seat.enter()
    page = seat.go("/p/p/1")
    assert tuple(shown(page.locator(".material dd").nth(0))) == (question, direction)
    assert tuple(shown(page.locator(".material dd").nth(1))) == (text, direction)
    assert tuple(shown(page.locator(".passage .text"))) == (passage, direction)
    assert tuple(shown(page.locator(".question .label").nth(0))) == (text, direction)
    assert tuple(shown(page.locator(".question .wording").nth(0))) == (question, direction)
    assert tuple(shown(page.locator(".choice [dir=auto]").nth(0))) == (f"{text} 1", direction)
    assert shown(page.locator(".guide .prose"))[1] == direction
    assert page.locator(".guide .prose h1").text_content() == question
    assert page.locator(".material dd").nth(0).evaluate("e => e.closest('[lang]').lang") == language
    page_direction = page.evaluate("[document.documentElement.lang, getComputedStyle(document.body).direction]")
    assert page_direction == ["en", "ltr"]  # that of the interface

    names = {name: subject for subject, name in subjects(site.asked("Ana", 1).task, asking).items()}
    box = page.locator(f'[name="{field(names["why"])}"]')
    box.fill(passage)
    assert box.evaluate("element => getComputedStyle(element).direction") == direction
    page.locator("#note").fill(question)
    radio(page, names["right"], 1).click()
    radio(page, names["tone"], 2).click()
    submit(seat)
    assert site.votes() == {"Ana": {names["right"]: 1, names["tone"]: 2, names["why"]: passage}}
    assert site.asked("Ana", 1).note == question

    seat.go("/p/p/1")
    expect(box).to_have_value(passage)
    seat.go("/p/p/list")
    assert tuple(shown(page.locator("ul.tasks .what"))) == (question, direction)
