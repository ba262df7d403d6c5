"""Retrievers: the passages of one knowledge base that fit a query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchbuilder.config import KindSpec


class Retriever(ABC):
    """Ranks the passages of one knowledge base.

    Texts are given as a sequence that reads them when they are asked for: go through them in slices
    (``texts[start:stop]`` is a list), and do not hold them all. Picklable before it is opened.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[KindSpec]]

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def fingerprint(self) -> Mapping[str, str]:
        """Distribution and dictionary versions that shape the ranking."""
        return {}

    def build(self, texts: Sequence[str], cache: Path, workers: int = 1) -> tuple[Path, ...]:  # noqa: ARG002
        """Make in `cache` what `index` opens, with up to `workers` processes: once, before any worker opens it.

        Which files and folders of `cache` that is; workers on other machines get copies of them. None where every
        worker makes its own index.
        """
        return ()

    @abstractmethod
    def index(self, texts: Sequence[str], cache: Path) -> None:
        """Open the index of just these texts and settings that is in `cache`, or make it."""

    @abstractmethod
    def search(self, query: str) -> list[tuple[int, float]]:
        """Positions and scores of the best texts, best first; none with score zero."""

    def search_many(self, queries: Sequence[str]) -> list[list[tuple[int, float]]]:
        """What `search` finds for each query, in order."""
        return [self.search(query) for query in queries]
