"""Finds a claim in an answer that repeats it in nearly the same words, or denies it with one negation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import regex

from benchbuilder.core import Span, find_all
from benchbuilder.evaluation.parsing.verdict_tables import VerdictTable

_SHORTEST = 6
"""Claims with fewer characters are not searched for."""
_TIMEOUT_S = 2.0
_KEPT = 1 << 12
"""How many claims a finder knows again, as the next model answers the same questions."""


@dataclass(frozen=True, slots=True)
class RestatedClaim:
    """Where an answer restates a claim; `is_denied` says that it denies the claim instead."""

    span: Span
    is_denied: bool


@dataclass(slots=True)
class _Reduced:
    """A text without the words that leave a claim as it is, and where its characters came from."""

    text: str
    origins: list[int]
    negations: list[int] = field(default_factory=list[int])

    def replace(self, pattern: str, replacement: str = "") -> Iterator[int]:
        """Replace every match of `pattern`, and yield where each began in the original text."""
        for span in reversed(find_all(pattern, self.text) if pattern else []):
            start = self.origins[span.start]
            self.text = self.text[: span.start] + replacement + self.text[span.end :]
            self.origins[span.start : span.end] = [start] * len(replacement)
            yield start


class ClaimFinder:
    """Compares answers with claims by the setting `restating` of one table."""

    def __init__(self, table: VerdictTable) -> None:
        forms = table.restating
        self._spellings = [(table.expand_parts(form), text) for form, text in forms.spellings.items()]
        self._negations, self._drops = table.any_of(forms.negations), table.any_of(forms.drops)
        self._stand_ins = [(table.expand_parts(form), table.expand_parts(gap)) for form, gap in forms.stand_ins.items()]
        self.knows_forms = bool(self._negations or self._drops)
        self._claim, self._said = lru_cache(maxsize=_KEPT)(self._reduce), lru_cache(maxsize=2)(self._reduce)
        self._pattern = lru_cache(maxsize=_KEPT)(self._claim_pattern)

    def is_same(self, claim: str, contrary: str) -> bool:
        """Whether only words that are removed tell `claim` from `contrary`."""
        one, other = self._claim(claim), self._claim(contrary)
        return one.text == other.text and len(one.negations) == len(other.negations)

    def find(self, text: str, claim: str) -> list[RestatedClaim]:
        """Where `text` restates `claim` (both in the form in which tables are matched), or denies it."""
        wanted = self._claim(claim)
        if len(wanted.text.strip()) < _SHORTEST or len(wanted.negations) > 1:
            return []
        said = self._said(text)
        found: list[RestatedClaim] = []
        for match in self._pattern(wanted.text.strip()).finditer(said.text, timeout=_TIMEOUT_S):
            start, last = self._start(said, match.start(), text), said.origins[match.end() - 1]
            behind = said.origins[match.end()] if match.end() < len(said.origins) else len(text)
            end = min([behind, *(place for place in said.negations if place > last)])
            negations = sum(1 for place in said.negations if start <= place <= last)
            if negations <= 1:
                span = Span(start=start, end=start + len(text[start:end].rstrip()))
                found.append(RestatedClaim(span, is_denied=negations != len(wanted.negations)))
        return found

    @staticmethod
    def _start(said: _Reduced, place: int, text: str) -> int:
        """Where the words begin that are found at `place` of the reduced text, with those removed before them."""
        behind = len(said.text[:place].rstrip(" "))
        start = said.origins[behind - 1] + 1 if behind else 0
        return start + len(text[start:]) - len(text[start:].lstrip(" "))

    def _claim_pattern(self, claim: str) -> regex.Pattern[str]:
        """What matches `claim`, with its stand-ins replaced by what they may stand for."""
        pattern = regex.escape(claim, literal_spaces=True)
        for form, gap in self._stand_ins:
            pattern = regex.sub(form, lambda _, gap=gap: gap, pattern)
        return regex.compile(pattern)

    def _reduce(self, text: str) -> _Reduced:
        reduced = _Reduced(text, list(range(len(text))))
        for form, replacement in self._spellings:
            list(reduced.replace(form, replacement))
        if self._negations:
            reduced.negations = sorted(reduced.replace(self._negations))
        list(reduced.replace(self._drops))
        list(reduced.replace(r"(?<=\s)[^\S\n]+"))
        return reduced
