from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.steps.language import scanning
from benchbuilder.steps.language.scanning import Scanner

LETTERS = st.sampled_from(["甲", "乙", "a", "\n", "\U0001f600"])


@given(st.lists(st.text(LETTERS, max_size=4), max_size=8), st.lists(st.text(LETTERS, max_size=12), max_size=8))
def test_every_key_that_stands_in_a_text_is_found(keys, texts):
    rows, numbers = Scanner(keys).scan(texts)
    wanted = {(row, n) for row, text in enumerate(texts) for n, key in enumerate(keys) if key and key in text}
    assert set(zip(rows.tolist(), numbers.tolist(), strict=True)) == wanted


def test_texts_are_looked_through_block_by_block(monkeypatch):
    monkeypatch.setattr(scanning, "_BLOCK", 5)
    rows, numbers = Scanner(["乙甲", "甲"]).scan(["甲乙甲", "", "乙甲乙甲乙甲乙", "乙", "甲"])
    assert set(zip(rows.tolist(), numbers.tolist(), strict=True)) == {(0, 0), (0, 1), (2, 0), (2, 1), (4, 1)}
