"""Chapters of a book in EPUB (2 and 3), in the order in which they are read."""

from __future__ import annotations

import lzma
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from html.entities import html5
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from benchbuilder.core import DataError, InstallationError
from benchbuilder.sources.formats.files import wrong_shape

MAX_MEMBER_BYTES = 1 << 25
MAX_BOOK_BYTES = 1 << 29
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_TEXTS = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]*);")
_XML_ENTITIES = ("amp", "lt", "gt", "quot", "apos")


@dataclass(frozen=True, slots=True)
class EpubChapter:
    """A part of a book: its title, its paragraphs, one a line, or the reason why it has none and what was seen."""

    title: str
    text: str = ""
    reason: str = ""
    detail: str = ""


class _UnreadableBookError(Exception):
    """The file is no book that can be read; the message says why."""


class _TruncatedDocumentError(_UnreadableBookError):
    """A document was read up to a limit, and not further."""


_BOOK_ERRORS = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, _UnreadableBookError, EOFError, OSError, NotImplementedError,
    RuntimeError, ValueError,
)  # fmt: skip


class Epub:
    """An open book. DataError if it is none, or names files outside itself, or unpacks to more than any book holds."""

    def __init__(self, path: Path, name: str, key: str) -> None:
        try:
            import_module("lxml.etree")
        except ImportError as error:
            raise InstallationError(
                "reading EPUB files needs the library lxml", where=name, why=str(error),
                next="pip install 'benchbuilder[epub]'",
            ) from error  # fmt: skip
        self._name, self._key, self._left = name, key, MAX_BOOK_BYTES
        try:
            self._zip = zipfile.ZipFile(path)
            package = self._package()
            self._folder = posixpath.dirname(package)
            self._read_package(package)
        except _BOOK_ERRORS as error:
            raise self._shape_error(error) from error

    def chapters(self) -> Iterator[EpubChapter]:
        """The documents of the book's spine."""
        with self._zip:
            try:
                labels, locked = self._labels(), self._encrypted_files()
                for place, media, navigates in self._spine:
                    yield self._chapter(place, media, navigates, labels.get(place, ""), place in locked)
            except _BOOK_ERRORS as error:
                raise self._shape_error(error) from error

    def close(self) -> None:
        """Close the file of a book that is not read."""
        self._zip.close()

    def _shape_error(self, error: Exception) -> DataError:
        return wrong_shape(
            self._key, self._name, expected="a book in EPUB", found=str(error)[:200] or type(error).__name__,
            next="open it with a reader of EPUB, or give its text as a text file",
        )  # fmt: skip

    def _chapter(self, place: str, media: str, navigates: bool, label: str, locked: bool) -> EpubChapter:
        if locked:
            return EpubChapter(label, "", "locked", place)
        if navigates:
            return EpubChapter(label, "", "no_chapter", f"{place}: the table of contents")
        if media not in _TEXTS:
            return EpubChapter(label, "", "no_chapter", f"{place}: {media}")
        if place not in self._names:
            return EpubChapter(label, "", "malformed", f"{place} is not in the book")
        try:
            root = _tree(self._data(place), lenient=True)
        except _TruncatedDocumentError as error:
            return EpubChapter(label, "", "malformed", f"{place}: {error}")
        text = "" if root is None else chapter_text(root)
        title = label or ("" if root is None else first_heading(root)) or self.title
        return EpubChapter(title, text) if text else EpubChapter(title, "", "no_text", place)

    def _package(self) -> str:
        self._names = frozenset(self._zip.namelist())
        if _CONTAINER not in self._names:
            raise _UnreadableBookError(f"no {_CONTAINER}")
        for element in _tree(self._data(_CONTAINER)).iter("{*}rootfile"):
            if path := element.get("full-path"):
                return self._resolve("", path)
        raise _UnreadableBookError("a container that names no package")

    def _read_package(self, package: str) -> None:
        if package not in self._names:
            raise _UnreadableBookError(f"no {package}")
        root = _tree(self._data(package))
        self.title = next((" ".join("".join(one.itertext()).split()) for one in root.iter("{*}title")), "")
        items: dict[str, tuple[str, str, bool]] = {}
        self._contents: list[str] = []
        for item in root.iter("{*}item"):
            place, media = self._resolve(self._folder, item.get("href") or ""), item.get("media-type") or ""
            navigates = "nav" in (item.get("properties") or "").split()
            items[item.get("id") or ""] = (place, media, navigates)
            if navigates or media == "application/x-dtbncx+xml":
                self._contents.append(place)
        self._spine = [items[one.get("idref")] for one in root.iter("{*}itemref") if one.get("idref") in items]
        if not self._spine:
            raise _UnreadableBookError("a package without a chapter")

    def _labels(self) -> dict[str, str]:
        """What the table of contents calls each document; the first label counts."""
        found: dict[str, str] = {}
        for place in self._contents:
            try:
                root = _tree(self._data(place), lenient=True) if place in self._names else None
            except _TruncatedDocumentError:
                continue
            if root is None:
                continue
            folder = posixpath.dirname(place)
            for link, label in _links(root):
                if label and not _is_external(link):
                    found.setdefault(self._resolve(folder, link), label)
        return found

    def _encrypted_files(self) -> frozenset[str]:
        """The files that are encrypted: fonts often are, chapters of books with copy protection."""
        if _ENCRYPTION not in self._names:
            return frozenset()
        root = _tree(self._data(_ENCRYPTION))
        return frozenset(unquote(one.get("URI") or "") for one in root.iter("{*}CipherReference"))

    def _resolve(self, folder: str, link: str) -> str:
        path = unquote(urlsplit(link).path)
        place = posixpath.normpath(posixpath.join(folder, path))
        if place.startswith(("/", "../")) or place == ".." or "\\" in place:
            raise _UnreadableBookError(f"a file outside the book: {link}")
        return place

    def _data(self, place: str) -> bytes:
        with self._zip.open(place) as handle:
            data = handle.read(MAX_MEMBER_BYTES + 1)
        self._left -= len(data)
        if len(data) > MAX_MEMBER_BYTES or self._left < 0:
            raise _UnreadableBookError(f"{place}, which unpacks to more than any book holds")
        return data


def _is_external(link: str) -> bool:
    """Whether a link is an address of the web, or nothing that can be read as one."""
    try:
        return bool(urlsplit(link).scheme)
    except ValueError:
        return True


def _links(root: Any) -> Iterator[tuple[str, str]]:
    """The links of a table of contents (EPUB 2 or 3) and their labels."""
    for point in root.iter("{*}navPoint"):
        content, label = point.find("{*}content"), point.find("{*}navLabel")
        if content is not None and label is not None:
            yield content.get("src") or "", " ".join("".join(label.itertext()).split())
    for nav in root.iter("{*}nav"):
        if nav.get("{http://www.idpf.org/2007/ops}type", "toc") == "toc":
            for link in nav.iter("{*}a"):
                yield link.get("href") or "", " ".join("".join(link.itertext()).split())


def _tree(data: bytes, lenient: bool = False) -> Any:
    """The root of an XML document, ``None`` for one without an element if `lenient`. Entities are never defined."""
    etree: Any = import_module("lxml.etree")
    if b"<!ENTITY" in data:
        raise _UnreadableBookError("a document that defines entities")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=lenient,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        root: Any = etree.fromstring(_number_entities(data) if lenient else data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        if lenient:
            return None
        raise _UnreadableBookError(str(error)) from error
    if any("huge" in entry.message.lower() for entry in parser.error_log):  # what a limit of libxml2 says
        raise _TruncatedDocumentError("nested too deeply, or a text too long, to be read whole")
    if root is None and not lenient:
        raise _UnreadableBookError("an empty document")
    return root


def _number_entities(data: bytes) -> bytes:
    """A document whose entities of HTML, which XML does not know, are written by number."""
    return _ENTITY.sub(_numbered_entity, data)


def _numbered_entity(match: re.Match[bytes]) -> bytes:
    name = match[1].decode("ascii")
    known = "" if name in _XML_ENTITIES else html5.get(f"{name};", "")
    return "".join(f"&#{ord(letter)};" for letter in known).encode("ascii") or match[0]


_LINES = frozenset({
    "p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "dt", "dd", "blockquote", "section", "article", "aside", "tr",
    "table", "caption", "figure", "figcaption", "ul", "ol", "dl", "pre", "br", "hr", "body", "header", "footer",
    "address",
})  # fmt: skip
_HIDDEN = frozenset({"script", "style", "svg", "math", "img", "head", "nav", "rt", "rp", "object", "audio", "video"})
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_TYPE = "{http://www.idpf.org/2007/ops}type"


def chapter_text(root: Any) -> str:
    """What a reader sees below `root`, without headings of the document's head, images, formulas and marks of notes.

    Cells of a table stand on the line of their row.
    """
    lines = (" ".join(line.split()) for line in "".join(_pieces(root)).split("\n"))
    return "\n".join(line for line in lines if line)


def first_heading(root: Any) -> str:
    """The first heading below `root`, "" without one."""
    for element in root.iter():
        if _tag(element) in _HEADINGS and (text := " ".join("".join(element.itertext()).split())):
            return text
    return ""


def _tag(element: Any) -> str:
    """The name of an element without its namespace; "" for what is none."""
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def _pieces(root: Any) -> Iterator[str]:
    """Texts and ends of lines in order, without recursion: documents may be nested deeply."""
    todo: list[Any] = [root]
    while todo:
        one = todo.pop()
        if isinstance(one, str):
            yield one
            continue
        tag = _tag(one)
        if not tag or tag in _HIDDEN or "noteref" in (one.get(_TYPE) or ""):
            continue
        around = "\n" if tag in _LINES else " " if tag in ("td", "th") else ""
        todo.append(around)
        for child in reversed(one):
            todo += [_flat(child.tail), child]
        todo += [_flat(one.text), around]


def _flat(text: str | None) -> str:
    return (text or "").replace("\n", " ").replace("\r", " ")
