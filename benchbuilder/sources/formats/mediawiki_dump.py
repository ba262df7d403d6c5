"""Pages of a MediaWiki export (XML), one part of the file at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from xml.parsers import expat

from benchbuilder.sources.formats.large_files import DamagedFileError

PART_BYTES = 1 << 19
_MAX_PAGE_BYTES = 1 << 26
_MAX_HEAD_BYTES = 1 << 20
_END = b"</page>"
_CLOSED = re.compile(rb"\s*</mediawiki\s*>\s*")
_FIRST = re.compile(rb"<page\s*>|</mediawiki\s*>")
_FIELDS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("page",): ("title", "ns", "id"),
    ("page", "revision"): ("text", "model"),
}


class NotADumpError(Exception):
    """The file is not an export of a MediaWiki; the message says what it is."""


@dataclass(slots=True)
class DumpPage:
    """A page of the dump; `redirect` is the target of a redirect ("" for other pages)."""

    title: str = ""
    namespace: str = ""
    number: str = ""
    redirect: str = ""
    model: str = ""
    text: str = ""


class DumpHead(NamedTuple):
    """The head of a dump: the names of its namespaces by number."""

    namespaces: dict[int, str]


class DumpPart(NamedTuple):
    """The pages of a part of a dump, and the problem after them ("" if there is none)."""

    pages: list[DumpPage]
    problem: str = ""


def split_dump(pieces: Iterable[bytes]) -> Iterator[DumpHead | bytes]:
    """The head of a dump, then its parts with complete pages.

    Raises:
        NotADumpError: The file does not begin like an export.
        DamagedFileError: The file is truncated, or contains what no dump contains.
    """
    source = iter(pieces)
    buffer = b""
    while (first := _FIRST.search(buffer)) is None:
        piece = next(source, b"")
        if not piece or len(buffer) > _MAX_HEAD_BYTES:
            raise _missing_head_error(buffer)
        buffer += piece
    yield _parse_head(buffer[: first.start()])
    yield from _dump_parts(buffer[first.start() :], source)


def _dump_parts(buffer: bytes, source: Iterator[bytes]) -> Iterator[bytes]:
    """Complete pages, also those before damage."""
    searched, problem = 0, ""
    try:
        for piece in source:
            buffer += piece
            if len(buffer) < PART_BYTES:
                continue
            place = buffer.rfind(_END, max(0, searched - len(_END)))
            if place >= 0:
                yield buffer[: place + len(_END)]
                buffer = buffer[place + len(_END) :]
            searched = len(buffer)
            if searched > _MAX_PAGE_BYTES:
                raise DamagedFileError("a page that is longer than any page of a wiki")
    except DamagedFileError as error:
        problem = str(error)
    end = buffer.rfind(_END) + len(_END) if _END in buffer else 0
    if end:
        yield buffer[:end]
    if problem or not _CLOSED.fullmatch(buffer[end:]):
        raise DamagedFileError(problem or "the dump ends in the middle")


def _missing_head_error(buffer: bytes) -> Exception:
    if re.search(rb"<mediawiki[\s>]", buffer):
        return DamagedFileError("the dump ends before its first page")
    start = buffer[:60].decode("utf-8", errors="replace")
    return NotADumpError(f"a file that begins {start!r}" if buffer else "an empty file")


def _parse_head(data: bytes) -> DumpHead:
    namespaces: dict[int, str] = {}
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
            namespaces[int(key)] = namespaces.get(int(key), "") + data

    parser = _parser()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    try:
        parser.Parse(data, False)
    except expat.ExpatError as error:
        raise NotADumpError(f"no well-formed XML: {error}") from error
    if not path or path[0] != "mediawiki":
        raise NotADumpError(f"an XML file of <{path[0]}>" if path else "no XML element")
    return DumpHead(namespaces)


def _parser() -> Any:
    """A parser that knows only the entities of XML: a dump must not declare any."""
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.buffer_size = 1 << 16

    def refuse(*_: Any) -> None:
        raise NotADumpError("a document type, which no dump has")

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    return parser


class _PageReader:
    """Collects pages from the events of the parser; of several revisions of a page, the last counts."""

    def __init__(self) -> None:
        self.pages: list[DumpPage] = []
        self._page = DumpPage()
        self._path: list[str] = []
        self._texts: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        if name == "page":
            self._page = DumpPage()
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
            attribute = {"ns": "namespace", "id": "number"}.get(name, name)
            setattr(self._page, attribute, "".join(self._texts))
        self._texts = []


def parse_pages(data: bytes) -> DumpPart:
    """The pages of a part of a dump."""
    reader, parser = _PageReader(), _parser()
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.text
    try:
        for piece, last in ((b"<mediawiki>", False), (data, False), (b"</mediawiki>", True)):
            parser.Parse(piece, last)
    except expat.ExpatError as error:
        return DumpPart(reader.pages, f"no well-formed XML: {error}")
    except NotADumpError as error:
        return DumpPart(reader.pages, str(error))
    return DumpPart(reader.pages)
