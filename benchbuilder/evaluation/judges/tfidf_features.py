"""The features of the judge `tfidf_ridge`: n-grams of the answer, and its relation to question and evidence.

They depend on no language: texts are cut at punctuation, and compared by character n-grams.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from benchbuilder.core import compose_characters, to_half_width
from benchbuilder.evaluation.judges.base import Case

RELATIONS = (
    "in question", "in evidence", "new in evidence", "best window", "worst sentence", "mean sentence",
    "question in evidence", "question window", "longest alike", "unlike evidence", "evidence unlike", "no evidence",
    "length", "sentences",
)  # fmt: skip
"""The numeric features, in order."""
_OPENING = 4
"""Number of characters at the start of a sentence that may contain a verdict."""
_FEWEST = 0.3
"""Proportion of a sentence that a window of the evidence must contain for the two to be compared."""

Grams = frozenset[str]


@dataclass(frozen=True, slots=True)
class CaseFeatures:
    """A case as counts of n-grams in blocks, and the numbers of `RELATIONS`.

    Blocks: ``answer`` (the answer's own n-grams), ``added`` (those of its sentences that the nearest sentence of the
    evidence lacks), ``lost`` (the reverse), and ``verdict`` (pairs of an opening of a sentence and what is asked
    beyond the evidence, or nothing).
    """

    blocks: Mapping[str, Mapping[str, int]]
    relations: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SentencePart:
    """A sentence: its letters and digits, and their bigrams."""

    text: str
    pairs: Grams


def extract_features(case: Case, max_ngram: int) -> CaseFeatures:
    """The features of a case without its statements; n-grams of the answer have up to `max_ngram` characters."""
    parts, asked = sentence_parts(case.answer), sentence_parts(case.question)
    windows = tuple(dict.fromkeys(part for text in sorted(case.evidence) for part in sentence_parts(text)))
    own = Counter(gram for part in parts for gram in character_ngrams(part.text, 1, max_ngram))
    question_pairs, known = _union(asked), _union(windows)
    nearest = [_nearest(part, windows) for part in parts]
    proportions = [proportion for proportion, _ in nearest]
    question_nearest = [_nearest(part, windows) for part in asked]
    added, lost = _difference_ngrams(parts, nearest)
    beyond, _ = _difference_ngrams(asked, question_nearest)
    pairs = _union(parts)
    sizes = [max(1, len(part.pairs)) for part in parts]
    relations = (
        _proportion_known(pairs, question_pairs),
        _proportion_known(pairs, known),
        _proportion_known(pairs - question_pairs, known),
        max(proportions, default=0.0),
        min(proportions, default=0.0),
        sum(s * n for s, n in zip(proportions, sizes, strict=True)) / max(1, sum(sizes)),
        _proportion_known(question_pairs, known),
        max((proportion for proportion, _ in question_nearest), default=0.0),
        max((n for n, part in zip(proportions, parts, strict=True) if part.pairs & question_pairs), default=0.0),
        math.log1p(sum(added.values())),
        math.log1p(sum(lost.values())),
        float(not windows),
        math.log1p(sum(len(part.text) for part in parts)),
        math.log1p(len(parts)),
    )
    blocks = {"answer": own, "added": added, "lost": lost, "verdict": _new_characters(parts, beyond)}
    return CaseFeatures(blocks, relations)


@lru_cache(maxsize=8192)
def sentence_parts(text: str) -> tuple[SentencePart, ...]:
    """The sentences and clauses of a text, cut at punctuation, without white space, differences of width, and case."""
    cut = "".join(_bare_character(character) for character in to_half_width(compose_characters(text)).casefold())
    return tuple(
        SentencePart(bare, frozenset(character_ngrams(bare, 2, 2)) or frozenset({bare}))
        for bare in cut.split("\n")
        if bare
    )


@lru_cache(maxsize=65536)
def _bare_character(character: str) -> str:
    """A letter or number unchanged, a line end for a mark that ends or divides, and nothing for other characters."""
    category = unicodedata.category(character)
    if category[0] in "LNM":
        return character
    return "\n" if category == "Po" or character in "\n\r" else ""


def character_ngrams(text: str, min_length: int, max_length: int) -> Iterable[str]:
    """The character n-grams of a text.

    >>> list(character_ngrams("abc", 1, 2))
    ['a', 'b', 'c', 'ab', 'bc']
    """
    for size in range(min_length, max_length + 1):
        for start in range(len(text) - size + 1):
            yield text[start : start + size]


def _union(parts: Iterable[SentencePart]) -> Grams:
    return frozenset(pair for part in parts for pair in part.pairs)


def _proportion_known(features: Grams, known_features: Grams) -> float:
    return len(features & known_features) / len(features) if features else 0.0


def _nearest(part: SentencePart, windows: Sequence[SentencePart]) -> tuple[float, SentencePart | None]:
    """The proportion of `part` in the window that contains most of it, and this window (of several, the shortest)."""
    best: tuple[int, int, str] | None = None
    nearest: SentencePart | None = None
    for window in windows:
        rank = (-len(part.pairs & window.pairs), len(window.pairs), window.text)
        if best is None or rank < best:
            best, nearest = rank, window
    return (0.0, None) if nearest is None else (_proportion_known(part.pairs, nearest.pairs), nearest)


def _difference_ngrams(
    parts: Sequence[SentencePart], nearest: Sequence[tuple[float, SentencePart | None]]
) -> tuple[Counter[str], Counter[str]]:
    """The n-grams of one and two characters that sentences have and their nearest windows lack, and the reverse.

    Windows that contain too little of a sentence do not count. Of a window, only the part from the first to the last
    shared character counts.
    """
    added, lost = Counter[str](), Counter[str]()
    for part, (proportion, window) in zip(parts, nearest, strict=True):
        if window is None or proportion < _FEWEST:
            continue
        known = frozenset(part.text)
        places = [at for at, character in enumerate(window.text) if character in known]
        span = window.text[places[0] : places[-1] + 1] if places else ""
        ours, theirs = Counter(character_ngrams(part.text, 1, 2)), Counter(character_ngrams(span, 1, 2))
        added += ours - Counter(character_ngrams(window.text, 1, 2))
        lost += theirs - ours
    return added, lost


def _new_characters(parts: Sequence[SentencePart], beyond: Mapping[str, int]) -> Counter[str]:
    """Pairs of an opening of a sentence, and a character that the question has and the evidence lacks."""
    openings = {gram for part in parts for gram in character_ngrams(part.text[:_OPENING], 1, 2)}
    asked = [gram for gram in beyond if len(gram) == 1] or [""]
    return Counter(f"{opening}|{gram}" for opening in openings for gram in asked)
