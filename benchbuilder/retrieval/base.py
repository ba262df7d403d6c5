"""The base classes of tokenizers and retrievers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchbuilder.config import KindSpec
from benchbuilder.core import SpecIssue


class Retriever(ABC):
    """Ranks the passages of one knowledge base for a query.

    Texts are passed as a lazy sequence: read them in slices (``texts[start:stop]`` is a list), and do not keep them all
    in memory. A retriever can be pickled before `index` opens it.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[KindSpec]]

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of libraries and dictionaries that shape the ranking."""
        return {}

    def build(self, texts: Sequence[str], cache: Path, workers: int = 1) -> tuple[Path, ...]:  # noqa: ARG002
        """Build the index in `cache`, once, before any worker opens it.

        Args:
            texts: The passages of the knowledge base.
            cache: Folder for the index.
            workers: Most processes to use.

        Returns:
            The files and folders of the index; workers on other machines get copies. Empty if every worker builds its
            own index.
        """
        return ()

    @abstractmethod
    def index(self, texts: Sequence[str], cache: Path) -> None:
        """Open the index of these texts and settings from `cache`, or build it."""

    def is_indexed(self, texts: Sequence[str], cache: Path) -> bool:  # noqa: ARG002
        """Whether `cache` has a whole index of these texts and settings, which `index` would only open."""
        return False

    def word_weights(self, query: str, position: int) -> Mapping[str, float]:  # noqa: ARG002
        """What each word of `query` adds to the score of the text at a position, in the order of the query.

        Empty if the retriever does not score by words.
        """
        return {}

    def shares_word(self, query: str) -> bool:  # noqa: ARG002
        """Whether any text has a word of `query`, whatever its score. False if the retriever does not know words."""
        return False

    @abstractmethod
    def search(self, query: str) -> list[tuple[int, float]]:
        """Positions and scores of the best texts, best first; texts with score zero are left out."""

    def search_many(self, queries: Sequence[str]) -> list[list[tuple[int, float]]]:
        """The results of `search` for each query, in order."""
        return [self.search(query) for query in queries]


class TokenColumns(NamedTuple):
    """The tokens of many texts.

    Attributes:
        lengths: Number of tokens per text, shape (texts,).
        tokens: Index into `terms` of every token, shape (tokens,).
        terms: The distinct tokens, in order of first occurrence.
    """

    lengths: NDArray[Any]
    tokens: NDArray[Any]
    terms: list[str]


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

    def token_columns(self, texts: Sequence[str]) -> TokenColumns:
        """The tokens of many texts: the same as `tokens` of each. Opens the tokenizer."""
        self.open()
        known: dict[str, int] = {}
        number, tokens, lengths = known.setdefault, list[int](), list[int]()
        for text in texts:
            found = self.tokens(text)
            lengths.append(len(found))
            tokens += [number(token, len(known)) for token in found]
        return TokenColumns(np.array(lengths, "<i4"), np.array(tokens, "<i4"), list(known))


def word_boundary_problem(tokenizer: Tokenizer | None) -> Iterator[SpecIssue]:
    """The problem of `tokenizer` for a step that needs word boundaries: none is set, or its tokens overlap."""
    if tokenizer is None:
        yield SpecIssue("tokenizer", "the step needs a tokenizer to find word boundaries", "null", ())
    elif tokenizer.overlaps:
        message = "its tokens overlap, so it cannot find word boundaries; give the step another one"
        yield SpecIssue("tokenizer", message, tokenizer.kind, ())
