"""Reads the elements of a JSON list from a file, some at a time, and says where the file is not JSON."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Any

_PIECE_BYTES = 2**20
_UNSURE = 64
"""An error so close to the end of a piece may be one of its end, and a number may go on."""
_SPACE = re.compile(r"[ \t\n\r]*")
_decode = json.JSONDecoder().raw_decode


def json_elements(file: IO[bytes]) -> Iterator[Any]:
    """The elements of the list in `file`, or its only value if it is no list.

    Raises:
        ValueError: it is not JSON in UTF-8; the message names the place as `json.loads` does.
        RecursionError: lists and objects are nested too deeply.
    """
    text = _Text(file)
    if text.next_mark() != "[":
        yield text.value()
        text.expect_end()
        return
    text.skip()
    if text.next_mark() == "]":
        text.skip()
        text.expect_end()
        return
    while True:
        text.next_mark()
        yield text.value()
        if text.next_mark() != ",":
            break
        text.skip()
    if text.next_mark() != "]":
        raise text.error("Expecting ',' delimiter")
    text.skip()
    text.expect_end()


class _Text:
    """The text of a file from a place on; what is before the place was read and is not held."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._bytes_read, self._ended = 0, False
        self._text, self._at = "", 0
        self._before = self._lines = self._line_start = 0
        if file.read(3) != codecs.BOM_UTF8:
            file.seek(0)

    def next_mark(self) -> str:
        """The next character that is no white space, which is skipped; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def skip(self) -> None:
        """Go on behind the next character."""
        self._at += 1

    def value(self) -> Any:
        """The next value."""
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except json.JSONDecodeError as error:
                is_sure = error.pos < len(self._text) - _UNSURE and not error.msg.startswith("Unterminated")
                if is_sure or not self._more():
                    raise self.error(error.msg, error.pos) from error
                continue
            if end > len(self._text) - _UNSURE and self._more():  # a number may go on
                continue
            self._at = end
            return value

    def expect_end(self) -> None:
        """ValueError if anything follows."""
        if self.next_mark():
            raise self.error("Extra data")

    def error(self, message: str, at: int | None = None) -> ValueError:
        """An error at a place of the held text, worded as `json.loads` words it."""
        at = self._at if at is None else at
        lines = self._lines + self._text.count("\n", 0, at)
        start = self._before + self._text.rfind("\n", 0, at) + 1 if lines > self._lines else self._line_start
        place = self._before + at
        return ValueError(f"{message}: line {lines + 1} column {place - start + 1} (char {place})")

    def _more(self) -> bool:
        """Read on, and let go of what is before the place; whether there was more."""
        if self._ended:
            return False
        piece = self._file.read(max(_PIECE_BYTES, len(self._text) - self._at))
        self._ended = not piece
        done = self._text[: self._at]
        if "\n" in done:
            self._lines += done.count("\n")
            self._line_start = self._before + done.rindex("\n") + 1
        self._before += len(done)
        self._text, self._at = self._text[self._at :] + self._decoded(piece), 0
        return True

    def _decoded(self, piece: bytes) -> str:
        pending: bytes = self._decoder.getstate()[0]
        try:
            text = self._decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            start = self._bytes_read - len(pending)
            raise ValueError(_decoding_problem(error, start)) from error
        self._bytes_read += len(piece)
        return text


def _decoding_problem(error: UnicodeDecodeError, start: int) -> str:
    """The message of an error in a piece that begins at `start`."""
    if error.end == error.start + 1:
        what = f"byte 0x{error.object[error.start]:02x} in position {start + error.start}"
    else:
        what = f"bytes in position {start + error.start}-{start + error.end - 1}"
    return f"'utf-8' codec can't decode {what}: {error.reason}"
