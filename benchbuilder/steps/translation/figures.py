"""Numbers, signs and units in the parts of a text, in a form that languages share."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import regex

from benchbuilder.config import CheckWords
from benchbuilder.core import drop_hidden, find_all, has_match, match_groups, replace_all, script_of

_NUMBER = re.compile(r"\d+(?:[.,'\u202f\u00a0 ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?|(?<![\d.])\.\d+")
_GROUPED = re.compile(r"(\d{1,3}(?:([.,'\u202f\u00a0 ])\d{3})(?:\2\d{3})*)(?:[.,](\d+))?")
_ROMAN = re.compile(r"\b[IVX]{2,7}(?=\b|[a-z]{1,2}\b)")
_SIGN = re.compile(r"(?:^|(?<=[\s(]))(?:(?<!\d\s)-|[+±<>≤≥])(?=\s?\d)")
_DIGITS = re.compile(r"\d+")
_MARKS = str.maketrans({"−": "-", "–": "-", "٫": ".", "٬": ",", "٪": "%", "º": "°"})
_SAME_SIGN = {"mL": "ml", "L": "l", "mcg": "μg"}
_SYMBOLS = (
    r"%|‰|°\s?[CF]|mm\s?Hg|mmol|μmol|mol|[kmμn]g|mcg|[mdcμ]?[lL]|[ckmnμ]?m|kJ|J|kcal|cal|atm|[kM]?Hz|kPa|Pa"
    r"|IU|mEq|bpm|cc|g|W|mV|V|ATP|CO2|O2|NADH"
)
_UNIT = regex.compile(rf"(?<![\w.£$€])[-+±]?\d[\d.,]*\s?({_SYMBOLS})(?!\w)")
_RANGE = regex.compile(r"(\d)\s?(%|°\s?[CF])\s?(?:-|to)\s?(?=\d)")
_NO_SPACES = frozenset({"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"})
_TENS = range(20, 100, 10)
SMALL = 12
"""Whole numbers up to here may be written in words."""


@lru_cache(maxsize=65_536)
def plain_text(text: str) -> str:
    """`text` with one form for digits, points, dashes and wide characters, and nothing hidden."""
    text = unicodedata.normalize("NFKC", drop_hidden(html.unescape(text)).translate(_MARKS)).translate(_MARKS)
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() and not c.isascii() else c for c in text)


def numbers_in(text: str, words: CheckWords) -> tuple[list[tuple[str, str]], set[int]]:
    """The numbers of `text` in digits, each with its value by what follows it, and the values of those in words."""
    text, found, named = plain_text(text), list[tuple[str, str]](), set[int]()
    for pattern in words.decades:
        for span in find_all(pattern, text):
            decade = f"{(match_groups(pattern, span.slice_of(text)) or {}).get('decade', '')}0s"
            found.append((decade, decade))
        text = replace_all(pattern, " ", text)
    for match in _NUMBER.finditer(text):
        number = value = _number(match[0])
        after = text[match.end() :].lstrip().casefold()
        scale = max((word for word in words.scale_values if after.startswith(word)), key=len, default="")
        if scale:
            value = str(round(float(number) * words.scale_values[scale]))
        elif after.startswith("%"):
            value = f"{float(number) / 100:g}"
        found.append((number, value))
    named |= {_roman(match[0]) for match in _ROMAN.finditer(text)}
    tokens = re.findall(r"\w+", text.casefold())
    values = [words.number_values.get(token) for token in tokens]
    named |= {value for value in values if value is not None}
    named |= {tens + ones for tens, ones in pairwise(values) if tens and ones and tens in _TENS and ones < 10}
    named |= {value for word, value in words.number_values.items() if _unspaced(word) and word in text}
    return found, named


def _number(raw: str) -> str:
    """A number without signs between thousands, with a decimal point and without zeros before it."""
    if grouped := _GROUPED.fullmatch(raw):
        value = re.sub(r"\D", "", grouped[1]) + (f".{grouped[3]}" if grouped[3] else "")
    else:
        value = raw.replace(",", ".").replace(" ", "")
    value = value.lstrip("0") or "0"
    return f"0{value}" if value.startswith(".") else value


def _roman(text: str) -> int:
    values = [{"I": 1, "V": 5, "X": 10}[mark] for mark in text]
    return sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))


def _unspaced(word: str) -> bool:
    """Whether `word` is of a script that puts no spaces between words."""
    return script_of(word[0]) in _NO_SPACES


def changed_numbers(source: str, target: str, known: tuple[CheckWords, CheckWords]) -> tuple[list[str], list[str]]:
    """The numbers of `source` that `target` lacks, and those that it has instead; each as it stands, in digits."""
    (x, x_named), (y, y_named) = numbers_in(source, known[0]), numbers_in(target, known[1])
    x_values, y_values = ({one for number in numbers for one in number} for numbers in (x, y))
    lost = [n for n, value in x if not {n, value} & y_values and not (n.isdigit() and int(n) in y_named)]
    new = [n for n, value in y if not {n, value} & x_values and not (n.isdigit() and int(n) in x_named)]
    if not known[1].numbers and not new:  # a small one may be in words that nobody listed
        lost = [n for n in lost if not (n.isdigit() and int(n) <= SMALL)]
    if not lost and not new and len(x) == len(y):  # the same numbers: one may stand in the place of another
        exchanged = [_exchanged([one[at] for one in x], [one[at] for one in y]) for at in (0, 1)]
        return exchanged[0] if all(less and more for less, more in exchanged) else ([], [])
    return list(dict.fromkeys(lost)), list(dict.fromkeys(new))


def _exchanged(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    """What is rarer in the second list, and what is more often there."""
    counts = Counter(before), Counter(after)
    return list(counts[0] - counts[1]), list(counts[1] - counts[0])


def measured(word: str) -> str:
    """The pattern of a number right before a unit word."""
    return rf"(?i)\d\s*(?:-\s?)?(?:{word})\b"


def signs_in(text: str) -> Counter[str]:
    """Signs and marks of comparison right before a number."""
    return Counter(_SIGN.findall(plain_text(text)))


def units_in(text: str) -> Counter[str]:
    """Symbols of units right after a number; the ends of a range count as one."""
    found = _UNIT.findall(_RANGE.sub(r"\1-", plain_text(text)))
    return Counter(_SAME_SIGN.get(unit := re.sub(r"\s", "", symbol), unit) for symbol in found)


def is_bare(source: str, target: str, unit: str) -> bool:
    """Whether the number before `unit` in `source` stands in `target` with no word behind it but Latin ones."""
    numbers = re.findall(rf"(\d+)\s?{re.escape(unit)}(?!\w)", plain_text(source))
    there = plain_text(target)
    return any(regex.search(rf"(?V1)(?<!\d){number}(?!\d)(?!\s?[\p{{L}}--\p{{Latin}}])", there) for number in numbers)


def near_number(source: str, target: str, pattern: str) -> str:
    """The words beside the number in `target` behind which `pattern` matches in `source`; all without that number."""
    plain, there = plain_text(source), plain_text(target)
    for span in find_all(pattern, plain):
        number = re.findall(r"\d+", plain[: span.end])[-1]
        if match := re.search(rf"(?:\S+\s+){{0,2}}\S*(?<!\d){number}(?!\d)\S*(?:\s+\S+){{0,2}}", there):
            return match[0]
    return there


def names_unit(text: str, unit: str, words: CheckWords) -> int:
    """How often `text` names a unit, by a listed name."""
    text = plain_text(text)
    return sum(len(find_all(f"(?i){name}", text)) for name in words.unit_names.get(unit, ()))


def symbol_count(text: str, unit: str) -> int:
    """How often a unit symbol stands in `text`, with or without a number."""
    signs = "|".join(map(re.escape, [unit, *(sign for sign, same in _SAME_SIGN.items() if same == unit)]))
    return len(re.findall(rf"(?<![A-Za-z])(?:{signs})(?![A-Za-z])", plain_text(text)))


def kept_but_converted(source: str, target: str, known: tuple[CheckWords, CheckWords]) -> Iterator[str]:
    """Units of one system before which the number stayed while the target names the other system."""
    plain, there = plain_text(source), plain_text(target)
    for pattern in known[0].imperial:
        for span in find_all(rf"(?i)(?<![\d.,])\d[\d,.]*\s*-?\s*(?:{pattern})", plain):
            number = re.match(r"\d[\d,.]*", span.slice_of(plain))
            value = number[0].rstrip(".,") if number else ""
            for match in re.finditer(rf"(?<![\d.,]){re.escape(value)}(?!\d)", there):
                around = there[max(0, match.start() - 30) : match.end() + 30].casefold()
                if any(word in around for word in known[1].metric) and not has_match(f"(?i){pattern}", around):
                    yield span.slice_of(plain)
                    break
