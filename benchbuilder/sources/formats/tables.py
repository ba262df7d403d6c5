"""Lines of text files, and rows of files in any table format."""

from __future__ import annotations

import codecs
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import isnan
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, cast

from pydantic import AfterValidator, Field, model_validator

from benchbuilder.config import FileRef, Spec
from benchbuilder.core import Regex, fold_lookalikes, open_given_file, replace_all, replace_steering_characters
from benchbuilder.sources.base import SourceSpec

TextFix = Literal["invisible", "escapes", "tags", "entities", "mojibake", "lookalikes"]

_KEPT = frozenset("\n\t\r")
_ESCAPE = re.compile(r"\\[nrt](?![a-z])|(?:\\u[0-9A-Fa-f]{4})+")
_NAMES = "a|b|br|div|em|font|h[1-6]|i|img|li|ol|p|span|strong|sub|sup|table|td|th|tr|u|ul"
_TAG = re.compile(rf"</?({_NAMES})(?:\s[^<>]{{0,200}})?/?>", re.IGNORECASE)
_POWER = re.compile(r"(?<=\w)<sup>([-+\u2212]?\w+)</sup>", re.IGNORECASE)
_ENDS = frozenset({"br", "div", "li", "p", "td", "th", "tr"})
"""Tags at which a line, a cell or a paragraph ends."""
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,8}|#[0-9]{1,6}|#[xX][0-9A-Fa-f]{1,5});")
_HALF = re.compile("[\ud800-\udfff]")
_RUN = re.compile(r"[^\x00-\x7f]{2,}")


def _without_invisible(text: str) -> str:
    return text if text.isprintable() and text.isascii() else replace_steering_characters(text, _KEPT, "")


def _without_escapes(text: str) -> str:
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    if match[0][1] != "u":
        return " "
    decoded: str = json.loads(f'"{match[0]}"')
    return match[0] if _HALF.search(decoded) else decoded


def _without_tags(text: str) -> str:
    if "<" not in text:
        return text
    return _TAG.sub(lambda tag: " " if tag[1].lower() in _ENDS else "", _POWER.sub(r"^\1", text)).strip(" ")


def _without_entities(text: str) -> str:
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text) if "&" in text else text


def _without_mojibake(text: str) -> str:
    """`text` without UTF-8 that was read as Windows-1252: a run of other characters is hardly ever valid UTF-8."""
    return text if text.isascii() else _RUN.sub(_decoded, text)


def _decoded(run: re.Match[str]) -> str:
    try:
        return b"".join(_windows_byte(character) for character in run[0]).decode()
    except UnicodeError:
        return run[0]


def _windows_byte(character: str) -> bytes:
    try:
        return character.encode("cp1252")
    except UnicodeEncodeError:  # the five bytes that Windows-1252 leaves free
        return character.encode("latin-1")


TEXT_FIXES: Mapping[TextFix, Callable[[str], str]] = {
    "invisible": _without_invisible,
    "escapes": _without_escapes,
    "tags": _without_tags,
    "entities": _without_entities,
    "mojibake": _without_mojibake,
    "lookalikes": fold_lookalikes,
}
"""What each clean-up makes of a text; a text without the leftover stays as it is."""


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
    """A line without its end. `problem` names the bytes that cannot be decoded, or is ""."""

    number: int
    text: str
    problem: str = ""


def read_lines(path: Path, encoding: str) -> Iterator[TextLine]:
    """The lines of a file, from 1. A line ends in LF or CRLF; a byte order mark is omitted."""
    with open_given_file(path, most_bytes=None) as handle:
        yield from decode_lines(handle, encoding)


def decode_lines(raws: Iterable[bytes], encoding: str, first: int = 1) -> Iterator[TextLine]:
    """The lines of raw lines; the first one has the number `first` in its file."""
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
    """Complete raw lines of a file; `first` is the number of the first one."""

    first: int
    data: bytes


def read_blocks(path: Path, size: int) -> Iterator[Block]:
    """A file in pieces of about `size` bytes, split after line feeds."""
    first, rest = 1, b""
    with open_given_file(path, most_bytes=None) as handle:
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


_SAMPLE_BYTES = 1 << 16
_ENCODINGS = ("cp1252", "cp1250", "cp1251", "gb18030", "big5", "shift_jis", "cp949")
_ODD = re.compile(
    r"(?<=[A-Za-z])[^\x00-\x7f\u00c0-\u017f\u2018-\u201d](?=[A-Za-z])|[\u00c0-\u024f]{3}|[\u0430-\u045f][\u0400-\u042f]"
    r"|[\x80-\x9f\u00a4\u00a6\u00a8\u00ac\u00af\u00b4\u00b8\ue000-\uf8ff\uff61-\uff9f\ufffd]"
    r"|(?<=[a-z])[\u00c0-\u00de]|[\u3400-\u9fff\uac00-\ud7a3](?=[a-z])|[\u3400-\u4dbf]"
)
"""What real texts hardly have: other scripts inside Latin words, rows of accented letters, capitals inside words."""


def likely_encodings(path: Path) -> list[str]:
    """The encodings in which the beginning of a file reads best; none if it cannot be told."""
    with open_given_file(path, most_bytes=None) as stream:
        data = stream.read(_SAMPLE_BYTES)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return []
    texts: dict[str, str] = {}
    for name in _ENCODINGS:
        try:
            texts[name] = codecs.getincrementaldecoder(name)().decode(data)  # the last character may be cut
        except UnicodeDecodeError:
            continue
    odd = {name: len(_ODD.findall(text)) for name, text in texts.items()}
    least = min(odd.values(), default=0)
    best = [name for name in texts if odd[name] == least]
    return [name for at, name in enumerate(best) if texts[name] not in [texts[other] for other in best[:at]]]


def encoding_advice(path: Path, key: str) -> str:
    """What to set for a file that cannot be decoded, by how it reads then."""
    if not (names := likely_encodings(path)):
        return f"convert the file to utf-8, or set {key} to its encoding"
    choice = " or ".join(names) + (", whichever reads well" if names[1:] else "")
    return f"set {key} to {choice}"


def decoding_problem(error: UnicodeDecodeError, encoding: str, before: int = 0) -> str:
    """The bytes that cannot be decoded, `before` bytes into the text, as a message."""
    raw = error.object[error.start : error.end].hex(" ")
    return f"bytes {raw} at position {before + error.start + 1} are not {encoding}"


Column = Annotated[int, Field(ge=0, strict=True)] | str
"""A column: its name in the header or record, its index from 0, or a path inside a record, such as ``answers[].text``.

In a path, ``[]`` is every element of a list, ``[0]`` its first one, and a dot leads into a field. ``a | b`` is the
first path that finds something.
"""

find_surrogate = re.compile("[\ud800-\udfff]").search

TableFormat = Literal["delimited", "csv", "tsv", "json", "jsonl", "parquet", "xlsx", "text"]

TABLE_SUFFIXES: dict[str, TableFormat] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
    ".txt": "text",
}


class RawRow(NamedTuple):
    """A unit of a file: its number and the values of the requested columns, or the reason why it has none.

    A value is ``None`` if a record has no such field. If `reason` is set, `values` is empty.
    """

    line: int
    values: Sequence[Any]
    reason: str = ""
    detail: str = ""


class CleanRule(Spec):
    """A replacement in a text: every match of `find` becomes `put`; or a clean-up by its name."""

    find: Regex | None = None
    put: str = ""
    """May name groups of the match, as ``\\1``."""
    fix: TextFix | None = None
    """``invisible`` drops soft hyphens, zero-width spaces and controls; ``entities`` decodes ``&lt;``; ``tags`` drops
    tags of HTML, and writes powers with ``^``; ``escapes`` reads ``\\n`` and ``\\u00fc``; ``mojibake`` decodes UTF-8
    that was read as Windows-1252; ``lookalikes`` puts Latin letters for others inside Latin words."""

    @model_validator(mode="after")
    def _one_way(self) -> CleanRule:
        if (self.find is None) == (self.fix is None):
            raise ValueError("write either find, a pattern, or fix, the name of a clean-up")
        return self

    def cleaned(self, text: str) -> str:
        """`text` after this rule."""
        if self.fix is not None:
            return TEXT_FIXES[self.fix](text)
        return text if self.find is None else replace_all(self.find, self.put, text)


class TableSpec(SourceSpec):
    """The files, and how they are split into units. Units are numbered from 1.

    In line formats, the number is the line on which the unit begins, as in an editor; blank lines are counted but are
    not units. In JSON and Parquet, and where `records` leads into lines, it is the number of the record.
    """

    path: FileRef
    """A file, a folder or a glob."""
    files: str = ""
    """Which files of a folder: a name with ``*``, and with ``{category}`` or ``{split}`` for these parts of it."""
    format: TableFormat | None = None
    """Default: by the file's suffix."""
    encoding: Encoding = "utf-8"
    delimiter: Annotated[str, Field(min_length=1)] | None = None
    """Default: a comma in csv, a tab in tsv and delimited files."""
    quoting: bool | None = None
    """Whether quotation marks enclose cells (default in csv) or have no meaning."""
    header: bool | Annotated[int, Field(ge=1)] = True
    """Whether the first line names the columns, or the number of the line that does: those above it are left out.
    Default: the first one does, unless all `columns` are numbers."""
    width: Annotated[int, Field(ge=1)] | None = None
    """Number of columns of a valid row; default: that of the header, or else at least the requested columns."""
    sheet: str = ""
    """The worksheet of an XLSX file; default: the first one."""
    records: str = ""
    """The path of the records in JSON or in a column, for instance ``data[].paragraphs[]`` (lists) or ``entries{}`` (a
    mapping of records, whose keys are the column ``entries{}.key``); default: the file is a list of records."""
    cells: Literal["text", "json"] = "text"
    """Whether cells of a table that begin with a bracket are JSON, into which columns may lead."""
    clean: dict[str, tuple[CleanRule, ...]] = {}
    """What is replaced in each column before anything else, in this order. Each rule must change a record."""
    separators: dict[str, str] = {}
    """What stands between the values of a cell that holds several, by column: ``{answers: ";"}``. An empty text says
    that the cells of this column hold no lists."""
    unit: Literal["line", "block", "file"] = "line"
    """The unit of a plain text: a line, a block between blank lines, or the complete file."""

    @model_validator(mode="before")
    @classmethod
    def _numbers_mean_no_header(cls, data: Any) -> Any:
        """Who counts columns has no names for them: the first line is a row."""
        if isinstance(data, dict):
            given = cast("dict[str, Any]", data)
            numbers = list(_leaves(given.get("columns")))
            if "header" not in given and numbers and all(isinstance(number, int) for number in numbers):
                return {**given, "header": False}
        return cast("Any", data)


def _leaves(value: Any) -> Iterator[Any]:
    """The columns that a recipe names, one by one."""
    if isinstance(value, Mapping):
        for part in cast("Mapping[str, Any]", value).values():
            yield from _leaves(part)
    elif isinstance(value, list | tuple):
        for part in cast("Sequence[Any]", value):
            yield from _leaves(part)
    elif value is not None:
        yield value


NO_VALUES = frozenset({"NaN", "#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!"})
"""What pandas and spreadsheets write for no value and for errors of formulas."""


def cell_text(value: Any) -> str | None:
    """A cell as text without surrounding white space; ``None`` if it is neither a number nor valid text."""
    if isinstance(value, str):
        return value.strip() if value.isascii() or not find_surrogate(value) else None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bool) or not isinstance(value, int | float) or isnan(value):
        return None
    return str(value)


def text_rows(path: Path, encoding: str, unit: Literal["line", "block", "file"], columns: int) -> Iterator[RawRow]:
    """The units of a text, with the number of their first line; the text is the first of `columns` values."""
    lines = read_lines(path, encoding)
    empty = [None] * (columns - 1)
    if unit == "line":
        for line in lines:
            if line.problem:
                yield RawRow(line.number, (), "undecodable", line.problem)
            elif text := line.text.strip():
                yield RawRow(line.number, [text, *empty])
        return
    groups = [list(lines)] if unit == "file" else _blocks(lines)
    for group in groups:
        problem = next((f"line {line.number}: {line.problem}" for line in group if line.problem), "")
        text = "\n".join(line.text.rstrip() for line in group).strip()
        if problem:
            yield RawRow(group[0].number, (), "undecodable", problem)
        elif text:
            yield RawRow(group[0].number, [text, *empty])


def _blocks(lines: Iterator[TextLine]) -> Iterator[list[TextLine]]:
    for blank, group in groupby(lines, key=lambda line: not line.problem and not line.text.strip()):
        if not blank:
            yield list(group)
