"""Bounds on numbers: whether a wrong number makes a statement that follows from the true one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from benchbuilder.config import Spec
from benchbuilder.core import Regex, comparison_key, has_match, replace_all
from benchbuilder.steps.language.answer_texts import has_number_sign, number_range, without_numbers

Side = Literal["lower", "higher", ""]
_DASHES = "~〜～-–—－−"
_UNIT = 6
"""The longest text around a number that counts as its unit. Unknown units may differ in size."""


class NumericBound(Spec):
    """A bound on a number: a wrong number beyond the right one would make a true statement as well.

    What weighs less than 1500 g also weighs less than 3500 g. So after ``less than``, the wrong number must be lower.
    Either `before` or `answer` says where the bound is written.
    """

    before: Regex = ""
    """Pattern of the text before the answer: the predicate sets the bound."""
    answer: Regex = ""
    """Pattern of the bound in the answer itself, or right after it: ``5 or more``. It matches no digit."""
    wrong: Literal["lower", "higher"]
    """The side on which a number is wrong: ``lower`` for at most, ``higher`` for at least."""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if bool(self.before) == bool(self.answer):
            raise ValueError("either before or answer says where the bound is written, not both")
        return self


class NumberUnit(Spec):
    """A unit, so that numbers in units of one kind can be compared."""

    kind: str
    """What it measures, by a name of your choice: only units of one kind are compared."""
    names: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    size: Annotated[float, Field(gt=0)]
    """How many of one unit of this kind it is, the same one for all."""


@dataclass(frozen=True, slots=True)
class _Amount:
    """The numbers that a text allows, and the text around the number.

    `ranges` says that the text itself is a range or a bound, whatever stands before it.
    """

    low: float
    high: float
    exact: bool
    unit: str
    ranges: bool

    def includes(self, other: _Amount) -> bool:
        return self.low <= other.low and other.high <= self.high

    def times(self, size: float, name: str) -> _Amount:
        """The amount without the name of its unit, in units of which one such unit has `size`."""
        return _Amount(self.low * size, self.high * size, self.exact, self.unit.removesuffix(name), self.ranges)


def bound_before(before: str, bounds: Sequence[NumericBound]) -> Side:
    """The side on which a number is wrong behind the text `before`: that of the first bound that fits."""
    found = next((bound for bound in bounds if bound.before and has_match(bound.before, before)), None)
    return found.wrong if found is not None else ""


@dataclass(frozen=True, slots=True)
class NumberRules:
    """How numbers are compared: the recipe's bounds and units, and the characters that are ignored."""

    bounds: Sequence[NumericBound]
    units: Sequence[NumberUnit]
    ignore: str

    def key(self, text: str) -> str:
        """The form in which units and the text around numbers are compared."""
        return comparison_key(text, self.ignore)


def may_be_implied(option: str, answer: str, after: str, side: Side, rules: NumberRules) -> bool:
    """Whether a statement with `option` may follow from the true one with `answer`; both are followed by `after`.

    `side` is the bound before them. With a bound, numbers in unknown units and spelled numbers are never certain.
    Without one, an option may be implied only if it is a range or a bound that includes the number of the answer, or
    lies inside it: what is done within 48 hours is done within 72 hours.
    """
    wrong, right = (_amount(text, after, side, rules) for text in (option, answer))
    spelled = has_number_sign(option) or has_number_sign(answer)
    if wrong is None or right is None:
        counted = all(has_number_sign(text) or number_range(text) for text in (option, answer))
        if counted and any(_bound_in(text + after, rules) for text in (option, answer)):
            return True
        return bool(side) and (spelled or (wrong is None) != (right is None))
    bounded = math.inf in (wrong.high, right.high, -wrong.low, -right.low)
    if wrong.exact and right.exact:
        return False
    if wrong.unit != right.unit:
        wrong, right = _in_common_unit(wrong, right, rules)
    if wrong.unit != right.unit:
        return bool(side) or (bounded and (spelled or max(len(wrong.unit), len(right.unit)) <= _UNIT))
    is_within = wrong.ranges and right.ranges and right.high < math.inf and right.includes(wrong)
    return wrong.includes(right) or is_within


def _in_common_unit(wrong: _Amount, right: _Amount, rules: NumberRules) -> tuple[_Amount, _Amount]:
    """Both amounts in one unit, if both units are known and of one kind; otherwise unchanged."""
    (first, one), (second, other) = (_unit_of(amount.unit, rules) for amount in (wrong, right))
    if one is None or other is None or one.kind != other.kind:
        return wrong, right
    return wrong.times(one.size, first), right.times(other.size, second)


def _unit_of(text: str, rules: NumberRules) -> tuple[str, NumberUnit | None]:
    """The longest name of a unit that `text` ends in, but not behind a slash: a unit per unit has another size."""
    names = ((rules.key(name), unit) for unit in rules.units for name in unit.names)
    ends = (pair for pair in names if text.endswith(pair[0]) and not text.removesuffix(pair[0]).endswith("/"))
    return max(ends, key=lambda pair: len(pair[0]), default=("", None))


def _bound_in(text: str, rules: NumberRules) -> NumericBound | None:
    """The first bound that is written in an answer; `text` goes on behind it."""
    return next((bound for bound in rules.bounds if bound.answer and has_match(bound.answer, text)), None)


def _amount(text: str, after: str, side: Side, rules: NumberRules) -> _Amount | None:
    numbers = number_range(text)
    if numbers is None:
        return None
    own = _bound_in(text + after, rules)
    bare = replace_all(own.answer, "", text) if own is not None else text
    unit = "".join(mark for mark in without_numbers(bare) if mark not in _DASHES)
    (low, high), kind = numbers, own.wrong if own is not None else side
    return _Amount(
        low=-math.inf if kind == "lower" else low,
        high=math.inf if kind == "higher" else high,
        exact=not kind and low == high,
        unit=rules.key(unit),
        ranges=own is not None or low != high,
    )
