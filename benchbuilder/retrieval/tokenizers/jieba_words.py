"""jieba's dictionary and the words of a recipe, with the frequencies that jieba would give them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from math import log

from benchbuilder.retrieval.tokenizers.jieba_data import dictionary_text

OwnWords = tuple[tuple[str, int | None], ...]
"""Words of a recipe, in order, with their frequencies; ``None``: high enough to keep the word whole."""
CutFunction = Callable[[str], list[str]]
BestRoute = Callable[[str], list[int]]
"""For each position of a text, the last position of the word that begins there on the most likely route."""

_JOINED = "[\u4e00-\u9fd5a-zA-Z0-9+#&._%\\-]+"
_WORD = re.compile(_JOINED)
_SINGLE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")

pieces: Callable[[str], list[str]] = re.compile(rf"{_JOINED}|\r\n|.", re.DOTALL).findall
"""Split a text as jieba does before it looks for words: runs of joinable characters, and single others."""


def may_be_a_word(text: str) -> bool:
    """Whether jieba can ever make one token of `text`.

    >>> may_be_a_word("B12"), may_be_a_word("two words")
    (True, False)
    """
    return _WORD.fullmatch(text) is not None


class JiebaDictionary:
    """Words with their frequencies, and their sum as jieba computes it."""

    def __init__(self, frequencies: dict[str, int], total: int) -> None:
        self.frequencies = frequencies
        self.total = total

    @cached_property
    def longest(self) -> int:
        """The length of the longest word."""
        return max(map(len, self.frequencies))

    def with_words(self, own_words: OwnWords) -> JiebaDictionary:
        """Add `own_words` with the frequencies that jieba's `add_word` gives them one after another."""
        if not own_words:
            return self
        grown = JiebaDictionary(dict(self.frequencies), self.total)
        beginnings = _beginnings(grown.frequencies)
        longest = max([self.longest, *(len(word) for word, _ in own_words)])
        for word, count in own_words:
            frequency = grown._suggested(word, beginnings, longest) if count is None else count
            grown.frequencies[word] = frequency
            grown.total += frequency
            beginnings.update(_begins(word))
        return grown

    def route(self, text: str, max_word_length: int) -> list[int]:
        """The most likely route through `text`, with one element more than it has characters; ties go to the longer
        word."""
        known, all_words, size = self.frequencies, log(self.total), len(text)
        score, ends = [0.0] * (size + 1), [0] * (size + 1)
        for start in range(size - 1, -1, -1):
            stops = range(start, min(size, start + max_word_length))
            found = [(count, end) for end in stops if (count := known.get(text[start : end + 1]))] or [(1, start)]
            score[start], ends[start] = max((log(count) - all_words + score[end + 1], end) for count, end in found)
        return ends

    def _suggested(self, word: str, beginnings: set[str], max_word_length: int) -> int:
        """The frequency that makes `word` more likely than its parts."""
        total, known = float(self.total), self.frequencies
        share = 1.0
        for piece in cut_by_dictionary(word, lambda text: self.route(text, max_word_length)):
            share *= known.get(piece, 0 if piece in beginnings else 1) / total
        return max(int(share * self.total) + 1, known.get(word, 1))


def cut_by_dictionary(text: str, route: BestRoute) -> list[str]:
    """The tokens of `text` by the dictionary only; letters and digits outside words stay together."""
    found: list[str] = []
    for piece in pieces(text):
        size = len(piece)
        if size == 1 or piece == "\r\n":
            found.append(piece)
            continue
        ends, at, left = route(piece), 0, 0
        while at < size:
            end = ends[at] + 1
            if end - at > 1 or piece[at] not in _SINGLE:
                if left < at:
                    found.append(piece[left:at])
                found.append(piece[at:end])
                left = end
            at = end
        if left < size:
            found.append(piece[left:])
    return found


@cache
def jieba_dictionary() -> JiebaDictionary:
    """The words of jieba's dictionary, parsed once per process (as fast as reading a cache)."""
    cells = dictionary_text().split()
    counts = list(map(int, cells[1::3]))
    return JiebaDictionary(dict(zip(cells[0::3], counts, strict=True)), sum(counts))


def _beginnings(words: Iterable[str]) -> set[str]:
    """The prefixes of words that a cut may leave over: single characters, and runs of letters and digits."""
    found = {word[0] for word in words}
    for word in words:
        if word[0] in _SINGLE:
            found.update(_begins(word))
    return found


def _begins(word: str) -> Iterable[str]:
    return (word[:size] for size in range(1, len(word)))
