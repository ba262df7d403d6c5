"""The source kind `triple_tables`: triples joined by id from tables of relations, terms and types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import AfterValidator, Field

from benchbuilder.config import FileRef, Spec
from benchbuilder.core import (
    DataError,
    EndOfFile,
    Fact,
    ProducedBy,
    Row,
    SourceBatch,
    SourceUnit,
    Table,
    Triple,
    public_path,
    source_rows,
)
from benchbuilder.sources.base import Source, SourceSpec, unpack_units
from benchbuilder.sources.columnar.cells import Cells, IdCollector, IdIndex, Mask, Places
from benchbuilder.sources.columnar.columns import ColumnBatch, delimited_columns, slice_columns
from benchbuilder.sources.columnar.duplicates import Drops, DuplicateFinder, UnitBatch, make_source_batch
from benchbuilder.sources.columnar.id_names import NameCollector, NamesById
from benchbuilder.sources.columnar.join import TripleJoiner, TypeNames, type_ids
from benchbuilder.sources.formats.delimited import TABLES_VERSION, TableDialect, delimited_rows
from benchbuilder.sources.formats.files import SourceFile, wrong_shape
from benchbuilder.sources.formats.tables import Column, Encoding
from benchbuilder.sources.unit_source import HEAD_ROWS, MIN_HEAD_ROWS, READING_REASONS


def _relative_name(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name:
        raise ValueError(f"{name!r} is to be a file below the source's path")
    return name


_FACT = Fact[Triple]
_compute: Any = pc

PART_ROWS = 10_000
"""Relations per join, as each holds all terms of its concepts."""


class TableFile(Spec):
    """One file of the folder; unset fields are taken from the source."""

    file: Annotated[str, Field(min_length=1), AfterValidator(_relative_name)]
    delimiter: Annotated[str, Field(min_length=1)] | None = None
    quoting: bool | None = None
    header: bool | None = None
    width: Annotated[int, Field(ge=1)] | None = None
    """Number of columns of a valid row; default: that of the header, or else as many as needed."""


class RelationColumns(Spec):
    """Ids of the concepts and of the relation."""

    head: Column
    relation: Column
    tail: Column


class RelationsTable(TableFile):
    """The main file: one triple per row."""

    columns: RelationColumns


class NameColumns(Spec):
    """The id, the name and its language."""

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
    """A folder of delimited tables, joined by id."""

    path: FileRef
    encoding: Encoding = "utf-8"
    delimiter: Annotated[str, Field(min_length=1)]
    quoting: bool
    header: bool
    language_code: str
    """The language of the names to read, in the spelling of the files, for instance ``CHS``."""
    head_case: Literal["as_is", "title"]
    """The case of the displayed term of a head: as in the file, or title case (for scripts with case)."""
    relations: RelationsTable
    terms: NamesTable
    relation_names: NamesTable
    types: TypesTable | None = None
    type_names: NamesTable | None = None


NamesReader = Generator[SourceBatch | EndOfFile, None, NamesById]


class TripleTables(Source):
    """Triples of concepts with several terms.

    A concept is displayed by its first term in the language; all its terms are `head_terms` or `tail_terms`. Of several
    types of a concept, or several names of a relation or type, the first counts. The relations are read twice: once to
    collect the ids, so that only their names stay in memory, and once for the triples. The other files are auxiliary.
    Their ends count rows that were used, in another language, not referenced, repeated, or malformed. Malformed rows
    are listed.
    """

    kind: ClassVar[str] = "triple_tables"
    spec_class: ClassVar[type[SourceSpec]] = TripleTablesSpec
    output: ClassVar[type[Row]] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        **READING_REASONS,
        "duplicate": "The same head term, relation and tail term as an earlier unit of this source, which is kept.",
        "malformed_auxiliary": "A row of a joined table is malformed and is ignored.",
        "head_equals_tail": "Head and tail are the same concept, or are displayed by the same term.",
        "unnamed_relation": "The relation has no name in the language.",
        "no_term": "Head or tail has no term in the language.",
    }
    spec: TripleTablesSpec

    def fingerprint(self) -> Mapping[str, str]:
        """The version of the reader of tables."""
        return {"tables": TABLES_VERSION}

    def files(self) -> list[FileRef]:
        """The auxiliary files, then the relations."""
        return [file.ref for _, _, file in self._tables()]

    def check(self) -> None:
        """Check the head of each file."""
        for name, table, file in self._tables():
            rows = delimited_rows(file.path, file.name, self._dialect(name, table), table_columns(table))
            head = list(islice(rows, HEAD_ROWS))
            if len(head) >= MIN_HEAD_ROWS and all(raw.reason for raw in head):
                raise wrong_shape(
                    f"sources.{self.name}.{name}", file.name, expected=f"rows with the columns {table_columns(table)}",
                    found=f"{head[0].reason}: {head[0].detail} (and so on, in the first {len(head)} rows)",
                    next="check columns, delimiter, header, quoting and encoding in the recipe",
                )  # fmt: skip

    def read(self) -> Iterator[SourceUnit | EndOfFile]:
        """Auxiliary files first, then the relations."""
        for units in self.read_batches():
            if isinstance(units, EndOfFile):
                yield units
            else:
                yield from unpack_units(units)

    def read_batches(self) -> Iterator[SourceBatch | EndOfFile]:
        """Like `read`, in batches; ids and names are kept as columns, large ones in temporary files."""
        self.check()
        spec = self.spec
        with TemporaryDirectory(prefix="triple-tables-") as folder:
            concepts, relations = self._referenced_ids()
            named = yield from self._names("relation_names", spec.relation_names, folder, relations, first=True)
            terms = yield from self._names("terms", spec.terms, folder, concepts, first=False)
            types: NamesById | None = None
            typed: TypeNames | None = None
            if spec.types is not None:
                types = yield from self._auxiliary("types", spec.types, folder, concepts, first=True)
            if spec.type_names is not None:
                kinds = type_ids(types)
                names = yield from self._names("type_names", spec.type_names, folder, kinds, first=True)
                typed = TypeNames(types, kinds, names) if types is not None else None
            joined = TripleJoiner(concepts, relations, named, terms, typed, title=spec.head_case == "title")
            yield from self._triples(joined)

    def _tables(self) -> list[tuple[str, TableFile, SourceFile]]:
        spec = self.spec
        names = ("relation_names", "terms", "types", "type_names", "relations")
        tables: list[tuple[str, TableFile | None]] = [(name, getattr(spec, name)) for name in names]
        return [(name, table, self._table_file(name, table)) for name, table in tables if table is not None]

    def _table_file(self, name: str, table: TableFile) -> SourceFile:
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
        return SourceFile(f"{public_path(folder.path)}/{table.file}", at)

    def _dialect(self, name: str, table: TableFile) -> TableDialect:
        spec = self.spec
        delimiter = table.delimiter or spec.delimiter
        quoting = spec.quoting if table.quoting is None else table.quoting
        header = spec.header if table.header is None else table.header
        return TableDialect(f"sources.{self.name}.{name}", spec.encoding, delimiter, quoting, header, table.width)

    def _columns(self, name: str, table: TableFile, source_file: SourceFile) -> Iterator[ColumnBatch]:
        dialect = self._dialect(name, table)
        for batch in delimited_columns(source_file.path, source_file.name, dialect, table_columns(table)):
            batch.cells = [cells.strip() for cells in batch.cells]
            yield batch

    def _referenced_ids(self) -> tuple[IdIndex, IdIndex]:
        """The ids of the concepts and of the relations that occur."""
        table = self.spec.relations
        concepts, relations = IdCollector(), IdCollector()
        for batch in self._columns("relations", table, self._table_file("relations", table)):
            head, relation, tail = batch.cells
            concepts.add(head)
            concepts.add(tail)
            relations.add(relation)
        return concepts.to_index(), relations.to_index()

    def _names(self, name: str, table: NamesTable, folder: str, ids: IdIndex, *, first: bool) -> NamesReader:
        codes: Counter[str] = Counter()
        names = yield from self._auxiliary(name, table, folder, ids, first=first, codes=codes)
        if codes and self.spec.language_code not in codes:
            raise wrong_shape(
                f"sources.{self.name}.language_code",
                self._table_file(name, table).name,
                expected=f"names in the language {self.spec.language_code!r}",
                found=f"the languages {', '.join(repr(code) for code, _ in codes.most_common(5))}",
                next="set language_code to one of them, or check the columns of the file in the recipe",
            )
        return names

    def _auxiliary(
        self, name: str, table: TableFile, folder: str, ids: IdIndex, *, first: bool, codes: Counter[str] | None = None
    ) -> NamesReader:
        """Names (or types) of what is `ids`; only the `first` one of each where that is asked for."""
        file = self._table_file(name, table)
        counts = Counter[str]()
        naming = NameCollector(len(ids), Path(folder) / name, first=first)
        for batch in self._columns(name, table, file):
            drops, (key, value, *language) = _well_formed(batch)
            if drops:
                counts["malformed"] += len(drops)
                yield _malformed_batch(file.name, batch.lines, drops)
            if codes is not None:
                ours = self._in_language(language[0], codes)
                counts["other_language"] += int((~ours).sum())
                key, value = key.take(ours), value.take(ours)
            numbers = ids.find(key)
            known = numbers >= 0
            counts["not_referenced"] += int((~known).sum())
            naming.add(numbers[known], value.take(known))
        names = naming.names()
        counts += Counter({"used": naming.used, "repeated": naming.repeated})  # leaves out what did not occur
        yield EndOfFile(file.name, counts.total(), dict(sorted(counts.items())))
        return names

    def _in_language(self, written: Cells, codes: Counter[str]) -> Mask:
        """Which names are in the language; which languages there are is counted until it is seen."""
        code = self.spec.language_code
        ours = written.equal(Cells.from_arrow(pa.array([code])).take(np.zeros(len(written), np.int64)))
        if code not in codes:
            codes.update(_count_texts(written))
        return ours

    def _triples(self, joined: TripleJoiner) -> Iterator[SourceBatch | EndOfFile]:
        table = self.spec.relations
        file = self._table_file("relations", table)
        produced_by = ProducedBy(rule=self.kind, version=str(self.version))
        units = 0
        with DuplicateFinder([file.name]) as accounts:
            for batch in self._columns("relations", table, file):
                for start in range(0, len(batch.lines), PART_ROWS):
                    some = slice_columns(batch, start, min(start + PART_ROWS, len(batch.lines)))
                    units += len(some.lines)
                    drops, places, fields, digests = joined.triples(some)
                    lines = pa.array(some.lines[places])
                    rows = source_rows(_FACT, file.name, lines, produced_by, self.language, self.name, fields)
                    yield accounts.drop_duplicates(0, UnitBatch(some.lines, drops, places, rows, digests))
        yield EndOfFile(file.name, units)


def _well_formed(batch: ColumnBatch) -> tuple[Drops, Sequence[Cells]]:
    """What is wrong with some rows of a table that is joined in, by place, and the cells of the others."""
    drops = {
        place: ("malformed_auxiliary", f"{reason}: {detail}") for place, (reason, detail) in batch.problems.items()
    }
    wrong = batch.cells[0].is_empty | batch.cells[1].is_empty
    for place in batch.valid_places[wrong].tolist():
        drops[place] = ("malformed_auxiliary", "missing_field: the id or the name is empty")
    return drops, [cells.take(~wrong) for cells in batch.cells]


def _malformed_batch(file: str, lines: Places, drops: Drops) -> SourceBatch:
    """The malformed rows of an auxiliary file: only these are units of their own."""
    places = sorted(drops)
    malformed = {number: drops[place] for number, place in enumerate(places)}
    return make_source_batch(file, lines[places], malformed, Table.of([], _FACT))


def _count_texts(cells: Cells) -> dict[str, int]:
    """How often each text occurs, in the order of their first ones."""
    counted: Any = _compute.value_counts(cells.to_arrow())
    return dict(zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True))


def table_columns(table: TableFile) -> list[Column]:
    """The columns of a table in the order in which it is read."""
    columns = getattr(table, "columns")  # noqa: B009  (each kind of table has its own)
    return [getattr(columns, name) for name in type(columns).model_fields]
