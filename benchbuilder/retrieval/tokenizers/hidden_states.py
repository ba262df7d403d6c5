"""The hidden Markov model of jieba: guesses words in runs of characters that the dictionary leaves single."""

from __future__ import annotations

import re
from operator import add

from benchbuilder.retrieval.tokenizers.jieba_data import UNSEEN, unknown_words_model

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
