"""Cuts like jieba, with a compiled search and a faster hidden Markov model: the same tokens, several times faster."""

from __future__ import annotations

import importlib
import re
from functools import cache, lru_cache, partial
from itertools import islice
from operator import add
from typing import Any

from benchbuilder.retrieval.tokenizers.jieba_data import UNSEEN, unknown_words_model
from benchbuilder.retrieval.tokenizers.jieba_words import (
    BestRoute,
    CutFunction,
    JiebaDictionary,
    OwnWords,
    cut_by_dictionary,
    jieba_dictionary,
    pieces,
)

_OWN_DEPTH = 5
"""Most words of a recipe that are prefixes of each other ("a", "ab", "abc"). The compiled search considers 12 words per
position, jieba all; in jieba's dictionary there are at most seven."""
_EXACT = 2**53
_SHORT_RUN = 16
_RUNS = 1 << 15
_TRIALS = 12
_TRIAL_WORDS = 25


def compiled_cut(own_words: OwnWords, hmm: bool) -> CutFunction | None:
    """The function that cuts by jieba's dictionary and `own_words`; ``None`` if it is missing or unreliable."""
    search = _search()
    if search is None:
        return None
    words = jieba_dictionary().with_words(own_words)
    if words.total > _EXACT or _depth(words, own_words) > _OWN_DEPTH:
        return None
    return _cut_along((_frequencies_over(words) if own_words else search).get_dag_and_calc, words, hmm)


def interpreted_cut(own_words: OwnWords, hmm: bool) -> CutFunction:
    """The same function without the compiled search: slower, and there for every dictionary."""
    words = jieba_dictionary().with_words(own_words)
    return _cut_along(partial(words.route, max_word_length=words.longest), words, hmm)


def _cut_along(route: BestRoute, words: JiebaDictionary, hmm: bool) -> CutFunction:
    return _guessing(words, route) if hmm else lambda text: cut_by_dictionary(text, route)


def _guessing(words: JiebaDictionary, route: BestRoute) -> CutFunction:
    """Cut by the dictionary, and guess words in the runs of single characters that remain."""
    known = words.frequencies

    def runs(run: str) -> tuple[str, ...]:
        return tuple(run) if known.get(run) else tuple(guess_words(run))

    kept = lru_cache(maxsize=_RUNS)(runs)

    def left_over(run: str) -> tuple[str, ...]:
        return kept(run) if len(run) <= _SHORT_RUN else runs(run)

    def cut(text: str) -> list[str]:
        found: list[str] = []
        add, extend = found.append, found.extend
        for piece in pieces(text):
            size = len(piece)
            if size == 1 or piece == "\r\n":
                add(piece)
                continue
            ends, at, left = route(piece), 0, 0
            while at < size:
                end = ends[at]
                if end == at:
                    at += 1
                    continue
                if at - left == 1:
                    add(piece[left])
                elif left < at:
                    extend(left_over(piece[left:at]))
                left = end + 1
                add(piece[at:left])
                at = left
            if size - left == 1:
                add(piece[left])
            elif left < size:
                extend(left_over(piece[left:]))
        return found

    return cut


def _frequencies_over(words: JiebaDictionary) -> Any:
    made: Any = importlib.import_module("jieba_next.jieba_next_rust")
    return made.PrefixDict(words.frequencies, float(words.total))


@cache
def _search() -> Any:
    """The compiled search over jieba's dictionary; ``None`` if it is missing or disagrees with jieba.

    The key of a step names jieba only, as both make the same tokens. Another release of the compiled package must not
    change tokens under that key, so both are first compared on texts made of words of the dictionary.
    """
    known = jieba_dictionary()
    try:
        search = _frequencies_over(known)
        found = [search.get_dag_and_calc(text)[:-1] for text in _trial_texts(known)]
    except (ImportError, AttributeError, TypeError, ValueError):
        return None
    longest = known.longest
    return search if found == [known.route(text, longest)[:-1] for text in _trial_texts(known)] else None


def _trial_texts(words: JiebaDictionary) -> list[str]:
    step = max(1, len(words.frequencies) // (_TRIALS * _TRIAL_WORDS))
    some = iter(list(islice(words.frequencies, 0, None, step)))
    return ["".join(islice(some, _TRIAL_WORDS)) for _ in range(_TRIALS)]


def _depth(words: JiebaDictionary, own_words: OwnWords) -> int:
    """The largest number of known prefixes of one of `own_words`, including itself."""
    known = words.frequencies
    return max(
        (sum(1 for size in range(1, len(word) + 1) if known.get(word[:size])) for word, _ in own_words), default=0
    )


_SCRIPT = re.compile("([\u4e00-\u9fd5]+)")
"""Runs of the Chinese characters that jieba guesses about."""
_LETTERS = re.compile(r"([a-zA-Z0-9]+(?:\.\d+)?%?)")
_BEGIN, _MIDDLE, _END, _SINGLE = range(4)


def guess_words(text: str) -> list[str]:
    """The words in a run of characters that the dictionary leaves single, in order."""
    if text.isascii():
        return [part for part in _LETTERS.split(text) if part]
    found: list[str] = []
    for place, run in enumerate(_SCRIPT.split(text)):
        found += _cut(run) if place % 2 else [part for part in _LETTERS.split(run) if part]
    return found


def _cut(run: str) -> list[str]:
    """The words in a run of Chinese characters: single characters, or from a begin state to an end state."""
    start, found = 0, list[str]()
    for place, state in enumerate(_states(run), 1):
        if state in (_END, _SINGLE):
            found.append(run[start:place])
            start = place
    return [*found, run[start:]] if start < len(run) else found


def _states(run: str) -> list[int]:
    """The most likely state of each character (Viterbi).

    Of equal probabilities, the state with the later letter wins. Sums are computed in jieba's order, so the result
    equals jieba's to the last bit.
    """
    first, steps, table = unknown_words_model()
    end_begin, single_begin, begin_middle, middle_middle, begin_end, middle_end, end_single, single_single = steps
    b, m, e, s = map(add, first, table.get(run[0], UNSEEN))
    came: list[tuple[int, int, int, int]] = []
    for character in run[1:]:
        as_begin, as_middle, as_end, as_single = table.get(character, UNSEEN)
        e_begin, s_begin = e + end_begin + as_begin, s + single_begin + as_begin
        b_middle, m_middle = b + begin_middle + as_middle, m + middle_middle + as_middle
        b_end, m_end = b + begin_end + as_end, m + middle_end + as_end
        e_single, s_single = e + end_single + as_single, s + single_single + as_single
        b, begin_from = (s_begin, _SINGLE) if s_begin >= e_begin else (e_begin, _END)
        m, middle_from = (m_middle, _MIDDLE) if m_middle >= b_middle else (b_middle, _BEGIN)
        e, end_from = (m_end, _MIDDLE) if m_end >= b_end else (b_end, _BEGIN)
        s, single_from = (s_single, _SINGLE) if s_single >= e_single else (e_single, _END)
        came.append((begin_from, middle_from, end_from, single_from))
    states = [_SINGLE if s >= e else _END]
    for origins in reversed(came):
        states.append(origins[states[-1]])
    states.reverse()
    return states
