"""The scorer kind `exact`: whether an answer matches the item's, by the key of an option or by its text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from benchbuilder.config import KindSpec, Name
from benchbuilder.core import Answer, Item, NotApplicable, Regex, StepContext
from benchbuilder.evaluation.parsing.exact_answers import ExactReader, right_keys
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
    version: ClassVar[int] = 2
    spec_class: ClassVar[type[KindSpec]] = ExactSpec
    reasons: ClassVar[Mapping[str, str]] = {"no_answer": "The item does not say which answer is right."}

    spec: ExactSpec

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self._reader = ExactReader(spec.announced, spec.ignore, spec.drop, spec.also_words)

    def score(self, pairs: Sequence[tuple[Answer, Item[Any]]]) -> Iterable[ScorerResult]:
        """The score of each answer."""
        return [self._scored(answer, item) for answer, item in pairs]

    def _scored(self, answer: Answer, item: Item[Any]) -> ScorerResult:
        right = tuple(text for text in item.payload.texts().get(self.spec.answer, ()) if text.strip())
        options = {option.key: option.text for option in getattr(item.payload, self.spec.options, ())}
        keys = right_keys(str(getattr(item.payload, self.spec.key, "") or ""), options)
        if not (keys if options else right):
            return NotApplicable("no_answer")
        if answer.outcome not in ("complete", "truncated"):
            return (AspectScore(self.spec.aspect, None, answer.outcome),)
        read = self._reader.read(answer.text, options, keys, right)
        return (AspectScore(self.spec.aspect, read.value, read.label, read.detail),)
