"""Reads a JSON document whole, or in parts, in memory that does not grow with it."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from benchbuilder.core import TOO_DEEP, open_given_file, parse_json, read_given_file, unique_object
from benchbuilder.sources.formats.tables import decoding_problem

LARGE_JSON_BYTES = 8_000_000
"""Larger documents are read in parts; `check` reads only their first records."""
_PIECE_BYTES = 1 << 20
_PART_ELEMENTS = 512
_PART_CHARS = 1 << 22
_LONGEST_WORD = 12
"""Characters of the longest word or escape that the end of a piece can cut."""
_SHOWN_NAMES = 8
_DECODER = json.JSONDecoder(object_pairs_hook=unique_object)
_NEXT = re.compile(r"[^ \t\n\r]")
_OPENS = {"[]": "[", "{}": "{"}
_CLOSES = {"[": "]", "{": "}"}


class UndecodableDocumentError(ValueError):
    """The document has bytes that are not in its encoding."""


def load_document(path: Path, encoding: str) -> Any:
    """A complete document. ValueError, also for undecodable bytes, if it cannot be read."""
    raw = read_given_file(path)
    try:
        return parse_json(raw.decode(encoding).removeprefix("\ufeff"), object_pairs_hook=unique_object)
    except UnicodeDecodeError as error:
        raise UndecodableDocumentError(decoding_problem(error, encoding)) from error


def can_split(records: str) -> bool:
    """Whether a document can be read in parts: the first step to its records is a list or mapping of elements."""
    return not records or records.partition(".")[0].endswith(("[]", "{}"))


def document_parts(path: Path, encoding: str, records: str) -> Iterator[Any]:
    """A document in parts, each a document of the same shape with some of the elements at the first step of `records`.

    A key of a mapping that occurs twice counts twice. ValueError, also for undecodable bytes, if the document
    cannot be read; what precedes the fault was yielded before.
    """
    step = records.partition(".")[0] or "[]"
    field, opening = step[:-2], _OPENS[step[-2:]]
    with open_given_file(path, most_bytes=None) as handle:
        text = _PiecewiseText(handle, encoding)
        yield from _members(text, field, opening) if field else _elements(text, opening)
        if text.peek():
            raise text.error("Extra data")


def _members(text: _PiecewiseText, field: str, opening: str) -> Iterator[Any]:
    """The parts of the member `field` of the top mapping; the others are skipped."""
    if text.peek() != "{":
        yield text.value()
        return
    found, others = False, dict[str, None]()
    for name in text.names():
        if name != field:
            for _ in _elements(text, text.peek()):
                pass
            if len(others) < _SHOWN_NAMES:
                others[name] = None
            continue
        if found:
            raise text.error(f"Second {field!r}")
        found = True
        for part in _elements(text, opening):
            yield {field: part}
    if not found:
        yield others


def _elements(text: _PiecewiseText, opening: str) -> Iterator[Any]:
    """The next value in parts if it begins with `opening`, a bracket; else the complete value."""
    if text.peek() != opening or opening not in _CLOSES:
        yield text.value()
        return
    begin = text.position
    if opening == "[":
        items: list[Any] = []
        for _ in text.places("]"):
            items.append(text.value())
            if len(items) == _PART_ELEMENTS or text.position > begin + _PART_CHARS:
                yield items
                items, begin = [], text.position
        yield items
        return
    members: dict[str, Any] = {}
    for name in text.names():
        if name in members or len(members) == _PART_ELEMENTS or text.position > begin + _PART_CHARS:
            yield members
            members, begin = {}, text.position
        members[name] = text.value()
    yield members


class _PiecewiseText:
    """The text of a document, of which only the current piece is in memory."""

    def __init__(self, handle: IO[bytes], encoding: str) -> None:
        self._handle, self._encoding = handle, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._text, self._at = "", 0
        self._bytes, self._line, self._column, self._chars = 0, 1, 1, 0
        self._begun = self._ended = False

    @property
    def position(self) -> int:
        """The number of characters that were read."""
        return self._chars + self._at

    def peek(self) -> str:
        """The next character that is no space, or "" at the end."""
        while True:
            if (match := _NEXT.search(self._text, self._at)) is not None:
                self._at = match.start()
                return match[0]
            self._at = len(self._text)
            if not self._fill():
                return ""

    def value(self) -> Any:
        """The next value."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError as error:
                raise ValueError(TOO_DEEP) from error
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string") or error.pos + _LONGEST_WORD >= len(self._text)
                problem = self.error(error.msg, error.pos)
                if not cut or not self._fill():
                    raise problem from error
                continue
            if end + _LONGEST_WORD < len(self._text) or not self._fill():  # a number may go on in the next piece
                self._at = end
                return value

    def places(self, closing: str) -> Iterator[None]:
        """Stop before each element of a list or mapping; the caller reads it."""
        self._at += 1
        if self.peek() == closing:
            self._at += 1
            return
        while True:
            yield
            mark = self.peek()
            if mark not in (",", closing) or not mark:
                raise self.error(f"Expecting ',' delimiter or {closing!r}")
            self._at += 1
            if mark == closing:
                return

    def names(self) -> Iterator[str]:
        """The keys of a mapping; the caller reads the value of each."""
        for _ in self.places("}"):
            if self.peek() != '"':
                raise self.error("Expecting property name enclosed in double quotes")
            name = self.value()
            if self.peek() != ":":
                raise self.error("Expecting ':' delimiter")
            self._at += 1
            yield name

    def error(self, problem: str, at: int | None = None) -> ValueError:
        """A problem and its place in the document."""
        at = self._at if at is None else at
        lines, column = self._text.count("\n", 0, at), at - self._text.rfind("\n", 0, at)
        column = column if lines else self._column + at
        return ValueError(f"{problem}: line {self._line + lines} column {column} (char {self._chars + at})")

    def _fill(self) -> bool:
        """Read on, as much as is unread; False at the end."""
        if self._ended:
            return False
        piece = self._handle.read(max(_PIECE_BYTES, len(self._text) - self._at))
        pending = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            problem = decoding_problem(error, self._encoding, self._bytes - pending)
            raise UndecodableDocumentError(problem) from error
        if text and not self._begun:
            self._begun, text = True, text.removeprefix("\ufeff")
        self._bytes += len(piece)
        self._ended = not piece
        if self._ended and not text:
            return False
        if newlines := self._text.count("\n", 0, self._at):
            self._line, self._column = self._line + newlines, self._at - self._text.rfind("\n", 0, self._at)
        else:
            self._column += self._at
        self._chars += self._at
        self._text, self._at = self._text[self._at :] + text, 0
        return True
