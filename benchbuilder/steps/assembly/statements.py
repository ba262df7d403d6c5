"""The statements that questions are assembled with: found by fact, form and polarity, or by id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchbuilder.core import STATEMENT_FORM, RowIndex, Table, combined_column, take_rows

SORTS = ("stated", "negated", "replaced")
"""The ports of statements that a question may ask about."""
_compute: Any = pc
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Codes:
    """Numbers for the different texts of a column, from 0 on."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._codes = {text: code for code, text in enumerate(texts)}

    def __len__(self) -> int:
        return len(self._codes)

    def of(self, text: str) -> int:
        """The number of a text."""
        return self._codes.setdefault(text, len(self._codes))

    def items(self) -> Iterable[tuple[str, int]]:
        """Each text and its number."""
        return self._codes.items()

    def of_column(self, texts: Any) -> Numbers:
        """The number of each text of a column with few different texts."""
        coded = texts.dictionary_encode()
        numbers = np.array([self.of(text) for text in coded.dictionary.to_pylist()], np.int64)
        return numbers[coded.indices.to_numpy(zero_copy_only=False)] if len(texts) else np.zeros(0, np.int64)


def fact_codes(tables: Iterable[Table[Any]]) -> tuple[list[Numbers], int]:
    """For each table the number of the fact of each row, and how many facts there are."""
    columns = [_chunked(table, "fact") for table in tables]
    facts = _compute.unique(pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string()))
    codes = [_compute.index_in(column, value_set=facts).to_numpy().astype(np.int64) for column in columns]
    return codes, len(facts)


def _chunked(table: Table[Any], name: str) -> pa.ChunkedArray[Any]:
    return pa.chunked_array(
        [chunk for batch in table.batches([name]) for chunk in batch.column(name).chunks], pa.string()
    )


@dataclass
class StatementPort:
    """The statements of a port; `first` is the position of its first one among those of all ports.

    `facts` and `forms` are their codes, `true` is their polarity; `keys` say all three in one number.
    """

    table: Table[Any]
    first: int
    facts: Numbers
    forms: Numbers
    true: Mask
    index: RowIndex
    keys: Numbers = field(init=False)
    used: Mask = field(init=False)

    def __post_init__(self) -> None:
        self.used = np.zeros(len(self.facts), bool)

    @cached_property
    def _by_key(self) -> tuple[Numbers, Numbers]:
        order = np.argsort(self.keys, kind="stable")
        return order, self.keys[order]

    def first_with(self, keys: Numbers) -> Numbers:
        """For each key the position, among those of all ports, of the first statement that has it; -1 without one."""
        order, held = self._by_key
        places = np.searchsorted(held, keys)
        there = places < len(held)
        there[there] = held[places[there]] == keys[there]
        found = np.full(len(keys), -1, np.int64)
        found[there] = self.first + order[places[there]]
        return found

    def in_order_of_facts(self, positions: Numbers) -> Numbers:
        """Positions in the port, by fact: that one first whose first statement stands first."""
        firsts = np.full(int(self.facts.max(initial=-1)) + 1, len(self.facts), np.int64)
        np.minimum.at(firsts, self.facts, np.arange(len(self.facts)))
        return positions[np.lexsort((positions, firsts[self.facts[positions]]))]


class Statements:
    """The statements of all ports: `ports` by name, and `rows` one port after the other."""

    def __init__(self, tables: Mapping[str, Table[Any]], facts: Mapping[str, Numbers], fact_count: int) -> None:
        self.forms = Codes([STATEMENT_FORM])
        self.ports: dict[str, StatementPort] = {}
        self._families = np.full(fact_count, -1, np.int64)
        first = 0
        for port in (name for name in (*SORTS, "denied") if name in tables):
            self.ports[port] = self._port(port, tables[port], first, facts[port])
            first += len(facts[port])
        for port in self.ports.values():  # all forms are known now
            port.keys = self.key(port.facts, port.forms, port.true)
        denied = tables.get("denied")
        self._denials = RowIndex(_chunked(denied, "of").chunks if denied is not None else [])
        ports = self.ports.values()
        self._form_of = np.concatenate([*(port.forms for port in ports), [self.forms.of(STATEMENT_FORM)]])
        self._keys = np.concatenate([*(port.keys for port in ports), [-1]])

    def _port(self, name: str, table: Table[Any], first: int, facts: Numbers) -> StatementPort:
        forms, true = list[Numbers]([np.zeros(0, np.int64)]), list[Mask]([np.zeros(0, bool)])
        start = 0
        for batch in table.batches(["form", "polarity", "family"]):
            forms.append(self.forms.of_column(combined_column(batch, "form")))
            polarity: Any = combined_column(batch, "polarity")
            true.append(is_text(polarity, "true"))
            if name in SORTS:
                named = start + np.flatnonzero(~is_text(combined_column(batch, "family"), ""))
                self._families[facts[named]] = first + named
            start += batch.num_rows
        index = RowIndex(_chunked(table, "id").chunks)
        return StatementPort(table, first, facts, np.concatenate(forms), np.concatenate(true), index)

    def key(self, facts: Numbers, forms: Numbers, true: Mask | bool) -> Numbers:
        """Fact, form and polarity in one number."""
        return (facts * len(self.forms) + forms) * 2 + np.asarray(true, np.int64)

    def with_ids(self, ids: Any, sorts: Sequence[str] = SORTS) -> Numbers:
        """The positions of statements by their ids, -1 for others; the last port that has one counts."""
        found = np.full(len(ids), -1, np.int64)
        for port in (self.ports[name] for name in sorts if name in self.ports):
            places = port.index.positions(ids)
            found = np.where(places >= 0, port.first + places, found)
        return found

    def denials_of(self, ids: Any) -> Numbers:
        """The positions of the denials of statements, given by their ids; -1 without one."""
        places = self._denials.positions(ids)
        return np.where(places >= 0, self.ports["denied"].first + places, -1) if "denied" in self.ports else places

    def forms_at(self, positions: Numbers) -> Numbers:
        """The codes of the forms of statements; that of sentences for position -1."""
        return self._form_of[positions]

    def keys_at(self, positions: Numbers) -> Numbers:
        """Fact, form and polarity of statements; -1 for position -1."""
        return self._keys[positions]

    def families_of(self, facts: Numbers) -> Any:
        """The family of each fact, of which the last statement that names one counts; null if none does."""
        positions = self._families[facts]
        named = take_rows(self.rows.select(["family"]), positions[positions >= 0])
        places: Any = pa.array(np.cumsum(positions >= 0) - 1, mask=positions < 0)
        return combined_column(named, "family").take(places)

    @cached_property
    def rows(self) -> pa.Table:
        """The statements of all ports; large ones are memory-mapped."""
        return pa.concat_tables([port.table.arrow for port in self.ports.values()])

    def mark_used(self, ids: Any) -> None:
        """Statements with these ids are parents of a candidate."""
        for port in self.ports.values():
            places = port.index.positions(ids)
            port.used[places[places >= 0]] = True

    def release(self) -> None:
        """Give back memory that only holds what can be read again."""
        for port in self.ports.values():
            port.table.release()


def is_text(column: Any, text: str) -> Mask:
    """Which values of a column are this text."""
    return _compute.equal(column, text).to_numpy(zero_copy_only=False)
