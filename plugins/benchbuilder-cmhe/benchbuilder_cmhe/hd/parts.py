"""Parts of an answer that two dialogues can exchange: terms, numbers, and words with a confirmed opposite."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from re import escape
from typing import Annotated, Literal

from benchbuilder.config import FileRef, Name, Spec
from benchbuilder.core import (
    DataError,
    Regex,
    Span,
    find_all,
    has_match,
)
from pydantic import Field, model_validator

_DIGITS = r"[0-9]+(?:\.[0-9]+)?"


class Frame(Spec):
    """What stands directly before and directly behind a part."""

    before: Regex = ""
    after: Regex = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an answer. Only parts of one rule and one `frame` are exchanged.

    `kinds` says what it is (the groups of a term, the side of an opposite), `fields` where it belongs.
    """

    rule: str
    frame: str
    text: str
    span: Span
    around: tuple[str, str]
    kinds: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    value: float = 0.0

    def framed(self) -> str:
        """The part with what its frame matched behind it."""
        return f"{self.text}{self.around[1]}"


class PartRule(Spec):
    """Where parts are found. `same` says when two frames are equal: by their texts, or by their names alone.

    A part counts only if its clause (between two `stops` of the step) has no match of `unless`.
    """

    frames: Annotated[dict[Name, Frame | None], Field(min_length=1)]
    same: Literal["text", "name"] = "text"
    unless: Regex | None = None
    letters: bool = False
    """Whether both parts must share equally many letters with the rest of either dialogue."""
    contradicted: Regex = ""
    """What the rest of neither dialogue may say: there another part would contradict it (empty: anything)."""

    @abstractmethod
    def open(self) -> PartFinder:
        """What finds parts by this rule."""


class TermRule(PartRule):
    """Terms of a table (see `TermTable`), each with its `form` behind it, for instance "tablets"."""

    table: FileRef
    form: Regex = ""

    def open(self) -> PartFinder:
        """Read the table."""
        return _TermFinder(self, TermTable(self.table.file))


class Numeral(Spec):
    """A number that is written as a word."""

    word: Annotated[str, Field(min_length=1)]
    value: Annotated[float, Field(gt=0)]


class NumberRule(PartRule):
    """Numbers in digits or as `numerals`. The larger of two is at least `least` and at most `most` times the other."""

    numerals: tuple[Numeral, ...] = ()
    least: Annotated[float, Field(gt=1)]
    most: Annotated[float, Field(gt=1)]

    def open(self) -> PartFinder:
        """Nothing is read."""
        return _NumberFinder(self)


class OppositeRule(PartRule):
    """Words and their confirmed opposites: one of `affirmed` is exchanged with one of `negated`."""

    affirmed: Annotated[tuple[Regex, ...], Field(min_length=1)]
    negated: Annotated[tuple[Regex, ...], Field(min_length=1)]

    def open(self) -> PartFinder:
        """Nothing is read."""
        return _OppositeFinder(self)

    @model_validator(mode="after")
    def _has_sides(self) -> OppositeRule:
        if both := set(self.affirmed) & set(self.negated):
            raise ValueError(f"affirmed and negated have {', '.join(sorted(both))} in common")
        return self


class TermTable:
    """Terms by field and group. Terms of one field and different groups are of one sort, and never the same thing.

    The file has the columns ``field``, ``group`` and ``term``, tab-separated, one term per row. Terms of one group are
    alike and are never exchanged. A term may stand in several rows.
    """

    def __init__(self, path: Path) -> None:
        """DataError if the file cannot be read, a row is incomplete, or no field has two groups."""
        self.groups: dict[str, frozenset[str]] = {}
        self.fields: dict[str, frozenset[str]] = {}
        groups_of: dict[str, set[str]] = {}
        for number, cells in _rows(path):
            if len(cells) != 3 or not all(cells):
                raise DataError("a row of a table of terms needs a field, a group and a term", where=f"{path}:{number}",
                                why=f"found {len(cells)} cells", next="write: FIELD tab GROUP tab TERM")  # fmt: skip
            field, group, term = cells
            self.groups[term] = self.groups.get(term, frozenset()) | {group}
            self.fields[term] = self.fields.get(term, frozenset()) | {field}
            groups_of.setdefault(field, set()).add(group)
        if all(len(groups) < 2 for groups in groups_of.values()):
            raise DataError("a table of terms needs a field with two groups", where=str(path),
                            next="terms of one field are exchanged for those of another group")  # fmt: skip
        longest_first = sorted(self.groups, key=lambda term: (-len(term), term))
        self.pattern = f"(?:{'|'.join(map(escape, longest_first))})"

    def groups_in(self, text: str) -> frozenset[str]:
        """The groups of all terms in `text`, the longest terms first."""
        return frozenset[str]().union(*(self.groups[span.slice_of(text)] for span in find_all(self.pattern, text)))


class PartFinder:
    """Finds parts by one rule, and says which of them may be exchanged."""

    def __init__(self, rule: PartRule, pattern: str) -> None:
        self.rule = rule
        self._patterns = {
            name: (frame, f"(?<={frame.before}){pattern}(?={frame.after})")
            for name, frame in rule.frames.items() if frame is not None
        }  # fmt: skip

    @abstractmethod
    def describe(self, text: str) -> dict[str, object]:
        """The `kinds`, `fields` and `value` of a part."""

    @abstractmethod
    def differ(self, one: Part, other: Part) -> bool:
        """Whether the parts are of one sort, and surely not the same."""

    def counts(self, text: str, part: str) -> bool:  # noqa: ARG002
        """Whether a part of `text` counts at all."""
        return True

    def groups_in(self, text: str) -> frozenset[str]:  # noqa: ARG002
        """The kinds of parts that `text` mentions, in any frame."""
        return frozenset()

    def find(self, name: str, text: str, stops: str) -> list[Part]:
        """The parts of `text`, in the order of their frames; none overlaps an earlier one."""
        found: list[Part] = []
        for frame_name, (frame, pattern) in self._patterns.items():
            for span in find_all(pattern, text):
                part = span.slice_of(text)
                if (
                    any(span.start < one.span.end and one.span.start < span.end for one in found)
                    or not self.counts(text, part)
                    or (self.rule.unless and has_match(self.rule.unless, _clause(text, span, stops)))
                ):
                    continue
                around = (_end(frame.before, text[: span.start]), _start(frame.after, text[span.end :]))
                key = f"{name}/{frame_name}" + ("" if self.rule.same == "name" else f": {around[0]} … {around[1]}")
                found.append(Part(rule=name, frame=key, text=part, span=span, around=around, **self.describe(part)))  # type: ignore[arg-type]
        return found


class _TermFinder(PartFinder):
    def __init__(self, rule: TermRule, table: TermTable) -> None:
        super().__init__(rule, f"{table.pattern}(?:{rule.form})?" if rule.form else table.pattern)
        self._table = table

    def _term(self, part: str) -> str:
        return find_all(self._table.pattern, part)[0].slice_of(part)

    def counts(self, text: str, part: str) -> bool:
        """A term that stands twice would contradict itself if one of the two changed."""
        return text.count(self._term(part)) == 1

    def describe(self, text: str) -> dict[str, object]:
        term = self._term(text)
        return {"kinds": self._table.groups[term], "fields": self._table.fields[term]}

    def differ(self, one: Part, other: Part) -> bool:
        return one.kinds.isdisjoint(other.kinds) and not one.fields.isdisjoint(other.fields)

    def groups_in(self, text: str) -> frozenset[str]:
        return self._table.groups_in(text)


class _NumberFinder(PartFinder):
    rule: NumberRule

    def __init__(self, rule: NumberRule) -> None:
        self._values = {numeral.word: numeral.value for numeral in rule.numerals}
        words = map(escape, sorted(self._values, key=len, reverse=True))
        super().__init__(rule, f"(?:{'|'.join([_DIGITS, *words])})")

    def describe(self, text: str) -> dict[str, object]:
        return {"value": self._values[text] if text in self._values else float(text)}

    def differ(self, one: Part, other: Part) -> bool:
        low, high = sorted((one.value, other.value))
        return low > 0 and self.rule.least <= high / low <= self.rule.most


class _OppositeFinder(PartFinder):
    rule: OppositeRule

    def __init__(self, rule: OppositeRule) -> None:
        self._negated = "|".join(f"(?:{pattern})" for pattern in rule.negated)
        affirmed = "|".join(f"(?:{pattern})" for pattern in rule.affirmed)
        super().__init__(rule, f"(?:{self._negated}|{affirmed})")

    def describe(self, text: str) -> dict[str, object]:
        is_negated = any(span.start == 0 and span.end == len(text) for span in find_all(self._negated, text))
        return {"kinds": frozenset({"negated" if is_negated else "affirmed"})}

    def differ(self, one: Part, other: Part) -> bool:
        return one.kinds != other.kinds


def find_parts(finders: Mapping[str, PartFinder], text: str, stops: str) -> Iterator[Part]:
    """The parts of `text` by every rule; a clause ends at each of `stops`."""
    for name, finder in finders.items():
        yield from finder.find(name, text, stops)


def shared_letters(part: str, text: str) -> int:
    """How many different letters of `part` stand in `text`.

    >>> shared_letters("abba", "a c")
    1
    """
    return len({letter for letter in part if letter.isalpha()} & set(text))


def _clause(text: str, span: Span, stops: str) -> str:
    start = max((text.rfind(stop, 0, span.start) for stop in stops), default=-1) + 1
    ends = [at for stop in stops if (at := text.find(stop, span.end)) >= 0]
    return text[start : min(ends, default=len(text))]


def _end(pattern: str, text: str) -> str:
    """What `pattern` matches at the end of `text`: the longest match."""
    return find_all(rf"(?:{pattern})\Z", text)[0].slice_of(text) if pattern else ""


def _start(pattern: str, text: str) -> str:
    """What `pattern` matches at the start of `text`."""
    return find_all(rf"\A(?:{pattern})", text)[0].slice_of(text) if pattern else ""


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row behind the header; blank lines and those that begin with ``#`` are left out."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            "a table of terms cannot be read", where=str(path), why=str(error), next="it is TSV in UTF-8"
        ) from error
    for number, line in enumerate(lines[1:], start=2):
        if line.strip() and not line.startswith("#"):
            yield number, [cell.strip() for cell in line.split("\t")]
