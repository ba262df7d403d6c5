"""Reads which members of a right and of a wrong set a free answer names, and what else it lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import regex
from rapidfuzz.distance import Indel

from benchbuilder.core import (
    all_numbers,
    compose_characters,
    drop_hidden,
    find_all,
    fold_lookalikes,
    has_match,
    replace_all,
    to_half_width,
)
from benchbuilder.evaluation.parsing.formatting import strip_formatting

_WORD = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]|"
    r"[[\p{L}\p{M}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]+",
    regex.V1,
)
"""A character of a script without spaces, or a word."""
_BULLET = re.compile(r"^[ \t]*[-*+•·●○▪■◆][ \t]+(?=\S)", re.MULTILINE)
_MARK = re.compile(r"[(]?\d{1,2}[.)、:] *(?!\d)|[①-⑳] *")
_HEAD_END = re.compile(r" *[:(—]")
_PAUSE = re.compile(r"[^\w\s'-]|—")
_LEAST_ENTRIES = 2
Sets = tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]]
"""The members of the right and of the wrong set, each with its names."""
Part = tuple[int, int]
"""Where a part of a line begins and ends."""


def indel_similarity(left: str, right: str) -> float:
    """How much two texts share, from 0 to 1: twice the longest common subsequence, over the characters of both.

    >>> round(indel_similarity("haemorrhage", "hemorrhage"), 3)
    0.952
    """
    return Indel.normalized_similarity(left, right)


@dataclass(frozen=True, slots=True)
class SetReading:
    """What an answer names.

    `named` has, for the right and for the wrong set, the places of the members that it names, each with the likeness of
    the name (1: as it is). `others` are entries of a list that are no known name. Without `is_list` there are none.
    """

    named: tuple[dict[int, float], dict[int, float]] = ({}, {})
    others: tuple[str, ...] = ()
    is_list: bool = False

    def counts(self, *, is_open: bool) -> tuple[int, int]:
        """How many right members are named, and how many names of all; of an open set, others do not count."""
        right, wrong = map(len, self.named)
        return right, right + wrong + (0 if is_open else len(self.others))

    def figures(self, sets: Sets, *, is_open: bool) -> dict[str, float | None]:
        """Recall, precision and contradiction by aspect; precision is ``None`` for an open set, or without a name."""
        right, named = self.counts(is_open=is_open)
        figures = {"set_recall": right / len(sets[0]), "set_precision": None if is_open or not named else right / named}
        return figures | ({"set_contradiction": len(self.named[1]) / len(sets[1])} if sets[1] else {})


@dataclass(frozen=True, slots=True)
class SetReader:
    """Finds names in answers; see `benchbuilder.evaluation.SetAnswerSpec` for its settings."""

    ignore: str
    endings: Sequence[str]
    similar: float
    similar_from: int
    denials: Sequence[str]
    turns: str
    ends: str
    separators: str
    leads: str
    fillers: str
    longest_name: int

    def read(self, text: str, sets: Sets) -> SetReading | None:
        """What `text` names; ``None`` if it is reasoning that never ended."""
        bare = strip_formatting(_BULLET.sub("1) ", text))
        if bare is None:
            return None
        lines = [_AnswerLine(self.form(line)) for line in bare.split("\n")]
        search = _NameSearch(self, lines, sets)
        search.find_as_they_are()
        search.find_similar()
        others, is_list = search.others()
        return SetReading(search.named, others, is_list)

    def form(self, text: str) -> str:
        """The form in which names are compared, with single spaces."""
        kept = "".join(mark for mark in text if mark not in self.ignore)
        return " ".join(fold_lookalikes(to_half_width(compose_characters(drop_hidden(kept)))).casefold().split())


@dataclass
class _AnswerLine:
    """A line of an answer. `places` are those of the characters that are no space, `taken` the parts that are names."""

    text: str
    taken: list[Part] = field(default_factory=list[Part])
    places: list[int] = field(default_factory=list[int])

    def __post_init__(self) -> None:
        self.places = [place for place, mark in enumerate(self.text) if mark != " "]
        self.packed = self.text.replace(" ", "")
        self.words: list[Part] = [match.span() for match in _WORD.finditer(self.text)]
        self._inner = {place for start, end in self.words for place in range(start + 1, end)}

    def is_taken(self, part: Part) -> bool:
        """Whether a name is in `part`, or overlaps it."""
        return any(part[0] < end and start < part[1] for start, end in self.taken)

    def occurrences(self, name: str, endings: Sequence[str]) -> Iterator[Part]:
        """Where `name` (without spaces) is, by whole words; one of `endings` may follow it."""
        at = self.packed.find(name)
        while at >= 0:
            start, end = self.places[at], self.places[at + len(name) - 1] + 1
            last = end
            while last in self._inner:
                last += 1
            if start not in self._inner and (last == end or self.text[end:last] in endings):
                yield start, last
            at = self.packed.find(name, at + 1)

    def pieces(self, breaks: Sequence[Part], start: int = 0, end: int | None = None) -> list[Part]:
        """The parts from `start` to `end` that `breaks` leave, from their first to their last word."""
        end = len(self.text) if end is None else end
        parts: list[Part] = []
        for cut in [*sorted(part for part in breaks if start <= part[0] < end), (end, end)]:
            if words := list(_WORD.finditer(self.text, start, cut[0])):
                parts.append((words[0].start(), words[-1].end()))
            start = max(start, cut[1])
        return parts


class _NameSearch:
    """The search of one answer for the members of both sets."""

    def __init__(self, reader: SetReader, lines: Sequence[_AnswerLine], sets: Sets) -> None:
        self._reader, self._lines = reader, lines
        names = {
            (form.replace(" ", ""), side, place): None
            for side, members in enumerate(sets) for place, member in enumerate(members)
            for name in member if (form := reader.form(name))
        }  # fmt: skip
        self._names = sorted(names, key=lambda known: (-len(known[0]), known))
        self._denied: set[tuple[int, int]] = set()
        self.named: tuple[dict[int, float], dict[int, float]] = ({}, {})

    def find_as_they_are(self) -> None:
        """Find names by whole words, the longest first: a name inside another is not named."""
        for name, side, place in self._names:
            for line in self._lines:
                for part in line.occurrences(name, self._reader.endings):
                    if not line.is_taken(part):
                        self._take(line, part, side, place, 1.0)

    def find_similar(self) -> None:
        """Find members that are not named as they are by what is like one of their names, the most alike first."""
        found = [
            (-likeness, -len(name), number, part, side, place)
            for name, side, place in self._names
            if len(name) >= self._reader.similar_from and not self._is_known(side, place)
            for number, part, text in self._windows
            if (likeness := self._likeness(name, text)) >= self._reader.similar
        ]
        for likeness, _, number, part, side, place in sorted(found):
            line = self._lines[number]
            if not self._is_known(side, place) and not line.is_taken(part):
                self._take(line, part, side, place, -likeness)

    def others(self) -> tuple[tuple[str, ...], bool]:
        """The entries of a list that are no known name, each once; whether there is a list."""
        entries = list(self._entries())
        found: dict[str, None] = {}
        for line, part in entries:
            text = replace_all(self._reader.fillers, "", line.text[slice(*part)]).strip()
            if _WORD.search(text) and not line.is_taken(part) and not self._is_denied(line, part[0]):
                found[text] = None
        return tuple(found), bool(entries)

    def _is_known(self, side: int, place: int) -> bool:
        return place in self.named[side] or (side, place) in self._denied

    def _take(self, line: _AnswerLine, part: Part, side: int, place: int, likeness: float) -> None:
        line.taken.append(part)
        if self._is_denied(line, part[0]):
            self._denied.add((side, place))
        else:
            self.named[side].setdefault(place, likeness)

    def _is_denied(self, line: _AnswerLine, place: int) -> bool:
        """Whether a denial reaches `place`: one before it, with no turn and no end of a sentence between."""
        before = line.text[:place]
        for pattern in (self._reader.turns, self._reader.ends):
            before = before[max((end for _, end in _parts(pattern, before)), default=0) :]
        return any(has_match(pattern, before) for pattern in self._reader.denials)

    @property
    def _windows(self) -> Iterator[tuple[int, Part, str]]:
        """The beginnings and ends, by whole words, of what is left between names, separators and other marks."""
        for number, line in enumerate(self._lines):
            marks = [match.span() for match in _PAUSE.finditer(line.text)]
            for start, end in line.pieces([*line.taken, *marks, *_parts(self._reader.separators, line.text)]):
                words = [word for word in line.words if start <= word[0] and word[1] <= end]
                for count in range(1, len(words) + 1):
                    for part in {(words[0][0], words[count - 1][1]), (words[-count][0], words[-1][1])}:
                        yield number, part, line.text[slice(*part)].replace(" ", "")

    def _likeness(self, name: str, text: str) -> float:
        short, long = sorted((len(name), len(text)))
        if 2 * short < self._reader.similar * (short + long) or all_numbers(name) != all_numbers(text):
            return 0.0
        return indel_similarity(name, text)

    def _is_short(self, text: str) -> bool:
        return len(text.replace(" ", "")) <= self._reader.longest_name

    def _entries(self) -> Iterator[tuple[_AnswerLine, Part]]:
        """The entries of the lists in the answer: lines with marks, else short lines, else enumerations."""
        marked = [(line, match.end()) for line in self._lines if (match := _MARK.match(line.text))]
        if len(marked) >= _LEAST_ENTRIES:
            for line, start in marked:
                yield from self._split(line, *self._entry_of_line(line, start))
        elif len(self._lines) >= _LEAST_ENTRIES and all(
            self._is_short(line.text) or line.text.endswith(":") for line in self._lines
        ):
            for line in self._lines:
                if not line.text.endswith(":"):
                    yield from self._split(line, 0, len(line.text))
        else:
            yield from self._enumerations()

    def _entry_of_line(self, line: _AnswerLine, start: int) -> tuple[int, int]:
        """What a line names: what is before its first colon or bracket, or what is behind if only that is known."""
        head = _HEAD_END.search(line.text, start)
        if head is None:
            return start, len(line.text)
        is_class = not line.is_taken((start, head.start())) and line.is_taken((head.end(), len(line.text)))
        return (head.end(), len(line.text)) if is_class else (start, head.start())

    def _enumerations(self) -> Iterator[tuple[_AnswerLine, Part]]:
        """Entries of sentences that enumerate: they announce it, or are the only one, with a known name as an entry."""
        sentences = [(line, part) for line in self._lines for part in line.pieces(_parts(self._reader.ends, line.text))]
        for line, (start, end) in sentences:
            lead = max((last for _, last in _parts(self._reader.leads, line.text[start:end])), default=0)
            parts = self._split(line, start + lead, end)
            is_announced = lead > 0 or (len(sentences) == 1 and any(part in line.taken for _, part in parts))
            if is_announced and len(parts) >= _LEAST_ENTRIES:
                yield from parts

    def _split(self, line: _AnswerLine, start: int, end: int) -> list[tuple[_AnswerLine, Part]]:
        """The parts between separators, none if one is too long; a separator inside a known name does not divide it."""
        marks = [mark for mark in _parts(self._reader.separators, line.text) if not line.is_taken(mark)]
        parts = line.pieces(marks, start, end)
        return [(line, part) for part in parts if all(self._is_short(line.text[slice(*each)]) for each in parts)]


def _parts(pattern: str, text: str) -> list[Part]:
    return [(span.start, span.end) for span in find_all(pattern, text)]
