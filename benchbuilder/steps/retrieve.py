"""Finds evidence for candidates in every knowledge base."""

from __future__ import annotations

from collections import defaultdict
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
    Fact,
    Kept,
    LazyTexts,
    NotApplicable,
    Outcome,
    OutcomeBatch,
    Passage,
    Row,
    SpecIssue,
    StepContext,
    Table,
    child_rows,
    combined_column,
    create_from_spec,
    equality_key,
    schema_of,
    take_rows,
    truncate_code_points,
)
from benchbuilder.retrieval import Retriever
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.gold import GoldPassages, named_passages
from benchbuilder.steps.language.lineages import joined_ancestors

PassagePositions = np.ndarray[Any, np.dtype[np.int64]] | range


class RetrievalHit(NamedTuple):
    """A result for a candidate: the knowledge base, the rank in it, and the passage's position in the lookup."""

    base: str
    rank: int
    position: int
    score: float
    slot: str


class FoundEvidence(NamedTuple):
    """The results for a candidate, and the passages that its fact names in vain.

    Without results, `shared` says that passages share words with the query, but only words without weight.
    """

    hits: list[RetrievalHit]
    missing: tuple[str, ...]
    shared: bool = False


class RetrieveSpec(StepSpec):
    """The query and the retriever: `query` names the texts of the candidate that form the query.

    With `gold` ``first``, the passages that a fact of the port `facts` names come before all others, at rank 0; with
    ``only``, others are found only for a fact that names none. With ``own``, nothing is searched: a candidate has the
    passages that its fact names, and those of the record in which its fact stands.
    `gold_most` limits how many of one candidate there are; those with its right answer come first.
    """

    query: Annotated[tuple[Literal["context", "question", "answer"], ...], Field(min_length=1)]
    retriever: Annotated[KindSpec | None, Slot("retriever", inherit="retriever")] = None
    gold: Literal["first", "only", "own", "none"] = "none"
    gold_most: Annotated[int, Field(ge=1)] = 3


class Retrieve(Map):
    """The best passages of each knowledge base for a candidate; each base has its own index and ranking.

    The slot of an evidence is ``base:rank``, with ranks from 1, and ``base:0-number`` for passages that the fact names.
    The wrong answer is never part of the query.
    """

    kind: ClassVar[str] = "retrieve"
    spec_class: ClassVar[type[StepSpec]] = RetrieveSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Candidate),
        "passages": Port(Passage, "lookup", optional=True),
        "facts": Port(Fact, "lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = Evidence
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        "no_evidence": "No passage of any knowledge base shares a word with the query.",
        "common_words": "Words of the query stand in passages, but in so many that none of them has a weight. "
        "retriever.variant=plus gives them one, as a small base needs it; its scores are of another scale.",
        "no_passages": "The recipe has no knowledge base, so its items have no evidence.",
        "no_own_evidence": "Its fact names no passage, and no text beside it shows the answer.",
        "gold_missing": "The fact names a passage that is in no knowledge base.",
    }

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self.spec: RetrieveSpec = spec
        self._passages: pa.Table | None = None
        self._has_base = True
        self._bases: dict[str, tuple[PassagePositions, Retriever]] = {}
        self._named: dict[str, tuple[str, ...]] = {}
        self._gold: GoldPassages | None = None
        self._beside: dict[tuple[str, int], list[int]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_passages": None, "_bases": {}, "_named": {}, "_gold": None, "_beside": {}}

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:
        """Facts that are not wired, where their passages come first."""
        if self.spec.gold in ("first", "only") and rows and "facts" not in rows:
            yield SpecIssue("gold", "the passages that facts name need the port `facts`", self.spec.gold, ("none",))

    def _make_retriever(self) -> Retriever:
        return create_from_spec("retriever", self.spec.retriever)

    def fingerprint(self) -> Mapping[str, str]:
        """The versions that shape the ranking."""
        return self._make_retriever().fingerprint()

    def prepare(self, lookups: Mapping[str, Table[Any]]) -> tuple[Path, ...]:
        """Make the missing indexes of knowledge bases."""
        passages, context = _arrow_of(lookups), self.context
        paths: dict[Path, None] = {}
        if self.spec.gold == "own":
            return ()
        for places in _positions_by_base(passages).values():
            texts = LazyTexts(passages.column("text"), places)
            paths.update(dict.fromkeys(self._make_retriever().build(texts, context.cache, context.workers)))
        return tuple(paths)

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Open or make the index of each knowledge base."""
        passages = self._passages = _arrow_of(lookups)
        self._has_base = "passages" in lookups
        self._bases = {}
        for base, places in () if self.spec.gold == "own" else _positions_by_base(passages).items():
            retriever = self._make_retriever()
            retriever.index(LazyTexts(passages.column("text"), places), self.context.cache)
            self._bases[base] = (places, retriever)
        if self.spec.gold != "none" and "facts" in lookups:
            self._named = named_passages(lookups["facts"])
            self._gold = GoldPassages(passages, (name for names in self._named.values() for name in names))
        if self.spec.gold == "own":
            self._gold, self._beside = self._gold or GoldPassages(passages, ()), defaultdict(list)
            for place, record in enumerate(_records(passages)):
                self._beside[record].append(place)

    def open_indexes(self, passages: pa.Table) -> None:
        """Open the indexes that are there already, for `word_weights`; nothing is written."""
        self._passages, self._bases = passages, {}
        for base, places in _positions_by_base(passages).items():
            retriever, texts = self._make_retriever(), LazyTexts(passages.column("text"), places)
            if retriever.is_indexed(texts, self.context.cache):
                retriever.index(texts, self.context.cache)
                self._bases[base] = (places, retriever)

    def word_weights(self, candidate: Candidate) -> dict[str, Mapping[str, float]]:
        """What each word of the query added to the score of each passage that was found, by the id of the passage."""
        if self._passages is None:
            raise RuntimeError("retrieve was not opened")
        query, ids = self._query(candidate), self._passages.column("id")
        return {
            ids[int(places[place])].as_py(): weights
            for places, retriever in self._bases.values()
            for place, _ in retriever.search(query)
            if (weights := retriever.word_weights(query, place))
        }

    def _query(self, candidate: Candidate) -> str:
        return "\n".join(text for name in self.spec.query if (text := getattr(candidate, name)))

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """A branch for each result, and a drop if there is none or if a named passage is missing."""
        candidate: Candidate = row
        if not self._has_base:
            return [NotApplicable("no_passages")]
        query = self._query(candidate)
        record = candidate.origin.file, candidate.origin.line
        [found] = self._find([query], [candidate.fact], [candidate.answer], [record])
        outcomes: list[Outcome] = []
        for base, rank, place, score, slot in found.hits:
            passage = Passage.model_validate(self._passage_rows(np.array([place])).to_pylist()[0])
            evidence = Evidence.child(
                candidate, passage, produced_by=self.produced_by(self._rule), slot=slot, passage=passage.id,
                base=base, document=passage.document, title=passage.title, text=passage.text,
                score=score, rank=rank,
            )  # fmt: skip
            outcomes.append(Kept(evidence, slot))
        return [*outcomes, *(Dropped(*drop) for drop in self._drops(found, query))]

    def map_columns(self, table: Table[Any]) -> OutcomeBatch | None:
        """The branches of many candidates, with one search for all queries and passages copied by column."""
        if not self._has_base:
            return None
        texts = [table.arrow.column(name).to_pylist() for name in self.spec.query]
        queries = ["\n".join(filter(None, parts)) for parts in zip(*texts, strict=True)]
        facts, answers = (table.column(name) for name in ("fact", "answer"))
        results = self._find(queries, facts, answers, _records(table.arrow))
        hits = [hit for found in results for hit in found.hits]
        rows = list[int]()
        lines = list[tuple[str, str, str]]()  # reason ("" if kept), detail and slot of each branch
        for row, (found, query) in enumerate(zip(results, queries, strict=True)):
            branches = [("", "", hit.slot) for hit in found.hits] + self._drops(found, query)
            lines += branches
            rows += [row] * len(branches)
        reasons, details, slots = (pa.array([line[part] for line in lines], pa.string()) for part in range(3))
        kept = np.array([not line[0] for line in lines], bool)
        positions = np.array(rows, np.int64)
        chosen: Any = pa.array(positions[kept], pa.int64())
        return OutcomeBatch(
            row_position=pa.array(positions, pa.int64()),
            slots=slots,
            outcomes=pa.array(np.where(kept, "kept", "dropped"), pa.string()),
            reasons=reasons,
            details=details,
            rows=self._evidence_table(table.arrow.take(chosen), hits),
        )

    def _evidence_table(self, candidates: pa.Table, hits: Sequence[RetrievalHit]) -> Table[Any]:
        """The rows of hits; each hit has its candidate in the same row of `candidates`."""
        bases, ranks, places, scores, slots = ([hit[part] for hit in hits] for part in range(5))
        passages = self._passage_rows(np.array(places, np.int64))
        fields: dict[str, pa.Array[Any]] = {
            "passage": combined_column(passages, "id"), "base": pa.array(bases, pa.string()),
            **{name: combined_column(passages, name) for name in ("document", "title", "text")},
            "score": pa.array(scores, pa.float64()), "rank": pa.array(ranks, pa.int64()),
        }  # fmt: skip
        return child_rows(
            Evidence, candidates, self.produced_by(self._rule), pa.array(slots, pa.string()), fields,
            joined_ancestors(candidates, passages),
        )  # fmt: skip

    def _find(
        self, queries: Sequence[str], facts: Sequence[str], answers: Sequence[str], records: Sequence[tuple[str, int]]
    ) -> list[FoundEvidence]:
        """The passages that the fact of each candidate names, then the results of its query, base by base."""
        results = self._search(queries)
        found = [FoundEvidence(hits, ()) for hits in results] if self._gold is None else [
            self._with_gold(self._gold, hits, self._named.get(fact, ()), self._beside.get(record, ()), answer)
            for hits, fact, answer, record in zip(results, facts, answers, records, strict=True)
        ]  # fmt: skip
        shares = [not one.hits and self._shares_word(query) for one, query in zip(found, queries, strict=True)]
        return [one._replace(shared=shared) for one, shared in zip(found, shares, strict=True)]

    def _shares_word(self, query: str) -> bool:
        return any(retriever.shares_word(query) for _, retriever in self._bases.values())

    def _with_gold(
        self, gold: GoldPassages, hits: Sequence[RetrievalHit], named: Sequence[str], beside: Sequence[int], answer: str
    ) -> FoundEvidence:
        """The named passages, or those `beside` the fact, then the other results."""
        positions = list(dict.fromkeys(place for name in named for place in gold.positions(name))) or list(beside)
        texts: list[Any] = self._passage_rows(np.array(positions, np.int64)).column("text").to_pylist()
        right = equality_key(answer)
        without = {place for place, text in zip(positions, texts, strict=True) if right not in equality_key(text)}
        positions = sorted(positions, key=without.__contains__)[: self.spec.gold_most]
        scores = {hit.position: hit.score for hit in hits}
        bases: list[Any] = self._passage_rows(np.array(positions, np.int64)).column("base").to_pylist()
        first = [
            RetrievalHit(base, 0, place, scores.get(place, 0.0), f"{base}:0-{number}")
            for number, (base, place) in enumerate(zip(bases, positions, strict=True), 1)
        ]
        missing = tuple(name for name in named if not gold.positions(name))
        others = [] if first and self.spec.gold == "only" else hits
        return FoundEvidence([*first, *(hit for hit in others if hit.position not in positions)], missing)

    def _search(self, queries: Sequence[str]) -> list[list[RetrievalHit]]:
        """The results of each query, base by base."""
        results: list[list[RetrievalHit]] = [[] for _ in queries]
        distinct = list(dict.fromkeys(queries))
        for base, (places, retriever) in self._bases.items():
            ranking_of = dict(zip(distinct, retriever.search_many(distinct), strict=True))
            for query, hits in zip(queries, results, strict=True):
                ranked = enumerate(ranking_of[query], 1)
                hits += [
                    RetrievalHit(base, rank, int(places[place]), score, f"{base}:{rank}")
                    for rank, (place, score) in ranked
                ]
        return results

    def _drops(self, found: FoundEvidence, query: str) -> list[tuple[str, str, str]]:
        """Reason, detail and slot of what is dropped: the passages that are missing, or the lack of any."""
        missing = [("gold_missing", truncate_code_points(" | ".join(found.missing), 80), "missing")]
        own = self.spec.gold == "own"
        reason = "no_own_evidence" if own else "common_words" if found.shared else "no_evidence"
        none = [] if found.hits or (own and found.missing) else [(reason, truncate_code_points(query, 80), "")]
        return [*none, *(missing if found.missing else [])]

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


def _records(table: pa.Table) -> list[tuple[str, int]]:
    """The file and the unit of each row."""
    origins: list[Any] = combined_column(table, "origin").to_pylist()
    return [(origin["file"], origin["line"]) for origin in origins]


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
