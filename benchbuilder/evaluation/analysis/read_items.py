"""Reads the columns of items, and what the build knows of their facts and questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import Item, Table
from benchbuilder.evaluation.analysis.answered import Codes, ItemColumns, Texts
from benchbuilder.pipeline import Store

_compute: Any = pc


def text_column(texts: Sequence[Any]) -> Texts:
    """A column of texts; a missing text is empty."""
    column = np.empty(len(texts), np.object_)
    column[:] = ["" if text is None else str(text) for text in texts]
    return column


def item_columns(items: Table[Item[Any]], built: Store) -> ItemColumns:
    """The columns of `items`; `built` is the store of the build, for relations and negations."""
    ids, facts, sources = items.ids(), items.column("fact"), items.column("partition")
    families = [family or fact or name
                for family, fact, name in zip(items.column("family"), facts, ids, strict=True)]  # fmt: skip
    options = _payload_column(items, "options")
    contexts, questions = _payload_column(items, "context"), _payload_column(items, "question")
    relations = _relations(built, facts)
    in_relation = [f"{source}: {relations[fact]}" if fact in relations else ""
                   for source, fact in zip(sources, facts, strict=True)]  # fmt: skip
    questions = [f"{context or ''}{question or ''}" for context, question in zip(contexts, questions, strict=True)]
    negations = _negations(built, items.column("candidate"))
    return ItemColumns(
        ids=text_column(ids),
        sources=text_column(sources),
        types=text_column(_payload_column(items, "type")),
        forms=text_column(items.column("form")),
        families=family_codes(families),
        facts=text_column(facts),
        relations=text_column(in_relation),
        expected=text_column(_payload_column(items, "expected")),
        negated=np.array([name in negations for name in items.column("candidate")], np.bool_),
        questions=text_column(questions),
        answers=text_column(_payload_column(items, "answer")),
        wrong_answers=text_column(_payload_column(items, "answer_wrong")),
        options=tuple(tuple(option["key"] for option in listed or ()) for listed in options),
        keys=text_column(_payload_column(items, "answer_key")),
        scorers=text_column([""] * len(ids)),
    )  # fmt: skip


def family_codes(families: Sequence[str]) -> Codes:
    """A code for each family, from 0 in the order in which families first occur."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(family, len(known)) for family in families], np.int64)


def _payload_column(items: Table[Item[Any]], name: str) -> list[Any]:
    """A field of the payload; ``None`` for each item if the payload has no such field."""
    column = items.arrow.column("payload")
    known = {column.type.field(place).name for place in range(column.type.num_fields)}
    return items.column(f"payload.{name}") if name in known else [None] * len(items)


def _relations(built: Store, facts: Sequence[str]) -> dict[str, str]:
    """The relation of each fact that is a triple."""
    found: dict[str, str] = {}
    for table in _tables(built, "fact[triple]", facts):
        found.update(zip(table.ids(), table.column("payload.relation"), strict=True))
    return found


def _negations(built: Store, candidates: Sequence[str]) -> set[str]:
    """The candidates whose questions negate their proposition."""
    return {
        name for table in _tables(built, "candidate", candidates)
        for name, negated in zip(table.ids(), table.column("negated"), strict=True) if negated
    }  # fmt: skip


def _tables(built: Store, row: str, wanted: Sequence[str]) -> Iterator[Table[Any]]:
    """The rows of these ids from every step that the build finished last; ids are hashes of contents."""
    ids = set(filter(None, wanted))
    for step in sorted(path.name for path in built.steps.glob("*") if path.is_dir()):
        manifest = built.latest(step)
        if manifest is not None and manifest.row == row and ids:
            found = built.rows(manifest).find(ids)
            ids -= set(found.ids())
            yield found


def found_places(values: pa.ChunkedArray[Any], among: pa.Array[Any]) -> Codes:
    """The place of each value among others; -1 where it is not among them."""
    places: Any = _compute.index_in(values, value_set=among)
    return np.asarray(_compute.fill_null(places, -1).to_numpy(), np.int64)
