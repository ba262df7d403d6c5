"""Find evidence for candidates in every knowledge base."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder import kinds
from benchbuilder.ports.retriever import Retriever
from benchbuilder.ports.stage import Context, Map, Port
from benchbuilder.records.candidate import Candidate
from benchbuilder.records.envelope import Row
from benchbuilder.records.evidence import Evidence
from benchbuilder.records.fates import Dropped, Fate, Kept
from benchbuilder.records.passage import Passage
from benchbuilder.records.table import Table
from benchbuilder.spec.base import KindSpec, Slot, StepSpec
from benchbuilder.text.lengths import cut


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

    def __init__(self, spec: Any, context: Context) -> None:
        super().__init__(spec, context)
        self.spec: RetrieveSpec = spec
        self._passages: Table[Passage] | None = None
        self._bases: dict[str, tuple[list[int], Retriever]] = {}

    def _make_retriever(self) -> Retriever:
        return kinds.create("retriever", self.spec.retriever)

    def fingerprint(self) -> Mapping[str, str]:
        """The versions that shape the ranking."""
        return self._make_retriever().fingerprint()

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Index each knowledge base, or load its index."""
        self._passages = lookups["passages"]
        texts = self._passages.column("text")
        positions: dict[str, list[int]] = {}
        for position, base in enumerate(self._passages.column("base")):
            positions.setdefault(base, []).append(position)
        self._bases = {}
        for base in sorted(positions):
            retriever = self._make_retriever()
            retriever.index([texts[position] for position in positions[base]], self.context.cache)
            self._bases[base] = (positions[base], retriever)

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Fate]:  # noqa: ARG002
        """A ticket for each passage that was found, or one that says that there is none."""
        candidate: Candidate = row
        query = "\n".join(text for name in self.spec.query if (text := getattr(candidate, name)))
        fates: list[Fate] = []
        for base, (positions, retriever) in self._bases.items():
            for rank, (index, score) in enumerate(retriever.search(query), 1):
                passage = self._passage(positions[index])
                slot = f"{base}:{rank}"
                evidence = Evidence.child(
                    candidate, passage, made_by=self.made_by(retriever.kind), slot=slot, passage=passage.id,
                    base=base, document=passage.document, title=passage.title, text=passage.text,
                    score=score, rank=rank,
                )  # fmt: skip
                fates.append(Kept(evidence, slot))
        return fates or [Dropped("no_evidence", cut(query, 80))]

    def _passage(self, position: int) -> Passage:
        if self._passages is None:
            raise RuntimeError("retrieve was not opened")
        return Passage.model_validate(self._passages.arrow.slice(position, 1).to_pylist()[0])
