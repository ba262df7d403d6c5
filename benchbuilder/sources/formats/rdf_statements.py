"""Statements of RDF files, N-Triples or Turtle, in the order in which they stand there."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Collection, Iterator
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from benchbuilder.core import InstallationError
from benchbuilder.sources.formats.files import SourceFile, wrong_shape
from benchbuilder.sources.formats.lines import read_lines

RdfFormat = Literal["n_triples", "turtle"]
RDF_SUFFIXES: dict[str, RdfFormat] = {".nt": "n_triples", ".ttl": "turtle", ".turtle": "turtle"}


class RdfLiteral(NamedTuple):
    """A literal: its text, and the tag of its language ("" without one)."""

    text: str
    language: str


class RdfStatement(NamedTuple):
    """A statement and its number; a node is its IRI, or ``_:`` and a name that no other file has.

    Where `reason` is set, it could not be read. `predicate` is empty where the predicate is not among those wanted.
    """

    number: int
    subject: str = ""
    predicate: str = ""
    object: str | RdfLiteral = ""
    reason: str = ""
    detail: str = ""


def import_rdflib(name: str) -> Any:
    """A module of rdflib; InstallationError without the extra ``rdf``."""
    try:
        logging.getLogger("rdflib.term").setLevel(logging.ERROR)  # it warns of numbers that are none, line by line
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise InstallationError(
            "sources of the kind `rdf` need a library that is not installed",
            why=f"there is no module {error.name}",
            next="pip install 'benchbuilder[rdf]'",
        ) from error


class RdfFile:
    """The statements of one file, as often as they are wanted; of Turtle they are kept in memory."""

    def __init__(self, source_file: SourceFile, form: RdfFormat, key: str) -> None:
        self.file, self.form, self.key = source_file, form, key
        self._kept: list[RdfStatement] | None = None
        self._parser: Any = None

    def statements(self, predicates: Collection[str]) -> Iterator[RdfStatement]:
        """Every statement; those with one of the `predicates` predicates whole, of the others the number.

        In N-Triples the number is that of the line, and a line that cannot be read is a statement with a reason. In
        Turtle they are counted; a file that cannot be read is a DataError.
        """
        if self.form == "n_triples":
            yield from self._lines(predicates)
            return
        if self._kept is None:
            self._kept = list(self._turtle())
        for one in self._kept:
            yield one if one.predicate in predicates else RdfStatement(one.number)

    def _lines(self, predicates: Collection[str]) -> Iterator[RdfStatement]:
        if self._parser is None:
            blanks = _BlankNodes(self.file.name)
            self._parser = import_rdflib("rdflib.plugins.parsers.ntriples").W3CNTriplesParser(
                _LastTriple(), bnode_context=blanks
            )
        errors = (import_rdflib("rdflib.exceptions").ParserError, ValueError, OverflowError)
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
                self._parser.line = text
                self._parser.parseline()
            except errors as error:
                yield RdfStatement(
                    number, reason="malformed", detail=f"no statement: {' '.join(str(error).split())[:120]}"
                )
                continue
            one = _make_statement(number, *self._parser.sink.last)
            yield one if one.predicate in predicates else RdfStatement(number)

    def _turtle(self) -> Iterator[RdfStatement]:
        collected: list[tuple[Any, Any, Any]] = []
        graph = _collecting(collected)
        try:
            graph.parse(str(self.file.path), format="turtle", publicID=f"file:///{quote(self.file.name)}")
        except (SyntaxError, ValueError, RecursionError, import_rdflib("rdflib.exceptions").ParserError) as error:
            raise wrong_shape(
                self.key, self.file.name, expected="a file in Turtle", found=" ".join(str(error).split())[:200],
                next="correct the file, or set format: n_triples to drop only the lines that cannot be read",
            ) from error  # fmt: skip
        blanks: dict[str, str] = {}
        for number, triple in enumerate(collected, 1):
            subject, predicate, thing = (self._named(term, blanks) for term in triple)
            yield _make_statement(number, subject, predicate, thing)

    def _named(self, term: Any, blanks: dict[str, str]) -> Any:
        """`term`; a blank node, which the library names by chance, by its number among those of the file."""
        if type(term).__name__ != "BNode":
            return term
        return type(term)(blanks.setdefault(str(term), f"{self.file.name}#{len(blanks) + 1}"))


class _LastTriple:
    """Keeps the statement that was parsed last."""

    last: tuple[Any, Any, Any]

    def triple(self, subject: Any, predicate: Any, thing: Any) -> None:
        """Called by the parser."""
        self.last = subject, predicate, thing


class _BlankNodes(dict[str, Any]):
    """What the parser calls the blank nodes of a file: as they are called there, and not by chance."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file

    def get(self, label: str, default: Any = None) -> Any:  # noqa: ARG002
        """Called by the parser."""
        return f"{self._file}#{label}"


def _collecting(collected: list[tuple[Any, Any, Any]]) -> Any:
    """A graph that keeps no statement, but writes all of them down in order."""

    class Collecting(import_rdflib("rdflib").Graph):
        def add(self, triple: tuple[Any, Any, Any]) -> Any:
            collected.append(triple)
            return self

    return Collecting()


def _make_statement(number: int, subject: Any, predicate: Any, thing: Any) -> RdfStatement:
    language = getattr(thing, "language", None)
    literal = hasattr(thing, "datatype")
    return RdfStatement(
        number,
        _node(subject),
        str(predicate),
        RdfLiteral(str(thing), (language or "").lower()) if literal else _node(thing),
    )


def _node(term: Any) -> str:
    return f"_:{term}" if type(term).__name__ == "BNode" else str(term)
