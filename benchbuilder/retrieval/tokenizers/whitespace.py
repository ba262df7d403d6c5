"""The tokenizer kind `whitespace`: text between white space is a token."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import regex

from benchbuilder.config import KindSpec
from benchbuilder.retrieval.tokenizers.base import Tokenizer

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

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.spec: WhitespaceSpec = spec

    def tokens(self, text: str) -> list[str]:
        """The tokens of `text`, in order."""
        return text.split() if self.spec.punctuation == "attached" else _APART.findall(text)
