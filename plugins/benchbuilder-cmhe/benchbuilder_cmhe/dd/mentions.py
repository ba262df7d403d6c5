"""Which diseases a text names, and does not deny: the longest names of a classification, from left to right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchbuilder.core import (
    find_all,
    has_match,
)

from benchbuilder_cmhe.dd.classification import Classification
from benchbuilder_cmhe.dd.names import CodeMatch


@dataclass(frozen=True)
class MentionRules:
    """How answers are read: patterns see them in the spelling of the classification."""

    shortest: int
    """Characters of the shortest name that is looked for."""
    whole_words: bool
    """Whether a name must not stand inside a word: for languages that put spaces between words."""
    clause_ends: str
    """Characters that end a clause, in which alone a denial counts."""
    denied_before: tuple[str, ...] = ()
    """What denies a disease, in the clause before its name."""
    denied_after: tuple[str, ...] = ()
    """What denies it, in the clause behind its name."""
    begins: tuple[str, ...] = ()
    """What announces the diagnosis, the strongest first: of the first that a disease stands behind, the last place is
    read; else everything."""
    ends: tuple[str, ...] = ()
    """What ends that part."""
    parts: bool = False
    """Whether a name counts that stands inside another one that was found elsewhere."""


@dataclass(frozen=True)
class Mention:
    """A name that was found: where it stands in the text as it was read, and its code."""

    start: int
    end: int
    text: str
    match: CodeMatch


class MentionFinder:
    """Finds the names of a classification in texts."""

    def __init__(self, known: Classification, reading: MentionRules) -> None:
        self._known, self._reading = known, reading
        self._by_first: dict[str, list[int]] = {}
        lengths: dict[str, set[int]] = {}
        for key in known.names.keys():  # noqa: SIM118 - no mapping
            entry = known.names.entry(key)
            if entry is not None and len(key) >= reading.shortest and not known.is_left_out(entry.code):
                lengths.setdefault(key[0], set()).add(len(key))
        self._by_first = {first: sorted(found, reverse=True) for first, found in lengths.items()}

    def find(self, text: str) -> list[Mention]:
        """The diseases that `text` says somebody has, each name once."""
        said = self._normalise(text)
        for part in self._announced_parts(said):
            if found := self._affirmed_mentions(part):
                return found
        return self._affirmed_mentions(said)

    def _normalise(self, text: str) -> str:
        """The text in the spelling of the names, line by line."""
        keep_spaces = self._reading.whole_words
        lines = (line for line in text.splitlines() if line.strip())
        if keep_spaces:
            return "\n".join(" ".join(self._known.names.spell(word) for word in line.split()) for line in lines)
        return "\n".join(self._known.names.spell(line) for line in lines)

    def _announced_parts(self, text: str) -> Iterable[str]:
        """What stands behind announcements: the strongest ones first, of each the last place first."""
        for announcement in self._reading.begins:
            for start in sorted({span.end for span in find_all(announcement, text)}, reverse=True):
                part = text[start:]
                stops = [span.start for pattern in self._reading.ends for span in find_all(pattern, part)]
                yield part[: min(stops, default=len(part))]

    def _affirmed_mentions(self, text: str) -> list[Mention]:
        found = [mention for mention in self._all_mentions(text) if not self._is_denied(text, mention)]
        first = {mention.text: mention for mention in reversed(found)}
        kept = sorted(first.values(), key=lambda mention: mention.start)
        if self._reading.parts:
            return kept
        return [one for one in kept if not any(one.text in other.text for other in kept if other is not one)]

    def _all_mentions(self, text: str) -> list[Mention]:
        found: list[Mention] = []
        at = 0
        while at < len(text):
            mention = self._mention_at(text, at)
            if mention is None:
                at += 1
            else:
                found.append(mention)
                at = mention.end
        return found

    def _mention_at(self, text: str, position: int) -> Mention | None:
        """The longest name that begins at `position`."""
        for length in self._by_first.get(text[position], ()):
            key = text[position : position + length]
            entry = self._known.names.entry(key)
            if entry is None or len(key) < length or self._known.is_left_out(entry.code):
                continue
            if self._reading.whole_words and _inside_word(text, position, position + length):
                continue
            return Mention(position, position + length, key, CodeMatch(entry.code, entry.name, entry.how))
        return None

    def _is_denied(self, text: str, mention: Mention) -> bool:
        ends = self._reading.clause_ends + "\n"
        start = max((text.rfind(end, 0, mention.start) for end in ends), default=-1) + 1
        stops = [place for end in ends if (place := text.find(end, mention.end)) >= 0]
        before, after = text[start : mention.start], text[mention.end : min(stops, default=len(text))]
        return _matches_any(self._reading.denied_before, before) or _matches_any(self._reading.denied_after, after)


def _matches_any(patterns: Sequence[str], text: str) -> bool:
    return any(has_match(pattern, text) for pattern in patterns)


def _inside_word(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return (before.isalnum() and text[start].isalnum()) or (after.isalnum() and text[end - 1].isalnum())
