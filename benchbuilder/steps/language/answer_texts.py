"""Answers in texts: where an answer stands, what number it says, and whether it says another one."""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher
from functools import lru_cache

import regex
from rapidfuzz.distance import Levenshtein

from benchbuilder.core import (
    LengthUnit,
    Span,
    comparison_form,
    comparison_key,
    drop_hidden,
    fold_lookalikes,
    is_on_boundaries,
    split_words,
    to_half_width,
)

_NUMBER = re.compile(r"(?<![\d)）])[-−]?\d+(?:,\d{3})*(?:\.\d+)?")

_RANGE_END = re.compile(r"[^\d\s,;，；、()（）]{0,3}\s*[~〜～\-–—－−]\s*(\d+(?:,\d{3})*(?:\.\d+)?)")
"""The rest of a range behind its first number; a unit may come first."""


def answers_overlap(left: str, right: str) -> bool:
    """Whether one of two answers contains the other, so that both may be true.

    >>> answers_overlap("4 hours", "within 4 hours")
    True
    """
    return left in right or right in left


_TOKEN = regex.compile(
    r"\d+(?:[.,]\d+)*|[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]|"
    r"[[\p{L}\p{M}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]+|[-+<>=\u2264\u2265%\u2030]",
    regex.V1,
)
"""A number, a character of a script without spaces, a word, or a sign that changes what a number says."""


def says_answer(text: str, answer: str) -> bool:
    """Whether one of two answers is the other, or says it and more, by whole words and numbers.

    Case, widths, white space, invisible characters and letters that only look like those of another script in the same
    word make no difference.

    >>> says_answer("It is Jupiter, the gas giant.", "Jupiter"), says_answer("60 %", "60%"), says_answer("18", "8")
    (True, True, False)
    """
    one, other = (_answer_tokens(part) for part in (text, answer))
    if not one or not other:
        return comparison_form(text) == comparison_form(answer)
    long, short = (one, other) if len(one) >= len(other) else (other, one)
    return any(long[at : at + len(short)] == short for at in range(len(long) - len(short) + 1))


@lru_cache(maxsize=1 << 14)
def _answer_tokens(text: str) -> list[str]:
    plain = to_half_width(unicodedata.normalize("NFKC", drop_hidden(text)))
    return _TOKEN.findall(fold_lookalikes(plain).replace("\u2212", "-").casefold())


def number_range(text: str) -> tuple[float, float] | None:
    """The first number in `text` twice, or both ends of the range that it begins; ``None`` without a number.

    Digits may have any width. The unit may be on both ends of a range.

    >>> number_range("at most 1.5 litres"), number_range("-2 SD"), number_range("50%~60%")
    ((1.5, 1.5), (-2.0, -2.0), (50.0, 60.0))
    """
    plain = to_half_width(text)
    found = _NUMBER.search(plain)
    if found is None:
        return None
    first = _value(found.group())
    following = _RANGE_END.match(plain, found.end())
    return first, _value(following[1]) if following else first


def _value(number: str) -> float:
    return float(number.replace(",", "").replace("−", "-"))


def has_number_sign(text: str) -> bool:
    """Whether `text` has a character that is a number but not a digit, such as a fraction or a numeral.

    >>> has_number_sign("½ litre"), has_number_sign("2 litres")
    (True, False)
    """
    return any(unicodedata.numeric(mark, None) is not None and not mark.isdecimal() for mark in text)


def without_numbers(text: str) -> str:
    """The text around the numbers in `text`: unit and qualifiers.

    >>> without_numbers("at most 1.5 litres")
    'at most  litres'
    """
    return _NUMBER.sub("", to_half_width(text))


def locate_answer(answer: str, text: str, max_distance: int) -> Span | None:
    """The part of `text` that is nearest to `answer`, or ``None``. The answer is never read as a pattern.

    The last literal occurrence wins. Without one, it is the part with the smallest edit distance up to `max_distance`;
    among equals the later, then the one closer in length. At least half of the answer must remain: an answer of two
    characters is never found at distance two.

    >>> locate_answer("colour", "a colour, a color", 2)
    Span(start=2, end=8)
    >>> locate_answer("colour", "a color", 2)
    Span(start=2, end=7)
    >>> locate_answer("ab", "xy", 2) is None
    True
    """
    if not answer:
        return None
    if (at := text.rfind(answer)) >= 0:
        return Span(start=at, end=at + len(answer))
    limit = min(max_distance, len(answer) // 2)
    best: tuple[int, int, int] | None = None
    found: Span | None = None
    for start in range(len(text) - 1, -1, -1):
        for size in range(max(1, len(answer) - limit), len(answer) + limit + 1):
            end = start + size
            if end > len(text):
                break
            distance = Levenshtein.distance(answer, text[start:end], score_cutoff=limit)
            rank = (distance, -end, abs(size - len(answer)))
            if distance <= limit and (best is None or rank < best):
                best, found = rank, Span(start=start, end=end)
    return found


def text_differences(before: str, after: str) -> list[tuple[str, str]]:
    """The parts in which `after` differs from `before`, in order: old and new text.

    >>> text_differences("the cord falls off", "the cord may fall off")
    [('', 'may '), ('s', '')]
    """
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [(before[start:end], after[at:to]) for tag, start, end, at, to in codes if tag != "equal"]


def contains_text(whole: str, part: str, matching: LengthUnit, ignore: str = "") -> bool:
    """Whether `whole` contains `part`, in the form in which answers are compared.

    With ``characters`` it may be anywhere; with ``words`` all its words must be in a row. A part without words is
    searched as characters; an empty part is never found.

    >>> contains_text("environmental", "Iron", "characters"), contains_text("environmental", "Iron", "words")
    (True, False)
    """
    wanted = split_words(part, ignore) if matching == "words" else []
    if not wanted:
        key = comparison_key(part, ignore)
        return bool(key) and key in comparison_key(whole, ignore)
    words = split_words(whole, ignore)
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words) - len(wanted) + 1))


def last_whole_match(part: str, text: str, matching: LengthUnit) -> Span | None:
    """The last occurrence of `part` in `text` that cuts nothing; ``None`` without one.

    >>> last_whole_match("iron", "iron in the environment", "words")
    Span(start=0, end=4)
    """
    at = text.rfind(part) if part else -1
    while at >= 0:
        span = Span(start=at, end=at + len(part))
        if is_on_boundaries(span, text, matching):
            return span
        at = text.rfind(part, 0, at + len(part) - 1)
    return None
