"""The scorer kind `exact`: whether an answer matches the item's, by the key of an option or by its text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from benchbuilder.config import KindSpec, Name
from benchbuilder.core import (
    Answer,
    Item,
    NotApplicable,
    Regex,
    comparison_key,
    replace_all,
    strip_formatting,
    truncate_code_points,
)
from benchbuilder.evaluation.parsing.chosen_options import final_parts, read_chosen_options
from benchbuilder.evaluation.scorers.base import AspectScore, Scorer, ScorerResult


class ExactSpec(KindSpec):
    """How answers are compared with the payload.

    If the payload has the field `options` (each with ``key`` and ``text``), the right answer is the key in the field
    `key`, or that option's text. Several right keys are written together (``AC``) and must all be chosen. Otherwise,
    the right answers are the texts of the field `answer`.

    `announced` are patterns that precede a final answer. Comparisons ignore width, case, white space, the characters of
    `ignore`, and matches of the patterns `drop` (articles, units). `also_words` are keys that are also words of the
    language, like A and I in English: before a lower-case letter they count only if the option's text follows.
    """

    announced: tuple[Regex, ...]
    ignore: str
    drop: tuple[Regex, ...] = ()
    also_words: tuple[str, ...] = ()
    aspect: Name = "accuracy"
    answer: Name = "answer"
    options: Name = "options"
    key: Name = "answer_key"


class ExactScorer(Scorer):
    """1 for the right answer, 0 for a wrong one, and no value if the answer is unclear: options are never guessed.

    The label is ``right``, ``wrong`` or ``invalid``, or ``refused``, ``empty``, ``filtered`` or ``missing`` without an
    attempt to answer. The detail is the text that was read.
    """

    kind: ClassVar[str] = "exact"
    spec_class: ClassVar[type[KindSpec]] = ExactSpec
    reasons: ClassVar[Mapping[str, str]] = {"no_answer": "The item does not say which answer is right."}

    spec: ExactSpec

    def score(self, pairs: Sequence[tuple[Answer, Item[Any]]]) -> Iterable[ScorerResult]:
        """The score of each answer."""
        return [self._scored(answer, item) for answer, item in pairs]

    def _scored(self, answer: Answer, item: Item[Any]) -> ScorerResult:
        right = tuple(text for text in item.payload.texts().get(self.spec.answer, ()) if text.strip())
        options = {option.key: option.text for option in getattr(item.payload, self.spec.options, ())}
        keys = _right_keys(str(getattr(item.payload, self.spec.key, "") or ""), options)
        if not (keys if options else right):
            return NotApplicable("no_answer")
        if answer.outcome not in ("complete", "truncated"):
            return (AspectScore(self.spec.aspect, None, answer.outcome),)
        if not answer.text.strip():
            return (AspectScore(self.spec.aspect, None, "empty"),)
        return (self._chosen(answer.text, options, keys) if options else self._is_same_text(answer.text, right),)

    def _chosen(self, text: str, options: Mapping[str, str], keys: frozenset[str]) -> AspectScore:
        chosen = read_chosen_options(text, options, self.spec.announced, self.spec.ignore, self.spec.also_words)
        if not chosen or (len(chosen) > 1 and len(keys) == 1):
            detail = f"several: {' '.join(sorted(chosen))}" if chosen else "no option"
            return AspectScore(self.spec.aspect, None, "invalid", detail)
        return self._mark(chosen == keys, " ".join(sorted(chosen)))

    def _is_same_text(self, text: str, right: Sequence[str]) -> AspectScore:
        bare = strip_formatting(text)
        if bare is None:
            return AspectScore(self.spec.aspect, None, "invalid", "reasoning without an end")
        finals = final_parts(bare, self.spec.announced)
        wanted = {self._normalised(answer) for answer in right}
        right_text = any(self._normalised(text) in wanted for text in (bare, *finals))
        return self._mark(right_text, finals[-1] if finals else truncate_code_points(bare, 80))

    def _normalised(self, text: str) -> str:
        for pattern in self.spec.drop:
            text = replace_all(pattern, " ", text)
        return comparison_key(text, self.spec.ignore)

    def _mark(self, right: bool, detail: str) -> AspectScore:
        return AspectScore(self.spec.aspect, float(right), "right" if right else "wrong", detail)


def _right_keys(key: str, options: Mapping[str, str]) -> frozenset[str]:
    """The right keys, as one option or as several; empty if one of them is not an option."""
    if key in options:
        return frozenset({key})
    keys = frozenset(mark for mark in key if mark.isalnum())
    return keys if keys <= set(options) else frozenset()
