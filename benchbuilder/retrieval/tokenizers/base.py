"""The base class of tokenizers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from benchbuilder.config import KindSpec
from benchbuilder.core import SpecIssue


class Tokenizer(ABC):
    """Cuts text into tokens whose concatenation is the text (white space may be left out).

    If `overlaps` is set, a part of the text may occur in several tokens instead.
    """

    kind: ClassVar[str]
    spec_class: ClassVar[type[KindSpec]]
    overlaps: ClassVar[bool] = False
    """Whether tokens overlap. Such a tokenizer is for retrieval; it does not find word boundaries."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of libraries and dictionaries that shape the tokens."""
        return {}

    def open(self) -> None:
        """Load dictionaries in this process."""

    @abstractmethod
    def tokens(self, text: str) -> list[str]:
        """The tokens of `text`, in order."""


def word_boundary_problem(tokenizer: Tokenizer | None) -> Iterator[SpecIssue]:
    """The problem of `tokenizer` for a step that needs word boundaries: none is set, or its tokens overlap."""
    if tokenizer is None:
        yield SpecIssue("tokenizer", "the step needs a tokenizer to find word boundaries", "null", ())
    elif tokenizer.overlaps:
        message = "its tokens overlap, so it cannot find word boundaries; give the step another one"
        yield SpecIssue("tokenizer", message, tokenizer.kind, ())
