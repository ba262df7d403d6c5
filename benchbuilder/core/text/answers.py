"""Comparing answers: as edits, numbers, characters or whole words."""

from __future__ import annotations

import re
from functools import lru_cache

import regex
from rapidfuzz.distance import Levenshtein

from benchbuilder.core.records.row import Span
from benchbuilder.core.text.lengths import LengthUnit, split_characters
from benchbuilder.core.text.normalise import comparison_form, compose_characters, drop_hidden, to_half_width

_RANGE = re.compile(r"(?<=\d)\s*[~〜～\-–—－−]\s*(?=\d)")
_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_LATIN = re.compile(r"[A-Za-z]+")
_ZEROS = re.compile(r"(?<=\d)\.0+(?!\d)|(\.\d*?[1-9])0+(?!\d)")


@lru_cache(maxsize=4096)
def comparison_key(text: str, ignore: str) -> str:
    """The form in which answers are compared.

    It ignores widths, white space, case, the characters of `ignore`, the kind of dash in a range, and trailing zeros of
    a decimal.

    >>> comparison_key("Ｂ超。", "。") == comparison_key("b超", "。")
    True
    >>> comparison_key("36.0～37.0", "") == comparison_key("36-37", "")
    True
    """
    bare = comparison_form("".join(mark for mark in text if mark not in ignore))
    return _ZEROS.sub(lambda match: match[1] or "", _RANGE.sub("-", bare))


def all_numbers(*texts: str) -> list[str]:
    """Every number in `texts`, sorted; a rewording must not change them.

    >>> all_numbers("from 24 to 28 weeks", "1,500 g") == all_numbers("24～28 weeks: 1500 g")
    True
    """
    return sorted(number.replace(",", "") for text in texts for number in _DIGITS.findall(to_half_width(text)))


def is_whole_token(span: Span, text: str) -> bool:
    """Whether neither end of `span` cuts a number or a Latin word: ``5 ml`` is not part of ``15 ml``.

    >>> is_whole_token(Span(start=0, end=2), "15 ml"), is_whole_token(Span(start=1, end=5), "15 ml")
    (True, False)
    """
    runs = [match.span() for pattern in (_DIGITS, _LATIN) for match in pattern.finditer(to_half_width(text))]
    return not any(start < at < end for start, end in runs for at in (span.start, span.end))


def edit_distance(left: str, right: str) -> int:
    """Insertions, deletions and substitutions that turn `left` into `right`.

    >>> edit_distance("colour", "color")
    1
    """
    return Levenshtein.distance(left, right)


_WORD = regex.compile(r"[\p{L}\p{M}\p{N}\u200c\u200d]+")


def split_words(text: str, ignore: str = "") -> list[str]:
    """The words of `text`, composed, in half width and without case: letters, marks and digits in a row.

    >>> split_words("Iron-rich food")
    ['iron', 'rich', 'food']
    """
    kept = "".join(mark for mark in text if mark not in ignore) if ignore else text
    return _WORD.findall(to_half_width(compose_characters(drop_hidden(kept))).casefold())


def is_on_boundaries(span: Span, text: str, matching: LengthUnit) -> bool:
    """Whether no end of `span` lies inside a visible character of `text`, or (with ``words``) inside a word.

    >>> is_on_boundaries(Span(start=3, end=7), "environment", "characters")
    True
    >>> is_on_boundaries(Span(start=3, end=7), "environment", "words")
    False
    """
    if matching == "words":
        runs = [match.span() for match in _WORD.finditer(text)]
        if any(start < at < end for start, end in runs for at in (span.start, span.end)):
            return False
    edges, at = {0}, 0
    for character in split_characters(text):
        at += len(character)
        edges.add(at)
    return span.start in edges and span.end in edges
