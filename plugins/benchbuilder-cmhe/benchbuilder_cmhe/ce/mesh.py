"""The source kind `mesh`: concepts of a terminology tree, from descriptor XML or from tables, with their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal

from benchbuilder.config import FileRef, Spec
from benchbuilder.core import DataError, Dropped, EndOfFile, Fact, Kept, Origin, ProducedBy, Row, SourceUnit
from benchbuilder.sources import (
    Column,
    Encoding,
    Source,
    SourceFile,
    SourceSpec,
    TableDialect,
    delimited_rows,
    find_files,
    wrong_shape,
)
from pydantic import Field

from benchbuilder_cmhe.ce.concept import Concept
from benchbuilder_cmhe.ce.mesh_xml import Descriptor, read_descriptors

_FACT = Fact[Concept]
_HEAD_ROWS = 20


class MeshTableFile(Spec):
    """A delimited file."""

    file: FileRef | None
    delimiter: Annotated[str, Field(min_length=1)] = "\t"
    quoting: bool = False
    header: bool = True
    encoding: Encoding = "utf-8"


class MeshNameColumns(Spec):
    """Which concept a row names, and how."""

    id: Column
    name: Column


class MeshNamesTable(MeshTableFile):
    """Names by the id of the concept; of several names of one concept, the first is displayed."""

    columns: MeshNameColumns


class NumberColumns(Spec):
    """Which concept a row places, and where."""

    id: Column
    number: Column


class NumbersTable(MeshTableFile):
    """Tree numbers by the id of the concept, one a row."""

    columns: NumberColumns


class MeshSpec(SourceSpec):
    """Where the concepts are.

    `descriptors` is the XML of the National Library of Medicine; where it is set, `terms`, `entry_terms` and
    `tree_numbers` are not read. Without it `terms` (one row a concept) and `tree_numbers` are needed.
    """

    descriptors: FileRef | None = None
    terms: MeshNamesTable | None = None
    entry_terms: MeshNamesTable | None = None
    """Further names in the language of `terms`."""
    tree_numbers: NumbersTable | None = None
    translations: MeshNamesTable | None = None
    """Names in the language of the source; a translated concept keeps the vocabulary's own names behind them."""
    untranslated: Literal["keep", "drop"]
    """Whether a concept that `translations` does not name is displayed by the vocabulary's own name, or dropped.

    `drop` without a file of translations is an error. `keep` marks such a concept as made by ``mesh/untranslated``.
    """
    inverted: str | None
    """What parts an inverted name (``Anemia, Aplastic``): it is a name the right way round too; ``null``: leave it."""


NamesByConcept = dict[str, list[str]]
TableReading = Generator[SourceUnit | EndOfFile, None, NamesByConcept]


class Mesh(Source):
    """One concept for each descriptor that has a place in the tree.

    Other tables are joined by id: their ends count rows that were used, not referenced, repeated and malformed, and
    malformed ones are named.
    """

    kind: ClassVar[str] = "mesh"
    spec_class: ClassVar[type[SourceSpec]] = MeshSpec
    output: ClassVar[type[Row]] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        "malformed": "The row is not well-formed.",
        "undecodable": "The row holds bytes that are not of the encoding.",
        "missing_field": "The concept has no id or no name.",
        "duplicate": "The same id as an earlier unit, which is kept.",
        "no_tree_number": "The concept has no place in the tree.",
        "untranslated": "The table of translations has no name for the concept.",
        "malformed_auxiliary": "A row of a table that is joined in is not well-formed; it adds nothing.",
    }
    spec: MeshSpec

    def files(self) -> list[FileRef]:
        """The tables that are joined in, then the file of concepts."""
        return [found.ref for _, _, found in self._tables()] + [self._driving_file().ref]

    def check(self) -> None:
        """Look at the head of each file, and whether any concept could be displayed."""
        self._check_translations()
        for name, table, found in self._tables():
            list(islice(self._rows(name, table, found), _HEAD_ROWS))
        driving = self._driving_file()
        next(iter(self._concepts(driving)), None)

    def read(self) -> Iterator[SourceUnit | EndOfFile]:
        """The tables that are joined in, then the concepts."""
        self._check_translations()
        driving = self._driving_file()
        joined: dict[str, NamesByConcept] = {}
        tables = self._tables()
        codes = {one.code for one in self._concepts(driving) if isinstance(one, Descriptor)} if tables else set[str]()
        for name, table, found in tables:
            joined[name] = yield from self._read_joined(name, table, found, codes)
        seen, units = dict[str, int](), 0
        for one in self._concepts(driving):
            units += 1
            if isinstance(one, SourceUnit):
                yield one
                continue
            if one.code in seen:
                outcome: Kept | Dropped = Dropped("duplicate", f"kept: {driving.name}:{seen[one.code]}")
            else:
                outcome = self._outcome(one, driving.name, joined)
                seen[one.code] = one.number
            yield SourceUnit(driving.name, one.number, outcome)
        yield EndOfFile(driving.name, units)

    def _outcome(self, descriptor: Descriptor, file: str, joined: dict[str, NamesByConcept]) -> Kept | Dropped:
        numbers = (*descriptor.tree_numbers, *joined.get("tree_numbers", {}).get(descriptor.code, ()))
        own = (*descriptor.names, *joined.get("entry_terms", {}).get(descriptor.code, ()))
        translated = joined.get("translations", {}).get(descriptor.code, [])
        if not descriptor.code or not own:
            return Dropped("missing_field", descriptor.code or " ".join(own))
        if not numbers:
            return Dropped("no_tree_number", f"{descriptor.code} {own[0]}")
        if not translated and self.spec.untranslated == "drop":
            return Dropped("untranslated", f"{descriptor.code} {own[0]}")
        rule = self.kind if translated else f"{self.kind}/untranslated"
        names = _distinct([*translated, *own, *(right for name in own if (right := self._uninverted(name)))])
        payload = Concept(
            code=descriptor.code, name=names[0], names=tuple(names), tree_numbers=tuple(dict.fromkeys(numbers))
        )
        envelope: dict[str, Any] = {
            "origin": Origin(file=file, line=descriptor.number),
            "produced_by": ProducedBy(rule=rule, version=str(self.version)),
            "language": self.language,
            "partition": self.name,
        }
        return Kept(_FACT.build(payload=payload, **envelope))

    def _uninverted(self, name: str) -> str:
        """An inverted name the right way round; empty if it is not inverted."""
        mark = self.spec.inverted
        return " ".join(reversed(name.split(mark))) if mark and mark in name else ""

    # --- files ---------------------------------------------------------------------------------------------------

    def _tables(self) -> list[tuple[str, MeshNamesTable | NumbersTable, SourceFile]]:
        """The tables that are joined in, by the recipe's name for them."""
        names = ("translations",) if self.spec.descriptors else ("tree_numbers", "entry_terms", "translations")
        tables: dict[str, MeshNamesTable | NumbersTable | None] = {name: getattr(self.spec, name) for name in names}
        return [
            (name, table, self._find_file(f"{name}.file", table.file))
            for name, table in tables.items()
            if table is not None and table.file is not None
        ]

    def _check_translations(self) -> None:
        """DataError where untranslated concepts are dropped and nothing translates."""
        table = self.spec.translations
        if self.spec.untranslated == "drop" and (table is None or table.file is None):
            raise DataError(
                f"sources.{self.name} has no translations, so that questions would show the vocabulary's own names",
                where=f"sources.{self.name}.translations.file",
                why="it is null, and `untranslated: drop` drops every concept that is not translated",
                next=f"set the file (id, name), or sources.{self.name}.untranslated=keep to ask in two languages",
            )  # fmt: skip

    def _driving_file(self) -> SourceFile:
        spec = self.spec
        if spec.descriptors is not None:
            return self._find_file("descriptors", spec.descriptors)
        for name, table in (("terms", spec.terms), ("tree_numbers", spec.tree_numbers)):
            if table is None or table.file is None:
                raise DataError(
                    f"sources.{self.name} names no concepts",
                    where=f"sources.{self.name}.{name}.file", why="it is null",
                    next=f"set sources.{self.name}.descriptors, or the files of both terms and tree_numbers",
                )  # fmt: skip
        assert spec.terms is not None
        assert spec.terms.file is not None
        return self._find_file("terms.file", spec.terms.file)

    def _find_file(self, key: str, ref: FileRef) -> SourceFile:
        suffixes = (".xml", ".gz") if key == "descriptors" else (".tsv", ".tab", ".csv", ".txt")
        found = find_files(ref, f"sources.{self.name}.{key}", suffixes)
        if len(found) > 1:
            raise wrong_shape(
                f"sources.{self.name}.{key}", ref.path, expected="one file",
                found=", ".join(one.name for one in found), next=f"set sources.{self.name}.{key} to one of them",
            )  # fmt: skip
        return found[0]

    def _rows(
        self, name: str, table: MeshTableFile, source_file: SourceFile
    ) -> Iterator[tuple[int, Sequence[str], str, str]]:
        cut = TableDialect(
            key=f"sources.{self.name}.{name}", encoding=table.encoding, delimiter=table.delimiter,
            quoting=table.quoting, header=table.header, width=None,
        )  # fmt: skip
        columns: Spec = getattr(table, "columns")  # noqa: B009  (each kind of table has its own)
        return delimited_rows(
            source_file.path, source_file.name, cut, [getattr(columns, one) for one in type(columns).model_fields]
        )

    def _concepts(self, driving: SourceFile) -> Iterator[Descriptor | SourceUnit]:
        """The concepts of the driving file, and units of rows that are none."""
        if self.spec.descriptors is not None:
            yield from read_descriptors(driving.path, driving.name, f"sources.{self.name}.descriptors")
            return
        assert self.spec.terms is not None
        for line, values, reason, detail in self._rows("terms", self.spec.terms, driving):
            if reason:
                yield SourceUnit(driving.name, line, Dropped(reason, detail))
                continue
            code, name = (cell.strip() for cell in values)
            if not code or not name:
                yield SourceUnit(driving.name, line, Dropped("missing_field", code or name))
            else:
                yield Descriptor(line, code, (name,), ())

    def _read_joined(self, name: str, table: MeshTableFile, source_file: SourceFile, codes: set[str]) -> TableReading:
        """The values of a table by concept; those of other concepts are counted alone."""
        held: NamesByConcept = {}
        counts = Counter[str]()
        for line, values, reason, detail in self._rows(name, table, source_file):
            code, value = (cell.strip() for cell in values) if not reason else ("", "")
            if not code or not value:
                counts["malformed"] += 1
                why = f"{reason}: {detail}" if reason else "missing_field: the id or the value is empty"
                yield SourceUnit(source_file.name, line, Dropped("malformed_auxiliary", why))
            elif code not in codes:
                counts["not_referenced"] += 1
            elif value in held.setdefault(code, []):
                counts["repeated"] += 1
            else:
                held[code].append(value)
                counts["used"] += 1
        yield EndOfFile(source_file.name, counts.total(), dict(sorted(counts.items())))
        return held


def _distinct(names: Sequence[str]) -> list[str]:
    """Names that differ by more than the case of their letters, in order."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(name.casefold(), name)
    return list(found.values())
