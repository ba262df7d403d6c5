"""The source kind `triple_tables`: triples in normal form, joined by id from tables of relations, terms and types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from benchbuilder.errors import DataError
from benchbuilder.ports.source import Source, SourceSpec
from benchbuilder.records.envelope import MadeBy, Origin, Row
from benchbuilder.records.fact import Fact, Triple
from benchbuilder.records.fates import Dropped, EndOfFile, Kept, Unit
from benchbuilder.sources.delimited import Cut, delimited_rows
from benchbuilder.sources.files import Found, wrong_shape
from benchbuilder.sources.lines import Encoding
from benchbuilder.sources.reading import Column, RawRow
from benchbuilder.sources.units import ENOUGH_ROWS, HEAD_ROWS, READING_REASONS, Seen
from benchbuilder.spec.base import FileRef, Spec
from benchbuilder.text.paths import public_name


def _below(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name:
        raise ValueError(f"{name!r} is to be a file below the source's path")
    return name


_FACT = Fact[Triple]


class TableFile(Spec):
    """One file of the folder; what it does not say holds as the source says it."""

    file: Annotated[str, Field(min_length=1), AfterValidator(_below)]
    delimiter: Annotated[str, Field(min_length=1)] | None = None
    quoting: bool | None = None
    header: bool | None = None
    width: Annotated[int, Field(ge=1)] | None = None
    """Number of columns of a well-formed row; default: that of the header; without one, as many as are asked for."""


class RelationColumns(Spec):
    """Ids of the concepts and of the relation."""

    head: Column
    relation: Column
    tail: Column


class RelationsTable(TableFile):
    """The driving file: one triple a row."""

    columns: RelationColumns


class NameColumns(Spec):
    """What a row names, in which language, and how."""

    id: Column
    name: Column
    language: Column


class NamesTable(TableFile):
    """Names by id and language: terms of concepts, names of relations, names of types."""

    columns: NameColumns


class TypeColumns(Spec):
    """A concept and its semantic type."""

    concept: Column
    type: Column


class TypesTable(TableFile):
    """Semantic types by concept; the first one counts."""

    columns: TypeColumns


class TripleTablesSpec(SourceSpec):
    """A folder of delimited tables that are joined by id."""

    path: FileRef
    encoding: Encoding = "utf-8"
    delimiter: Annotated[str, Field(min_length=1)]
    quoting: bool
    header: bool
    language_code: str
    """The language whose names are read, as the files write it, for instance ``CHS``."""
    head_case: Literal["as_is", "title"]
    """How the displayed term of a head is written: as in the file, or in title case (scripts with case only)."""
    relations: RelationsTable
    terms: NamesTable
    relation_names: NamesTable
    types: TypesTable | None = None
    type_names: NamesTable | None = None


Names = dict[str, list[str]]
Reading = Generator[Unit | EndOfFile, None, Names]


class TripleTables(Source):
    """Triples whose ends are concepts with several terms.

    A concept is displayed by its first term in the language; all of them are its `head_terms` or `tail_terms`. Of
    several types of a concept, and of several names of a relation or type, the first counts. The relations are read
    twice: once for the ids that occur, so that only their names are held in memory, and once for the triples. The
    other files are auxiliary: their ends count rows that were used, of another language, not referenced by any
    relation, repeated (equal, or not the first where only that counts) and malformed; malformed ones are named.
    """

    kind: ClassVar[str] = "triple_tables"
    spec_class: ClassVar[type[SourceSpec]] = TripleTablesSpec
    output: ClassVar[type[Row]] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        **READING_REASONS,
        "duplicate": "The same head term, relation and tail term as an earlier unit of this source, which is kept.",
        "malformed_auxiliary": "A row of a table that is joined in is not well-formed; it names nothing.",
        "head_equals_tail": "Head and tail are the same concept, or are displayed by the same term.",
        "unnamed_relation": "The relation has no name in the language.",
        "no_term": "Head or tail has no term in the language.",
    }
    spec: TripleTablesSpec

    def files(self) -> list[FileRef]:
        """The auxiliary files, then the relations."""
        return [found.ref for _, _, found in self._tables()]

    def check(self) -> None:
        """Look at the head of each file."""
        for name, table, found in self._tables():
            head = list(islice(self._rows(name, table, found), HEAD_ROWS))
            if len(head) >= ENOUGH_ROWS and all(raw.reason for raw in head):
                raise wrong_shape(
                    f"sources.{self.name}.{name}",
                    found.name,
                    expected=f"rows with the columns {table_columns(table)}",
                    found=f"{head[0].reason}: {head[0].detail} (and so on, in the first {len(head)} rows)",
                    next="check columns, delimiter, header, quoting and encoding in the recipe",
                )

    def read(self) -> Iterator[Unit | EndOfFile]:
        """Auxiliary files first, then the relations."""
        self.check()
        spec = self.spec
        found = {name: found for name, _, found in self._tables()}
        concepts, relations = self._referenced(found["relations"])
        names = yield from self._names("relation_names", spec.relation_names, found, relations, first=True)
        terms = yield from self._names("terms", spec.terms, found, concepts)
        types: Names = {}
        type_names: Names = {}
        if spec.types is not None:
            types = yield from self._auxiliary("types", spec.types, found, concepts, first=True)
        if spec.type_names is not None:
            used = {held[0] for held in types.values()}
            type_names = yield from self._names("type_names", spec.type_names, found, used, first=True)
        typed = {concept: type_names.get(held[0], [""])[0] for concept, held in types.items()}
        yield from self._triples(found["relations"], names, terms, typed)

    def _tables(self) -> list[tuple[str, TableFile, Found]]:
        spec = self.spec
        tables: list[tuple[str, TableFile | None]] = [
            ("relation_names", spec.relation_names),
            ("terms", spec.terms),
            ("types", spec.types),
            ("type_names", spec.type_names),
            ("relations", spec.relations),
        ]
        return [(name, table, self._found(name, table)) for name, table in tables if table is not None]

    def _found(self, name: str, table: TableFile) -> Found:
        folder = self.spec.path
        at = folder.file / table.file
        if not at.is_file():
            here = sorted(path.name for path in folder.file.iterdir()) if folder.file.is_dir() else []
            raise DataError(
                f"sources.{self.name}.path: {table.file} is missing",
                where=str(at),
                why=f"in the folder: {', '.join(here[:8]) or 'nothing'}" if here else "there is no such folder",
                next=f"set sources.{self.name}.path to the folder, or sources.{self.name}.{name}.file to its name",
            )
        return Found(f"{public_name(folder.path)}/{table.file}", at)

    def _rows(self, name: str, table: TableFile, found: Found) -> Iterator[RawRow]:
        spec = self.spec
        cut = Cut(
            key=f"sources.{self.name}.{name}",
            encoding=spec.encoding,
            delimiter=table.delimiter or spec.delimiter,
            quoting=spec.quoting if table.quoting is None else table.quoting,
            header=spec.header if table.header is None else table.header,
            width=table.width,
        )
        return delimited_rows(found.at, found.name, cut, table_columns(table))

    def _referenced(self, found: Found) -> tuple[set[str], set[str]]:
        concepts: set[str] = set()
        relations: set[str] = set()
        for raw in self._rows("relations", self.spec.relations, found):
            if not raw.reason:
                head, relation, tail = raw.values
                concepts.update((head.strip(), tail.strip()))
                relations.add(relation.strip())
        return concepts, relations

    def _names(
        self,
        name: str,
        table: NamesTable,
        found: Mapping[str, Found],
        wanted: Collection[str],
        *,
        first: bool = False,
    ) -> Reading:
        codes: Counter[str] = Counter()
        held = yield from self._auxiliary(name, table, found, wanted, first=first, codes=codes)
        if codes and self.spec.language_code not in codes:
            raise wrong_shape(
                f"sources.{self.name}.language_code",
                found[name].name,
                expected=f"names in the language {self.spec.language_code!r}",
                found=f"the languages {', '.join(repr(code) for code, _ in codes.most_common(5))}",
                next="set language_code to one of them, or check the columns of the file in the recipe",
            )
        return held

    def _auxiliary(
        self,
        name: str,
        table: TableFile,
        found: Mapping[str, Found],
        wanted: Collection[str],
        *,
        first: bool,
        codes: Counter[str] | None = None,
    ) -> Reading:
        """Names (or types) by id of what is `wanted`; only the `first` one of each id where that is asked for."""
        file, held = found[name].name, Names()
        counts = Counter[str]()
        for raw in self._rows(name, table, found[name]):
            key, value, *language = (cell.strip() for cell in raw.values) if not raw.reason else ("", "")
            if not key or not value:
                counts["malformed"] += 1
                detail = f"{raw.reason}: {raw.detail}" if raw.reason else "missing_field: the id or the name is empty"
                yield Unit(file, raw.line, Dropped("malformed_auxiliary", detail))
                continue
            if codes is not None:
                codes[language[0]] += 1
            counts[self._take(held, key, value, language, wanted, first=first)] += 1
        yield EndOfFile(file, counts.total(), dict(sorted(counts.items())))
        return held

    def _take(
        self, held: Names, key: str, value: str, language: Sequence[str], wanted: Collection[str], *, first: bool
    ) -> str:
        if language and language[0] != self.spec.language_code:
            return "other_language"
        if key not in wanted:
            return "not_referenced"
        names = held.setdefault(key, [])
        if value in names or (first and names):
            return "repeated"
        names.append(value)
        return "used"

    def _triples(
        self, found: Found, names: Names, terms: Names, typed: Mapping[str, str]
    ) -> Iterator[Unit | EndOfFile]:
        seen, units = Seen(), 0
        for raw in self._rows("relations", self.spec.relations, found):
            units += 1
            fact = self._fact(raw, found, names, terms, typed)
            if isinstance(fact, Dropped):
                yield Unit(found.name, raw.line, fact)
                continue
            triple = fact.payload
            earlier = seen.earlier((triple.head, triple.relation, triple.tail), found.name, raw.line)
            yield Unit(found.name, raw.line, Dropped("duplicate", f"kept: {earlier}") if earlier else Kept(fact))
        yield EndOfFile(found.name, units)

    def _fact(
        self, raw: RawRow, found: Found, names: Names, terms: Names, typed: Mapping[str, str]
    ) -> Fact[Triple] | Dropped:
        if raw.reason:
            return Dropped(raw.reason, raw.detail)
        head, relation, tail = (cell.strip() for cell in raw.values)
        if not (head and relation and tail):
            return Dropped(
                "missing_field", " ".join(n for n, v in zip(_ENDS, (head, relation, tail), strict=True) if not v)
            )
        if head == tail:
            return Dropped("head_equals_tail", head)
        if relation not in names:
            return Dropped("unnamed_relation", relation)
        if without := [
            f"{name} {concept}" for name, concept in (("head", head), ("tail", tail)) if concept not in terms
        ]:
            return Dropped("no_term", ", ".join(without))
        head_terms, tail_terms = self._displayed(terms[head]), tuple(terms[tail])
        if head_terms[0] == tail_terms[0]:
            return Dropped("head_equals_tail", head_terms[0])
        triple = Triple(
            head=head_terms[0], relation=names[relation][0], tail=tail_terms[0],
            head_type=typed.get(head, ""), tail_type=typed.get(tail, ""),
            head_terms=head_terms, tail_terms=tail_terms,
        )  # fmt: skip
        envelope: dict[str, Any] = {
            "origin": Origin(file=found.name, line=raw.line),
            "made_by": MadeBy(rule=self.kind, version=str(self.version)),
            "language": self.language,
            "partition": self.name,
        }
        return _FACT.build(payload=triple, **envelope)

    def _displayed(self, terms: Sequence[str]) -> tuple[str, ...]:
        """The terms of a head behind the one that is displayed."""
        first = terms[0].title() if self.spec.head_case == "title" else terms[0]
        return tuple(dict.fromkeys((first, *terms)))


_ENDS = ("head", "relation", "tail")


def table_columns(table: TableFile) -> list[Column]:
    """The columns of a table in the order in which it is read."""
    columns = getattr(table, "columns")  # noqa: B009  (each kind of table has its own)
    return [getattr(columns, name) for name in type(columns).model_fields]
