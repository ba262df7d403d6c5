"""The triples of a table that touch some concepts, found in bounded memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import Table, combined_column, comparison_key, name_file_in_errors, text_leaves
from benchbuilder.steps.language.columns import comparison_keys

TRIPLE_COLUMNS = ("head", "relation", "tail", "head_terms", "tail_terms")
_SCHEMA = pa.schema(
    [pa.field(name, pa.list_(pa.string()) if name.endswith("terms") else pa.string()) for name in TRIPLE_COLUMNS]
)
EMPTY_TRIPLES = pa.Table.from_batches([], _SCHEMA)  # `empty_table` would import pandas, where it is installed
_compute: Any = pc
_MANY = 1 << 15
"""Keys from which on a set is quicker than Arrow, which would hash all of them for each column."""
_SIDES = (("head", "head_terms"), ("tail", "tail_terms"))


def triples_naming(table: Table[Any], keys: Collection[str], ignore: str) -> pa.Table:
    """The triples of `table` with a concept of `keys`, or a synonym of one, at either end.

    Synonyms are all names of an end with one of `keys`. The result has the columns `TRIPLE_COLUMNS`.
    """
    first = triples_touching(table, keys, ignore)
    synonyms = set(keys)
    for heads, _, tails in triple_edges(first, ignore):
        for names in (heads, tails):
            if not names.isdisjoint(keys):
                synonyms |= names
    return first if synonyms == set(keys) else triples_touching(table, synonyms, ignore)


def triple_edges(triples: pa.Table, ignore: str) -> Iterator[tuple[set[str], str, set[str]]]:
    """The keys of all names of the head, the relation, and the keys of all names of the tail."""
    for batch in triples.to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            heads, tails = ({comparison_key(name, ignore) for name in (row[end], *row[terms])} for end, terms in _SIDES)
            yield heads, row["relation"], tails


def triple_columns(table: Table[Any]) -> Iterator[pa.Table]:
    """The columns `TRIPLE_COLUMNS` of a table of triples, batch by batch."""
    for batch in table.batches([f"payload.{name}" for name in TRIPLE_COLUMNS]):
        columns = [combined_column(batch, f"payload.{name}").cast(_SCHEMA.field(name).type) for name in TRIPLE_COLUMNS]
        yield pa.table(columns, schema=_SCHEMA)


def triples_touching(table: Table[Any], keys: Collection[str], ignore: str) -> pa.Table:
    """The triples of `table` with one of `keys` among the names of either end; columns `TRIPLE_COLUMNS`."""
    is_wanted, pieces = _membership(keys), list[pa.Table]()
    for piece in triple_columns(table):
        marked = np.zeros(piece.num_rows, bool)
        for name in (name for side in _SIDES for name in side):
            for rows, texts in text_leaves(combined_column(piece, name)):
                if len(texts):
                    marked[rows[is_wanted(comparison_keys(texts, ignore))]] = True
        if marked.any():
            pieces.append(piece.filter(pa.array(marked)))
    return pa.concat_tables([EMPTY_TRIPLES, *pieces])


def _membership(keys: Collection[str]) -> Callable[[Any], Any]:
    """Tells which texts of a column are keys."""
    if len(keys) > _MANY:
        held = frozenset(keys)
        return lambda texts: np.fromiter(map(held.__contains__, texts.to_pylist()), bool, len(texts))
    names: Any = pa.array(sorted(keys), pa.string())
    return lambda texts: _compute.is_in(texts, value_set=names).to_numpy(zero_copy_only=False)


def save_triples(triples: pa.Table, folder: Path, name: str) -> Path:
    """Write triples to a file in `folder` that is named by their content, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f"known-{name}.{os.getpid()}.draft"
    try:
        with (
            name_file_in_errors(draft),
            pa.OSFile(str(draft), "wb") as sink,
            pa.ipc.new_file(sink, triples.schema) as writer,
        ):
            writer.write_table(triples)
        with draft.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:20]
        return draft.replace(folder / f"known-{digest}.arrow")
    finally:
        draft.unlink(missing_ok=True)


def load_triples(path: Path) -> pa.Table:
    """The triples that `save_triples` wrote."""
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def directed_edge(
    heads: set[str], relation: str, tails: set[str], inverse_suffix: str
) -> tuple[set[str], set[str], str]:
    """Both ends in reading direction, and the relation without `inverse_suffix` (empty: none)."""
    if inverse_suffix and relation.endswith(inverse_suffix):
        return tails, heads, relation.removesuffix(inverse_suffix)
    return heads, tails, relation
