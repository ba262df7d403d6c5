"""The tokenizer kinds without a dictionary: `whitespace` and `character_ngrams`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

import regex
from pydantic import Field, model_validator

from benchbuilder.config import KindSpec
from benchbuilder.core import split_characters
from benchbuilder.retrieval.base import Tokenizer

_APART = regex.compile(
    r"[\p{L}\p{M}\p{N}](?:[\p{L}\p{M}\p{N}\p{Pc}\u200c\u200d]"  # letters, their marks, digits, joiners
    r"|['\u2019\u02bc\u2011\u00b7-](?=[\p{L}\p{N}])"  # an apostrophe or hyphen inside a word
    r"|(?<=\p{Nd})[.,\u066b\u066c](?=\p{Nd}))*"  # the point in a number
    r"|\S"
)


class WhitespaceSpec(KindSpec):
    """How punctuation is treated: it stays with its word (``attached``), or each mark is a token (``apart``).

    An apostrophe or a hyphen between letters, and a point between digits, are part of the word either way.
    """

    punctuation: Literal["attached", "apart"] = "attached"


class WhitespaceTokenizer(Tokenizer):
    """Words as white space separates them. A letter is never separated from its marks."""

    kind: ClassVar[str] = "whitespace"
    spec_class: ClassVar[type[KindSpec]] = WhitespaceSpec

    spec: WhitespaceSpec

    def tokens(self, text: str) -> list[str]:
        """The tokens of `text`, in order."""
        return text.split() if self.spec.punctuation == "attached" else _APART.findall(text)


_RUNS = {"words": regex.compile(r"[\p{L}\p{M}\p{N}\p{Cf}]+"), "text": regex.compile(r"\S(?:.*\S)?", regex.DOTALL)}


class CharacterNgramsSpec(KindSpec):
    """Which runs of characters are tokens: those of `shortest` to `longest` characters.

    A character is a letter with its marks, as people see it. Runs lie `within` ``words`` (letters, marks and digits in
    a row; everything else is left out), or cross words and white space in the whole ``text``. A word shorter than
    `shortest` is one token.
    """

    shortest: Annotated[int, Field(ge=1)]
    longest: Annotated[int, Field(ge=1, le=20)]
    within: Literal["words", "text"]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.longest < self.shortest:
            raise ValueError(f"longest: {self.longest} is less than shortest ({self.shortest})")
        return self


class CharacterNgramsTokenizer(Tokenizer):
    """Character n-grams, for retrieval in languages without a word tokenizer or with many word forms.

    Tokens overlap, so they do not show word boundaries.
    """

    kind: ClassVar[str] = "character_ngrams"
    spec_class: ClassVar[type[KindSpec]] = CharacterNgramsSpec
    overlaps: ClassVar[bool] = True

    spec: CharacterNgramsSpec

    def tokens(self, text: str) -> list[str]:
        """The tokens of `text`, ordered by start, then by length."""
        return [
            token
            for run in _RUNS[self.spec.within].findall(text)
            for token in self._ngrams_of_run(split_characters(run))
        ]

    def _ngrams_of_run(self, run: list[str]) -> Iterator[str]:
        shortest, longest = self.spec.shortest, self.spec.longest
        if len(run) <= shortest:
            yield "".join(run)
            return
        for start in range(len(run) - shortest + 1):
            for end in range(start + shortest, min(start + longest, len(run)) + 1):
                yield "".join(run[start:end])
