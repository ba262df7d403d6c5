"""Finds evidence for candidates in every knowledge base."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from pydantic import Field

from benchbuilder.config import KindSpec, Slot, StepSpec
from benchbuilder.core import (
    Candidate,
    Dropped,
    Evidence,
    Kept,
    LazyTexts,
    NotApplicable,
    Outcome,
    OutcomeBatch,
    Passage,
    Row,
    StepContext,
    Table,
    child_rows,
    combined_column,
    create_from_spec,
    joined_ancestors,
    schema_of,
    take_rows,
    truncate_code_points,
)
from benchbuilder.retrieval import Retriever
from benchbuilder.steps.base import Map, Port

PassagePositions = np.ndarray[Any, np.dtype[np.int64]] | range


class RetrievalHit(NamedTuple):
    """A result for a candidate: the knowledge base, the rank in it, and the passage's position in the lookup."""

    base: str
    rank: int
    position: int
    score: float


class RetrieveSpec(StepSpec):
    """The query and the retriever: `query` names the texts of the candidate that form the query."""

    query: Annotated[tuple[Literal["context", "question", "answer"], ...], Field(min_length=1)]
    retriever: Annotated[KindSpec | None, Slot("retriever", inherit="retriever")] = None


class Retrieve(Map):
    """The best passages of each knowledge base for a candidate; each base has its own index and ranking.

    The slot of an evidence is ``base:rank``, with ranks from 1. The wrong answer is never part of the query.
    """

    kind: ClassVar[str] = "retrieve"
    spec_class: ClassVar[type[StepSpec]] = RetrieveSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Candidate),
        "passages": Port(Passage, "lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = Evidence
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        "no_evidence": "No passage of any knowledge base shares a word with the query.",
        "no_passages": "The recipe has no knowledge base, so its items have no evidence.",
    }

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self.spec: RetrieveSpec = spec
        self._passages: pa.Table | None = None
        self._has_base = True
        self._bases: dict[str, tuple[PassagePositions, Retriever]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_passages": None, "_bases": {}}

    def _make_retriever(self) -> Retriever:
        return create_from_spec("retriever", self.spec.retriever)

    def fingerprint(self) -> Mapping[str, str]:
        """The versions that shape the ranking."""
        return self._make_retriever().fingerprint()

    def prepare(self, lookups: Mapping[str, Table[Any]]) -> tuple[Path, ...]:
        """Make the missing indexes of knowledge bases."""
        passages, context = _arrow_of(lookups), self.context
        paths: dict[Path, None] = {}
        for places in _positions_by_base(passages).values():
            texts = LazyTexts(passages.column("text"), places)
            paths.update(dict.fromkeys(self._make_retriever().build(texts, context.cache, context.workers)))
        return tuple(paths)

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Open or make the index of each knowledge base."""
        passages = self._passages = _arrow_of(lookups)
        self._has_base = "passages" in lookups
        self._bases = {}
        for base, places in _positions_by_base(passages).items():
            retriever = self._make_retriever()
            retriever.index(LazyTexts(passages.column("text"), places), self.context.cache)
            self._bases[base] = (places, retriever)

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """A branch for each result, or one drop without any."""
        candidate: Candidate = row
        if not self._has_base:
            return [NotApplicable("no_passages")]
        query = "\n".join(text for name in self.spec.query if (text := getattr(candidate, name)))
        outcomes: list[Outcome] = []
        for base, rank, place, score in self._search([query])[0]:
            passage = Passage.model_validate(self._passage_rows(np.array([place])).to_pylist()[0])
            slot = f"{base}:{rank}"
            evidence = Evidence.child(
                candidate, passage, produced_by=self.produced_by(self._rule), slot=slot, passage=passage.id,
                base=base, document=passage.document, title=passage.title, text=passage.text,
                score=score, rank=rank,
            )  # fmt: skip
            outcomes.append(Kept(evidence, slot))
        return outcomes or [Dropped("no_evidence", truncate_code_points(query, 80))]

    def map_columns(self, table: Table[Any]) -> OutcomeBatch | None:
        """The branches of many candidates, with one search for all queries and passages copied by column."""
        if not self._has_base:
            return None
        texts = [table.arrow.column(name).to_pylist() for name in self.spec.query]
        queries = ["\n".join(filter(None, parts)) for parts in zip(*texts, strict=True)]
        results = self._search(queries)
        hits = [hit for ranked in results for hit in ranked]
        counts = np.array([len(ranked) for ranked in results], np.int64)
        # one line for each hit, and one for a candidate without hits
        rows = np.repeat(np.arange(len(results)), np.maximum(counts, 1))
        kept = np.repeat(counts > 0, np.maximum(counts, 1))
        slots, details = np.full(len(rows), "", object), np.full(len(rows), "", object)
        slots[kept] = [f"{base}:{rank}" for base, rank, *_ in hits]
        details[~kept] = [truncate_code_points(queries[place], 80) for place in np.flatnonzero(counts == 0).tolist()]
        chosen: Any = pa.array(rows[kept], pa.int64())
        return OutcomeBatch(
            row_position=pa.array(rows, pa.int64()),
            slots=pa.array(slots, pa.string()),
            outcomes=pa.array(np.where(kept, "kept", "dropped"), pa.string()),
            reasons=pa.array(np.where(kept, "", "no_evidence"), pa.string()),
            details=pa.array(details, pa.string()),
            rows=self._evidence_table(table.arrow.take(chosen), hits),
        )

    def _evidence_table(self, candidates: pa.Table, hits: Sequence[RetrievalHit]) -> Table[Any]:
        """The rows of hits; each hit has its candidate in the same row of `candidates`."""
        bases, ranks, places, scores = ([hit[part] for hit in hits] for part in range(4))
        passages = self._passage_rows(np.array(places, np.int64))
        fields: dict[str, pa.Array[Any]] = {
            "passage": combined_column(passages, "id"), "base": pa.array(bases, pa.string()),
            **{name: combined_column(passages, name) for name in ("document", "title", "text")},
            "score": pa.array(scores, pa.float64()), "rank": pa.array(ranks, pa.int64()),
        }  # fmt: skip
        slots = pa.array([f"{base}:{rank}" for base, rank in zip(bases, ranks, strict=True)], pa.string())
        return child_rows(
            Evidence, candidates, self.produced_by(self._rule), slots, fields, joined_ancestors(candidates, passages)
        )

    def _search(self, queries: Sequence[str]) -> list[list[RetrievalHit]]:
        """The results of each query, base by base."""
        results: list[list[RetrievalHit]] = [[] for _ in queries]
        distinct = list(dict.fromkeys(queries))
        for base, (places, retriever) in self._bases.items():
            ranking_of = dict(zip(distinct, retriever.search_many(distinct), strict=True))
            for query, hits in zip(queries, results, strict=True):
                ranked = enumerate(ranking_of[query], 1)
                hits += [RetrievalHit(base, rank, int(places[place]), score) for rank, (place, score) in ranked]
        return results

    @property
    def _rule(self) -> str:
        return "" if self.spec.retriever is None else self.spec.retriever.kind

    def _passage_rows(self, places: np.ndarray[Any, Any]) -> pa.Table:
        if self._passages is None:
            raise RuntimeError("retrieve was not opened")
        return take_rows(self._passages, places)


def _arrow_of(lookups: Mapping[str, Table[Any]]) -> pa.Table:
    """The passages; an empty table if the recipe has no knowledge base."""
    return lookups["passages"].arrow if "passages" in lookups else schema_of(Passage).empty_table()


def _positions_by_base(passages: pa.Table) -> dict[str, PassagePositions]:
    """The positions of the passages of each knowledge base, by name; a range if they are consecutive."""
    parts: dict[str, list[np.ndarray[Any, Any]]] = {}
    start = 0
    for chunk in passages.column("base").chunks:
        coded: Any = chunk.dictionary_encode()
        codes = coded.indices.to_numpy(zero_copy_only=False)
        for code, base in enumerate(coded.dictionary.to_pylist()):
            parts.setdefault(base, []).append(start + np.flatnonzero(codes == code))
        start += len(chunk)
    return {base: _as_range(np.concatenate(parts[base])) for base in sorted(parts)}


def _as_range(places: np.ndarray[Any, Any]) -> PassagePositions:
    first, last = int(places[0]), int(places[-1])
    return range(first, last + 1) if last - first + 1 == len(places) else places
