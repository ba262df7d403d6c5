"""Retrievers: the passages of one knowledge base that fit a query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchbuilder.spec.base import KindSpec


class Retriever(ABC):
    """Ranks the passages of one knowledge base."""

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[KindSpec]]

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def fingerprint(self) -> Mapping[str, str]:
        """Distribution and dictionary versions that shape the ranking."""
        return {}

    @abstractmethod
    def index(self, texts: Sequence[str], cache: Path) -> None:
        """Index `texts`, or load the index of just these texts and settings from folder `cache`."""

    @abstractmethod
    def search(self, query: str) -> list[tuple[int, float]]:
        """Positions and scores of the best texts, best first; none with score zero."""
