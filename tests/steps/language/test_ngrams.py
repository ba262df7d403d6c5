"""The n-grams of texts: the same in pieces of any size, and those that enough texts have."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbuilder.core.text.lengths import split_characters
from benchbuilder.core.text.normalise import compose_characters, to_half_width
from benchbuilder.steps.language import ngrams
from benchbuilder.steps.language.ngrams import find_ngrams

UNITS = st.sampled_from(["characters", "words"])
Unit = Literal["characters", "words"]


def plain_ngrams(text: str, unit: Unit) -> set[str]:
    """The n-grams of one text, by slices."""
    words = to_half_width(compose_characters(text)).casefold().split()
    runs = [words] if unit == "words" else [list(split_characters(word)) for word in words]
    joiner = " " if unit == "words" else ""
    return {
        joiner.join(run[start : start + size])
        for run in runs for size in (1, 2, 3) for start in range(len(run) - size + 1)
    }  # fmt: skip


@settings(max_examples=40)
@given(
    st.lists(st.text("abcé ＡB疾病\u0301", max_size=9), max_size=9), UNITS, st.integers(1, 3), st.sampled_from([1, 5])
)
def test_each_text_has_its_frequent_ngrams_once(texts: list[str], unit: Unit, least: int, window: int) -> None:
    wanted = [plain_ngrams(text, unit) for text in texts]
    counts = Counter(gram for grams in wanted for gram in grams)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngrams, "_WINDOW", window)
        table = find_ngrams(texts, unit, least=least)
    pairs = [(text, table.name(gram)) for text, gram in zip(table.texts.tolist(), table.grams.tolist(), strict=True)]
    assert len(pairs) == len(set(pairs))
    assert [text for text, _ in pairs] == sorted(text for text, _ in pairs)
    assert set(pairs) == {(at, gram) for at, grams in enumerate(wanted) for gram in grams if counts[gram] >= least}
    assert table.size == sum(count >= least for count in counts.values())
