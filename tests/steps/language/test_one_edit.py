from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.core.records.row import Span
from benchbuilder.core.text.answers import stands_alone
from benchbuilder.core.text.normalise import narrow
from benchbuilder.steps.language.edits import one_edit, replace_span, shifted

TEXTS = st.text("不是否有，,", max_size=8)


@given(before=TEXTS, answer=st.text("不是否有", min_size=1, max_size=4), after=TEXTS, new=TEXTS, at=st.integers(0, 16))
def test_an_edit_outside_the_answer_is_found_however_the_characters_repeat(before, answer, after, new, at):
    text = before + answer + after
    keep = Span(start=len(before), end=len(before) + len(answer))
    at = min(at, len(before)) if at < 8 else max(keep.end, min(at, len(text)))
    edited = text[:at] + new + text[at:]
    found = one_edit(text, edited, keep)
    assert found is not None
    span, put = found
    assert narrow(replace_span(text, span, put)) == narrow(edited)
    place = shifted(keep, span, len(put))
    assert place is not None
    assert place.of(replace_span(text, span, put)) == answer


@given(before=TEXTS, after=TEXTS)
def test_without_an_answer_any_change_is_one_edit(before, after):
    span, put = one_edit(before, after, None) or (None, "")
    assert span is not None
    assert narrow(replace_span(before, span, put)) == narrow(after)


def test_a_changed_answer_is_no_edit_outside_it():
    assert one_edit("首选硫酸镁。", "首选硫酸钙。", Span(start=2, end=5)) is None
    assert one_edit("首选硫酸镁。", "首选。", Span(start=2, end=5)) is None


@pytest.mark.parametrize(
    ("text", "start", "end", "alone"),
    [
        ("15ml", 1, 4, False),
        ("15ml", 0, 4, True),
        ("于5ml。", 1, 4, True),
        ("IgGA", 0, 3, False),
        ("达IgG型", 1, 4, True),
        ("2.5g", 2, 4, False),
        ("１５", 1, 2, False),
    ],
)
def test_a_number_or_word_is_not_cut(text, start, end, alone):
    assert stands_alone(Span(start=start, end=end), text) is alone
