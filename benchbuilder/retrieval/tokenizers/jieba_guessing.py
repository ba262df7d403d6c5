"""Words that no dictionary has, guessed by jieba's hidden Markov model: the same as jieba, without its slow loop."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from operator import add

from benchbuilder.retrieval.tokenizers.jieba_words import jieba_module

_SCRIPT = re.compile("([\u4e00-\u9fd5]+)")
_LETTERS = re.compile(r"([a-zA-Z0-9]+(?:\.\d+)?%?)")
_NEVER = -3.14e100
_UNSEEN = (_NEVER,) * 4
_BEGIN, _MIDDLE, _END, _SINGLE = range(4)
_NAMES = "BMES"
_STEPS = ("EB", "SB", "BM", "MM", "BE", "ME", "ES", "SS")


def guess_words(text: str) -> list[str]:
    """The words of a run of characters that the dictionary would leave single, in order."""
    if text.isascii():
        return [part for part in _LETTERS.split(text) if part]
    found: list[str] = []
    for place, run in enumerate(_SCRIPT.split(text)):
        found += _cut(run) if place % 2 else [part for part in _LETTERS.split(run) if part]
    return found


def _cut(run: str) -> list[str]:
    """The words of a run of one script: each is a single character, or goes from a beginning to an end."""
    start, found = 0, list[str]()
    for place, state in enumerate(_states(run), 1):
        if state in (_END, _SINGLE):
            found.append(run[start:place])
            start = place
    return [*found, run[start:]] if start < len(run) else found


@cache
def _model() -> tuple[tuple[float, ...], tuple[float, ...], dict[str, tuple[float, ...]]]:
    """The logarithms of chances: of each state to come first, of `_STEPS`, of a character in each state."""
    jieba_module()
    from jieba import finalseg  # pyright: ignore[reportMissingModuleSource]

    tables: list[Mapping[str, float]] = [finalseg.emit_P[name] for name in _NAMES]
    shown = dict.fromkeys(character for table in tables for character in table)
    return (
        tuple(finalseg.start_P[name] for name in _NAMES),
        tuple(finalseg.trans_P[before][after] for before, after in _STEPS),
        {character: tuple([table.get(character, _NEVER) for table in tables]) for character in shown},
    )


def _states(run: str) -> list[int]:
    """The likeliest state of each character (Viterbi). Of equal chances the state whose letter comes later wins, and
    sums are made in jieba's order, so that the result is jieba's to the last bit."""
    first, steps, table = _model()
    end_begin, single_begin, begin_middle, middle_middle, begin_end, middle_end, end_single, single_single = steps
    b, m, e, s = map(add, first, table.get(run[0], _UNSEEN))
    came: list[tuple[int, int, int, int]] = []
    for character in run[1:]:
        as_begin, as_middle, as_end, as_single = table.get(character, _UNSEEN)
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
