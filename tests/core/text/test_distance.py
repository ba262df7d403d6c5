import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.core.text.distance import edit_distance, most_similar


@pytest.mark.parametrize(
    ("needle", "haystack", "found"),
    [
        ("氢化可的松", "首选药物是氢化可的松。", "氢化可的松"),
        ("氢化可的松", "首选药物是氢化可地松。", "氢化可地松"),
        ("左心室肥厚", "首先出现左室肥厚。", "左室肥厚"),
        ("肺炎", "首先出现胃癌。", None),
        ("", "甲", None),
    ],
)
def test_the_nearest_part_is_found(needle, haystack, found):
    span = most_similar(needle, haystack, 2)
    assert (span.of(haystack) if span else None) == found


def test_the_last_literal_occurrence_wins():
    assert most_similar("肺炎", "肺炎患儿的诊断是肺炎。", 2).start == 8


@given(st.text(alphabet="abc", min_size=1, max_size=6), st.text(alphabet="abc", max_size=12), st.integers(0, 3))
def test_what_is_found_is_within_the_distance_and_nothing_nearer_was_missed(needle, haystack, limit):
    span = most_similar(needle, haystack, limit)
    parts = [haystack[i:j] for i in range(len(haystack)) for j in range(i + 1, len(haystack) + 1)]
    nearest = min((edit_distance(needle, part) for part in parts), default=None)
    if nearest is None or nearest > min(limit, len(needle) // 2):
        assert span is None
    else:
        assert edit_distance(needle, span.of(haystack)) == nearest
