"""The retriever kind `hybrid`: fuses the result lists of several retrievers by rank."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from benchbuilder.config import KindSpec, Slot
from benchbuilder.core import create_from_spec
from benchbuilder.retrieval.base import Retriever


class HybridSpec(KindSpec):
    """Which retrievers, and how their lists are fused (reciprocal rank fusion, Cormack et al. 2009).

    The score of a passage is the sum of ``weight / (k + rank)`` over the lists that contain it, with ranks from 1. The
    length of a list is the `top_k` of its retriever.
    """

    lists: Annotated[dict[str, KindSpec], Slot("retriever"), Field(min_length=1)]
    """The retrievers, under names of your choice."""
    weights: dict[str, Annotated[float, Field(gt=0)]] = {}
    """The weight of each list; 1 by default."""
    k: Annotated[float, Field(ge=0)]
    """Reduces the influence of the rank: with a large `k`, the number of lists with the passage matters most."""
    top_k: Annotated[int, Field(ge=1)]
    ties: Literal["first", "last"] = "first"
    """Which of two passages with equal scores ranks higher, by their order in the knowledge base."""

    @model_validator(mode="after")
    def _weighs_its_lists(self) -> Self:
        if unknown := sorted(set(self.weights) - set(self.lists)):
            raise ValueError(f"weights: no list is called {', '.join(unknown)}")
        return self


class HybridRetriever(Retriever):
    """Reciprocal rank fusion of several retrievers, each with an index of its own over the same passages."""

    kind: ClassVar[str] = "hybrid"
    spec_class: ClassVar[type[KindSpec]] = HybridSpec

    spec: HybridSpec

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self._lists: dict[str, Retriever] = {
            name: create_from_spec("retriever", list_spec) for name, list_spec in spec.lists.items()
        }

    def fingerprint(self) -> Mapping[str, str]:
        """Versions and fingerprints of the retrievers."""
        known: dict[str, str] = {}
        for name, retriever in self._lists.items():
            known[f"{name} version"] = str(retriever.version)
            known |= {f"{name} {part}": value for part, value in retriever.fingerprint().items()}
        return known

    def build(self, texts: Sequence[str], cache: Path, workers: int = 1) -> tuple[Path, ...]:
        """Make the index of each retriever."""
        paths = [path for retriever in self._lists.values() for path in retriever.build(texts, cache, workers)]
        return tuple(dict.fromkeys(paths))

    def index(self, texts: Sequence[str], cache: Path) -> None:
        """Open the index of each retriever."""
        for retriever in self._lists.values():
            retriever.index(texts, cache)

    def shares_word(self, query: str) -> bool:
        """Whether a text has a word of `query`, for a retriever that knows words."""
        return any(retriever.shares_word(query) for retriever in self._lists.values())

    def search(self, query: str) -> list[tuple[int, float]]:
        """Positions and fused scores of the best texts, best first."""
        return self.search_many([query])[0]

    def search_many(self, queries: Sequence[str]) -> list[list[tuple[int, float]]]:
        """Like `search`, with all queries passed to each retriever together."""
        lists = {name: retriever.search_many(queries) for name, retriever in self._lists.items()}
        return [self._fused({name: found[at] for name, found in lists.items()}) for at in range(len(queries))]

    def _fused(self, lists: Mapping[str, Sequence[tuple[int, float]]]) -> list[tuple[int, float]]:
        spec, parts = self.spec, dict[int, list[float]]()
        for name, hits in lists.items():
            weight = spec.weights.get(name, 1.0)
            for rank, (place, _) in enumerate(hits, 1):
                parts.setdefault(place, []).append(weight / (spec.k + rank))
        later = -1 if spec.ties == "last" else 1
        # rounded once, so equal scores stay equal in any order of the lists
        scores = {place: math.fsum(own) for place, own in parts.items()}
        return sorted(scores.items(), key=lambda hit: (-hit[1], later * hit[0]))[: spec.top_k]
