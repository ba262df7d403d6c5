"""Tables as spreadsheet programs save them, their cells, and files of rows (JSON Lines, CSV, TSV, Parquet)."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from benchbuilder.core.errors import DataError
from benchbuilder.core.json_text import parse_json
from benchbuilder.core.special_files import read_given_file

_DELIMITERS = (",", ";", "\t")


def decode_text(data: bytes) -> str | None:
    """Text in UTF-8 with or without byte order mark, UTF-16 with one, or GB18030; ``None`` if it is none of these."""
    for encoding in _encodings(data[:2]):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return None


def _encodings(start: bytes) -> tuple[str, ...]:
    """The encodings that a text may have, by its first two bytes."""
    return ("utf-16",) if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else ("utf-8-sig", "gb18030")


def _encoding(file: IO[bytes]) -> str | None:
    """The encoding in which `decode_text` decodes the text in a file."""
    for encoding in _encodings(file.read(2)):
        file.seek(0)
        decoder = codecs.getincrementaldecoder(encoding)()
        with suppress(UnicodeDecodeError):
            while piece := file.read(_PIECE_BYTES):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
            if not decoder.getstate()[0]:  # half a byte order mark is no text
                return encoding
    return None


def csv_rows(data: bytes, is_header: Callable[[Sequence[str]], bool]) -> list[list[str]] | None:
    """The rows that `read_csv_rows` reads."""
    lines = read_csv_rows(io.BytesIO(data), is_header)
    return None if lines is None else list(lines)


def read_csv_rows(file: IO[bytes], is_header: Callable[[Sequence[str]], bool]) -> Iterator[list[str]] | None:
    """The cells of a CSV file, row by row, with the delimiter for which its header `is_header`; else with commas.

    ``None`` if it cannot be read: the whole file is checked first.
    """
    encoding = _encoding(file)
    if encoding is None:
        return None
    readable: list[str] = []
    for delimiter in _DELIMITERS:
        with suppress(csv.Error, UnicodeError):  # of a file that changed since
            lines = _delimited(file, encoding, delimiter)
            header = next(lines, None)
            deque(lines, maxlen=0)
            readable.append(delimiter)
            if header is not None and is_header(header):
                return _delimited(file, encoding, delimiter)
    return _delimited(file, encoding, readable[0]) if readable else None


def _delimited(file: IO[bytes], encoding: str, delimiter: str) -> Iterator[list[str]]:
    file.seek(0)
    text = io.TextIOWrapper(file, encoding=encoding, newline="")
    try:
        rows = csv.reader(text, delimiter=delimiter)
        while True:
            with _large_cells():  # not while somebody else reads
                row = next(rows, None)
            if row is None:
                return
            yield row
    finally:
        text.detach()


@contextmanager
def _large_cells() -> Generator[None]:
    """Raise the limit of the module `csv` for the size of cells."""
    before = csv.field_size_limit(_LARGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


_LARGEST_CELL = 2**27
_PIECE_BYTES = 2**20
_SHOWN = 20
_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")


def read_row_file(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """The rows of `path` with the lines on which they begin (in Parquet: their numbers, from 1), in order.

    Half a character (a JSON escape of one half of a pair) becomes U+FFFD, as it cannot be written. Delimited files
    begin with a header. The delimiter is the one of comma, semicolon and tab with the most columns. They may be in
    UTF-8, UTF-16 or GB18030; JSON Lines are in UTF-8.

    Raises:
        DataError: The file is missing or unreadable, or a line has another shape; with file and line.
    """
    suffix = path.suffix.lower()
    if suffix not in (".jsonl", ".csv", ".tsv", ".parquet"):
        raise _unreadable(path, f"its name ends in {suffix!r}" if suffix else "its name has no ending")
    try:
        data = read_given_file(path)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    if suffix == ".parquet":
        return _parquet(path)
    text = decode_text(data)
    if text is None:
        raise _unreadable(path, "it is text in neither UTF-8 nor GB18030")
    return list(_json_lines(path, text) if suffix == ".jsonl" else _cells(path, text))


def raise_row_errors(problems: Sequence[str], what: str, next: str) -> None:
    """DataError that lists the first of `problems`, each ``FILE:LINE: what is wrong``, if there are any."""
    if problems:
        more = len(problems) - _SHOWN
        raise DataError(
            what if len(problems) == 1 else f"{what}: {len(problems)} problems",
            where=problems[0].partition(": ")[0],
            why="\n         ".join([*problems[:_SHOWN], *([f"and {more} more"] if more > 0 else [])]),
            next=next,
        )


def _unreadable(path: Path, why: str) -> DataError:
    return DataError(
        f"{path.name} cannot be read", where=str(path), why=why,
        next="name a file of JSON Lines (.jsonl), CSV (.csv), TSV (.tsv) or Parquet (.parquet)",
    )  # fmt: skip


def _parquet(path: Path) -> list[tuple[int, dict[str, Any]]]:
    import pyarrow as pa

    from benchbuilder.core.parquet_files import GivenParquet

    try:
        with GivenParquet(path) as file:
            rows = file.rows()
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, str(error)) from error
    return list(enumerate(rows, start=1))


def _json_lines(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row: Any = parse_json(line)
        except ValueError as error:
            raise _broken(path, number, f"it is not JSON ({error})") from error
        if not isinstance(row, dict):
            raise _broken(path, number, "it is not a JSON object")
        yield number, _whole(row) if _ESCAPED.search(line) else row


def _whole(value: Any) -> Any:
    """`value` with U+FFFD for every half character."""
    if isinstance(value, str):
        return _HALF.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {_whole(name): _whole(part) for name, part in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return [_whole(part) for part in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]


def _cells(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    line = 1
    with _large_cells():
        try:
            header = [cell.strip() for cell in next(reader, [])]
            if twice := next((cell for cell in header if cell and header.count(cell) > 1), ""):
                raise _broken(path, 1, f"two columns are named {twice!r}")
            line = reader.line_num + 1
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    if len(cells) != len(header):
                        raise _broken(path, line, f"it has {len(cells)} cells, the header has {len(header)}")
                    yield line, dict(zip(header, cells, strict=True))
                line = reader.line_num + 1
        except csv.Error as error:
            raise _broken(path, line, str(error)) from error


def _delimiter(text: str) -> str:
    """The delimiter that cuts the first line into the most cells."""
    first = text.partition("\n")[0]
    return max(",;\t", key=first.count)


def _broken(path: Path, line: int, why: str) -> DataError:
    return DataError(
        f"{path.name} has a line that cannot be read", where=f"{path}:{line}", why=why,
        next="one JSON object a line; a cell with a delimiter or a line break in quotation marks",
    )  # fmt: skip


_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ORIGINALS = {escaped: original for original, escaped in _ESCAPES.items()}
FORMULA_STARTS = (*"=+-@'", *"＝＋－＠")
"""First characters of cells that a spreadsheet could read as formulas, or that hide this."""


def escape_cell(text: str) -> str:
    r"""`text` as one cell on one line.

    Backslash, tab, line feed and carriage return are written as ``\\``, ``\t``, ``\n`` and ``\r``. A cell that a
    spreadsheet could read as a formula (it begins with ``=``, ``+``, ``-`` or ``@``, of either width) gets an
    apostrophe in front, and so does one that begins with an apostrophe. `unescape_cell` restores the exact text.

    >>> escape_cell("=1+1"), escape_cell("two\nlines")
    ("'=1+1", 'two\\nlines')
    """
    for original, escaped in _ESCAPES.items():  # the backslash first; str.translate takes long
        text = text.replace(original, escaped)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def unescape_cell(cell: str) -> str:
    r"""The text from which `escape_cell` made `cell`.

    >>> unescape_cell(escape_cell("-3 ℃\t(at night)"))
    '-3 ℃\t(at night)'
    """
    bare = cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA_STARTS) else cell
    return re.sub(r"\\[\\tnr]", lambda match: _ORIGINALS[match.group()], bare)
