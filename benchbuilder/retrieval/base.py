"""The base class of retrievers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchbuilder.config import KindSpec


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

    @abstractmethod
    def search(self, query: str) -> list[tuple[int, float]]:
        """Positions and scores of the best texts, best first; texts with score zero are left out."""

    def search_many(self, queries: Sequence[str]) -> list[list[tuple[int, float]]]:
        """The results of `search` for each query, in order."""
        return [self.search(query) for query in queries]
