"""Asks people which candidates are good, and makes items of those.

``GatherStream.notes`` of a reviewed step is plain JSON data:

- ``agreement``: for each guiding question that is not a text, in order, its ``scale`` and the result of
  `benchbuilder.annotation.measure_vote_agreement`: ``n``, ``clusters`` (candidates), ``raters``, and for each measure
  of that scale ``{"value", "low", "high"}`` (bounds may be null with a ``why``) or ``{"undefined": text}``
- ``questions``: for each guiding question its ``label``, ``text`` and ``subject``, the answer ``required`` by its gate
  (null without a gate), and how often it was decided ``yes`` (1; for other answers: high enough for its gate) of
  ``judged``
- ``thresholds``: for each threshold ``min_evidence``, ``kept``, ``by_partition`` and ``without`` (gate -> kept without
  that gate); ``min_evidence`` beside it is the threshold in force
- ``gates``: for each gate in order ``gate``, ``dropped`` by it and ``kept`` after it
- ``votes``: ``annotators`` (person -> valid votes), ``unanimous`` and ``adjudicated`` (decisions), ``unneeded`` (votes
  of the adjudicator where the annotators agree), ``stale`` (votes on what is no longer shown) and ``stale_by_file``
- ``voter_model``: for each question with named answers what `benchbuilder.annotation.summarise_voter_model` says
- ``comments``: remarks of annotators, each with ``annotator``, ``shown`` (key of the row) and ``text``

An unreviewed step has ``{"reviewed": False}``; a reviewed one has ``"reviewed": True``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from benchbuilder.annotation import (
    EVIDENCE_GATE,
    AnnotationBackend,
    CandidateDecisions,
    CandidateEvidence,
    CandidateTasks,
    CollectedVotes,
    Subject,
    Task,
    first_failed_gate,
    gate_funnel,
    make_candidate_tasks,
    passes_gate,
    proportional_sample,
    threshold_table,
    wording_key,
)
from benchbuilder.config import AnnotationSpec, KindSpec, Slot, StepSpec
from benchbuilder.core import (
    Candidate,
    Claim,
    Dropped,
    Evidence,
    GatherPiece,
    GatherStream,
    Item,
    OutcomeBatch,
    Problem,
    RecipeError,
    Row,
    Table,
    UnusedRows,
    child_rows,
    combined_column,
    constant_column,
    create_from_spec,
    schema_of,
    take_rows,
)
from benchbuilder.steps.base import Port
from benchbuilder.steps.language.lineages import joined_ancestors
from benchbuilder.steps.review import ReviewStep, decisions_about, dropped_by_gate, review_notes

_OUTSIDE_ROWS = 65_536
_FIELDS = ("text", "right", "wrong")


class AnnotateSpec(StepSpec):
    """`votes` names who judges what, and how votes travel; by default the recipe's `annotation`.

    `sample` is for a pilot round: only so many candidates go on, drawn by the recipe's seed in proportion to their
    sources, and the rest of their families. The others are dropped. A later, larger sample contains most of it, and its
    votes stay valid. With `whole_families`, all true/false items of a family are dropped if one of them is: what is
    left of a family tells a little about its verdicts.
    """

    votes: Annotated[KindSpec | None, Slot("annotation", inherit="annotation")] = None
    sample: Annotated[int | None, Field(ge=1)] = None
    whole_families: bool = False


class Annotate(ReviewStep):
    """Keeps candidates that pass every gate of the recipe, each with its supporting paragraphs only.

    Annotators judge each candidate, an adjudicator only disputed ones. While judgements are missing, it asks for these
    and raises WaitingForPeople. Identical paragraphs of one candidate count once. If the recipe asks nobody, every
    candidate becomes an unreviewed item with all its evidence.
    """

    kind: ClassVar[str] = "annotate"
    version = 3
    spec_class: ClassVar[type[StepSpec]] = AnnotateSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Candidate), "evidence": Port(Evidence, mode="whole")}
    output: ClassVar[type[Row] | None] = Item[Claim]
    reasons: ClassVar[Mapping[str, str]] = {
        "outside_sample": "Not drawn for the pilot round; `sample` is its size.",
        "family_incomplete": "People dropped another true/false question of the family.",
        "too_little_evidence": "Fewer paragraphs than the recipe requires support the right answer.",
        "not_supporting": "Unused paragraph: people judged that the right answer does not follow from it.",
        "repeated_paragraph": "Unused paragraph: it is the same as another one of its candidate.",
        "candidate_dropped": "Unused paragraph: its candidate was dropped.",
        "without_candidate": "Unused paragraph: its candidate did not reach the annotators.",
    }
    subject_labels: ClassVar[Mapping[str, str]] = {"claim": "on questions", "evidence": "on paragraphs"}

    spec: AnnotateSpec

    def open_backend(self, votes: KindSpec) -> AnnotationBackend:
        """The backend of the recipe; RecipeError if it shows other fields than those of a candidate."""
        backend: AnnotationBackend = create_from_spec("annotation", votes)
        shown = backend.annotation_spec.display_fields() if backend.annotation_spec else ()
        if shown and set(shown) != set(_FIELDS):
            raise RecipeError([Problem(f"a candidate shows just {', '.join(_FIELDS)}; each needs a label",
                                       key=f"steps.{self.context.step}.votes.fields",
                                       actual=", ".join(shown))])  # fmt: skip
        questions = backend.annotation_spec.questions_about() if backend.annotation_spec else {}
        if odd := [name for name, question in questions.items() if question.field not in (None, *_FIELDS)]:
            raise RecipeError([Problem("a candidate has no such field", actual=str(questions[odd[0]].field),
                                       key=f"steps.{self.context.step}.votes.questions.{odd[0]}.field",
                                       allowed=", ".join(_FIELDS))])  # fmt: skip
        return backend

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """Items, or WaitingForPeople with the numbers of missing judgements by sort and person."""
        candidates, annotation = tables["each"], self.backend.annotation_spec
        evidence = CandidateEvidence(candidates, tables["evidence"])
        chosen = self._draw_sample(candidates)
        result = _Decisions(chosen, len(evidence.owners))
        shown = np.append(chosen, False)[evidence.owners]
        result.leave_out(np.flatnonzero(~shown), "without_candidate")
        notes: dict[str, Any] = {"reviewed": False}
        if annotation is not None:
            tasks = make_candidate_tasks(itertools.compress(candidates, chosen), tables["evidence"])
            votes = self.collect(annotation, tasks.tasks)
            notes = _apply_decisions(annotation, tasks, votes, candidates, evidence, result)
            if self.spec.whole_families:
                _drop_broken_families(candidates, evidence, result)
        result.leave_out(np.flatnonzero(~shown & (evidence.owners >= 0)), "candidate_dropped")
        pieces = itertools.chain(
            self._judged_pieces(candidates, evidence, result, reviewed=annotation is not None),
            _outside_pieces(candidates, chosen),
        )
        return GatherStream(pieces, {"evidence": result.unused_rows()}, notes)

    def shown_tasks(self, tables: Mapping[str, Iterable[Any]]) -> tuple[Sequence[Task], Mapping[str, str]]:
        """The tasks of candidates with their paragraphs."""
        tasks = make_candidate_tasks(tables["each"], tables["evidence"])
        return tasks.tasks, tasks.task_key_of

    def _draw_sample(self, candidates: Table[Any]) -> NDArray[np.bool_]:
        """Which candidates people judge."""
        size, count = self.spec.sample, len(candidates)
        chosen = np.ones(count, bool)
        if size is None or size >= count:
            return chosen
        columns = zip(*(candidates.column(name) for name in ("family", "id", "partition")), strict=True)
        drawn = proportional_sample(
            [(position, family or row, partition) for position, (family, row, partition) in enumerate(columns)],
            size,
            name=itemgetter(1),
            group=itemgetter(2),
            seed=self.context.seed,
        )
        chosen[:] = False
        chosen[[position for position, _, _ in drawn]] = True
        return chosen

    def _judged_pieces(
        self, candidates: Table[Any], evidence: CandidateEvidence, result: _Decisions, *, reviewed: bool
    ) -> Iterator[GatherPiece]:
        """The candidates of the sample with what became of them."""
        for first, window in candidates.windows(evidence.window_rows()):
            places = np.flatnonzero(result.chosen[first : first + len(window)])
            if not len(places):
                continue
            found = evidence.window(first, len(window))
            drops = [result.dropped.get(first + place) for place in places.tolist()]
            kept = np.zeros(len(window), bool)
            kept[places] = [drop is None for drop in drops]
            owners = np.repeat(np.arange(len(window)), found.counts)
            supporting = kept[owners] & result.is_used(found.positions)
            items = self._items(
                window.arrow.filter(pa.array(kept)),
                found.rows.filter(pa.array(supporting)),
                np.bincount(owners[supporting], minlength=len(window))[kept],
                reviewed=reviewed,
            )
            each = window if len(places) == len(window) else Table(window.arrow.take(_indices(places)), window.row)
            yield GatherPiece(first + places, each, _branches(drops, items))

    def _items(
        self, candidates: pa.Table, evidence: pa.Table, counts: NDArray[np.int64], *, reviewed: bool
    ) -> Table[Any]:
        """An item of each candidate with its evidence, in the same order; `counts` says how much each has."""
        row: type[Row] = Item[Claim]
        claim: Any = schema_of(row).field("payload").type
        supports: Any = claim.field("evidence").type
        columns = [combined_column(evidence, field.name) for field in supports.value_type]
        offsets: Any = pa.array(np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]), pa.int32())
        support = pa.StructArray.from_arrays(columns, fields=list(supports.value_type))
        texts = {field.name: candidates.column(field.name) for field in claim if field.name != "evidence"}
        parts = {name: combined_column(candidates, name) for name in texts}
        parts["evidence"] = pa.ListArray.from_arrays(offsets, support, type=supports)
        payload = pa.StructArray.from_arrays([parts[field.name] for field in claim], fields=list(claim))
        kept = ("fact", "family", "form", "wrong_from", "verdict_only", "tags")
        fields: dict[str, Any] = {name: combined_column(candidates, name) for name in kept}
        fields |= {"payload": payload, "candidate": combined_column(candidates, "id"),
                   "reviewed": pa.array(np.full(len(counts), reviewed))}  # fmt: skip
        produced_by = self.produced_by("reviewed" if reviewed else "unreviewed")
        slots, lineage = constant_column("", len(counts)), joined_ancestors(candidates, evidence, counts=counts)
        return child_rows(row, candidates, produced_by, slots, fields, lineage)


class _Decisions:
    """What became of candidates and their evidence, by positions: `dropped` and `chosen` are of candidates."""

    def __init__(self, chosen: NDArray[np.bool_], evidence: int) -> None:
        self.chosen = chosen
        self.dropped: dict[int, Dropped] = {}
        self._reasons: dict[str, int] = {}
        self._reason_of = np.full(evidence, -1, np.int8)
        self._order: list[NDArray[np.int64]] = []

    def leave_out(self, positions: Any, reason: str) -> None:
        """Leave out evidence; the last reason counts."""
        places = np.asarray(positions, np.int64)
        self._order.append(places[self._reason_of[places] < 0])
        self._reason_of[places] = self._reasons.setdefault(reason, len(self._reasons))

    def is_used(self, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether evidence is not left out."""
        return self._reason_of[positions] < 0

    def unused_rows(self) -> UnusedRows:
        """The evidence that is left out, in the order in which it was."""
        positions = np.concatenate([np.zeros(0, np.int64), *self._order])
        codes: Any = pa.array(self._reason_of[positions])
        return UnusedRows(positions, pa.DictionaryArray.from_arrays(codes, pa.array([*self._reasons], pa.string())))


def _indices(positions: NDArray[np.int64]) -> Any:
    return pa.array(positions, pa.int64())


def _branches(drops: Sequence[Dropped | None], rows: Table[Any]) -> OutcomeBatch:
    """The outcomes of rows: dropped, or the next of `rows`."""
    columns = zip(
        *(("kept", "", "") if drop is None else ("dropped", drop.reason, drop.detail) for drop in drops), strict=True
    )
    outcomes, reasons, details = (pa.array(texts, pa.string()) for texts in columns)
    return OutcomeBatch(
        _indices(np.arange(len(drops))), constant_column("", len(drops)), outcomes, reasons, details, rows
    )


def _outside_pieces(candidates: Table[Any], chosen: NDArray[np.bool_]) -> Iterator[GatherPiece]:
    """The candidates that are not in the sample, in the order of their ids."""
    outside = np.flatnonzero(~chosen)
    if not len(outside):
        return
    ids = candidates.ids()
    ordered = np.array(sorted(outside.tolist(), key=ids.__getitem__), np.int64)
    none = Table(schema_of(Item[Claim]).empty_table(), Item[Claim])
    for start in range(0, len(ordered), _OUTSIDE_ROWS):
        places = ordered[start : start + _OUTSIDE_ROWS]
        rows = Table(take_rows(candidates.arrow, places), candidates.row)
        yield GatherPiece(places, rows, _branches([Dropped("outside_sample")] * len(places), none))


def _apply_decisions(
    annotation: AnnotationSpec, tasks: CandidateTasks, votes: CollectedVotes, candidates: Table[Any],
    evidence: CandidateEvidence, result: _Decisions,
) -> dict[str, Any]:  # fmt: skip
    """Drop candidates that fail a gate, and leave out evidence that supports none; the notes of the step."""
    results: list[CandidateDecisions] = []
    gating = annotation.gating_questions("claim")
    for first, window in candidates.windows(evidence.window_rows()):
        found = evidence.window(first, len(window), ["id"])
        ids: list[Any] = found.rows.column("id").to_pylist()
        ends = np.cumsum(found.counts).tolist()
        for place, (row, partition, end) in enumerate(zip(window.ids(), window.column("partition"), ends, strict=True)):
            if not result.chosen[first + place]:
                continue
            start = end - int(found.counts[place])
            left = _unsupporting(ids[start:end], tasks, votes, annotation)
            key = tasks.task_key_of[row]
            decisions = decisions_about(key, gating, votes, annotation)
            supporting = end - start - len(left)
            results.append(CandidateDecisions(partition, decisions, supporting))
            gate = first_failed_gate(results[-1], annotation, annotation.min_evidence)
            if gate is None:
                for number, reason in left.items():
                    result.leave_out([found.positions[start + number]], reason)
                continue
            result.leave_out(found.positions[start:end], "candidate_dropped")
            few = f"{supporting} supporting paragraphs, {annotation.min_evidence} needed"
            by_people = gate != EVIDENCE_GATE
            drop = dropped_by_gate(gate, key, votes, annotation) if by_people else Dropped("too_little_evidence", few)
            result.dropped[first + place] = drop
    return review_notes(votes, annotation) | {
        "thresholds": threshold_table(results, annotation),
        "min_evidence": annotation.min_evidence,
        "gates": gate_funnel(results, annotation),
    }


def _drop_broken_families(candidates: Table[Any], evidence: CandidateEvidence, result: _Decisions) -> None:
    """Drop the true/false candidates of families of which people dropped one."""
    columns = zip(candidates.column("type"), candidates.column("family"), result.chosen.tolist(), strict=True)
    families = {position: family for position, (sort, family, chosen) in enumerate(columns) if sort == "tf" and chosen}
    broken = {families[position] for position in result.dropped if position in families}
    lost = np.zeros(len(candidates) + 1, bool)
    for position, family in families.items():
        if family in broken and position not in result.dropped:
            result.dropped[position] = Dropped("family_incomplete", family)
            lost[position] = True
    result.leave_out(np.flatnonzero(lost[evidence.owners]), "candidate_dropped")


def _unsupporting(
    rows: Iterable[str], tasks: CandidateTasks, votes: CollectedVotes, annotation: AnnotationSpec
) -> dict[int, str]:
    """Which of the evidence of one candidate, given by its ids in order, does not support it, with the reason."""
    questions = annotation.questions_about("evidence")
    required = [(questions[name], value) for name, value in annotation.gating_questions("evidence").items()]
    decided = votes.labels.values
    unused: dict[int, str] = {}
    earlier: set[str] = set()
    for place, row in enumerate(rows):
        key = tasks.paragraph_key_of[row]
        if not all(passes_gate(q, decided[Subject(key, wording_key(q))], value) for q, value in required):
            unused[place] = "not_supporting"
        elif key in earlier:
            unused[place] = "repeated_paragraph"
        earlier.add(key)
    return unused
