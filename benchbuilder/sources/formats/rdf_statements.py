"""Statements of RDF files, N-Triples or Turtle, in the order in which they stand there."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Collection, Iterator
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from benchbuilder.core.errors import InstallationError
from benchbuilder.sources.formats.files import Found, wrong_shape
from benchbuilder.sources.formats.lines import read_lines

RdfFormat = Literal["n_triples", "turtle"]
SUFFIXES: dict[str, RdfFormat] = {".nt": "n_triples", ".ttl": "turtle", ".turtle": "turtle"}


class Text(NamedTuple):
    """A literal: its text, and the tag of its language ("" without one)."""

    text: str
    language: str


class Statement(NamedTuple):
    """A statement and its number; a node is its IRI, or ``_:`` and a name that no other file has.

    Where `reason` is set, it could not be read. `predicate` is empty where the predicate is not among those wanted.
    """

    number: int
    subject: str = ""
    predicate: str = ""
    object: str | Text = ""
    reason: str = ""
    detail: str = ""


def library(name: str) -> Any:
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


class Statements:
    """The statements of one file, as often as they are wanted; of Turtle they are kept in memory."""

    def __init__(self, found: Found, form: RdfFormat, key: str) -> None:
        self.found, self.form, self.key = found, form, key
        self._kept: list[Statement] | None = None
        self._parser: Any = None

    def of(self, wanted: Collection[str]) -> Iterator[Statement]:
        """Every statement; those with one of the `wanted` predicates whole, of the others the number.

        In N-Triples the number is that of the line, and a line that cannot be read is a statement with a reason. In
        Turtle they are counted; a file that cannot be read is a DataError.
        """
        if self.form == "n_triples":
            yield from self._lines(wanted)
            return
        if self._kept is None:
            self._kept = list(self._turtle())
        for one in self._kept:
            yield one if one.predicate in wanted else Statement(one.number)

    def _lines(self, wanted: Collection[str]) -> Iterator[Statement]:
        if self._parser is None:
            blanks = _Blanks(self.found.name)
            self._parser = library("rdflib.plugins.parsers.ntriples").W3CNTriplesParser(_Last(), bnode_context=blanks)
        errors = (library("rdflib.exceptions").ParserError, ValueError, OverflowError)
        written = {f"<{predicate}>" for predicate in wanted}
        for number, text, problem in read_lines(self.found.at, "utf-8"):
            if problem:
                yield Statement(number, reason="undecodable", detail=problem)
                continue
            parts = text.split(None, 2)
            if not parts or parts[0].startswith("#"):
                continue
            predicate = parts[1] if len(parts) > 2 else ""
            plain = predicate.startswith("<") and predicate.endswith(">") and "\\" not in predicate
            if plain and predicate not in written:
                yield Statement(number)
                continue
            try:
                self._parser.line = text
                self._parser.parseline()
            except errors as error:
                yield Statement(
                    number, reason="malformed", detail=f"no statement: {' '.join(str(error).split())[:120]}"
                )
                continue
            one = _statement(number, *self._parser.sink.last)
            yield one if one.predicate in wanted else Statement(number)

    def _turtle(self) -> Iterator[Statement]:
        collected: list[tuple[Any, Any, Any]] = []
        graph = _collecting(collected)
        try:
            graph.parse(str(self.found.at), format="turtle", publicID=f"file:///{quote(self.found.name)}")
        except (SyntaxError, ValueError, RecursionError, library("rdflib.exceptions").ParserError) as error:
            raise wrong_shape(
                self.key, self.found.name, expected="a file in Turtle", found=" ".join(str(error).split())[:200],
                next="correct the file, or set format: n_triples to drop only the lines that cannot be read",
            ) from error  # fmt: skip
        blanks: dict[str, str] = {}
        for number, triple in enumerate(collected, 1):
            subject, predicate, thing = (self._named(term, blanks) for term in triple)
            yield _statement(number, subject, predicate, thing)

    def _named(self, term: Any, blanks: dict[str, str]) -> Any:
        """`term`; a blank node, which the library names by chance, by its number among those of the file."""
        if type(term).__name__ != "BNode":
            return term
        return type(term)(blanks.setdefault(str(term), f"{self.found.name}#{len(blanks) + 1}"))


class _Last:
    """Keeps the statement that was parsed last."""

    last: tuple[Any, Any, Any]

    def triple(self, subject: Any, predicate: Any, thing: Any) -> None:
        """Called by the parser."""
        self.last = subject, predicate, thing


class _Blanks(dict[str, Any]):
    """What the parser calls the blank nodes of a file: as they are called there, and not by chance."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file

    def get(self, label: str, default: Any = None) -> Any:  # noqa: ARG002
        """Called by the parser."""
        return f"{self._file}#{label}"


def _collecting(collected: list[tuple[Any, Any, Any]]) -> Any:
    """A graph that keeps no statement, but writes all of them down in order."""

    class Collecting(library("rdflib").Graph):
        def add(self, triple: tuple[Any, Any, Any]) -> Any:
            collected.append(triple)
            return self

    return Collecting()


def _statement(number: int, subject: Any, predicate: Any, thing: Any) -> Statement:
    language = getattr(thing, "language", None)
    literal = hasattr(thing, "datatype")
    return Statement(
        number, _node(subject), str(predicate), Text(str(thing), (language or "").lower()) if literal else _node(thing)
    )


def _node(term: Any) -> str:
    return f"_:{term}" if type(term).__name__ == "BNode" else str(term)
