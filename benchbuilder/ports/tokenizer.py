"""Tokenizers: text to words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from benchbuilder.spec.base import KindSpec


class Tokenizer(ABC):
    """Cuts text into tokens whose concatenation is the text (white space may be left out)."""

    kind: ClassVar[str]
    spec_class: ClassVar[type[KindSpec]]

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def fingerprint(self) -> Mapping[str, str]:
        """Distribution and dictionary versions that shape the tokens."""
        return {}

    def open(self) -> None:
        """Load dictionaries in this process."""

    @abstractmethod
    def tokens(self, text: str) -> list[str]:
        """The tokens of `text`, in order."""
