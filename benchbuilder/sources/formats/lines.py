"""Decoded lines of a text file, numbered as an editor numbers them."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator


def _known_encoding(name: str) -> str:
    try:
        plain = "\n".encode(name).removeprefix(codecs.BOM_UTF8) == b"\n"
    except (LookupError, TypeError) as error:
        raise ValueError(f"{name!r} is no encoding that Python knows") from error
    if not plain:
        raise ValueError(f"{name!r} cannot be read line by line: convert the file to utf-8")
    return name


Encoding = Annotated[str, AfterValidator(_known_encoding)]
"""Name of an encoding in which a line feed is one byte: utf-8 (with or without BOM), gb18030, cp1252, ..."""


class TextLine(NamedTuple):
    """A line without its end. `problem` says which bytes could not be decoded ("" if all could)."""

    number: int
    text: str
    problem: str = ""


def read_lines(path: Path, encoding: str) -> Iterator[TextLine]:
    """The lines of a file, from 1. A line ends in LF or CRLF; a byte order mark is left out."""
    with path.open("rb") as handle:
        yield from decode_lines(handle, encoding)


def decode_lines(raws: Iterable[bytes], encoding: str, first: int = 1) -> Iterator[TextLine]:
    """The same of lines that have been read, of which the first is number `first` of its file."""
    for number, raw in enumerate(raws, first):
        problem = ""
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError as error:
            text = raw.decode(encoding, errors="replace")
            problem = decoding_problem(error, encoding)
        if number == 1:
            text = text.removeprefix("\ufeff")
        yield TextLine(number, text.removesuffix("\n").removesuffix("\r"), problem)


class Block(NamedTuple):
    """Whole lines of a file, as they stand there; the first of them is its line `first`."""

    first: int
    data: bytes


def read_blocks(path: Path, size: int) -> Iterator[Block]:
    """A file in pieces of about `size` bytes, cut behind line feeds."""
    first, rest = 1, b""
    with path.open("rb") as handle:
        while piece := handle.read(size):
            end = piece.rfind(b"\n") + 1
            if not end:
                rest += piece
                continue
            data = rest + piece[:end]
            yield Block(first, data)
            first += data.count(b"\n")
            rest = piece[end:]
    if rest:
        yield Block(first, rest)


def decoding_problem(error: UnicodeDecodeError, encoding: str) -> str:
    """What could not be decoded, in words."""
    found = error.object[error.start : error.end].hex(" ")
    return f"bytes {found} at position {error.start + 1} are not {encoding}"
