"""Finding and comparing answers."""

from __future__ import annotations

import re
import unicodedata

from benchbuilder.core.records.row import Span
from benchbuilder.core.text.distance import most_similar
from benchbuilder.core.text.normalise import comparison_form, to_half_width

_NUMBER = re.compile(r"(?<![\d)）])[-−]?\d+(?:,\d{3})*(?:\.\d+)?")
_RANGE = re.compile(r"(?<=\d)\s*[~〜～\-–—－−]\s*(?=\d)")
_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_LATIN = re.compile(r"[A-Za-z]+")
_ZEROS = re.compile(r"(?<=\d)\.0+(?!\d)|(\.\d*?[1-9])0+(?!\d)")


def locate_answer(answer: str, text: str, max_distance: int) -> Span | None:
    """Where `text` gives `answer`: the last literal place, else the most similar part within `max_distance` edits.

    The answer is never read as a pattern. With `max_distance` 0 only a literal place counts.

    >>> locate_answer("C++", "C++ or C+", 2)
    Span(start=0, end=3)
    """
    if not answer:
        return None
    return most_similar(answer, text, max_distance)


def comparison_key(text: str, ignore: str) -> str:
    """The form in which answers are compared.

    Widths, white space, case, the characters of `ignore`, the sort of dash in a range and zeros at the end of a
    decimal do not count.

    >>> comparison_key("Ｂ超。", "。") == comparison_key("b超", "。")
    True
    >>> comparison_key("36.0～37.0", "") == comparison_key("36-37", "")
    True
    """
    bare = comparison_form("".join(mark for mark in text if mark not in ignore))
    return _ZEROS.sub(lambda match: match[1] or "", _RANGE.sub("-", bare))


def answers_overlap(left: str, right: str) -> bool:
    """Whether one of two answers holds the other, so that the one may be true where the other is.

    >>> answers_overlap("4 hours", "within 4 hours")
    True
    """
    return left in right or right in left


def first_number(text: str) -> float | None:
    """The first number in `text`, in digits of any width; ``None`` if it holds none.

    >>> first_number("at most 1.5 litres"), first_number("3,500 g"), first_number("-2 SD")
    (1.5, 3500.0, -2.0)
    """
    found = _NUMBER.search(to_half_width(text))
    return float(found.group().replace(",", "").replace("−", "-")) if found else None


def has_number_sign(text: str) -> bool:
    """Whether `text` holds a character that means a number but is no digit, such as a fraction or a numeral.

    >>> has_number_sign("½ litre"), has_number_sign("2 litres")
    (True, False)
    """
    return any(unicodedata.numeric(mark, None) is not None and not mark.isdecimal() for mark in text)


def without_numbers(text: str) -> str:
    """What stands around the numbers in `text`: unit and qualifiers.

    >>> without_numbers("at most 1.5 litres")
    'at most  litres'
    """
    return _NUMBER.sub("", to_half_width(text))


def all_numbers(*texts: str) -> list[str]:
    """Every number that `texts` hold, sorted: what a rewording must not change.

    >>> all_numbers("from 24 to 28 weeks", "1,500 g") == all_numbers("24～28 weeks: 1500 g")
    True
    """
    return sorted(number.replace(",", "") for text in texts for number in _DIGITS.findall(to_half_width(text)))


def is_whole_token(span: Span, text: str) -> bool:
    """Whether neither end of `span` cuts a number or a Latin word: ``5 ml`` does not stand in ``15 ml``.

    >>> is_whole_token(Span(start=0, end=2), "15 ml"), is_whole_token(Span(start=1, end=5), "15 ml")
    (True, False)
    """
    runs = [match.span() for pattern in (_DIGITS, _LATIN) for match in pattern.finditer(to_half_width(text))]
    return not any(start < at < end for start, end in runs for at in (span.start, span.end))
