"""Tokenizers: text to words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from benchbuilder.config import KindSpec
from benchbuilder.core import SpecIssue


class Tokenizer(ABC):
    """Cuts text into tokens whose concatenation is the text (white space may be left out).

    One that `overlaps` gives parts of the text instead, each of which may stand in several tokens.
    """

    kind: ClassVar[str]
    spec_class: ClassVar[type[KindSpec]]
    overlaps: ClassVar[bool] = False
    """Whether tokens overlap. Such a tokenizer serves retrieval; it does not say where words begin and end."""

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


def word_boundary_problem(tokenizer: Tokenizer | None) -> Iterator[SpecIssue]:
    """What is wrong with `tokenizer` for a step that asks where words begin and end: none is set, or it overlaps."""
    if tokenizer is None:
        yield SpecIssue("tokenizer", "the step needs a tokenizer to know where words begin and end", "null", ())
    elif tokenizer.overlaps:
        message = "its tokens overlap, so that it cannot say where words begin and end; give the step another one"
        yield SpecIssue("tokenizer", message, tokenizer.kind, ())
