"""Turns answers from other tools into votes: checks values, merges repeated ones and reports contradictions."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import IO, Any, cast

from benchbuilder.annotation.base import Subject, Value
from benchbuilder.annotation.database.models import ImportedVote
from benchbuilder.annotation.formats.models import ExportInput, ParsedVotes, Rater
from benchbuilder.annotation.formats.vote_index import vote_mark
from benchbuilder.annotation.values import is_allowed_value, parse_value
from benchbuilder.config import GuidingQuestion
from benchbuilder.core import escape_invisible, head_excerpt, parse_json, show_invisible


class VoteCollector:
    """Collects the votes of one file on current tasks in `parsed`."""

    def __init__(self, export: ExportInput) -> None:
        self.parsed = ParsedVotes()
        self.task_with = export.task_with
        self.people: Mapping[str, Rater] = {rater.code: rater for rater in export.all_raters()}
        self._export = export
        self._questions = export.project.spec.questions_about()
        self._first: dict[bytes, int] = {}

    def add_problem(self, where: str, description: str) -> None:
        """Add a problem at `where`."""
        self.parsed.problems.append(f"{where}: {description}")

    def find_rater(self, where: str, code: object, role: object) -> Rater | None:
        """The person with `code`; a problem if there is none, or if their role is not `role` (empty for any)."""
        rater = self.people.get(code) if isinstance(code, str) else None
        if rater is None:
            self.add_problem(where, f"nobody in this project has the code {code!r}")
        elif role not in ("", rater.role):
            self.add_problem(where, f"{rater.code} is {rater.role} here, not {role}")
            return None
        return rater

    def question_for(self, subject: Subject) -> GuidingQuestion | None:
        """The guiding question about `subject`; ``None`` if it is not asked now."""
        name = self._export.subjects.question(subject)
        return None if name is None else self._questions[name]

    def add_answer(
        self, rater: Rater, subject: Subject, raw: object, *, where: str, label: str, **details: Any
    ) -> None:
        """Add `raw` as the answer of `rater` about `subject`; an empty value is not an answer.

        `label` names the answer in messages; `details` are further fields of the imported vote.
        """
        question = self.question_for(subject)
        if question is None:
            self.parsed.stale += not _is_empty(raw)
            return
        try:
            value = parse_raw_value(question, raw)
        except ValueError as error:
            shown = repr(head_excerpt(str(raw), 60)) if isinstance(raw, str | int | float) else "several answers"
            self.add_problem(where, f"{label} is {shown}; {error}")
            return
        if value is None:
            return
        if isinstance(value, str) or details.get("note"):
            former = self._export.last_vote(rater.code, subject)
            value = _as_stored(value, former and former.value)
            details |= {"note": _as_stored(details["note"], former and former.note)} if "note" in details else {}
        vote = ImportedVote(rater.person, subject, value, rater.role, where=where, **details)
        place = self._first.setdefault(vote_mark(rater.code or rater.person, subject), len(self.parsed.votes))
        if place == len(self.parsed.votes):
            self.parsed.votes.append(vote)
        elif (before := self.parsed.votes[place]).value != value:
            said, says = head_excerpt(str(before.value), 60), head_excerpt(str(value), 60)
            self.add_problem(where, f"{rater.person} says {says} to {label}, but {said} at {before.where}; keep one")


def _as_stored(value: Value, stored: Value | None) -> Value:
    """The stored text if `value` is how an export shows it, else `value`."""
    if isinstance(value, str) and isinstance(stored, str) and value.strip() == show_invisible(stored).strip():
        return stored
    return value


def _is_empty(raw: object) -> bool:
    return raw is None or (isinstance(raw, str) and not raw.strip())


def parse_raw_value(question: GuidingQuestion, raw: object) -> Value | None:
    """The answer in `raw`, a string or a number from JSON; ``None`` if it is empty. ValueError says what is allowed."""
    if _is_empty(raw):
        return None
    if question.answer == "text":
        if isinstance(raw, list) and all(isinstance(part, str) for part in raw):
            raw = "\n".join(raw)
        if not isinstance(raw, str):
            raise ValueError("allowed is a text")
        return parse_value(question, raw)
    if isinstance(raw, str):
        return parse_value(question, raw)
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not is_allowed_value(question, raw):
        return parse_value(question, "-")  # raises, and says what is allowed
    return round(float(raw), 6) if question.answer == "scalar" else int(raw)


def value_text(value: Value) -> str:
    """A value as text; numbers without an exponent, and whole.

    >>> value_text(0.00001), value_text(1.0), value_text(3), value_text("x")
    ('0.00001', '1', '3', 'x')
    """
    if not isinstance(value, float):
        return str(value)
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def load_json_rows(name: str, file: IO[bytes], parsed: ParsedVotes) -> Iterator[dict[str, Any]]:
    """The objects of a JSON file (a list, or a single object); other values are problems, and empty objects here.

    These problems come first. If the file is not JSON, this is the only problem.
    """
    broken: list[str] = []
    try:
        for number, row in enumerate(json_elements(file), start=1):
            is_object = isinstance(row, dict)
            if not is_object:
                broken.append(f"{name}:{number}: it is no object")
            yield row if is_object else {}
        parsed.problems[:0] = broken
    except (ValueError, RecursionError) as error:
        parsed.problems[:] = [f"{name}: it is not JSON in UTF-8 ({head_excerpt(str(error), 120)})"]


def load_json_lines(name: str, file: IO[bytes], parsed: ParsedVotes) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON Lines with the numbers of their lines; problems of other lines come first."""
    broken: list[str] = []
    for number, ended_line in enumerate(file, start=1):
        line = ended_line.removesuffix(b"\n")
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if not line.strip():
            continue
        try:
            row = parse_json(line.decode("utf-8"))
        except ValueError as error:
            broken.append(f"{name}:{number}: it is not JSON in UTF-8 ({head_excerpt(str(error), 120)})")
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            broken.append(f"{name}:{number}: it is no object")
    parsed.problems[:0] = broken


def json_bytes(data: object) -> bytes:
    """JSON in UTF-8, indented, for tools that show its texts: invisible characters are written as code points."""
    return (json.dumps(shown_data(data), ensure_ascii=False, indent=1) + "\n").encode("utf-8", "surrogatepass")


def json_list_bytes(rows: Iterable[object]) -> Iterator[bytes]:
    """A list as `json_bytes` writes it, in pieces."""
    start = b"[\n "
    for row in rows:
        yield start + json_bytes(row).removesuffix(b"\n").replace(b"\n", b"\n ")
        start = b",\n "
    yield b"[]\n" if start.startswith(b"[") else b"\n]\n"


def json_line_bytes(data: object) -> bytes:
    """One line of JSON in UTF-8; invisible characters are JSON escapes, so that its data is exact."""
    return (escape_invisible(json.dumps(data, ensure_ascii=False)) + "\n").encode("utf-8", "surrogatepass")


def shown_data(data: object) -> object:
    """Plain JSON data with every text as `show_invisible` writes it."""
    if isinstance(data, str):
        return show_invisible(data)
    if isinstance(data, Mapping):
        return {key: shown_data(value) for key, value in cast("Mapping[str, object]", data).items()}
    if isinstance(data, list | tuple):
        return [shown_data(value) for value in cast("list[object]", data)]
    return data


def same_shown(cell: str, text: str) -> bool:
    """Whether a cell holds `text`, apart from white space and from how invisible characters are written."""
    return show_invisible(cell).split() == show_invisible(text).split()


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
