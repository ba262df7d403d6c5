"""The tokenizer kind `whitespace`: what stands between white space is a token."""

from __future__ import annotations

from typing import ClassVar

from benchbuilder.ports.tokenizer import Tokenizer
from benchbuilder.spec.base import KindSpec


class WhitespaceSpec(KindSpec):
    """Nothing to set."""


class Whitespace(Tokenizer):
    """Words as white space separates them; marks stay with their words."""

    kind: ClassVar[str] = "whitespace"
    spec_class: ClassVar[type[KindSpec]] = WhitespaceSpec

    def tokens(self, text: str) -> list[str]:
        """The tokens of `text`, in order."""
        return text.split()
