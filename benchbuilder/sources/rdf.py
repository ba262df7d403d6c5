"""The source kind `rdf`: statements of RDF files, as triples with names, or as passages."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from benchbuilder.config import FileRef, Spec
from benchbuilder.core import Dropped, EndOfFile, Fact, Passage, Row, SourceUnit, Triple
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.formats.files import SourceFile, find_files, wrong_shape
from benchbuilder.sources.formats.rdf_names import NodeNames, language_rank, local_name
from benchbuilder.sources.formats.rdf_statements import RDF_SUFFIXES, RdfFile, RdfFormat, RdfLiteral
from benchbuilder.sources.formats.tables import Column, RawRow, cell_text, find_surrogate
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
    """A predicate that is a relation: its IRI (whole or with a prefix), and its name; ``null``: its label's."""

    predicate: str
    name: str | None = None


class RdfSpec(SourceSpec):
    """RDF files (N-Triples or Turtle), and which of their predicates say what.

    Predicates are written with a prefix (``skos:prefLabel``) or whole (``http://example.org/treats``). The prefixes
    rdf, rdfs, skos, owl, dcterms and schema are known.
    """

    as_: Annotated[Literal["triple", "passage"], Field(alias="as")]
    """Whether a statement becomes a ``triple`` (see `relations`) or a ``passage`` (see `texts`)."""
    path: FileRef
    """A file, a folder or a glob; names may stand in other files than relations."""
    files: str = ""
    """Which files of a folder: a name with ``*``."""
    format: RdfFormat | None = None
    """Default: by the file's suffix."""
    prefixes: dict[str, str] = {}
    labels: Annotated[tuple[str, ...], Field(min_length=1)]
    """Predicates that name something: a concept is displayed by the first that it has, the others are its terms."""
    languages: Annotated[tuple[str, ...], Field(min_length=1)]
    """Languages of the names and texts that are read, the best first; ``zh`` stands for ``zh-hans``, too, and "" for
    those without a language."""
    types: tuple[str, ...] = ()
    """Predicates that give something a type, for instance ``rdf:type``; the type's name is read by `labels`."""
    names_from_iri: bool = False
    """Whether something without a name is called as its IRI ends (``.../Folic_acid``: "Folic acid")."""
    relations: dict[str, RelationSpec] = {}
    """The predicates that are relations, each under a name of the recipe's own."""
    texts: tuple[str, ...] = ()
    """The predicates whose texts are passages, for instance ``skos:definition``."""

    @field_validator("relations")
    @classmethod
    def _once(cls, value: dict[str, RelationSpec]) -> dict[str, RelationSpec]:
        predicates = [relation.predicate for relation in value.values()]
        if twice := sorted({one for one in predicates if predicates.count(one) > 1}):
            raise ValueError(f"{', '.join(twice)}: one relation a predicate")
        return value

    @model_validator(mode="after")
    def _predicates(self) -> RdfSpec:
        for written in (*self.labels, *self.types, *self.texts, *(r.predicate for r in self.relations.values())):
            self.iri(written)
        wanted, other = ("relations", "texts") if self.as_ == "triple" else ("texts", "relations")
        if not getattr(self, wanted):
            raise ValueError(f"as: {self.as_} needs {wanted}: the predicates to read")
        if getattr(self, other):
            raise ValueError(f"{other} cannot be given with `as: {self.as_}`")
        return self

    def iri(self, written: str) -> str:
        """A predicate in full; ValueError for a prefix that is not known."""
        prefix, colon, rest = written.partition(":")
        if colon and not rest.startswith("//") and prefix != "urn":
            known = {**_PREFIXES, **self.prefixes}
            if prefix not in known:
                raise ValueError(f"{written}: prefixes does not say what {prefix!r} stands for")
            return known[prefix] + rest
        if not colon:
            raise ValueError(f"{written}: write a predicate with its prefix, or whole")
        return written


class Rdf(UnitSource[RdfSpec]):
    """Statements whose predicate the recipe names. What names or types something is joined to them.

    A unit is a statement: in N-Triples its number is that of its line, in Turtle statements are counted as the library
    reads them. All other statements of a file are told as an auxiliary file of the name ``FILE (names)``: names and
    types that are used, of another language, of what no unit is about, and other predicates.
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
        self.output = self.row_class(spec)  # pyright: ignore[reportAttributeAccessIssue] - the recipe says what
        driving = {spec.iri(relation.predicate): relation.name for relation in spec.relations.values()}
        self._driving: dict[str, str | None] = driving | dict.fromkeys(map(spec.iri, spec.texts))
        self._names = self._new_names()

    @classmethod
    def row_class(cls, spec: Any) -> type[Row]:
        """Facts or passages, as `as` says."""
        return _FACT if spec.as_ == "triple" else Passage

    def columns(self) -> Sequence[Column]:
        """What a statement has."""
        return ("subject", "predicate", "object")

    def select_files(self) -> tuple[list[SourceFile], list[SourceFile]]:
        """The files of the format, or of its suffixes."""
        form = self.spec.format
        suffixes = [suffix for suffix, held in RDF_SUFFIXES.items() if form in (None, held)]
        return find_files(self.spec.path, self.key("path"), suffixes, self.spec.files), []

    def can_read_head(self, source_file: SourceFile) -> bool:
        """All but large files: the statements of the recipe may stand at their end."""
        return source_file.path.stat().st_size <= _LARGE_BYTES

    def read(self) -> Iterator[SourceUnit | EndOfFile]:
        """The units of all files, then what else stands in them."""
        files = [self._open_file(found) for found in self.select_files()[0]]
        self._names = self._new_names()
        unnamed = [predicate for predicate, name in self._driving.items() if name is None]
        self._names.collect(files, self._driving, unnamed if self.spec.as_ == "triple" else ())
        yield from super().read()
        for name, counts in self._names.counts.items():
            yield EndOfFile(f"{name} (names)", counts.total(), dict(sorted(counts.items())))

    def units(self, source_file: SourceFile) -> Iterator[RawRow]:
        """The statements with a predicate of the recipe, and those that cannot be read."""
        for one in self._open_file(source_file).statements(self._driving):
            if one.reason:
                yield RawRow(one.number, (), one.reason, one.detail)
            elif one.predicate:
                yield RawRow(one.number, (one.subject, one.predicate, one.object))

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The fact or passage of one statement."""
        if any(find_surrogate(one.text if isinstance(one, RdfLiteral) else one) for one in (values[0], values[2])):
            return Dropped("malformed", "an IRI or a text that cannot be encoded")
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
        """Head, relation and tail as they are displayed; a passage by its id."""
        payload = row.payload if isinstance(row, Fact) else None
        return (payload.head, payload.relation, payload.tail) if isinstance(payload, Triple) else row.id

    def _passage(self, subject: str, thing: str | RdfLiteral, source_file: SourceFile, line: int) -> Row | Dropped:
        if not isinstance(thing, RdfLiteral):
            return Dropped("malformed", "the object is no text")
        said = self._literal_text(thing)
        if isinstance(said, Dropped):
            return said
        document = f"{source_file.path.name}:{line}" if subject.startswith("_:") else subject
        title = next(iter(self._node_names(subject)), "")
        return Passage.build(
            base=self.name, document=document, title=title, text=said[0], **self.row_header(source_file, line)
        )  # fmt: skip

    def _literal_text(self, thing: RdfLiteral) -> tuple[str] | Dropped:
        """The text of a literal."""
        if language_rank(thing.language, self.spec.languages) is None:
            return Dropped("other_language", thing.language or "no language")
        text = cell_text(thing.text)
        if text is None:
            return Dropped("malformed", "the object is no text that can be encoded")
        return (text,) if text else Dropped("missing_field", "object")

    def _node_names(self, node: str) -> tuple[str, ...]:
        names = self._names.terms(node)
        if names or not self.spec.names_from_iri:
            return names
        return tuple(filter(None, (local_name(node),)))

    def _new_names(self) -> NodeNames:
        spec = self.spec
        return NodeNames([spec.iri(one) for one in spec.labels], [spec.iri(one) for one in spec.types], spec.languages)

    def _open_file(self, source_file: SourceFile) -> RdfFile:
        form = self.spec.format or RDF_SUFFIXES.get(source_file.path.suffix.lower())
        if form is None:
            raise wrong_shape(
                self.key("path"), source_file.name, expected=f"a file that ends in {', '.join(RDF_SUFFIXES)}",
                found=f"the suffix {source_file.path.suffix!r}",
                next=f"set {self.key('format')}: n_triples or turtle",
            )  # fmt: skip
        return RdfFile(source_file, form, self.key("path"))
