"""Rows are found by their ids and texts by their places."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from benchbuilder.core.records.arrow.build_rows import constant_column
from benchbuilder.core.records.arrow.lazy_texts import LazyTexts, take_rows
from benchbuilder.core.records.arrow.row_ids import RowIndex
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.row import Row

# --- places --------------------------------------------------------------------------------------------------------

_TWINS = ["fact-00112233445566778899", "fact-0011223344556677889a", "item-00112233445566778899"]
_ODD = ["", "fact-", "0" * 20, "-" + "0" * 20, "fact-0011223344556677889", "fact-0011223344556677889G", "é-\n"]


def _pieces(ids: list[str], cuts: list[int]) -> list[pa.Array[Any]]:
    whole = pa.array(["before", *ids], pa.string())
    return [whole.slice(1 + start, end - start) for start, end in zip([0, *cuts], [*cuts, len(ids)], strict=True)]


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_where_a_dictionary_says(seed: int) -> None:
    chance = random.Random(seed)
    ids = [f"fact-{chance.getrandbits(80):020x}" for _ in range(chance.randrange(40))]
    if seed % 2:
        ids += [*_TWINS, *_ODD]
        chance.shuffle(ids)
    cuts = sorted(chance.randrange(len(ids) + 1) for _ in range(seed % 4))
    places = RowIndex(_pieces(ids, cuts))
    asked = [*ids, *_TWINS, *_ODD, "fact-" + "f" * 20, "other-" + "0" * 20, "fact-" + "F" * 20]
    known = {row: at for at, row in enumerate(ids)}
    assert places.find(asked) == [known.get(row) for row in asked]
    assert places.find([]) == []
    alike = [row for row in asked if row.startswith("fact-") and len(row) == 25]
    assert places.find(alike) == [known.get(row) for row in alike]
    assert places.find(["other-" + "0" * 20]) == [None]


def test_ids_whose_first_digits_are_the_same_are_told_apart() -> None:
    ids = [f"fact-0123456789abcdef{low:04x}" for low in (5, 3, 9)]
    assert RowIndex([pa.array(ids)]).find([*ids, "fact-0123456789abcdef0004"]) == [0, 1, 2, None]


def test_no_ids_at_all() -> None:
    assert RowIndex([]).find(["fact-00112233445566778899"]) == [None]


def test_a_column_that_would_not_fit_is_refused() -> None:
    with pytest.raises(OverflowError, match="3000000 texts of 1000 bytes"):
        constant_column("x" * 1000, 3_000_000)


def test_a_field_is_read_without_its_neighbours() -> None:
    """2.5 GB of payloads: more than a column in one piece can hold."""
    payload = pa.array([{"head": f"h{n}", "note": "x" * 1_000_000} for n in range(5)])
    table = Table(pa.Table.from_arrays([pa.chunked_array([payload] * 500)], names=["payload"]), Row)
    assert table.arrow.nbytes > 2**31
    before = pa.total_allocated_bytes()
    assert table.column("payload.head") == ["h0", "h1", "h2", "h3", "h4"] * 500
    assert pa.total_allocated_bytes() - before < 10_000_000
    assert Table(table.arrow.slice(0, 0), Row).column("payload.head") == []


# --- texts ---------------------------------------------------------------------------------------------------------

WORDS = ["a", "", "é", "叶酸", "e\nf", "g", "h"]


def column(*cuts):
    ends = [0, *cuts, len(WORDS)]
    parts = [pa.array(WORDS[start:end], pa.string()) for start, end in pairwise(ends)]
    return pa.chunked_array(parts, pa.string())


@pytest.mark.parametrize("cuts", [(), (2,), (0, 3, 3, 5)])
@pytest.mark.parametrize("places", [None, range(1, 5), np.array([0, 3, 4, 6]), range(0)])
def test_a_sequence_like_a_list(cuts, places):
    wanted = WORDS if places is None else [WORDS[place] for place in places]
    texts = LazyTexts(column(*cuts), places)
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
    found = take_rows(table, np.array(places, np.int64))
    assert found.to_pydict() == {"text": [WORDS[place] for place in places], "number": places}
