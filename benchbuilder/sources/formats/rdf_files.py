"""Statements of RDF files (N-Triples or Turtle), and the names and types of their nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import quote, unquote

from benchbuilder.core import normalise_space, open_given_file
from benchbuilder.sources.formats.files import SourceFile, import_library, wrong_shape
from benchbuilder.sources.formats.tables import cell_text, read_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyoxigraph import BlankNode, NamedNode, Triple
    from pyoxigraph import Literal as OxigraphLiteral

    Term = NamedNode | BlankNode | OxigraphLiteral | Triple


RdfFormat = Literal["n_triples", "turtle", "rdf_xml"]
RDF_SUFFIXES: dict[str, RdfFormat] = {
    ".nt": "n_triples",
    ".ttl": "turtle",
    ".turtle": "turtle",
    ".rdf": "rdf_xml",
    ".owl": "rdf_xml",
}
_CALLED = {"turtle": "Turtle", "rdf_xml": "RDF/XML"}
_BY_LINES = ", or set format: n_triples to drop only the lines that cannot be read"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class RdfLiteral(NamedTuple):
    """A literal: its text and its language tag in lower case (or "")."""

    text: str
    language: str


class RdfStatement(NamedTuple):
    """A statement and its number; a node is an IRI, or ``_:`` and a name that is unique among files.

    `reason` is set if the statement cannot be read. `predicate` is empty if the caller did not request it.
    """

    number: int
    subject: str = ""
    predicate: str = ""
    object: str | RdfLiteral = ""
    reason: str = ""
    detail: str = ""


class RdfFile:
    """The statements of one file. Each call of `statements` reads the file again, in constant memory."""

    def __init__(self, source_file: SourceFile, form: RdfFormat, key: str) -> None:
        self.file, self.form, self.key = source_file, form, key

    def statements(self, predicates: Collection[str]) -> Iterator[RdfStatement]:
        """Yield every statement of the file: whole for the given predicates, only its number for all others.

        In N-Triples, the number is the line; a line that cannot be read is a statement with a reason. In Turtle and
        RDF/XML, statements are counted from 1.

        Args:
            predicates: IRIs of the predicates to read.

        Raises:
            DataError: A file in Turtle or RDF/XML has a syntax error; the message names its line.
            InstallationError: The extra ``rdf`` is not installed.
        """
        import_library("pyoxigraph", "rdf", self.file.name)
        return self._lines(predicates) if self.form == "n_triples" else self._document(predicates)

    def _lines(self, predicates: Collection[str]) -> Iterator[RdfStatement]:
        from pyoxigraph import RdfFormat, parse

        maker = _StatementMaker(predicates, lambda label: f"{self.file.name}#{label}")
        written = {f"<{predicate}>" for predicate in predicates}
        for number, text, problem in read_lines(self.file.path, "utf-8"):
            if problem:
                yield RdfStatement(number, reason="undecodable", detail=problem)
                continue
            parts = text.split(None, 2)
            if not parts or parts[0].startswith("#"):
                continue
            predicate = parts[1] if len(parts) > 2 else ""
            plain = predicate.startswith("<") and predicate.endswith(">") and "\\" not in predicate
            if plain and predicate not in written:
                yield RdfStatement(number)
                continue
            try:
                (triple,) = parse(text, RdfFormat.N_TRIPLES, lenient=True)
            except (SyntaxError, ValueError) as error:
                yield RdfStatement(number, reason="malformed", detail=f"no statement: {_shorten(error, 120)}")
                continue
            yield maker.statement(number, triple.triple)

    def _document(self, predicates: Collection[str]) -> Iterator[RdfStatement]:
        from pyoxigraph import RdfFormat, parse

        form = RdfFormat.TURTLE if self.form == "turtle" else RdfFormat.RDF_XML

        numbers: dict[str, int] = {}

        def name_blank_node(label: str) -> str:
            """Number blank nodes in the order of the file: the library gives them random labels."""
            return f"{self.file.name}#{numbers.setdefault(label, len(numbers) + 1)}"

        maker = _StatementMaker(predicates, name_blank_node)
        with open_given_file(self.file.path, most_bytes=None) as stream:
            if stream.read(len(_BYTE_ORDER_MARK)) != _BYTE_ORDER_MARK:
                stream.seek(0)
            triples = parse(stream, form, base_iri=f"file:///{quote(self.file.name)}", lenient=True)
            try:
                for number, triple in enumerate(triples, 1):
                    yield maker.statement(number, triple.triple)
            except (SyntaxError, ValueError) as error:
                raise wrong_shape(
                    self.key, self.file.name, expected=f"a file in {_CALLED[self.form]}", found=_shorten(error, 200),
                    next="correct the file" + _BY_LINES if self.form == "turtle" else "correct the file",
                ) from error  # fmt: skip


def _shorten(error: Exception, length: int) -> str:
    return " ".join(str(error).split())[:length]


class _StatementMaker:
    """Turns the triples of pyoxigraph into statements; blank nodes get the names that `name_blank_node` returns."""

    def __init__(self, predicates: Collection[str], name_blank_node: Callable[[str], str]) -> None:
        from pyoxigraph import BlankNode, Literal

        self._predicates, self._name_blank_node = predicates, name_blank_node
        self._literal, self._blank_node = Literal, BlankNode

    def statement(self, number: int, triple: Triple) -> RdfStatement:
        """Every node is named, wanted or not: blank nodes of Turtle are numbered in the order of the file."""
        predicate, subject, value = triple.predicate.value, self._node(triple.subject), self._object(triple.object)
        return (
            RdfStatement(number, subject, predicate, value) if predicate in self._predicates else RdfStatement(number)
        )

    def _object(self, term: Term) -> str | RdfLiteral:
        if isinstance(term, self._literal):
            return RdfLiteral(term.value, (term.language or "").lower())
        return self._node(term)

    def _node(self, term: Term) -> str:
        if isinstance(term, self._blank_node):
            return f"_:{self._name_blank_node(term.value)}"
        return str(getattr(term, "value", term))


def language_rank(tag: str, languages: Sequence[str]) -> int | None:
    """The rank of a language tag in `languages`, or ``None``; ``zh`` includes ``zh-hans``.

    >>> language_rank("zh-hans", ["en", "zh"]), language_rank("", ["zh", ""]), language_rank("fr", ["zh"])
    (1, 1, None)
    """
    for rank, language in enumerate(map(str.lower, languages)):
        if tag == language or (language and tag.startswith(f"{language}-")):
            return rank
    return None


def local_name(iri: str) -> str:
    """The last part of an IRI as words, percent escapes of UTF-8 decoded; "" for a blank node.

    >>> local_name("http://example.org/drug#Folic_acid"), local_name("http://example.org/x/")
    ('Folic acid', 'x')
    >>> local_name("http://example.org/Neurofibromatosis_%28type_1%29"), local_name("http://example.org/50%25%FF")
    ('Neurofibromatosis (type 1)', '50%25%FF')
    """
    if iri.startswith("_:"):
        return ""
    last = iri.rstrip("#/").rpartition("#")[2].rpartition("/")[2]
    with suppress(UnicodeDecodeError):
        last = unquote(last, errors="strict")
    return normalise_space(last.replace("_", " "))


@dataclass
class NodeNames:
    """Names and types of nodes from several files; `counts` has the counts of statements of each file."""

    labels: Sequence[str]
    types: Sequence[str]
    languages: Sequence[str]
    counts: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    _terms: dict[str, list[tuple[int, int, str]]] = field(default_factory=dict[str, list[tuple[int, int, str]]])
    _types: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def collect(self, files: Sequence[RdfFile], relations: Mapping[str, object], named: Sequence[str]) -> None:
        """Collect the names of the nodes of all `relations` statements, of `named`, and of their types.

        The files are read once per purpose, so that nothing about other nodes is kept.
        """
        nodes = set(named)
        for file in files:
            for statement in file.statements(set(relations)):
                if statement.predicate:
                    nodes.add(statement.subject)
                    if isinstance(statement.object, str):
                        nodes.add(statement.object)
        for file in files if self.types else ():
            for statement in file.statements(set(self.types)):
                if statement.predicate and statement.subject in nodes and isinstance(statement.object, str):
                    self._types.setdefault(statement.subject, []).append(statement.object)
        nodes.update(kind for kinds in self._types.values() for kind in kinds)
        for file in files:
            self.counts[file.file.name] = self._count_statements(file, relations, nodes)

    def _count_statements(self, file: RdfFile, relations: Mapping[str, object], nodes: Collection[str]) -> Counter[str]:
        """Collect the names of `nodes` in a file, and count its statements except relations."""
        counts = Counter[str]()
        for statement in file.statements({*relations, *self.labels, *self.types}):
            if statement.predicate in relations or statement.reason:
                continue
            if statement.predicate in self.types:
                counts["types" if statement.subject in nodes else "not_referenced"] += 1
            elif statement.predicate in self.labels:
                counts[self._add_name(statement, statement.subject in nodes)] += 1
            else:
                counts["other_predicate"] += 1
        return counts

    def _add_name(self, statement: RdfStatement, referenced: bool) -> str:
        value = statement.object
        if not isinstance(value, RdfLiteral) or not (text := normalise_space(cell_text(value.text) or "")):
            return "no_text"
        rank = language_rank(value.language, self.languages)
        if rank is None:
            return "other_language"
        if not referenced:
            return "not_referenced"
        label = self.labels.index(statement.predicate)
        self._terms.setdefault(statement.subject, []).append((label, rank, text))
        return "names"

    def terms(self, node: str) -> tuple[str, ...]:
        """All names of a node, in the order of labels, languages and files."""
        terms = sorted(self._terms.get(node, ()), key=lambda term: term[:2])
        return tuple(dict.fromkeys(text for _, _, text in terms))

    def type_of(self, node: str) -> str:
        """The name of the first named type of a node, or ""."""
        return next((names[0] for kind in self._types.get(node, ()) if (names := self.terms(kind))), "")
