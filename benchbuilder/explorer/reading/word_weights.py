"""What each word of a question added to the scores of the paragraphs that were found for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from benchbuilder.core import BenchbuilderError, Candidate, Row
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.explorer.reading.built_nodes import built_nodes
from benchbuilder.pipeline import read_columns
from benchbuilder.steps import Retrieve

_MOST_PASSAGES = 200_000
"""Of more passages the texts are not read for a page: the checksum of the index is made of all of them."""


def word_weights(build: BuildFolder, rows: Sequence[Row]) -> Mapping[str, Mapping[str, float]]:
    """The weights of the words of the first candidate of `rows`, by the id of the passage.

    Empty if the retriever does not score by words, if its index is gone, or if the recipe is not as it was.
    """
    candidate = next((row for row in rows if isinstance(row, Candidate)), None)
    if candidate is None:
        return {}
    weights: dict[str, Mapping[str, float]] = {}
    try:
        for step in _opened_steps(build, build.built_at):
            weights |= step.word_weights(candidate)
    except BenchbuilderError:
        return {}
    return weights


@lru_cache(maxsize=2)
def _opened_steps(build: BuildFolder, _built_at: Any) -> tuple[Retrieve, ...]:
    """The steps that retrieve, with the indexes that are there."""
    built, opened = build.manifests(), list[Retrieve]()
    for node in built_nodes(build):
        step = node.producer
        names = node.inputs.get("passages", ())
        if not isinstance(step, Retrieve) or not names or sum(built[name].rows for name in names) > _MOST_PASSAGES:
            continue
        parts = [part for name in names for part in build.store.part_files(built[name])[0]]
        step.open_indexes(pa.concat_tables([read_columns(part, ["id", "base", "text"]) for part in parts]))
        opened.append(step)
    return tuple(opened)
