"""Reads the answers and scores of a finished evaluation, piece by piece, into columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import RowIndex, Table, combined_column
from benchbuilder.evaluation.results.columns import ItemAnswers, ItemScores, Places, TextColumn
from benchbuilder.evaluation.steps.press import ASKED_OTHERWISE
from benchbuilder.exporters import FinishedBuild

_ANSWER = "answer."
_compute = cast("Any", pc)
ScoreKey = tuple[str, str, str]
"""Aspect, scorer and system."""


def read_answers(finished: FinishedBuild, index: RowIndex, count: int, steps: dict[str, str]) -> dict[str, ItemAnswers]:
    """The answers of each system to `count` items, which `index` knows; notes the system of each step in `steps`."""
    outcomes: dict[str, Any] = {}
    lengths: dict[str, Any] = {}
    names: dict[str, int] = {"": 0}
    for step, table in _answer_tables(finished):
        for batch in table.batches(["parents", "model", "text", "outcome"]):
            places = first_known(combined_column(batch, "parents"), index)
            coded: Any = combined_column(batch, "outcome").dictionary_encode()
            codes = np.array([names.setdefault(name, len(names)) for name in coded.dictionary.to_pylist()], np.int32)
            own, sizes = codes[coded.indices.to_numpy()], _numbers(_compute.utf8_length(combined_column(batch, "text")))
            for model, mask in _groups(batch, "model"):
                steps[step] = model
                into = outcomes.setdefault(model, np.zeros(count, np.int32))
                rows = np.flatnonzero(mask & (places >= 0))
                into[places[rows]] = own[rows]
                lengths.setdefault(model, np.zeros(count, np.int32))[places[rows]] = sizes[rows]
    return {model: ItemAnswers(TextColumn(codes, list(names)), lengths[model]) for model, codes in outcomes.items()}


def answer_texts(finished: FinishedBuild, index: RowIndex, wanted: Collection[int]) -> dict[tuple[str, int], str]:
    """What each system answered to some items, by system and place."""
    texts: dict[tuple[str, int], str] = {}
    chosen = np.array(sorted(wanted), np.int64)
    for _, table in _answer_tables(finished) if len(chosen) else ():
        for batch in table.batches(["parents", "model", "text"]):
            places = first_known(combined_column(batch, "parents"), index)
            mask = np.isin(places, chosen)
            for place, line in zip(
                places[mask].tolist(), batch.filter(pa.array(mask)).select(["model", "text"]).to_pylist(), strict=True
            ):
                texts[line["model"], place] = line["text"]
    return texts


def first_known(parents: Any, index: RowIndex) -> Places:
    """For each list of ids the place of the first one that `index` knows; -1 without one."""
    found = index.positions(parents.flatten())
    owners = _numbers(_compute.list_parent_indices(parents))
    places = np.full(len(parents), -1, np.int64)
    known = found >= 0
    places[owners[known][::-1]] = found[known][::-1]  # the first of a list is written last
    return places


def read_scores(tables: Mapping[str, Table[Any]], index: RowIndex, steps: dict[str, str]) -> dict[ScoreKey, ItemScores]:
    """The scores of each aspect, scorer and system; of questions that were asked otherwise, none."""
    found: dict[ScoreKey, list[tuple[Places, Any, Any, Any]]] = {}
    ratings: dict[ScoreKey, dict[int, tuple[tuple[str, float], ...]]] = {}
    labels: dict[str, int] = {}
    for step in tables:
        for batch in _score_batches(tables, step):
            places = index.positions(combined_column(batch, "item"))
            coded: Any = combined_column(batch, "label").dictionary_encode()
            codes = np.array([labels.setdefault(name, len(labels)) for name in coded.dictionary.to_pylist()], np.int32)
            own = codes[coded.indices.to_numpy()]
            numbers = _numbers(combined_column(batch, "value").cast(pa.float64()))
            counts = _counts(combined_column(batch, "counts"))
            rated = _ratings(combined_column(batch, "ratings"))
            for aspect, by_aspect in _groups(batch, "aspect"):
                for scorer, by_scorer in _groups(batch, "scorer"):
                    for model, by_model in _groups(batch, "model"):
                        chosen = by_aspect & by_scorer & by_model
                        if not chosen.any():
                            continue
                        steps[step] = model
                        rows = np.flatnonzero(chosen & (places >= 0))
                        if len(rows):
                            key = (aspect, scorer, model)
                            part = (places[rows], numbers[rows], own[rows], None if counts is None else counts[rows])
                            found.setdefault(key, []).append(part)
                            own_ratings = ratings.setdefault(key, {})
                            own_ratings |= {int(places[row]): rated[row] for row in rows.tolist() if row in rated}
    return {key: _joined(parts, list(labels), ratings[key]) for key, parts in found.items()}


def _score_batches(tables: Mapping[str, Table[Any]], step: str) -> Iterator[pa.Table]:
    if not step.startswith((_ANSWER, *ASKED_OTHERWISE)) and (table := tables[step]).row.name == "score":
        yield from table.batches(["item", "model", "scorer", "aspect", "value", "label", "ratings", "counts"])


def _joined(parts: list[Any], labels: list[str], ratings: Mapping[int, tuple[tuple[str, float], ...]]) -> ItemScores:
    """The scores in the order of the items; of several scores of one answer, the last."""
    places, numbers, codes = (np.concatenate([part[at] for part in parts]) for at in range(3))
    counts = None if any(part[3] is None for part in parts) else np.concatenate([part[3] for part in parts])
    if not (np.diff(places) > 0).all():
        last = len(places) - 1 - np.unique(places[::-1], return_index=True)[1]
        places, numbers, codes = places[last], numbers[last], codes[last]
        counts = None if counts is None else counts[last]
    return ItemScores(places, numbers, TextColumn(codes, labels), dict(ratings), counts)


def _answer_tables(finished: FinishedBuild) -> Iterator[tuple[str, Table[Any]]]:
    return ((step, finished.tables[step]) for step in finished.tables if step.startswith(_ANSWER))


def _groups(batch: pa.Table, name: str) -> Iterator[tuple[str, Any]]:
    """Each text of a column, and where it stands."""
    coded: Any = combined_column(batch, name).dictionary_encode()
    codes = coded.indices.to_numpy()
    for code, text in enumerate(coded.dictionary.to_pylist()):
        yield text, codes == code


def _ratings(column: Any) -> dict[int, tuple[tuple[str, float], ...]]:
    """The ratings of the rows that have some."""
    rated = np.flatnonzero(_numbers(_compute.list_value_length(column)) > 0)
    lists = column.take(pa.array(rated)).to_pylist()
    return {
        row: tuple((rating["rater"], rating["value"]) for rating in ratings)
        for row, ratings in zip(rated.tolist(), lists, strict=True)
    }


def _counts(column: Any) -> Any:
    """The three counts of every row; ``None`` if one has not got three."""
    if len(column) and (_numbers(_compute.list_value_length(column)) == 3).all():
        return column.flatten().to_numpy(zero_copy_only=False).astype(np.float64).reshape(-1, 3)
    return None


def _numbers(column: Any) -> Any:
    return column.to_numpy(zero_copy_only=False)
