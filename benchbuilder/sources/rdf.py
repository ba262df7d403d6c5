"""The source kind `rdf`: statements of RDF files, as triples with names or as passages."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from benchbuilder.config import FileRef, Spec
from benchbuilder.core import Dropped, EndOfFile, Fact, Passage, Row, SourceUnit, Triple
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.formats.files import SourceFile, find_files, wrong_shape
from benchbuilder.sources.formats.rdf_files import (
    RDF_SUFFIXES,
    NodeNames,
    RdfFile,
    RdfFormat,
    RdfLiteral,
    language_rank,
    local_name,
)
from benchbuilder.sources.formats.tables import Column, RawRow, cell_text
from benchbuilder.sources.unit_source import READING_REASONS, UnitSource

_FACT = Fact[Triple]
_LARGE_BYTES = 8_000_000
_PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "dcterms": "http://purl.org/dc/terms/",
    "schema": "https://schema.org/",
}


class RelationSpec(Spec):
    """A predicate that is a relation: its IRI (complete or with a prefix) and its name; ``null``: its label."""

    predicate: str
    name: str | None = None


class RdfSpec(SourceSpec):
    """RDF files (N-Triples, Turtle or RDF/XML), and the meaning of their predicates.

    Predicates are written with a prefix (``skos:prefLabel``) or in full (``http://example.org/treats``). The prefixes
    rdf, rdfs, skos, owl, dcterms and schema are known.
    """

    as_: Annotated[Literal["triple", "passage"], Field(alias="as")]
    """Whether a statement becomes a ``triple`` (see `relations`) or a ``passage`` (see `texts`)."""
    path: FileRef
    """A file, a folder or a glob; names and relations may be in different files."""
    files: str = ""
    """Which files of a folder: a name with ``*``."""
    format: RdfFormat | None = None
    """Default: by the file's suffix."""
    prefixes: dict[str, str] = {}
    labels: Annotated[tuple[str, ...], Field(min_length=1)]
    """Predicates for names. A concept is displayed by its first name; all its names are its terms."""
    languages: Annotated[tuple[str, ...], Field(min_length=1)]
    """Languages of names and texts to read, best first. ``zh`` includes ``zh-hans``; "" means no language tag."""
    types: tuple[str, ...] = ()
    """Predicates for types, for instance ``rdf:type``; the name of a type is read by `labels`."""
    names_from_iri: bool = False
    """Whether a node without a name is named by the end of its IRI (``.../Folic_acid``: "Folic acid")."""
    relations: dict[str, RelationSpec] = {}
    """The predicates that are relations, under names of your choice."""
    texts: tuple[str, ...] = ()
    """The predicates whose texts are passages, for instance ``skos:definition``."""

    @field_validator("relations")
    @classmethod
    def _once(cls, value: dict[str, RelationSpec]) -> dict[str, RelationSpec]:
        predicates = [relation.predicate for relation in value.values()]
        if repeated := sorted({predicate for predicate in predicates if predicates.count(predicate) > 1}):
            raise ValueError(f"{', '.join(repeated)}: one relation per predicate")
        return value

    @model_validator(mode="after")
    def _predicates(self) -> RdfSpec:
        for written in (*self.labels, *self.types, *self.texts, *(r.predicate for r in self.relations.values())):
            self.iri(written)
        required, excluded = ("relations", "texts") if self.as_ == "triple" else ("texts", "relations")
        if not getattr(self, required):
            raise ValueError(f"as: {self.as_} needs {required}: the predicates to read")
        if getattr(self, excluded):
            raise ValueError(f"{excluded} cannot be given with `as: {self.as_}`")
        return self

    def iri(self, written: str) -> str:
        """The full IRI of a predicate; ValueError for an unknown prefix."""
        prefix, colon, rest = written.partition(":")
        if colon and not rest.startswith("//") and prefix != "urn":
            known = {**_PREFIXES, **self.prefixes}
            if prefix not in known:
                raise ValueError(f"{written}: prefixes does not define {prefix!r}")
            return known[prefix] + rest
        if not colon:
            raise ValueError(f"{written}: write a predicate with its prefix, or in full")
        return written


class Rdf(UnitSource[RdfSpec]):
    """Statements whose predicate the recipe names, joined with the names and types of their nodes.

    A unit is a statement. Its number is its line in N-Triples, and its position among all statements otherwise. The
    other statements of a file are reported as an auxiliary file ``FILE (names)``. It counts used names and types, names
    in other languages, names of unreferenced nodes, and other predicates.
    """

    kind: ClassVar[str] = "rdf"
    version: ClassVar[int] = 2
    spec_class: ClassVar[type[SourceSpec]] = RdfSpec
    output: ClassVar[type[Row]] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        **READING_REASONS,
        "head_equals_tail": "Head and tail are the same, or are displayed by the same name.",
        "no_term": "Head or tail has no name in the languages of the recipe.",
        "other_language": "The text is in none of the languages of the recipe.",
        "unnamed_relation": "The relation has no name in the languages of the recipe.",
    }
    shape_hint: ClassVar[str] = "check format and path in the recipe"

    def __init__(self, spec: Any, name: str, language: str) -> None:
        super().__init__(spec, name, language)
        self.output = self.row_class(spec)  # pyright: ignore[reportAttributeAccessIssue] - depends on the recipe
        driving = {spec.iri(relation.predicate): relation.name for relation in spec.relations.values()}
        self._driving: dict[str, str | None] = driving | dict.fromkeys(map(spec.iri, spec.texts))
        self._names = self._new_names()

    @classmethod
    def row_class(cls, spec: Any) -> type[Row]:
        """Facts or passages, as `as` says."""
        return _FACT if spec.as_ == "triple" else Passage

    def columns(self) -> Sequence[Column]:
        """The parts of a statement."""
        return ("subject", "predicate", "object")

    def select_files(self) -> tuple[list[SourceFile], list[SourceFile]]:
        """The files of the format, or of its suffixes."""
        form = self.spec.format
        suffixes = [suffix for suffix, suffix_form in RDF_SUFFIXES.items() if form in (None, suffix_form)]
        return find_files(self.spec.path, self.key("path"), suffixes, self.spec.files), []

    def can_read_head(self, source_file: SourceFile) -> bool:
        """All but large files, whose relevant statements may be at the end."""
        return source_file.path.stat().st_size <= _LARGE_BYTES

    def read(self) -> Iterator[SourceUnit | EndOfFile]:
        """The units of all files, then the counts of their other statements."""
        files = [self._open_file(file) for file in self.select_files()[0]]
        self._names = self._new_names()
        unnamed = [predicate for predicate, name in self._driving.items() if name is None]
        self._names.collect(files, self._driving, unnamed if self.spec.as_ == "triple" else ())
        yield from super().read()
        for name, counts in self._names.counts.items():
            yield EndOfFile(f"{name} (names)", counts.total(), dict(sorted(counts.items())))

    def units(self, source_file: SourceFile) -> Iterator[RawRow]:
        """The statements with a predicate of the recipe, and those that cannot be read."""
        for statement in self._open_file(source_file).statements(self._driving):
            if statement.reason:
                yield RawRow(statement.number, (), statement.reason, statement.detail)
            elif statement.predicate:
                yield RawRow(statement.number, (statement.subject, statement.predicate, statement.object))

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The fact or passage of one statement."""
        if self.spec.as_ == "passage":
            return self._passage(values[0], values[2], source_file, line)
        subject, predicate, thing = values
        if subject == thing:
            return Dropped("head_equals_tail", subject)
        relation = self._driving[predicate] or next(iter(self._node_names(predicate)), "")
        if not relation:
            return Dropped("unnamed_relation", predicate)
        head = self._node_names(subject)
        tail = self._literal_text(thing) if isinstance(thing, RdfLiteral) else self._node_names(thing)
        if isinstance(tail, Dropped):
            return tail
        if without := [
            f"{end} {node}" for end, node, names in (("head", subject, head), ("tail", thing, tail)) if not names
        ]:
            return Dropped("no_term", ", ".join(without))
        if head[0] == tail[0]:
            return Dropped("head_equals_tail", head[0])
        triple = Triple(
            head=head[0], relation=relation, tail=tail[0], head_terms=head, tail_terms=tail,
            head_type=self._names.type_of(subject),
            tail_type="" if isinstance(thing, RdfLiteral) else self._names.type_of(thing),
        )  # fmt: skip
        return _FACT.build(payload=triple, **self.row_header(source_file, line))

    def duplicate_key(self, row: Row) -> Hashable:
        """Displayed head, relation and tail; for a passage, its id."""
        payload = row.payload if isinstance(row, Fact) else None
        return (payload.head, payload.relation, payload.tail) if isinstance(payload, Triple) else row.id

    def _passage(self, subject: str, thing: str | RdfLiteral, source_file: SourceFile, line: int) -> Row | Dropped:
        if not isinstance(thing, RdfLiteral):
            return Dropped("malformed", "the object is not a text")
        text = self._literal_text(thing)
        if isinstance(text, Dropped):
            return text
        document = f"{source_file.path.name}:{line}" if subject.startswith("_:") else subject
        title = next(iter(self._node_names(subject)), "")
        return Passage.build(
            base=self.name, document=document, title=title, text=text[0], **self.row_header(source_file, line)
        )

    def _literal_text(self, thing: RdfLiteral) -> tuple[str] | Dropped:
        """The text of a literal."""
        if language_rank(thing.language, self.spec.languages) is None:
            return Dropped("other_language", thing.language or "no language")
        text = cell_text(thing.text)
        return (text,) if text else Dropped("missing_field", "object")

    def _node_names(self, node: str) -> tuple[str, ...]:
        names = self._names.terms(node)
        if names or not self.spec.names_from_iri:
            return names
        return tuple(filter(None, (local_name(node),)))

    def _new_names(self) -> NodeNames:
        spec = self.spec
        return NodeNames(list(map(spec.iri, spec.labels)), list(map(spec.iri, spec.types)), spec.languages)

    def _open_file(self, source_file: SourceFile) -> RdfFile:
        form = self.spec.format or RDF_SUFFIXES.get(source_file.path.suffix.lower())
        if form is None:
            raise wrong_shape(
                self.key("path"), source_file.name, expected=f"a file that ends in {', '.join(RDF_SUFFIXES)}",
                found=f"the suffix {source_file.path.suffix!r}",
                next=f"set {self.key('format')}: n_triples, turtle or rdf_xml",
            )  # fmt: skip
        return RdfFile(source_file, form, self.key("path"))
