"""The tokenizer kind `syllables`: words cut behind their vowels."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import KindSpec
from benchbuilder.retrieval import Tokenizer


class SyllablesSpec(KindSpec):
    """Which letters end a syllable. Capitals, and letters with marks on them, count as the plain ones."""

    vowels: Annotated[str, Field(min_length=1)]


class Syllables(Tokenizer):
    """Open syllables as they are written: a token ends behind a vowel, at white space and at other signs.

    It needs no dictionary, and words that share a stem share tokens whatever stands before and behind the stem.
    """

    kind: ClassVar[str] = "syllables"
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[KindSpec]] = SyllablesSpec

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self._vowels = frozenset(spec.vowels.casefold())

    def tokens(self, text: str) -> list[str]:
        """The tokens of `text`, in order; together they are the text without its white space."""
        return [token for word in text.split() for token in self._cut(word)]

    def _cut(self, word: str) -> list[str]:
        tokens = [""]
        ended = False
        for sign in word:
            if not unicodedata.combining(sign):  # a mark stays with its letter
                if tokens[-1] and (ended or not sign.isalnum()):
                    tokens.append("")
                ended = not sign.isalnum() or self._is_vowel(sign)
            tokens[-1] += sign
        return tokens

    def _is_vowel(self, sign: str) -> bool:
        return unicodedata.normalize("NFD", sign.casefold())[0] in self._vowels
