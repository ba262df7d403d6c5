"""Changes one number of a text, so that the text is wrong but reads as before."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Literal

from pydantic import Field

from benchbuilder.config import Spec
from benchbuilder.core import Regex, Span, all_numbers, find_all, has_match, to_half_width
from benchbuilder.steps.language.bounds import NumericBound, Side, bound_before
from benchbuilder.steps.language.edits import replace_span

_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_PART_OF_NAME = re.compile(r"[A-Za-z_./:\-]\Z")
_DASH = re.compile(r"\A[^\d\s,;，；、()（）]{0,3}\s*[~〜～\-–—－−]\s*\d|\A[A-Za-z]*[./:]\d")
_YEARS = range(1000, 2200)
_SMALL = 12
"""Whole numbers up to here change by a few units, larger ones by a factor."""
_STEPS = (12, 5, 7)
"""Hours, minutes and days are named in such steps."""
NumberFault = Literal["no_number", "unbounded_number", "vague_number", "in_gold"]


class NumberLimit(Spec):
    """The largest value of a number that stands before `unit`: months, days, per cent."""

    unit: Regex
    most: Annotated[int, Field(ge=1)]


class NumberChanges(Spec):
    """How a number is changed. The patterns are data of the language."""

    factors: tuple[Annotated[float, Field(gt=0)], ...] = (0.5, 0.6, 0.7, 0.8, 1.25, 1.4, 1.6, 2)
    """What numbers above 12, and decimals, are multiplied by."""
    small: Annotated[int, Field(ge=1)] = 3
    """The largest change of whole numbers up to 12."""
    years: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]] = (2, 12)
    """The smallest and the largest change of a year, which `year` finds."""
    year: Regex = ""
    """Pattern of the text right after a year; empty: no number is a year."""
    limits: tuple[NumberLimit, ...] = ()
    """Largest values by unit."""
    vague_before: tuple[Regex, ...] = ()
    """Patterns right before a number that is no exact value: about, at least, over."""
    vague_after: tuple[Regex, ...] = ()
    """Patterns right after such a number: or more, and above."""
    names: tuple[Regex, ...] = ()
    """Patterns of names with numbers, which stay."""
    written: tuple[tuple[Annotated[str, Field(min_length=1)], ...], ...] = ()
    """Numbers in words, in rising order of whole numbers; each is a list of words for the same number."""
    measure: Regex = ""
    """Pattern right after a number in words; elsewhere the word is no number. Empty: anywhere."""

    def written_words(self) -> frozenset[str]:
        """All numbers in words."""
        return frozenset(word for words in self.written for word in words)


@dataclass(frozen=True, slots=True)
class ChangedNumber:
    """A text with one number changed, and where the new number stands."""

    text: str
    old: str
    new: str
    span: Span


@dataclass(frozen=True, slots=True)
class NumberContext:
    """What is known about the numbers of documents.

    `bounds` say on which side of *at least* and the like a number is wrong; without one, such a number is no exact
    value. Before a number that may change, one of `asserted` is found, if there are any, and none of `not_asserted`;
    `measured` is a pattern of what stands right after it, empty: anything. `measures` are all numbers of the documents
    with what `measured` finds after them: none is a new number, and none is 1, for the unit of that has another form.
    """

    bounds: Sequence[NumericBound] = ()
    asserted: Sequence[Regex] = ()
    not_asserted: Sequence[Regex] = ()
    measured: Regex = ""
    measures: Collection[str] = ()

    def may_change(self, span: Span, text: str) -> bool:
        """Whether the number in `span` stands where another one makes the text wrong."""
        old = span.slice_of(text)
        is_measured = not self.measured or (bool(_measure(self.measured, text[span.end :])) and old != "1")
        before = to_half_width(text[: span.start])
        is_asserted = not self.asserted or any(has_match(pattern, before) for pattern in self.asserted)
        return is_measured and is_asserted and not any(has_match(pattern, before) for pattern in self.not_asserted)

    def side(self, text: str, span: Span) -> Side:
        """The side on which another number in place of that in `span` is wrong; empty without a bound."""
        behind = (
            bound
            for bound in self.bounds
            if bound.answer and has_match(rf"\A(?s:.{{{span.end}}})(?:{bound.answer})", text)
        )
        found = next(behind, None)
        return found.wrong if found is not None else bound_before(to_half_width(text[: span.start]), self.bounds)

    def allows(self, span: Span, text: str, new: str) -> bool:
        """Whether a statement with `new` in place of `span` is wrong, as far as the documents tell."""
        old, side = span.slice_of(text), self.side(text, span)
        if not new[0].isdigit():
            return not side
        if (side and (side == "higher") != (_value(new) > _value(old))) or (self.measured and new == "1"):
            return False
        return f"{_value(new)}{_measure(self.measured, text[span.end :])}" not in self.measures


def measures_of(text: str, measured: Regex) -> Iterator[str]:
    """Each number of `text` with its measure, in one form."""
    for match in _DIGITS.finditer(to_half_width(text)):
        yield f"{_value(match[0])}{_measure(measured, text[match.end() :])}"


def _measure(measured: Regex, after: str) -> str:
    """What `measured` finds at the start of `after`, in one form."""
    found = next((span for span in find_all(measured, after[:40]) if span.start == 0), None) if measured else None
    return found.slice_of(after).strip().casefold() if found is not None else ""


def _value(number: str) -> Decimal:
    return Decimal(to_half_width(number).replace(",", "")).normalize()


def change_number(
    text: str, known: str, rules: NumberChanges, seed: str, context: NumberContext | None = None
) -> ChangedNumber | NumberFault:
    """`text` with one number changed, by `seed`; or why none can be.

    The unit, the digits behind the point and the zeros at the end stay. No new number stands in `text` or in `known`
    (the paragraph that the text rests on).
    """
    context = context or NumberContext()
    every = list(_numbers(text, rules, context))
    numbers = [found for found in every if context.may_change(found[0], text)]
    exact = [span for span, is_exact in numbers if is_exact]
    if not exact:
        return "vague_number" if numbers else "unbounded_number" if every else "no_number"
    draw = random.Random(seed)
    draw.shuffle(exact)
    written = rules.written_words()
    taken = {*all_numbers(text, known), *(word for word in written if word in known)}
    for span in exact:
        old = span.slice_of(text)
        others = _written(old, rules) if old in written else _digits(old, text[span.end :], rules)
        free = [
            new
            for new in dict.fromkeys(others)
            if to_half_width(new).replace(",", "") not in taken and context.allows(span, text, new)
        ]
        if free:
            new = draw.choice(free)
            place = Span(start=span.start, end=span.start + len(new))
            return ChangedNumber(replace_span(text, span, new), old, new, place)
    return "in_gold"


def _numbers(text: str, rules: NumberChanges, context: NumberContext) -> Iterator[tuple[Span, bool]]:
    """The numbers of `text`, and whether each is an exact value."""
    plain = to_half_width(text)
    names = [span for pattern in rules.names for span in find_all(pattern, text)]
    found = [Span(start=match.start(), end=match.end()) for match in _DIGITS.finditer(plain)]
    for word in sorted(rules.written_words()):
        found += [Span(start=match.start(), end=match.end()) for match in re.finditer(re.escape(word), text)
                  if _stands_alone(text, match.start(), match.end(), rules)]  # fmt: skip
    for span in found:
        if any(name.start < span.end and span.start < name.end for name in names):
            continue
        before, after = plain[: span.start], plain[span.end :]
        if _PART_OF_NAME.search(before):
            continue
        vague = any(_touches(pattern, before, at_end=True) for pattern in rules.vague_before)
        vague = vague or any(_touches(pattern, after, at_end=False) for pattern in rules.vague_after)
        in_range = bool(_DASH.match(after)) or bool(re.search(r"[~〜～\-–—－−]\s*\Z", before))
        yield span, (not vague or bool(context.side(text, span))) and not in_range


def _stands_alone(text: str, start: int, end: int, rules: NumberChanges) -> bool:
    """Whether a number in words is neither part of a longer one nor of another word."""
    if rules.measure and not _touches(rules.measure, text[end:], at_end=False):
        return False
    around = text[start - 1 : start], text[end : end + 1]
    if any(mark in rules.written_words() for mark in around):
        return False
    return not (text[start].isascii() and any(mark.isalnum() for mark in around))


def _touches(pattern: Regex, text: str, *, at_end: bool) -> bool:
    spans = find_all(pattern, text[-20:] if at_end else text[:20])
    return any(span.end == len(text[-20:]) if at_end else span.start == 0 for span in spans)


def _written(old: str, rules: NumberChanges) -> list[str]:
    """Other numbers in words, near in value."""
    value = next(at for at, words in enumerate(rules.written) if old in words)
    near = (words for at, words in enumerate(rules.written) if 0 < abs(at - value) <= rules.small)
    return [word for words in near for word in words]


def _digits(old: str, after: str, rules: NumberChanges) -> list[str]:
    """Other values of a number in digits, written in the same way."""
    plain = to_half_width(old).replace(",", "")
    value = Decimal(plain)
    if rules.year and int(value) in _YEARS and _touches(rules.year, after, at_end=False):
        low, high = rules.years
        return [str(int(value) + sign * step) for step in range(low, high + 1) for sign in (-1, 1)]
    most = min((limit.most for limit in rules.limits if _touches(limit.unit, after, at_end=False)), default=None)
    if "." not in plain and value <= _SMALL:
        values: Sequence[Decimal] = [value + sign * step for step in range(1, rules.small + 1) for sign in (-1, 1)]
    else:
        unit = _last_unit(plain)
        products = (value * Decimal(str(factor)) for factor in rules.factors)
        values = [(product / unit).to_integral_value(ROUND_HALF_UP) * unit for product in products]
    exponent = Decimal(1).scaleb(-len(plain.partition(".")[2]))
    fitting = (other for other in values if other > 0 and other != value and (most is None or other <= most))
    return [_in_form(other.quantize(exponent), old) for other in fitting]


def _last_unit(plain: str) -> Decimal:
    """The step in which such numbers are named, so that a changed one is as round: 48 hours become 36, and not 34.

    It is the value of the last digit that is not a zero at the end (100 for 1500, 0.1 for 2.5), or one of `_STEPS`.
    """
    whole, _, decimals = plain.partition(".")
    if decimals:
        return Decimal(1).scaleb(-len(decimals))
    zeros = len(whole) - len(whole.rstrip("0"))
    own = next((step for step in _STEPS if int(whole) % step == 0), 1) if not zeros else 1
    return Decimal(own).scaleb(min(zeros, len(whole) - 1))


def _in_form(value: Decimal, old: str) -> str:
    return f"{value:,f}" if "," in old else f"{value:f}"
