"""Reads the columns of items, and what the build knows of their facts and questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import Item, Table, schema_of
from benchbuilder.evaluation.analysis.answered import Codes, ItemColumns, Texts
from benchbuilder.pipeline import Store, stored_table

_compute: Any = pc


def text_column(texts: Sequence[Any]) -> Texts:
    """A column of texts, of which equal ones are held once; a missing text is empty."""
    column, known = np.empty(len(texts), np.object_), dict[str, str]()
    column[:] = [known.setdefault(text, text) for text in ("" if text is None else str(text) for text in texts)]
    return column


def item_columns(items: Table[Item[Any]], built: Store) -> ItemColumns:
    """The columns of `items`; `built` is the store of the build, for relations and negations."""
    ids, facts, sources = items.ids(), items.column("fact"), items.column("partition")
    families = [family or fact or name for family, fact, name in zip(items.column("family"), facts, ids, strict=True)]
    options = _payload_column(items, "options")
    contexts, questions = _payload_column(items, "context"), _payload_column(items, "question")
    relations = _values(built, "fact[triple]", facts, "payload.relation")
    in_relation = [
        f"{source}: {relations[fact]}" if fact in relations else "" for source, fact in zip(sources, facts, strict=True)
    ]
    questions = [f"{context or ''}{question or ''}" for context, question in zip(contexts, questions, strict=True)]
    candidates = items.column("candidate")
    negations = _values(built, "candidate", candidates, "negated")
    return ItemColumns(
        ids=text_column(ids),
        sources=text_column(sources),
        types=text_column(_payload_column(items, "type")),
        forms=text_column(items.column("form")),
        families=family_codes(families),
        facts=text_column(facts),
        relations=text_column(in_relation),
        expected=text_column(_payload_column(items, "expected")),
        negated=np.array([bool(negations.get(name)) for name in candidates], np.bool_),
        questions=text_column(questions),
        answers=text_column(_payload_column(items, "answer")),
        wrong_answers=text_column(_payload_column(items, "answer_wrong")),
        options=tuple(tuple(option["key"] for option in listed or ()) for listed in options),
        keys=text_column(_payload_column(items, "answer_key")),
        scorers=text_column([""] * len(ids)),
        aspects=text_column([""] * len(ids)),
    )


def family_codes(families: Sequence[str]) -> Codes:
    """A code for each family, from 0 in the order in which families first occur."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(family, len(known)) for family in families], np.int64)


def _payload_column(items: Table[Item[Any]], name: str) -> list[Any]:
    """A field of the payload; ``None`` for each item if the payload has no such field."""
    payload: Any = schema_of(items.row).field("payload").type
    return items.column(f"payload.{name}") if payload.get_field_index(name) >= 0 else [None] * len(items)


def _values(built: Store, row: str, wanted: Sequence[str], name: str) -> dict[str, Any]:
    """A column of the rows of these ids, from every step that the build finished last; ids are hashes of contents."""
    ids, found = set(filter(None, wanted)), dict[str, Any]()
    for step in sorted(path.name for path in built.steps.glob("*") if path.is_dir()):
        manifest = built.latest(step)
        if manifest is not None and manifest.row == row and ids:
            among, head, *rest = pa.array(sorted(ids), pa.string()), *name.split(".")
            for piece in stored_table(built, manifest).batches(["id", name]):
                own = piece.filter(_compute.is_in(piece.column("id"), value_set=among))
                column: Any = own.column(head)
                for part in rest:
                    column = _compute.struct_field(column, part)
                found.update(zip(map(str, own.column("id").to_pylist()), column.to_pylist(), strict=True))
            ids -= found.keys()
    return found


def found_places(values: pa.ChunkedArray[Any], among: pa.Array[Any]) -> Codes:
    """The place of each value among others; -1 where it is not among them."""
    places: Any = _compute.index_in(values, value_set=among)
    return np.asarray(_compute.fill_null(places, -1).to_numpy(), np.int64)
