from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from benchbuilder.core.records.arrow.lazy_texts import Texts, taken

WORDS = ["a", "", "é", "叶酸", "e\nf", "g", "h"]


def column(*cuts):
    ends = [0, *cuts, len(WORDS)]
    parts = [pa.array(WORDS[start:end], pa.string()) for start, end in pairwise(ends)]
    return pa.chunked_array(parts, pa.string())


@pytest.mark.parametrize("cuts", [(), (2,), (0, 3, 3, 5)])
@pytest.mark.parametrize("places", [None, range(1, 5), np.array([0, 3, 4, 6]), range(0)])
def test_a_sequence_like_a_list(cuts, places):
    wanted = WORDS if places is None else [WORDS[place] for place in places]
    texts = Texts(column(*cuts), places)
    assert list(texts) == wanted
    assert len(texts) == len(wanted)
    assert [texts[at] for at in range(len(texts))] == wanted
    for start in range(len(wanted) + 1):
        for stop in range(start, len(wanted) + 2):
            assert texts[start:stop] == wanted[start:stop]
            data, sizes = texts.encoded(start, stop)
            assert data == "".join(wanted[start:stop]).encode()
            assert sizes.tolist() == [len(text.encode()) for text in wanted[start:stop]]


@pytest.mark.parametrize("cuts", [(), (2,), (1, 3, 5)])
@pytest.mark.parametrize("places", [[], [6, 0, 0, 3], [2]])
def test_lines_of_a_table_are_taken_in_the_order_given(cuts, places):
    table = pa.table({"text": column(*cuts), "number": list(range(len(WORDS)))})
    found = taken(table, np.array(places, np.int64))
    assert found.to_pydict() == {"text": [WORDS[place] for place in places], "number": places}
