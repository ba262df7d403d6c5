"""Texts as the units that are compared: characters, or words; widths, case, marks and script do not count."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import LengthUnit, convert_script

Codes = NDArray[np.uint32]
Hashes = NDArray[np.uint64]
Places = NDArray[np.int64]

_LAST = 0x32400
"""The first code point behind every letter that Unicode knows."""
_HAN = ((0x3400, 0xA000), (0x20000, _LAST))
_HANGUL = range(0x1161, 0x11C3)
"""Vowels and ends of syllables, which join the letter before them."""
_JOINING, _SEVERAL = np.uint32(1 << 28), np.uint32(1 << 29)
_KEPT = frozenset("LNM")
"""Categories of Unicode that are compared: letters, numbers, marks."""
_FACTOR, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_INVERSE = np.uint64(pow(int(_FACTOR), -1, 2**64))


@dataclass(frozen=True)
class UnitText:
    """A text in units.

    `text` is the text, with characters that stand for several others written out. `symbols` has one code for each of
    its characters: 0 for a character that is not compared, and the same for capitals, full-width and traditional
    characters as for their plain forms. `starts` and `ends` say where each unit begins and ends, and `values` is a
    number for each.
    """

    text: str
    unit: LengthUnit
    symbols: Codes
    starts: Places
    ends: Places
    values: Hashes

    def compared(self, first: int = 0, last: int | None = None) -> str:
        """What is compared of the characters from `first` to before `last`; words are apart."""
        codes = self.symbols[max(0, first) : last]
        if self.unit == "words":
            codes = np.where(codes > 0, codes, np.uint32(ord(" ")))
        return " ".join(codes[codes > 0].tobytes().decode("utf-32-le", "replace").split())


def unit_text(text: str, unit: LengthUnit) -> UnitText:
    """`text` in units.

    >>> found = unit_text("Ｂ Ｃ.", "characters")
    >>> found.compared(), len(found.values), len(unit_text("a word, two", "words").values)
    ('bc', 2, 3)
    """
    symbols = _look_up(text)
    if (symbols >= _JOINING).any():
        if ((symbols & _JOINING) > 0).any():
            text = unicodedata.normalize("NFKC", text)
            symbols = _look_up(text)
        text = _written_out(text, np.flatnonzero(symbols & _SEVERAL))
        symbols = _look_up(text) & (_JOINING - np.uint32(1))
    if unit == "characters":
        starts = np.flatnonzero(symbols)
        return UnitText(text, unit, symbols, starts, starts + 1, _values(symbols[starts]))
    kept = np.concatenate(([False], symbols > 0, [False]))
    edges = np.flatnonzero(kept[1:] != kept[:-1])
    starts, ends = edges[::2], edges[1::2]
    return UnitText(text, unit, symbols, starts, ends, _word_values(symbols, starts, ends))


def run_hashes(values: Hashes, length: int) -> Hashes:
    """A polynomial hash of every run of `length` units, by differences of running sums."""
    if len(values) < length:
        return np.zeros(0, np.uint64)
    powers, inverses = _powers(1 << max(10, len(values).bit_length()))
    sums = np.cumsum(values * powers[: len(values)])
    sums[length:] -= sums[:-length].copy()
    return sums[length - 1 :] * inverses[: len(values) - length + 1]


def _values(symbols: Codes) -> Hashes:
    """A number for each character; characters that follow each other get numbers that look random."""
    values = symbols.astype(np.uint64) * _MIX
    values ^= values >> np.uint64(29)
    return values


def _word_values(symbols: Codes, starts: Places, ends: Places) -> Hashes:
    """A number for each word, made of all of its characters and their places."""
    if not len(starts):
        return np.zeros(0, np.uint64)
    lengths = ends - starts
    letters = _values(symbols[symbols > 0])
    first = np.cumsum(lengths) - lengths
    place = np.arange(len(letters)) - np.repeat(first, lengths)
    powers, _ = _powers(1 << max(10, int(lengths.max()).bit_length()))
    values = np.add.reduceat(letters * powers[place], first)
    values ^= values >> np.uint64(31)
    return values * _MIX


@cache
def _powers(size: int) -> tuple[Hashes, Hashes]:
    """The powers of the factor of the hash, and of its inverse, modulo 2^64."""
    found: list[Hashes] = []
    for factor in (_FACTOR, _INVERSE):
        powers = np.full(size, factor, np.uint64)
        powers[0] = 1
        found.append(np.cumprod(powers))
    return found[0], found[1]


def _look_up(text: str) -> Codes:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return _symbol_table()[np.minimum(codes, _LAST)]


def _written_out(text: str, places: Places) -> str:
    """`text` with the characters at `places` replaced by the letters that they stand for."""
    parts, end = list[str](), 0
    for place in places.tolist():
        parts += (text[end:place], unicodedata.normalize("NFKC", text[place]))
        end = place + 1
    return "".join((*parts, text[end:]))


@cache
def _symbol_table() -> Codes:
    """For every code point the code of its compared form, 0 if it is not compared.

    Two bits mark what needs more than a table: characters that join the one before them, and characters that stand for
    several letters.
    """
    table = np.zeros(_LAST + 1, np.uint32)
    joining = set(_HANGUL)
    several = list[int]()
    for code in range(_LAST):
        mark = chr(code)
        parts = unicodedata.decomposition(mark).split()
        if len(parts) == 2 and parts[0][0] != "<":
            joining.add(int(parts[1], 16))
        compared = [part for part in unicodedata.normalize("NFKC", mark) if unicodedata.category(part)[0] in _KEPT]
        if len(compared) == 1:
            table[code] = _plain_code(compared[0])
        elif compared:
            several.append(code)
    for first, last in _HAN:
        plain = convert_script("\n".join(map(chr, table[first:last])), "t2s").split("\n")
        table[first:last] = [ord(mark[0]) if len(mark) == 1 else code for code, mark in enumerate(plain, first)]
    table[several] = _SEVERAL
    table[sorted(joining)] |= _JOINING
    return table


def _plain_code(mark: str) -> int:
    """The code of a letter in lower case, and of a digit in ASCII."""
    return ord(str(unicodedata.decimal(mark)) if unicodedata.category(mark) == "Nd" else mark.lower()[0])
