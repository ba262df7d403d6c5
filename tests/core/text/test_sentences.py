from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.core.text.sentences import sentence_spans, split_sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("患儿发热。诊断是", ["患儿发热。", "诊断是"]),
        ("夜惊3天.首选", ["夜惊3天.", "首选"]),
        ("体温38.5℃.脉搏快", ["体温38.5℃.", "脉搏快"]),
        ("根据F.Crick中心法则", ["根据F.Crick中心法则"]),
        ("1.患儿发热", ["1.患儿发热"]),
        ("Given vs. placebo. Then", ["Given vs. placebo.", "Then"]),
        ("诊断是.", ["诊断是."]),
        ("", []),
    ],
)
def test_full_and_half_width_stops(text, expected):
    assert split_sentences(text, "。", ".", ["VS"]) == expected


def test_soft_stops_are_off_unless_named():
    assert split_sentences("夜惊3天.首选", "。") == ["夜惊3天.首选"]


@given(st.text(alphabet="甲1a.。 　", max_size=30))
def test_nothing_but_white_space_is_lost(text):
    spans = sentence_spans(text, "。", ".")
    assert "".join("".join(s.of(text) for s in spans).split()) == "".join(text.split())
    assert all(left.end <= right.start for left, right in pairwise(spans))
