"""What many triples know of a few concepts, read through without holding them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core.records.arrow.build_rows import column, leaves
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.text.answers import same_key
from benchbuilder.steps.language.composing import keys_of

FIELDS = ("head", "relation", "tail", "head_terms", "tail_terms")
_SCHEMA = pa.schema(
    [pa.field(name, pa.list_(pa.string()) if name.endswith("terms") else pa.string()) for name in FIELDS]
)
_SIDES = (("head", "head_terms"), ("tail", "tail_terms"))


def triples_near(table: Table[Any], keys: Collection[str], ignore: str) -> pa.Table:
    """The triples of `table` that name a concept of `keys` or a synonym of one, at either end.

    Names are compared by `same_key` with `ignore`; synonyms are all names of an end that has one of `keys`. What comes
    back has the columns `FIELDS`.
    """
    first = _touching(table, keys, ignore)
    wider = with_synonyms(first, keys, ignore)
    return first if wider == set(keys) else _touching(table, wider, ignore)


def with_synonyms(triples: pa.Table, keys: Collection[str], ignore: str) -> set[str]:
    """`keys` and all names of the ends that have one of them."""
    found = set(keys)
    for heads, _, tails in edges(triples, ignore):
        for names in (heads, tails):
            if not names.isdisjoint(keys):
                found |= names
    return found


def edges(triples: pa.Table, ignore: str) -> Iterator[tuple[set[str], str, set[str]]]:
    """The keys of all names of the head, the relation, and the keys of all names of the tail."""
    for batch in triples.to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            heads, tails = ({same_key(name, ignore) for name in (row[end], *row[terms])} for end, terms in _SIDES)
            yield heads, row["relation"], tails


def fields_of(table: Table[Any]) -> Iterator[pa.Table]:
    """The columns `FIELDS` of a table of triples, piece by piece."""
    for batch in table.batches([f"payload.{name}" for name in FIELDS]):
        columns = [column(batch, f"payload.{name}").cast(_SCHEMA.field(name).type) for name in FIELDS]
        yield pa.table(columns, schema=_SCHEMA)


def _touching(table: Table[Any], keys: Collection[str], ignore: str) -> pa.Table:
    wanted, pieces = pa.array(sorted(keys), pa.string()), list[pa.Table]()
    for piece in fields_of(table):
        marked = np.zeros(piece.num_rows, bool)
        for name in (name for side in _SIDES for name in side):
            for rows, texts in leaves(column(piece, name)):
                found: Any = pc.is_in(keys_of(texts, ignore), value_set=wanted)
                marked[rows[found.to_numpy(zero_copy_only=False)]] = True
        if marked.any():
            pieces.append(piece.filter(pa.array(marked)))
    return pa.concat_tables([_SCHEMA.empty_table(), *pieces])
