"""Joins the tables of triples row by row with dictionaries, as a reference for the joins by column."""

from __future__ import annotations

from collections import Counter

from benchbuilder.core.records.outcomes import Dropped, EndOfFile, Kept, SourceUnit
from benchbuilder.core.records.payloads import Fact, Triple
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.sources.formats.delimited import delimited_rows
from benchbuilder.sources.triple_tables import TripleTables, table_columns
from benchbuilder.sources.unit_source import SeenContents

ENDS = ("head", "relation", "tail")


def plain_read(source: TripleTables) -> list[SourceUnit | EndOfFile]:
    """What `source` reads. Languages that do not occur are not looked at."""
    return list(Plain(source).read())


class Plain:
    def __init__(self, source):
        self.source, self.spec = source, source.spec

    def read(self):
        spec = self.spec
        relations = list(self.rows("relations"))
        raws = [raw.values for raw in relations if not raw.reason]
        concepts = {cell.strip() for head, _, tail in raws for cell in (head, tail)}
        names = yield from self.names("relation_names", {relation.strip() for _, relation, _ in raws}, first=True)
        terms = yield from self.names("terms", concepts)
        types, type_names = {}, {}
        if spec.types is not None:
            types = yield from self.names("types", concepts, first=True)
        if spec.type_names is not None:
            type_names = yield from self.names("type_names", {held[0] for held in types.values()}, first=True)
        typed = {concept: type_names.get(held[0], [""])[0] for concept, held in types.items()}
        yield from self.triples(relations, names, terms, typed)

    def table(self, name):
        table = getattr(self.spec, name)
        return table, self.source._table_file(name, table)

    def rows(self, name):
        table, found = self.table(name)
        return delimited_rows(found.path, found.name, self.source._dialect(name, table), table_columns(table))

    def names(self, name, wanted, *, first=False):
        file, held, counts = self.table(name)[1].name, {}, Counter()
        for raw in self.rows(name):
            key, value, *language = (cell.strip() for cell in raw.values) if not raw.reason else ("", "")
            if not key or not value:
                counts["malformed"] += 1
                detail = f"{raw.reason}: {raw.detail}" if raw.reason else "missing_field: the id or the name is empty"
                yield SourceUnit(file, raw.line, Dropped("malformed_auxiliary", detail))
                continue
            counts[self.take(held, key, value, language, wanted, first=first)] += 1
        yield EndOfFile(file, counts.total(), dict(sorted(counts.items())))
        return held

    def take(self, held, key, value, language, wanted, *, first):
        if language and language[0] != self.spec.language_code:
            return "other_language"
        if key not in wanted:
            return "not_referenced"
        names = held.setdefault(key, [])
        if value in names or (first and names):
            return "repeated"
        names.append(value)
        return "used"

    def triples(self, relations, names, terms, typed):
        seen, units, found = SeenContents(), 0, self.table("relations")[1]
        for raw in relations:
            units += 1
            fact = self.fact(raw, found, names, terms, typed)
            if isinstance(fact, Dropped):
                yield SourceUnit(found.name, raw.line, fact)
                continue
            triple = fact.payload
            earlier = seen.find_earlier((triple.head, triple.relation, triple.tail), found.name, raw.line)
            yield SourceUnit(found.name, raw.line, Dropped("duplicate", f"kept: {earlier}") if earlier else Kept(fact))
        yield EndOfFile(found.name, units)

    def fact(self, raw, found, names, terms, typed):
        if raw.reason:
            return Dropped(raw.reason, raw.detail)
        cells = head, relation, tail = tuple(cell.strip() for cell in raw.values)
        if not all(cells):
            return Dropped("missing_field", " ".join(n for n, v in zip(ENDS, cells, strict=True) if not v))
        if head == tail:
            return Dropped("head_equals_tail", head)
        if relation not in names:
            return Dropped("unnamed_relation", relation)
        without = [f"{name} {concept}" for name, concept in (("head", head), ("tail", tail)) if concept not in terms]
        if without:
            return Dropped("no_term", ", ".join(without))
        shown = terms[head][0].title() if self.spec.head_case == "title" else terms[head][0]
        if shown == terms[tail][0]:
            return Dropped("head_equals_tail", shown)
        triple = Triple(
            head=shown, relation=names[relation][0], tail=terms[tail][0],
            head_type=typed.get(head, ""), tail_type=typed.get(tail, ""),
            head_terms=tuple(dict.fromkeys((shown, *terms[head]))), tail_terms=tuple(terms[tail]),
        )  # fmt: skip
        return Fact[Triple].build(
            payload=triple, origin=Origin(file=found.name, line=raw.line), produced_by=ProducedBy(rule="triple_tables"),
            language=self.source.language, partition=self.source.name,
        )  # fmt: skip
