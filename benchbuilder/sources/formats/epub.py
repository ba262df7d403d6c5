"""Chapters of books in EPUB (2 and 3), in reading order."""

from __future__ import annotations

import io
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

from benchbuilder.core import DataError, read_given_file
from benchbuilder.sources.formats.files import import_library, wrong_shape

MAX_MEMBER_BYTES = 1 << 25
MAX_BOOK_BYTES = 1 << 29
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_TEXTS = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]*);")
_XML_ENTITIES = ("amp", "lt", "gt", "quot", "apos")


@dataclass(frozen=True, slots=True)
class EpubChapter:
    """A part of a book: its title and its paragraphs, one per line, or the reason and detail if it has none."""

    title: str
    text: str = ""
    reason: str = ""
    detail: str = ""


class _UnreadableBookError(Exception):
    """The file is not a readable book; the message gives the cause."""


class _TruncatedDocumentError(_UnreadableBookError):
    """A document was read only up to a limit."""


_BOOK_ERRORS = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, _UnreadableBookError, EOFError, OSError, NotImplementedError,
    RuntimeError, ValueError,
)  # fmt: skip


class Epub:
    """An open book. DataError if it is not a book, names files outside itself, or is too large when unpacked."""

    def __init__(self, path: Path, name: str, key: str) -> None:
        import_library("lxml.etree", "epub", name)
        self._name, self._key, self._left = name, key, MAX_BOOK_BYTES
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(read_given_file(path)))
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
        """Close the file of a book without reading its chapters."""
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
        self.title = next((_label(title) for title in root.iter("{*}title")), "")
        items: dict[str, tuple[str, str, bool]] = {}
        self._contents: list[str] = []
        for item in root.iter("{*}item"):
            place, media = self._resolve(self._folder, item.get("href") or ""), item.get("media-type") or ""
            navigates = "nav" in (item.get("properties") or "").split()
            items[item.get("id") or ""] = (place, media, navigates)
            if navigates or media == "application/x-dtbncx+xml":
                self._contents.append(place)
        references = (reference.get("idref") for reference in root.iter("{*}itemref"))
        self._spine = [items[name] for name in references if name in items]
        if not self._spine:
            raise _UnreadableBookError("a package without a chapter")

    def _labels(self) -> dict[str, str]:
        """The label of each document in the table of contents; the first one counts."""
        labels: dict[str, str] = {}
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
                    labels.setdefault(self._resolve(folder, link), label)
        return labels

    def _encrypted_files(self) -> frozenset[str]:
        """The encrypted files: often fonts, and chapters of books with copy protection."""
        if _ENCRYPTION not in self._names:
            return frozenset()
        root = _tree(self._data(_ENCRYPTION))
        return frozenset(unquote(cipher.get("URI") or "") for cipher in root.iter("{*}CipherReference"))

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
            raise _UnreadableBookError(f"{place}, which unpacks to more than any book contains")
        return data


def _is_external(link: str) -> bool:
    """Whether a link is a web address, or invalid."""
    try:
        return bool(urlsplit(link).scheme)
    except ValueError:
        return True


def _links(root: Any) -> Iterator[tuple[str, str]]:
    """The links of a table of contents (EPUB 2 or 3) and their labels."""
    for point in root.iter("{*}navPoint"):
        content, label = point.find("{*}content"), point.find("{*}navLabel")
        if content is not None and label is not None:
            yield content.get("src") or "", _label(label)
    for nav in root.iter("{*}nav"):
        if nav.get("{http://www.idpf.org/2007/ops}type", "toc") == "toc":
            for link in nav.iter("{*}a"):
                yield link.get("href") or "", _label(link)


def _label(element: Any) -> str:
    """The text of an element on one line."""
    return " ".join("".join(element.itertext()).split())


def _tree(data: bytes, lenient: bool = False) -> Any:
    """The root of an XML document; with `lenient`, ``None`` for one without elements. It must not define entities."""
    etree: Any = import_module("lxml.etree")
    if b"<!ENTITY" in data:
        raise _UnreadableBookError("a document that defines entities")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=lenient,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        root: Any = etree.fromstring(_ENTITY.sub(_numbered_entity, data) if lenient else data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        if lenient:
            return None
        raise _UnreadableBookError(str(error)) from error
    if any("huge" in entry.message.lower() for entry in parser.error_log):  # a limit of libxml2
        raise _TruncatedDocumentError("nested too deeply, or a text too long, to be read whole")
    if root is None and not lenient:
        raise _UnreadableBookError("an empty document")
    return root


def _numbered_entity(match: re.Match[bytes]) -> bytes:
    """An HTML entity, which XML does not know, as a numeric one."""
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
    """The visible text below `root`, without the document's head, images, formulas and references to notes.

    The cells of a table row are on one line.
    """
    lines = (" ".join(line.split()) for line in "".join(_pieces(root)).split("\n"))
    return "\n".join(line for line in lines if line)


def first_heading(root: Any) -> str:
    """The first heading below `root`, or ""."""
    for element in root.iter():
        if _tag(element) in _HEADINGS and (text := _label(element)):
            return text
    return ""


def _tag(element: Any) -> str:
    """The name of an element without its namespace; "" for other nodes."""
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def _pieces(root: Any) -> Iterator[str]:
    """Texts and line ends in order, without recursion: documents may be nested deeply."""
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
            continue
        tag = _tag(node)
        if not tag or tag in _HIDDEN or "noteref" in (node.get(_TYPE) or ""):
            continue
        around = "\n" if tag in _LINES else " " if tag in ("td", "th") else ""
        stack.append(around)
        for child in reversed(node):
            stack += [_flat(child.tail), child]
        stack += [_flat(node.text), around]


def _flat(text: str | None) -> str:
    return (text or "").replace("\n", " ").replace("\r", " ")
