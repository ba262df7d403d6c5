"""The hidden Markov model of jieba: guesses words in runs of characters that the dictionary leaves single."""

from __future__ import annotations

import re
from functools import cache
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchbuilder.retrieval.tokenizers.jieba_data import UNSEEN, unknown_words_model

FIRST_SIGN, LAST_SIGN = 0x4E00, 0x9FD5
"""The range of Chinese characters that jieba guesses about."""
_SCRIPT = re.compile(f"([{chr(FIRST_SIGN)}-{chr(LAST_SIGN)}]+)")
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


@cache
def _emissions() -> NDArray[np.float64]:
    """The log probability of each Chinese character in each state, shape (states, characters)."""
    table = unknown_words_model()[2]
    return np.array([table.get(chr(code), UNSEEN) for code in range(FIRST_SIGN, LAST_SIGN + 1)]).T.copy()


def later_words(points: NDArray[Any], starts: NDArray[Any], ends: NDArray[Any]) -> NDArray[Any]:
    """The positions in runs of Chinese characters where words after the first begin, as `guess_words` cuts them.

    Args:
        points: Code points of a text.
        starts: Where the runs begin.
        ends: Where they end.

    The runs are gone through at the same time. Sums and ties are those of `_states`.
    """
    order = np.argsort(starts - ends, kind="stable")
    starts, sizes = starts[order], (ends - starts)[order]
    running = len(sizes) - np.searchsorted(sizes[::-1], np.arange(2, int(sizes[0]) + 1 if len(sizes) else 2))
    first, steps, _ = unknown_words_model()
    end_begin, single_begin, begin_middle, middle_middle, begin_end, middle_end, end_single, single_single = steps
    shown = _emissions()[:, points[starts] - FIRST_SIGN]
    b, m, e, s = (first[state] + shown[state] for state in range(4))
    states = np.where(s >= e, _SINGLE, _END)
    came: list[NDArray[Any]] = []
    for at, count in enumerate(running.tolist(), 1):
        b, m, e, s = b[:count], m[:count], e[:count], s[:count]
        as_begin, as_middle, as_end, as_single = _emissions()[:, points[starts[:count] + at] - FIRST_SIGN]
        e_begin, s_begin = e + end_begin + as_begin, s + single_begin + as_begin
        b_middle, m_middle = b + begin_middle + as_middle, m + middle_middle + as_middle
        b_end, m_end = b + begin_end + as_end, m + middle_end + as_end
        e_single, s_single = e + end_single + as_single, s + single_single + as_single
        came.append(np.stack([
            np.where(s_begin >= e_begin, _SINGLE, _END), np.where(m_middle >= b_middle, _MIDDLE, _BEGIN),
            np.where(m_end >= b_end, _MIDDLE, _BEGIN), np.where(s_single >= e_single, _SINGLE, _END),
        ]))  # fmt: skip
        b, m = np.maximum(s_begin, e_begin), np.maximum(m_middle, b_middle)
        e, s = np.maximum(m_end, b_end), np.maximum(s_single, e_single)
        states[:count] = np.where(s >= e, _SINGLE, _END)
    found: list[NDArray[Any]] = [np.zeros(0, np.int64)]
    for at in range(len(came), 0, -1):
        count = came[at - 1].shape[1]
        states[:count] = came[at - 1][states[:count], np.arange(count)]
        found.append(starts[:count][states[:count] >= _END] + at)
    return np.concatenate(found)
