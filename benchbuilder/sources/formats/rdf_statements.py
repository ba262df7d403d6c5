"""Statements of RDF files, N-Triples or Turtle, in the order of the file."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import quote

from benchbuilder.core import InstallationError
from benchbuilder.sources.formats.files import SourceFile, wrong_shape
from benchbuilder.sources.formats.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyoxigraph import BlankNode, NamedNode, Triple
    from pyoxigraph import Literal as OxigraphLiteral

    Term = NamedNode | BlankNode | OxigraphLiteral | Triple

RdfFormat = Literal["n_triples", "turtle"]
RDF_SUFFIXES: dict[str, RdfFormat] = {".nt": "n_triples", ".ttl": "turtle", ".turtle": "turtle"}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class RdfLiteral(NamedTuple):
    """A literal: its text, and its language tag in lower case ("" without one)."""

    text: str
    language: str


class RdfStatement(NamedTuple):
    """A statement and its number; a node is its IRI, or ``_:`` and a name that no other file has.

    `reason` is set if the statement cannot be read. `predicate` is empty if the caller did not ask for it.
    """

    number: int
    subject: str = ""
    predicate: str = ""
    object: str | RdfLiteral = ""
    reason: str = ""
    detail: str = ""


def require_pyoxigraph() -> None:
    """InstallationError without the extra ``rdf``."""
    try:
        import_module("pyoxigraph")
    except ModuleNotFoundError as error:
        raise InstallationError(
            "sources of the kind `rdf` need a library that is not installed",
            why=f"there is no module {error.name}",
            next="pip install 'benchbuilder[rdf]'",
        ) from error


class RdfFile:
    """The statements of one file. Each call of `statements` reads the file again, in constant memory."""

    def __init__(self, source_file: SourceFile, form: RdfFormat, key: str) -> None:
        self.file, self.form, self.key = source_file, form, key

    def statements(self, predicates: Collection[str]) -> Iterator[RdfStatement]:
        """Yield every statement of the file: whole for the given predicates, only its number for all others.

        In N-Triples, the number is the line; a line that cannot be read is a statement with a reason. In Turtle,
        statements are counted from 1.

        Args:
            predicates: IRIs of the predicates to read.

        Raises:
            DataError: A Turtle file has a syntax error; the message names its line.
            InstallationError: The extra ``rdf`` is not installed.
        """
        require_pyoxigraph()
        return self._lines(predicates) if self.form == "n_triples" else self._turtle(predicates)

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

    def _turtle(self, predicates: Collection[str]) -> Iterator[RdfStatement]:
        from pyoxigraph import RdfFormat, parse

        numbers: dict[str, int] = {}

        def name_blank_node(label: str) -> str:
            """Number blank nodes in the order of the file: the library gives them random labels."""
            return f"{self.file.name}#{numbers.setdefault(label, len(numbers) + 1)}"

        maker = _StatementMaker(predicates, name_blank_node)
        with self.file.path.open("rb") as stream:
            if stream.read(len(_BYTE_ORDER_MARK)) != _BYTE_ORDER_MARK:
                stream.seek(0)
            triples = parse(stream, RdfFormat.TURTLE, base_iri=f"file:///{quote(self.file.name)}", lenient=True)
            try:
                for number, triple in enumerate(triples, 1):
                    yield maker.statement(number, triple.triple)
            except (SyntaxError, ValueError) as error:
                raise wrong_shape(
                    self.key, self.file.name, expected="a file in Turtle", found=_shorten(error, 200),
                    next="correct the file, or set format: n_triples to drop only the lines that cannot be read",
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
