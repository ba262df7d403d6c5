"""The vocabulary of the generated texts: dictionary words by frequency, words that no dictionary has, stop words."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jieba
import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.text.wordlist import load_words

ROOT = Path(__file__).parents[2]
CARE_MI = ROOT / "recipes" / "recipe" / "care_mi"
CONTENT = 50_000
"""Content words of the vocabulary."""
FLATTER = 30.0
"""Zipf-Mandelbrot: the weight of the word of rank r is 1 / (r + FLATTER), so that the commonest word stands in about a
sixth of the paragraphs, as in texts without their stop words."""
INVENTED = 0.1
"""Share of content words that are made of single characters: proper names and terms that dictionaries lack."""


@dataclass(frozen=True)
class Vocabulary:
    """Content words with their chances, and stop words, commonest first."""

    content: tuple[str, ...]
    chances: NDArray[np.float64]
    stop: tuple[str, ...]


def topic_words() -> tuple[str, ...]:
    """The bundled word list of maternity and infant care."""
    return load_words(CARE_MI / "words.txt")


def stop_words() -> tuple[str, ...]:
    """The bundled stop words that are written in Chinese characters alone."""
    return tuple(word for word in load_words(CARE_MI / "stopwords.txt") if _han(word))


def all_stop_words() -> tuple[str, ...]:
    """Every bundled stop word."""
    return load_words(CARE_MI / "stopwords.txt")


def relations(table: str) -> tuple[str, ...]:
    """The relations that the bundled `table` states whatever their ends are."""
    with (CARE_MI / table).open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")
        plain = [row["relation"] for row in rows if not row["when_head"] and not row["when_tail"]]
    return tuple(dict.fromkeys(plain))


@cache
def dictionary() -> tuple[str, ...]:
    """Words of jieba's dictionary that are written in Chinese characters alone, commonest first."""
    counted: list[tuple[int, str]] = []
    with jieba.get_dict_file() as file:
        for line in file.read().decode().splitlines():
            word, count, *_ = line.split(" ")
            if len(word) > 1 and _han(word):
                counted.append((-int(count), word))
    return tuple(word for _, word in sorted(counted))


@cache
def vocabulary(seed: int) -> Vocabulary:
    """The words of the texts made with `seed`."""
    stop = stop_words()
    chance = np.random.default_rng([seed, 1])
    known = [word for word in dictionary()[: CONTENT * 2] if word not in set(stop)]
    letters = sorted({letter for word in known[:5_000] for letter in word})
    picks = chance.integers(0, len(letters), (CONTENT, 3))
    content = known[:CONTENT]
    places = chance.random(CONTENT) < INVENTED
    for place in np.flatnonzero(places).tolist():
        content[place] = "".join(letters[n] for n in picks[place][: 2 + place % 2])
    for place, word in zip(chance.permutation(CONTENT)[: len(topic_words())].tolist(), topic_words(), strict=True):
        content[place] = word
    weights = 1 / (np.arange(CONTENT) + 1 + FLATTER)
    return Vocabulary(tuple(content), weights / weights.sum(), stop)


def _han(word: str) -> bool:
    return all("\u4e00" <= letter <= "\u9fff" for letter in word)
