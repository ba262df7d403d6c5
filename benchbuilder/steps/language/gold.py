"""The passages that facts name as their evidence, by key or by text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from benchbuilder.core import Table, normalise_space, split_gold


class GoldPassages:
    """The positions of passages in their table, by the keys and texts that facts name.

    A key is the document of a passage. A text is that of a passage, or of several: each of its lines may be one. A run
    of white space counts as one space. A name that says its knowledge base (``BASE::KEY``) is looked up there alone.
    """

    def __init__(self, passages: pa.Table, named: Iterable[str]) -> None:
        names = {name: split_gold(name) for name in named}
        lines = {name: _lines(bare) for name, (_, bare) in names.items()}
        wanted = {line for found in lines.values() for line in found}
        places = {column: _places(passages.column(column), wanted) for column in ("document", "text")}
        self._of: dict[str, tuple[int, ...]] = {
            name: _found(found, places["document"], places["text"]) for name, found in lines.items()
        }
        for name, base in ((name, base) for name, (base, _) in names.items() if base):
            column = passages.column("base")
            self._of[name] = tuple(place for place in self._of[name] if column[place].as_py() == base)

    def positions(self, name: str) -> tuple[int, ...]:
        """The positions of the passages that `name` stands for; none if there are none."""
        return self._of.get(name, ())


def named_passages(facts: Table[Any]) -> dict[str, tuple[str, ...]]:
    """What each fact names as its evidence, by the id of the fact; none if its payload names nothing."""
    if "gold" not in getattr(facts.row.model_fields["payload"].annotation, "model_fields", {}):
        return {}
    columns = (facts.column(name) for name in ("id", "payload.gold"))
    return {fact: tuple(names) for fact, names in zip(*columns, strict=True)}


def _lines(name: str) -> tuple[str, ...]:
    """The key or text in one piece, then its lines."""
    whole = normalise_space(name)
    return tuple(dict.fromkeys((whole, *filter(None, map(normalise_space, name.splitlines())))))


def _places(column: pa.ChunkedArray[pa.StringScalar], wanted: set[str]) -> dict[str, list[int]]:
    """The positions of the texts of a column that are wanted, by their text."""
    found: dict[str, list[int]] = {}
    start = 0
    for chunk in column.chunks:
        coded: Any = chunk.dictionary_encode()
        known = [text if (text := normalise_space(raw)) in wanted else "" for raw in coded.dictionary.to_pylist()]
        for place, code in enumerate(coded.indices.to_pylist(), start):
            if known[code]:
                found.setdefault(known[code], []).append(place)
        start += len(chunk)
    return found


def _found(lines: Sequence[str], documents: Mapping[str, list[int]], texts: Mapping[str, list[int]]) -> tuple[int, ...]:
    whole, *parts = lines
    found = [*documents.get(whole, ()), *texts.get(whole, ())]
    if not found:
        found = [place for line in parts for place in texts.get(line, ())]
    return tuple(dict.fromkeys(found))
