"""Which part of the sources reaches the items: facts, relations and words of the topic list, counted by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import Table, WordFinder, schema_of
from benchbuilder.exporters import FinishedBuild, StepCounts

_compute: Any = pc


@dataclass(frozen=True)
class SourceReach:
    """How far the facts of one source got.

    Attributes:
        source: The partition.
        facts: The facts that were read.
        reached: Those that at least one item is about.
        items: The items.
        relations: The relations among the facts; 0 where facts are no triples.
        reached_relations: Those of facts that reached an item.
    """

    source: str
    facts: int
    reached: int
    items: int
    relations: int = 0
    reached_relations: int = 0


@dataclass(frozen=True)
class Reach:
    """The reach of all sources, and of the words of the topic list: how many there are, and how many items name."""

    sources: tuple[SourceReach, ...]
    words: int
    reached_words: int


def reach_of(finished: FinishedBuild) -> Reach:
    """The reach of a finished build. A fact reaches an item if it, or a later form of it, is the fact of the item."""
    items = finished.tables[finished.items]
    wanted, of_items = _fact_ids(finished, items), column_counts(items, "partition")
    reached: dict[str, SourceReach] = {}
    for account in _sources(finished):
        for name, facts in _facts_by_source(finished.tables[account.step], wanted).items():
            reached[name] = SourceReach(
                name, facts.read.total(), facts.reached.total(), of_items[name], len(facts.read.keys() - {None}),
                len(facts.reached.keys() - {None}),
            )  # fmt: skip
    words = _listed_words(finished)
    return Reach(tuple(reached.values()), len(words), _named(words, items))


def column_counts(table: Table[Any], name: str) -> Counter[str]:
    """How often each value of a column occurs, none if there is no such column; `name` may go into structs by dots."""
    head, *rest = name.split(".")
    counts: Counter[str] = Counter()
    kind: Any = pa.struct(schema_of(table.row))
    for part in (head, *rest):
        if not pa.types.is_struct(kind) or kind.get_field_index(part) < 0:
            return counts
        kind = kind.field(part).type
    for piece in table.batches([name]):
        column: Any = piece.column(head)
        for part in rest:
            column = _compute.struct_field(column, part)
        for found in column.value_counts().to_pylist():
            counts[found["values"]] += found["counts"]
    return counts


@dataclass(frozen=True)
class _SourceFacts:
    """The facts of a source by relation (``None`` where they are no triples): all, and those that reach an item."""

    read: Counter[str | None]
    reached: Counter[str | None]


def _facts_by_source(table: Table[Any], wanted: pa.Array[Any]) -> dict[str, _SourceFacts]:
    payload: Any = schema_of(table.row).field("payload").type
    of_triples = pa.types.is_struct(payload) and payload.get_field_index("relation") >= 0
    found: dict[str, _SourceFacts] = {}
    for piece in table.batches(["id", "partition", *(["payload.relation"] if of_triples else [])]):
        columns: dict[str, Any] = {
            "source": piece.column("partition"),
            "hit": _compute.is_in(piece.column("id"), value_set=wanted),
        }
        columns["relation"] = (
            _compute.struct_field(piece.column("payload"), "relation")
            if of_triples
            else pa.nulls(len(piece), pa.string())
        )
        grouped = pa.table(columns).group_by(list(columns), use_threads=False)
        for line in grouped.aggregate([([], "count_all")]).to_pylist():
            facts = found.setdefault(line["source"], _SourceFacts(Counter(), Counter()))
            for counts in (facts.read, *([facts.reached] if line["hit"] else [])):
                counts[line["relation"]] += line["count_all"]
    return found


def _sources(finished: FinishedBuild) -> Iterator[StepCounts]:
    """The sources of facts."""
    for account in finished.step_counts:
        if account.role == "fact" and not account.inputs and account.step in finished.tables:
            yield account


def _fact_ids(finished: FinishedBuild, items: Table[Any]) -> pa.Array[Any]:
    """The facts of the items, and all rows that these were made of."""
    facts = _distinct(piece.column("fact") for piece in items.batches(["fact"]))
    found: list[Any] = [facts]
    for account in finished.step_counts:
        if account.role == "fact" and account.inputs and account.step in finished.tables:
            pieces = finished.tables[account.step].batches(["id", "parents"])
            kept = (piece.filter(_compute.is_in(piece.column("id"), value_set=facts)) for piece in pieces)
            found.append(_distinct(_compute.list_flatten(piece.column("parents")) for piece in kept))
    return _distinct(found)


def _distinct(columns: Iterable[Any]) -> pa.Array[Any]:
    """The values that occur in columns of texts."""
    found: Any = pa.array([], pa.string())
    for column in columns:
        own = _compute.unique(column.cast(pa.string()))
        found = _compute.unique(pa.concat_arrays([found, own]))
    return found


def _listed_words(finished: FinishedBuild) -> set[str]:
    """The words of the topic list, as the topic steps counted them."""
    return {
        word for account in finished.step_counts for (sort, _, word), _ in account.tallies.items() if sort == "words"
    }


def _named(words: set[str], items: Table[Any]) -> int:
    """How many of the words stand in the text of an item, in whatever case."""
    if not words:
        return 0
    payload: Any = schema_of(items.row).field("payload").type
    names = [field.name for field in payload if pa.types.is_string(field.type)]
    finder, named = WordFinder(sorted(words), ["case"]), set[str]()
    for piece in items.batches([f"payload.{name}" for name in names]):
        for name in names:
            for text in _compute.unique(_compute.struct_field(piece.column("payload"), name)).to_pylist():
                named |= finder.find(text or "")
    return len(named)
