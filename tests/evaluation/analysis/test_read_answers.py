"""Scores and missing answers are read piece by piece; where a piece ends makes no difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from answered_world import answered, item_ids

from benchbuilder.config import sample_checksums
from benchbuilder.evaluation.analysis.read_answers import _lost_items, _marks_of, systems_of_sample


class Pieces:
    """A table that is read `size` rows at a time."""

    def __init__(self, rows: Sequence[dict[str, Any]], size: int) -> None:
        self.rows, self.size = pa.Table.from_pylist(list(rows)), size

    def batches(self, names: Sequence[str]) -> Iterator[pa.Table]:
        for start in range(0, len(self.rows), self.size):
            yield self.rows.slice(start, self.size).select(list(names))


def test_a_missing_answer_belongs_to_the_first_of_its_parents_that_is_an_item() -> None:
    places = pa.array(["item-a", "item-b", "item-c"])
    lost = pa.table({"model": ["m", "n", "m", "m"], "parents": [
        ["fact-1", "item-c", "item-a"], [], ["item-z", "item-b"], ["fact-2"],
    ]})  # fmt: skip
    assert list(_lost_items(lost, places)) == [("m", 2), ("m", 1)]
    assert list(_lost_items(lost.slice(2), places)) == [("m", 1)]


@pytest.mark.parametrize("size", [100, 3, 1])
def test_scores_of_several_systems_are_told_apart(size: int) -> None:
    columns = answered(np.zeros((1, 4))).items
    ids = item_ids(4)
    rows = [
        {"scorer": "verdict", "aspect": aspect, "model": model, "item": item, "value": value, "label": label}
        for aspect, model, item, value, label in (
            ("right", "m", ids[1], 1.0, ""), ("right", "n", ids[0], None, "invalid"), ("near", "m", ids[1], 0.25, ""),
            ("right", "m", ids[3], None, "missing"), ("right", "m", "item-elsewhere", 1.0, ""),
            ("right", "n", ids[2], 0.5, ""),
        )
    ]  # fmt: skip
    table: Any = Pieces(rows, size)
    found = {(measure.aspect, model): marks for measure, model, marks in _marks_of(table, pa.array(ids), columns)}
    assert set(found) == {("right", "m"), ("right", "n"), ("near", "m")}
    nan = float("nan")
    np.testing.assert_array_equal(found["right", "m"].values, [nan, 1.0, nan, nan])
    np.testing.assert_array_equal(found["right", "n"].values, [0.0, nan, 0.5, nan])
    assert found["right", "n"].without.tolist() == [True, False, False, False]
    np.testing.assert_array_equal(found["near", "m"].values, [nan, 0.25, nan, nan])


def test_only_a_scorer_that_reads_ratings_can_have_ratings_of_a_sample() -> None:
    file = {"file scorer.file (ratings.csv)": min(sample_checksums())}
    keys = {
        "rated.m": {"scorer: scorer kind": "ratings", **file},
        "compared.m": {"scorer: scorer kind": "codes", **file},
        "own.m": {"scorer: scorer kind": "ratings", "file scorer.file (ratings.csv)": "another"},
        "answer.m": file,
    }
    store: Any = SimpleNamespace(latest=lambda step: SimpleNamespace(key_inputs=keys[step]))
    found = {step: systems_of_sample(store, step, ["m"]) for step in ("rated", "compared", "own", "answer")}
    assert found == {"rated": ("m",), "compared": (), "own": (), "answer": ("m",)}
