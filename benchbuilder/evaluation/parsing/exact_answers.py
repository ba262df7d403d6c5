"""Reads whether an answer is the right one, by the keys of options or word by word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchbuilder.core import comparison_key, replace_all, truncate_code_points
from benchbuilder.evaluation.parsing.chosen_options import final_parts, read_chosen_options
from benchbuilder.evaluation.parsing.formatting import strip_formatting


@dataclass(frozen=True, slots=True)
class ExactReading:
    """`value` is 1 for the right answer, 0 for a wrong one and ``None`` for an unclear one; `detail` is what was read.

    The label is ``right``, ``wrong``, ``invalid`` or ``empty``.
    """

    value: float | None
    label: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ExactReader:
    """Compares answers; see `benchbuilder.evaluation.ExactSpec` for its settings."""

    announced: Sequence[str]
    ignore: str
    drop: Sequence[str] = ()
    also_words: Sequence[str] = ()

    def read(self, text: str, options: Mapping[str, str], keys: frozenset[str], right: Sequence[str]) -> ExactReading:
        """Whether `text` chooses the right `keys` of `options` (texts by key), or without options is a `right` text."""
        if not text.strip():
            return ExactReading(None, "empty")
        return self._chosen(text, options, keys) if options else self._is_same_text(text, right)

    def _chosen(self, text: str, options: Mapping[str, str], keys: frozenset[str]) -> ExactReading:
        chosen = read_chosen_options(text, options, self.announced, self.ignore, self.also_words)
        if not chosen or (len(chosen) > 1 and len(keys) == 1):
            return ExactReading(None, "invalid", f"several: {' '.join(sorted(chosen))}" if chosen else "no option")
        return self._mark(chosen == keys, " ".join(sorted(chosen)))

    def _is_same_text(self, text: str, right: Sequence[str]) -> ExactReading:
        bare = strip_formatting(text)
        if bare is None:
            return ExactReading(None, "invalid", "reasoning without an end")
        finals = final_parts(bare, self.announced)
        wanted = {self._normalised(answer) for answer in right}
        right_text = any(self._normalised(text) in wanted for text in (bare, *finals))
        return self._mark(right_text, finals[-1] if finals else truncate_code_points(bare, 80))

    def _normalised(self, text: str) -> str:
        for pattern in self.drop:
            text = replace_all(pattern, " ", text)
        return comparison_key(text, self.ignore)

    def _mark(self, right: bool, detail: str) -> ExactReading:
        return ExactReading(float(right), "right" if right else "wrong", detail)


def right_keys(key: str, options: Mapping[str, str]) -> frozenset[str]:
    """The right keys, as one option or as several; empty if one of them is not an option.

    >>> sorted(right_keys("AC", {"A": "Mars", "B": "Venus", "C": "Earth"})), right_keys("D", {"A": "Mars"})
    (['A', 'C'], frozenset())
    """
    if key in options:
        return frozenset({key})
    keys = frozenset(mark for mark in key if mark.isalnum())
    return keys if keys <= set(options) else frozenset()
