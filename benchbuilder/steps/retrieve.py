"""Find evidence for candidates in every knowledge base."""

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
    take_rows,
    truncate_code_points,
)
from benchbuilder.retrieval import Retriever
from benchbuilder.steps.base import Map, Port

PassagePositions = np.ndarray[Any, np.dtype[np.int64]] | range


class RetrievalHit(NamedTuple):
    """What was found for a candidate: the knowledge base, the rank in it, the passage's place in the lookup."""

    base: str
    rank: int
    position: int
    score: float


class RetrieveSpec(StepSpec):
    """What is asked, and of which retriever: `query` names the texts of the candidate that make up the query."""

    query: Annotated[tuple[Literal["context", "question", "answer"], ...], Field(min_length=1)]
    retriever: Annotated[KindSpec | None, Slot("retriever", inherit="retriever")] = None


class Retrieve(Map):
    """The best passages of each knowledge base for a candidate; each base has an index and a ranking of its own.

    The slot of an evidence is ``base:rank``, ranks from 1. The wrong answer is never part of the query.
    """

    kind: ClassVar[str] = "retrieve"
    spec_class: ClassVar[type[StepSpec]] = RetrieveSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Candidate), "passages": Port(Passage, "lookup")}
    output: ClassVar[type[Row] | None] = Evidence
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        "no_evidence": "No passage of any knowledge base shares a word with the query."
    }

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self.spec: RetrieveSpec = spec
        self._passages: pa.Table | None = None
        self._bases: dict[str, tuple[PassagePositions, Retriever]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_passages": None, "_bases": {}}

    def _make_retriever(self) -> Retriever:
        return create_from_spec("retriever", self.spec.retriever)

    def fingerprint(self) -> Mapping[str, str]:
        """The versions that shape the ranking."""
        return self._make_retriever().fingerprint()

    def prepare(self, lookups: Mapping[str, Table[Any]]) -> tuple[Path, ...]:
        """Make the index of each knowledge base whose texts have none yet."""
        passages, context = lookups["passages"].arrow, self.context
        made: dict[Path, None] = {}
        for places in _positions_by_base(passages).values():
            texts = LazyTexts(passages.column("text"), places)
            made.update(dict.fromkeys(self._make_retriever().build(texts, context.cache, context.workers)))
        return tuple(made)

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Open the index of each knowledge base, or make it."""
        passages = self._passages = lookups["passages"].arrow
        self._bases = {}
        for base, places in _positions_by_base(passages).items():
            retriever = self._make_retriever()
            retriever.index(LazyTexts(passages.column("text"), places), self.context.cache)
            self._bases[base] = (places, retriever)

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """A branch for each passage that was found, or one that says that there is none."""
        candidate: Candidate = row
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
        """The branches of many candidates: queries are searched for together, passages copied by the column."""
        asked = [table.arrow.column(name).to_pylist() for name in self.spec.query]
        queries = ["\n".join(filter(None, texts)) for texts in zip(*asked, strict=True)]
        found = self._search(queries)
        hits = [hit for one in found for hit in one]
        # a line for each hit, and one for a candidate without any
        rows = np.repeat(np.arange(len(found)), [max(1, len(one)) for one in found])
        kept = np.repeat(np.array([bool(one) for one in found], bool), [max(1, len(one)) for one in found])
        slots, details = np.full(len(rows), "", object), np.full(len(rows), "", object)
        slots[kept] = [f"{base}:{rank}" for base, rank, *_ in hits]
        details[~kept] = [truncate_code_points(query, 80) for query, one in zip(queries, found, strict=True) if not one]
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
        """The rows of hits, each with its candidate in the line beside it."""
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
        """What is found for each query, base by base."""
        found: list[list[RetrievalHit]] = [[] for _ in queries]
        asked = {query: at for at, query in enumerate(dict.fromkeys(queries))}
        for base, (places, retriever) in self._bases.items():
            answers = retriever.search_many(list(asked))
            for query, hits in zip(queries, found, strict=True):
                ranked = enumerate(answers[asked[query]], 1)
                hits += [RetrievalHit(base, rank, int(places[at]), score) for rank, (at, score) in ranked]
        return found

    @property
    def _rule(self) -> str:
        return "" if self.spec.retriever is None else self.spec.retriever.kind

    def _passage_rows(self, places: np.ndarray[Any, Any]) -> pa.Table:
        if self._passages is None:
            raise RuntimeError("retrieve was not opened")
        return take_rows(self._passages, places)


def _positions_by_base(passages: pa.Table) -> dict[str, PassagePositions]:
    """Where the passages of each knowledge base stand, bases by name; a range where they stand in a row."""
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
