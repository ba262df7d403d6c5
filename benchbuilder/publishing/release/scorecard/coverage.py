"""Which part of the sources reaches the items: facts, relations and words of the topic list, counted by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import Table, WordFinder
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
    wanted = _fact_ids(finished, items)
    of_items = Counter(map(str, items.column("partition")))
    reached: dict[str, SourceReach] = {}
    for account in _sources(finished):
        table = finished.tables[account.step].arrow
        hit = _compute.is_in(table.column("id"), value_set=wanted)
        relations = _relations(table)
        for name in map(str, _compute.unique(table.column("partition")).to_pylist()):
            own = _compute.equal(table.column("partition"), name)
            both = _compute.and_(own, hit)
            reached[name] = SourceReach(
                name, _compute.sum(own).as_py() or 0, _compute.sum(both).as_py() or 0, of_items[name],
                _distinct(relations, own), _distinct(relations, both),
            )  # fmt: skip
    words = _listed_words(finished)
    return Reach(tuple(reached.values()), len(words), _named(words, items))


def _sources(finished: FinishedBuild) -> Iterator[StepCounts]:
    """The sources of facts."""
    for account in finished.step_counts:
        if account.role == "fact" and not account.inputs and account.step in finished.tables:
            yield account


def _fact_ids(finished: FinishedBuild, items: Table[Any]) -> pa.Array[Any]:
    """The facts of the items, and all rows that these were made of."""
    facts = _compute.unique(items.arrow.column("fact").combine_chunks())
    found: list[Any] = [facts]
    for account in finished.step_counts:
        if account.role == "fact" and account.inputs and account.step in finished.tables:
            table = finished.tables[account.step].arrow
            kept = table.filter(_compute.is_in(table.column("id"), value_set=facts))
            found.append(_compute.list_flatten(kept.column("parents")).combine_chunks())
    return _compute.unique(pa.concat_arrays([one.cast(pa.string()) for one in found]))


def _relations(table: pa.Table) -> Any:
    payload = table.schema.field("payload").type
    if not pa.types.is_struct(payload) or payload.get_field_index("relation") < 0:
        return None
    return _compute.struct_field(table.column("payload"), "relation")


def _distinct(relations: Any, rows: Any) -> int:
    return 0 if relations is None else len(_compute.unique(_compute.filter(relations, rows)))


def _listed_words(finished: FinishedBuild) -> set[str]:
    """The words of the topic list, as the topic steps counted them."""
    return {
        word for account in finished.step_counts for (sort, _, word), _ in account.tallies.items() if sort == "words"
    }


def _named(words: set[str], items: Table[Any]) -> int:
    """How many of the words stand in the text of an item, in whatever case."""
    if not words:
        return 0
    payload = items.arrow.column("payload")
    names = [field.name for field in items.arrow.schema.field("payload").type if pa.types.is_string(field.type)]
    finder, named = WordFinder(sorted(words), ["case"]), set[str]()
    for name in names:
        for text in _compute.unique(_compute.struct_field(payload, name)).to_pylist():
            named |= finder.find(text or "")
    return len(named)
