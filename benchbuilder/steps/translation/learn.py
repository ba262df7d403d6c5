"""What the checks of translations learn from pairs: lengths, letters, words of units, likeness of translations back.

No bound is the same for two languages, so none is set: each is learnt from pairs that people accepted, or from the
batch itself.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import regex

from benchbuilder.config import CheckWords
from benchbuilder.core import ScriptCounts, has_match
from benchbuilder.steps.translation.figures import measured, names_unit, near_number, symbol_count, units_in
from benchbuilder.steps.translation.pairs import OPTION, TextPair, TextPart, likeness, running, words_in

_WITHIN = 0.995
"""Share of accepted pairs inside a learnt bound."""
_LEAST_Z = 8.0
"""Lengths that deviate by less are never flagged: people differ that much."""
_LEAST_PAIRS, _MOST_PAIRS = 50, 2_000
_LEAST_SEEN, _COVERED, _TELLS = 4, 0.8, 0.05
"""A word is learnt if it is seen so often, and found in this share of the places by runs that each tell it."""
_GRAM_SIZES = (2, 3, 4, 5, 6, 7)
_MAD = 1.4826
"""The standard deviation of normal values, in median absolute deviations."""
_LATIN = regex.compile(r"\p{Latin}+")
_NOT_LETTERS = regex.compile(r"[^\p{L}\p{M}]+")


class CharacterModel:
    """Trigrams of characters, smoothed; `apart` takes the text's own counts out of those that it was learnt from."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._three, self._two = Counter[str](), Counter[str]()
        for text in texts:
            three, two = self._counts(text)
            self._three.update(three)
            self._two.update(two)
        self._size = len({mark for pair in self._two for mark in pair}) + 1

    def bits(self, text: str, *, apart: bool) -> float:
        """How surprising `text` is, in bits a letter; 0 for a text of two letters or fewer."""
        three, two = self._counts(text)
        if three.total() < 2:
            return 0.0
        own_three, own_two = (three, two) if apart else (Counter[str](), Counter[str]())
        total = 0.0
        for gram, count in three.items():
            seen = max(0, self._three[gram] - own_three[gram]) + 0.1
            base = max(0, self._two[gram[:2]] - own_two[gram[:2]]) + 0.1 * self._size
            total -= count * math.log2(seen / base)
        return total / three.total()

    @staticmethod
    def _counts(text: str) -> tuple[Counter[str], Counter[str]]:
        text = f"  {_NOT_LETTERS.sub(' ', text.lower()).strip()} "
        three = Counter(text[at : at + 3] for at in range(len(text) - 2))
        return three, Counter(text[at : at + 2] for at in range(len(text) - 2))


@dataclass(frozen=True)
class Lengths:
    """Lengths of translations: a multiple of the original, with a spread that grows as the root of its length."""

    ratio: float
    spread: float
    limits: tuple[float, float] = (_LEAST_Z, _LEAST_Z)
    """The largest deviation, of options and of other parts."""

    @classmethod
    def of(cls, pairs: Sequence[TextPair]) -> Lengths:
        """The lengths of pairs."""
        parts = [part for pair in pairs for part in pair.parts() if part.source and part.target]
        if not parts:
            return cls(1.0, 1.0)
        ratio = math.exp(statistics.median(math.log((len(t) + 4) / (len(s) + 4)) for _, s, t in parts))
        off = statistics.median(abs(len(t) - ratio * len(s)) / math.sqrt(len(s) + 8) for _, s, t in parts)
        plain = cls(ratio, max(off * _MAD, 1e-6))
        limits = [_LEAST_Z, _LEAST_Z]
        for kind in (0, 1):
            found = [
                max((abs(plain.z(part)) for part in pair.parts() if _is_text(part) == bool(kind)), default=0.0)
                for pair in pairs
            ]
            limits[kind] = max(_LEAST_Z, _quantile(found, _WITHIN) * 1.1)
        return cls(plain.ratio, plain.spread, (limits[0], limits[1]))

    def z(self, part: TextPart) -> float:
        """How far the length of a translation is from what is usual, in spreads."""
        return (len(part.target) - self.ratio * len(part.source)) / math.sqrt(len(part.source) + 8) / self.spread

    def is_odd(self, part: TextPart) -> bool:
        """Whether it is farther off than those of the pairs."""
        return abs(self.z(part)) > self.limits[_is_text(part)]


@dataclass(frozen=True)
class BackBounds:
    """How like the originals translations back are: the floors, and their lengths."""

    floor: float = 0.0
    text_floor: float = 0.0
    lengths: Lengths | None = None

    @classmethod
    def of(cls, pairs: Sequence[TextPair], words: CheckWords) -> BackBounds:
        """The bounds of pairs that have a translation back; those that flag nothing if none has."""
        backs = [pair for pair in pairs if pair.back]
        if not backs:
            return cls()
        scores = [back_scores(pair, words) for pair in backs]
        floors = [_quantile(list(column), 1 - _WITHIN) for column in zip(*scores, strict=True)]
        return cls(
            floors[0], floors[1], Lengths.of([TextPair(pair.id, pair.source, pair.back or {}) for pair in backs])
        )


@dataclass
class Learnt:
    """What pairs teach. `own` says whether they are the pairs that will be checked, and not pairs people accepted."""

    pairs: Sequence[TextPair]
    source: CheckWords
    target: CheckWords
    own: bool = True
    ids: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.count = len(self.pairs)
        self.pairs = self.pairs[:_MOST_PAIRS]
        self.ids = frozenset(pair.id for pair in self.pairs)
        self.lengths = Lengths.of(self.pairs)
        self.back = BackBounds.of(self.pairs, self.source)
        texts = [part for pair in self.pairs for part in pair.parts()]
        self._sources, self._targets = [part.source for part in texts], [part.target for part in texts]

    @cached_property
    def models(self) -> tuple[CharacterModel, CharacterModel]:
        """The letters of the originals, and of the translations."""
        return CharacterModel(self._sources), CharacterModel(self._targets)

    @cached_property
    def scripts(self) -> frozenset[str]:
        """The scripts of the translations."""
        return main_scripts(self._targets)

    @cached_property
    def source_scripts(self) -> frozenset[str]:
        """The scripts of the originals."""
        return main_scripts(self._sources)

    @property
    def is_small(self) -> bool:
        """Whether there are too few pairs to learn what is usual from."""
        return self.count < _LEAST_PAIRS

    @property
    def shares_script(self) -> bool:
        """Whether translations are in a script of the originals."""
        return bool(self.scripts & self.source_scripts)

    @cached_property
    def usual(self) -> tuple[float, float]:
        """How surprising a translation is among the others: the median, and the spread."""
        found = [self.surprise(pair) for pair in self.pairs]
        if not found:
            return 0.0, math.inf
        middle = statistics.median(found)
        return middle, max(statistics.median(abs(one - middle) for one in found) * _MAD, 1e-6)

    def surprise(self, pair: TextPair) -> float:
        """How surprising the letters of a translation are, in bits each."""
        return self.models[1].bits(" ".join(pair.target.values()), apart=pair.id in self.ids)

    @cached_property
    def source_only(self) -> frozenset[str]:
        """Frequent words of the originals, and those that say little, if translations have not got them."""
        here, there = (
            Counter(w for t in texts for w in {w.lower() for w in words_in(t)})
            for texts in (self._sources, self._targets)
        )
        rare = max(1, len(self._targets) // 50)
        words = {*(word for word, _ in here.most_common(45)), *self.source.function_words, *self.source.number_values}
        return frozenset(word for word in words if there[word] <= rare and len(word) > 1)

    @cached_property
    def unit_words(self) -> Mapping[str, tuple[str, ...]]:
        """The runs of characters by which translations name each unit word, where they can be learnt."""
        found = {word: self._renderings(word) for word in self.source.unit_words}
        return {word: runs for word, runs in found.items() if runs}

    @cached_property
    def unit_symbols(self) -> Mapping[str, tuple[str, ...]]:
        """The runs by which translations name units whose symbol they do not keep."""
        absent: dict[str, list[str]] = {}
        for unit, part in self._with_units:
            if not symbol_count(part.target, unit) and not names_unit(part.target, unit, self.target):
                absent.setdefault(unit, []).append(part.target)
        found = {unit: self._common(texts, texts) for unit, texts in absent.items()}
        return {unit: runs for unit, runs in found.items() if runs}

    @cached_property
    def known_units(self) -> frozenset[str]:
        """Units of which it is known how translations write them."""
        kept = {unit for unit, part in self._with_units if symbol_count(part.target, unit)}
        return frozenset({*kept, *self.unit_symbols, *self.target.unit_names})

    @cached_property
    def _with_units(self) -> list[tuple[str, TextPart]]:
        parts = (part for pair in self.pairs for part in pair.parts())
        return [(unit, part) for part in parts for unit in units_in(part.source)]

    def _renderings(self, word: str) -> tuple[str, ...]:
        """By the words beside numbers; where few numbers have the unit, by whole texts that name it."""
        pairs = list(zip(self._sources, self._targets, strict=True))
        pattern = measured(word)
        named = [target for source, target in pairs if has_match(rf"(?i)\b(?:{word})\b", source)]
        beside = [near_number(s, t, pattern) for s, t in pairs if has_match(pattern, s)]
        return self._common(beside, named) or self._common(named, named)

    def _common(self, texts: Sequence[str], related: Sequence[str]) -> tuple[str, ...]:
        """Runs of characters that stand in most of `texts` and in few that are not `related`, if there are any."""
        if len(texts) < _LEAST_SEEN:
            return ()
        total, most = max(1, len(self._targets) - len(related)), len(texts)
        runs = [_runs(text) for text in texts]
        known = Counter(run for text in related for run in _runs(text))
        outside = {run: 3 * max(0, self._all_runs[run] - known[run]) / total for found in runs for run in found}
        chosen = list[str]()
        while runs:
            scores = Counter(run for found in runs for run in found)
            run = max(scores, key=lambda one: (scores[one] / most - outside[one], len(one), one), default="")
            if not run or scores[run] < 2 or scores[run] / most - outside[run] < _TELLS:
                break
            chosen.append(run)
            runs = [found for found in runs if run not in found]
        return tuple(chosen) if len(runs) <= (1 - _COVERED) * most else ()

    @cached_property
    def _all_runs(self) -> Counter[str]:
        return Counter(run for text in self._targets for run in _runs(text))


def back_scores(pair: TextPair, words: CheckWords) -> tuple[float, float]:
    """How like the original the translation back is: the whole, and its text without the options."""
    parts = pair.parts_back()

    def score(chosen: Sequence[TextPart]) -> float:
        return likeness(TextPart("", " ".join(p.source for p in chosen), " ".join(p.target for p in chosen)), words)

    return score(parts), score(running(parts))


def main_scripts(texts: Sequence[str]) -> frozenset[str]:
    """The scripts that texts are written in: those of at least a tenth of the letters, a Latin name counting once."""
    once = ScriptCounts(_LATIN.sub("a", text) for text in texts)
    others = frozenset(script for script in once.letters if script != "LATIN" and once.proportion(script) >= 0.1)
    return others if others and ScriptCounts(texts).proportion("LATIN") < 0.7 else frozenset({"LATIN"})


def _runs(text: str) -> set[str]:
    """The runs of characters in the words of `text`; short ones only where a sign is a syllable or word."""
    words = words_in(text.lower())
    return {
        w[at : at + size]
        for w in words
        for size in _GRAM_SIZES
        for at in range(len(w) - size + 1)
        if size > 3 or (not w.isascii() and w[at] > "\u1000")
    }


def _is_text(part: TextPart) -> bool:
    return not part.name.startswith(OPTION)


def _quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    return sorted(values)[int(share * (len(values) - 1))] if values else 0.0
