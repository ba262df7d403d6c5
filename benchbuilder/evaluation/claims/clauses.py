"""Cuts an answer into clauses, each with its exact place and its sentence, by the words of a language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from benchbuilder.core import find_all, has_match, sentence_spans
from benchbuilder.evaluation.claims.words import ClaimWords

_LINES = re.compile(r"[^\r\n\u2028\u2029]+")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_BULLET = re.compile(r"\s*(?:>\s*)*(?:[-*+•·]\s+|[(（]?\d{1,3}[.)、．）](?!\d)\s*|[①-⑳]\s*)?")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_RULE = re.compile(r"[\s|:+=-]*[|-][\s|:+=-]*")
_EDGES = " \t\u3000\u00a0*_`,，、;；:：。.!！?？…—|।؟۔\"'“”‘’)）】」』"
_FRONT = " \t\u3000\u00a0*_`,，、;；:：。.!！?？…—|\"'“”‘’"


@dataclass(frozen=True, slots=True)
class AnswerClause:
    """A clause ``answer[start:end]`` in the sentence ``answer[left:right]``; or a heading."""

    start: int
    end: int
    left: int
    right: int
    heading: bool = False

    def text(self, answer: str) -> str:
        """Its words."""
        return answer[self.start : self.end]


def split_clauses(answer: str, words: ClaimWords) -> list[AnswerClause]:
    """The clauses of `answer` in order; they do not overlap, and none is blank.

    Sentences end at stops and lines, and clauses at pauses. A row of a table is one clause; its header, its rule and
    fences of code are none. Conditions and lead-ins stay with what is behind them.
    """
    found: list[AnswerClause] = []
    lines = [match.span() for match in _LINES.finditer(answer)]
    for at, (start, end) in enumerate(lines):
        line = answer[start:end]
        if _FENCE.match(line) or _RULE.fullmatch(line):
            continue
        if line.count("|") > 1 or ("|" in line and line.lstrip().startswith("|")):
            is_header = at + 1 < len(lines) and _RULE.fullmatch(answer[slice(*lines[at + 1])]) is not None
            found += [] if is_header else _trimmed(answer, start, end, start, end)
        elif _HEADING.match(line):
            found += _trimmed(answer, start + line.index("#"), end, start, end, heading=True)
        else:
            bullet = _BULLET.match(line)
            found += _clauses_of_line(answer, start + (bullet.end() if bullet else 0), end, words)
    return found


def is_whole(answer: str) -> bool:
    """Whether the last sentence of an answer has its end.

    >>> is_whole("It is so.**"), is_whole("It is because")
    (True, False)
    """
    return answer.rstrip("*_` \n\r\t\"'”’」』)）").endswith((".", "。", "!", "！", "?", "？", "|"))


def _clauses_of_line(answer: str, start: int, end: int, words: ClaimWords) -> Iterator[AnswerClause]:
    line = answer[start:end]
    for span in sentence_spans(line, words.stops, words.soft_stops, words.abbreviations):
        sentence = span.slice_of(line)
        left, right = start + span.start, start + span.end
        cuts = [0, *(pause.end for pause in find_all(words.pattern("pauses"), sentence)), len(sentence)]
        open_at: int | None = None
        last: AnswerClause | None = None
        for first, after in pairwise(cuts):
            own = next(iter(_trimmed(answer, left + first, left + after, left, right)), None)
            if own is None:
                continue
            plain = words.plain(own.text(answer))
            begin = own.start if open_at is None else open_at
            if _stays(words, plain) and after < len(sentence):
                open_at = begin
            elif last is not None and open_at is None and _goes_back(words, plain):
                last = AnswerClause(last.start, own.end, left, right)
            else:
                if last is not None:
                    yield last
                last, open_at = AnswerClause(begin, own.end, left, right), None
        if last is not None:
            yield last
        if open_at is not None:
            yield from _trimmed(answer, open_at, right, left, right)


def _stays(words: ClaimWords, plain: str) -> bool:
    """Whether a clause goes with the one behind it."""
    return has_match(words.pattern("conditions"), plain) or has_match(words.pattern("leads"), plain)


def _goes_back(words: ClaimWords, plain: str) -> bool:
    """Whether a clause goes with the one before it."""
    return has_match(words.pattern("trails"), plain) or has_match(words.pattern("unsaid"), plain)


def _trimmed(answer: str, start: int, end: int, left: int, right: int, *, heading: bool = False) -> list[AnswerClause]:
    """The clause without white space and marks around it; none if nothing is left."""
    if heading:
        start += len(answer[start:end]) - len(answer[start:end].lstrip("# \t"))
    while start < end and answer[start] in _FRONT:
        start += 1
    while end > start and (answer[end - 1] in _EDGES or answer[end - 1].isspace()):
        end -= 1
    while start < end and answer[start].isspace():
        start += 1
    end += _closing(answer[start:end], answer[end:right])
    return [AnswerClause(start, end, left, right, heading)] if any(mark.isalnum() for mark in answer[start:end]) else []


def _closing(text: str, rest: str) -> int:
    """How many closing brackets behind `text` close what it opens."""
    missing = sum(map(text.count, "(（【「『")) - sum(map(text.count, ")）】」』"))
    return 1 if missing > 0 and rest[:1] in tuple(")）】」』") else 0
