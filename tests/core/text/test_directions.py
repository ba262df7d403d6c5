"""Marks of options and options keep their direction in texts from right to left."""

from __future__ import annotations

from benchbuilder.cli.preview import isolate_directions
from benchbuilder.core.text.directions import directed_parts
from benchbuilder.exporters.render.templates import directed_text

ARABIC = "ما الجرعة؟\nA. 5 mg\nB. 10 mg | C. حبة"


def test_each_mark_and_option_is_a_part_of_its_own() -> None:
    assert [part for part, own in directed_parts(ARABIC) if own] == [
        "ما الجرعة؟", "A.", "5 mg", "B.", "10 mg", "C.", "حبة",
    ]  # fmt: skip
    assert "".join(part for part, _ in directed_parts(ARABIC)) == ARABIC
    assert str(directed_text(ARABIC)).count('class="own"') == 7
    assert '<span class="own">A.</span> <span class="own">5 mg</span>' in directed_text(ARABIC)
    assert "\u2068A.\u2069 \u20685 mg\u2069" in isolate_directions(ARABIC)


def test_other_texts_stay_as_they_are() -> None:
    for text in ("Which?\nA. 5 mg | B. 10 mg", "哪种？ · A. 甲", "ما الجرعة؟"):
        assert directed_parts(text) == [(text, False)]
        assert isolate_directions(text) == text
    assert str(directed_text("a < b")) == "a &lt; b"
