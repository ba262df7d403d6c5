"""The source kind `triples`: a table of (head, relation, tail)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from benchbuilder.ports.source import SourceSpec
from benchbuilder.records.envelope import Row
from benchbuilder.records.fact import Fact, Triple
from benchbuilder.records.fates import Dropped
from benchbuilder.sources.files import Found
from benchbuilder.sources.reading import Column, Format, TableSpec
from benchbuilder.sources.rows import READING_REASONS, RowSource, text_of
from benchbuilder.spec.base import Spec

_FACT = Fact[Triple]


class TripleColumns(Spec):
    """Which column is what."""

    head: Column
    relation: Column
    tail: Column
    head_type: Column | None = None
    tail_type: Column | None = None


class TripleMapping(Spec):
    """How the columns of a row make a triple."""

    columns: TripleColumns
    type_separator: str = ""
    """What stands between an entity and its type in head and tail, for instance ``@@`` (the last one counts)."""


class TriplesSpec(TripleMapping, TableSpec):
    """Delimited text, Parquet or JSON with one triple a row."""


class Triples(RowSource[TriplesSpec]):
    """Knowledge-graph edges from a table. Head and tail are each their own only term."""

    kind: ClassVar[str] = "triples"
    spec_class: ClassVar[type[SourceSpec]] = TriplesSpec
    output: ClassVar[type[Row]] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        **READING_REASONS,
        "head_equals_tail": "Head and tail are the same entity.",
    }
    default_format: ClassVar[Format | None] = "delimited"

    def columns(self) -> Sequence[Column]:
        """Head, relation, tail, and the types where the recipe names them."""
        c = self.spec.columns
        return [column for column in (c.head, c.relation, c.tail, c.head_type, c.tail_type) if column is not None]

    def make(self, values: Sequence[Any], found: Found, line: int) -> Row | Dropped:
        """The fact of one row."""
        names = self._names()
        cells = dict.fromkeys(names, "")
        for name, value in zip(names, values, strict=True):
            cell = text_of(value)
            if cell is None and value is not None:
                return Dropped("malformed", f"{name} is no text")
            if not cell and name in ("head", "relation", "tail"):
                return Dropped("missing_field", name)
            cells[name] = cell or ""
        if self.spec.type_separator:
            for end in ("head", "tail"):
                name, mark, kind = cells[end].rpartition(self.spec.type_separator)
                if not mark:
                    return Dropped("malformed", f"no {self.spec.type_separator} in the {end} {cells[end][:80]!r}")
                if not (name := name.strip()):
                    return Dropped("missing_field", end)
                cells[end], cells[f"{end}_type"] = name, kind.strip()
        if cells["head"] == cells["tail"]:
            return Dropped("head_equals_tail", cells["head"])
        triple = Triple(**cells, head_terms=(cells["head"],), tail_terms=(cells["tail"],))
        return _FACT.build(payload=triple, **self.envelope(found, line))

    def _names(self) -> list[str]:
        c = self.spec.columns
        typed = [name for name in ("head_type", "tail_type") if getattr(c, name) is not None]
        return ["head", "relation", "tail", *typed]
