"""Pages of a MediaWiki export (XML), a part of the file at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from benchbuilder.sources.formats.decompress import Damaged

PART_BYTES = 1 << 19
_LONGEST_PAGE = 1 << 26
_LONGEST_HEAD = 1 << 20
_END = b"</page>"
_CLOSED = re.compile(rb"\s*</mediawiki\s*>\s*")
_FIRST = re.compile(rb"<page\s*>|</mediawiki\s*>")
_FIELDS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("page",): ("title", "ns", "id"),
    ("page", "revision"): ("text", "model"),
}  # fmt: skip


class NoExport(Exception):
    """The file is no export of a MediaWiki; the message says what stands there."""


@dataclass(slots=True)
class Page:
    """A page as the dump holds it; `redirect` is where it leads ("" for a page of its own)."""

    title: str = ""
    namespace: str = ""
    number: str = ""
    redirect: str = ""
    model: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """What a dump says of its wiki: the names of its namespaces, by their number."""

    namespaces: dict[int, str] = field(default_factory=dict[int, str])


@dataclass(frozen=True, slots=True)
class Part:
    """The pages of a part of a dump, and what is wrong behind them ("" if nothing is)."""

    pages: list[Page]
    problem: str = ""


def cut(pieces: Iterable[bytes]) -> Iterator[Head | bytes]:
    """The head of a dump, then parts of it that hold whole pages.

    NoExport if it does not begin as an export; `Damaged` if it breaks off, or holds what no dump holds.
    """
    source = iter(pieces)
    held = b""
    while (first := _FIRST.search(held)) is None:
        piece = next(source, b"")
        if not piece or len(held) > _LONGEST_HEAD:
            raise _no_head(held)
        held += piece
    yield _head(held[: first.start()])
    yield from _parts(held[first.start() :], source)


def _parts(held: bytes, source: Iterator[bytes]) -> Iterator[bytes]:
    """Whole pages, those too that stand before damage."""
    searched, problem = 0, ""
    try:
        for piece in source:
            held += piece
            if len(held) < PART_BYTES:
                continue
            at = held.rfind(_END, max(0, searched - len(_END)))
            if at >= 0:
                yield held[: at + len(_END)]
                held = held[at + len(_END) :]
            searched = len(held)
            if searched > _LONGEST_PAGE:
                raise Damaged("a page that is longer than any page of a wiki")
    except Damaged as error:
        problem = str(error)
    at = held.rfind(_END) + len(_END) if _END in held else 0
    if at:
        yield held[:at]
    if problem or not _CLOSED.fullmatch(held[at:]):
        raise Damaged(problem or "the dump ends in the middle")


def _no_head(held: bytes) -> Exception:
    if re.search(rb"<mediawiki[\s>]", held):
        return Damaged("the dump ends before its first page")
    start = held[:60].decode("utf-8", errors="replace")
    return NoExport(f"a file that begins {start!r}" if held else "an empty file")


def _head(data: bytes) -> Head:
    found: dict[int, str] = {}
    path: list[str] = []
    key = ""

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal key
        path.append(name)
        if name == "namespace":
            key = attributes.get("key", "")

    def end(name: str) -> None:  # noqa: ARG001
        path.pop()

    def text(data: str) -> None:
        if path and path[-1] == "namespace" and key.lstrip("-").isdecimal():
            found[int(key)] = found.get(int(key), "") + data

    parser = _parser()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    try:
        parser.Parse(data, False)
    except expat.ExpatError as error:
        raise NoExport(f"no well-formed XML: {error}") from error
    if not path or path[0] != "mediawiki":
        raise NoExport(f"an XML file of <{path[0]}>" if path else "no XML element")
    return Head(found)


def _parser() -> Any:
    """A parser that knows no entities but those of XML itself: a dump declares none, and may not."""
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.buffer_size = 1 << 16

    def refuse(*_: Any) -> None:
        raise NoExport("a document type, which no dump has")

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    return parser


class _Reader:
    """Takes what the parser finds; of several revisions of a page, the last counts."""

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self._page = Page()
        self._path: list[str] = []
        self._texts: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        if name == "page":
            self._page = Page()
        elif name == "redirect":
            self._page.redirect = attributes.get("title") or "?"
        self._path.append(name)
        self._texts = []

    def text(self, data: str) -> None:
        """Text of an element."""
        self._texts.append(data)

    def end(self, name: str) -> None:
        """An element ends."""
        self._path.pop()
        if name == "page":
            self.pages.append(self._page)
        elif name in _FIELDS.get(tuple(self._path[1:]), ()):
            told = {"ns": "namespace", "id": "number"}.get(name, name)
            setattr(self._page, told, "".join(self._texts))
        self._texts = []


def pages_of(data: bytes) -> Part:
    """The pages of a part of a dump."""
    reader, parser = _Reader(), _parser()
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.text
    try:
        for piece, last in ((b"<mediawiki>", False), (data, False), (b"</mediawiki>", True)):
            parser.Parse(piece, last)
    except expat.ExpatError as error:
        return Part(reader.pages, f"no well-formed XML: {error}")
    except NoExport as error:
        return Part(reader.pages, str(error))
    return Part(reader.pages)
