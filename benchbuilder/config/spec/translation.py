"""What checks of translations know of a language: all of it is data."""

from __future__ import annotations

from functools import cached_property

from benchbuilder.config.spec.base import Spec
from benchbuilder.core import Regex


class ValueWords(Spec):
    """Words for one number."""

    value: int
    words: tuple[str, ...]


class UnitNames(Spec):
    """The symbol of a unit, and patterns of its names."""

    symbol: str
    names: tuple[Regex, ...]


class CheckWords(Spec):
    """The words of one language for checks of translations. Each may be empty: then that is not looked at."""

    numbers: tuple[ValueWords, ...] = ()
    """Numbers in words, ordinals, months."""
    scales: tuple[ValueWords, ...] = ()
    """Words right after a number that multiply it: million."""
    decades: tuple[Regex, ...] = ()
    """Patterns of decades, with a group ``decade`` for their digit: 1940s."""
    units: tuple[UnitNames, ...] = ()
    unit_words: tuple[Regex, ...] = ()
    """Patterns of unit names whose translations are learnt from pairs: weeks?"""
    imperial: tuple[Regex, ...] = ()
    """Patterns of units, right after a number, that people convert: feet, miles."""
    metric: tuple[str, ...] = ()
    """Beginnings of words for the units that these are converted to."""
    negation: tuple[Regex, ...] = ()
    """Patterns of words that deny."""
    near_negation: tuple[Regex, ...] = ()
    """Patterns of words that may stand for such a word: unable, lacks, least."""
    function_words: tuple[str, ...] = ()
    """Frequent words that say little; texts are compared without them."""
    abbreviations: tuple[Regex, ...] = ()
    """Patterns of what ends in a full stop without ending a sentence."""

    @cached_property
    def number_values(self) -> dict[str, int]:
        """The value of each number in words."""
        return {word: entry.value for entry in self.numbers for word in entry.words}

    @cached_property
    def scale_values(self) -> dict[str, int]:
        """What each word of scale multiplies by."""
        return {word: entry.value for entry in self.scales for word in entry.words}

    @cached_property
    def unit_names(self) -> dict[str, tuple[str, ...]]:
        """The names of each unit, by its symbol."""
        return {entry.symbol: entry.names for entry in self.units}
