"""Asks people which candidates are good, and makes items of those.

``GatherResult.notes`` of a reviewed step is plain JSON data:

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

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.annotation import (
    EVIDENCE_GATE,
    AnnotationBackend,
    CandidateDecisions,
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
    GatherResult,
    Item,
    Kept,
    Outcome,
    Problem,
    RecipeError,
    Row,
    Support,
    Table,
    create_from_spec,
)
from benchbuilder.steps.base import Port
from benchbuilder.steps.review import ReviewStep, decisions_about, dropped_by_gate, review_notes

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
        return backend

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        """Items, or WaitingForPeople with the numbers of missing judgements by sort and person."""
        every: list[Candidate] = list(tables["each"])
        evidence: list[Evidence] = list(tables["evidence"])
        candidates = self._draw_sample(every)
        annotation = self.backend.annotation_spec
        if annotation is None:
            result = self._keep_unreviewed(candidates, evidence)
        else:
            tasks = make_candidate_tasks(candidates, evidence)
            votes = self.collect(annotation, tasks.tasks)
            result = self._apply_decisions(annotation, tasks, votes, candidates, evidence)
            if self.spec.whole_families:
                result = _without_broken_families(result, candidates, evidence)
        if len(candidates) == len(every):
            return result
        outside = {candidate.id for candidate in every} - {candidate.id for candidate in candidates}
        outcomes: list[tuple[str, list[Outcome]]] = [(name, [Dropped("outside_sample")]) for name in sorted(outside)]
        unused = {row.id: "candidate_dropped" for row in evidence if row.of in outside}
        return GatherResult([*result.outcomes, *outcomes], {"evidence": {**result.unused["evidence"], **unused}},
                            result.notes)  # fmt: skip

    def shown_tasks(self, tables: Mapping[str, Iterable[Any]]) -> tuple[Sequence[Task], Mapping[str, str]]:
        """The tasks of candidates with their paragraphs."""
        tasks = make_candidate_tasks(tables["each"], tables["evidence"])
        return tasks.tasks, tasks.task_key_of

    def _draw_sample(self, candidates: list[Candidate]) -> list[Candidate]:
        size = self.spec.sample
        if size is None or size >= len(candidates):
            return candidates
        return proportional_sample(
            candidates,
            size,
            name=lambda row: row.family or row.id,
            group=lambda row: row.partition,
            seed=self.context.seed,
        )

    def _keep_unreviewed(self, candidates: list[Candidate], evidence: list[Evidence]) -> GatherResult:
        by_candidate = _evidence_by_candidate(evidence)
        outcomes: list[tuple[str, list[Outcome]]] = [
            (c.id, [Kept(self._item(c, by_candidate.get(c.id, []), reviewed=False))]) for c in candidates
        ]
        known = {candidate.id for candidate in candidates}
        unused = {row.id: "without_candidate" for row in evidence if row.of not in known}
        return GatherResult(outcomes, unused={"evidence": unused}, notes={"reviewed": False})

    def _apply_decisions(
        self,
        annotation: AnnotationSpec,
        tasks: CandidateTasks,
        votes: CollectedVotes,
        candidates: list[Candidate],
        evidence: list[Evidence],
    ) -> GatherResult:
        by_candidate = _evidence_by_candidate(evidence)
        outcomes: list[tuple[str, list[Outcome]]] = []
        unused = {row.id: "without_candidate" for row in evidence if row.id not in tasks.paragraph_key_of}
        results: list[CandidateDecisions] = []
        for candidate in candidates:
            rows, key = by_candidate.get(candidate.id, []), tasks.task_key_of[candidate.id]
            unsupported = _unused_evidence(rows, tasks, votes, annotation)
            supporting = [row for row in rows if row.id not in unsupported]
            decisions = decisions_about(key, annotation.gating_questions("claim"), votes, annotation)
            result = CandidateDecisions(candidate.partition, decisions, len(supporting))
            results.append(result)
            gate = first_failed_gate(result, annotation, annotation.min_evidence)
            if gate is None:
                outcomes.append((candidate.id, [Kept(self._item(candidate, supporting, reviewed=True))]))
                unused |= unsupported
                continue
            drop = dropped_by_gate(gate, key, votes, annotation) if gate != EVIDENCE_GATE else Dropped(
                "too_little_evidence", f"{len(supporting)} supporting paragraphs, {annotation.min_evidence} needed"
            )  # fmt: skip
            outcomes.append((candidate.id, [drop]))
            unused |= {row.id: "candidate_dropped" for row in rows}
        notes = review_notes(votes, annotation) | {
            "thresholds": threshold_table(results, annotation),
            "min_evidence": annotation.min_evidence,
            "gates": gate_funnel(results, annotation),
        }
        return GatherResult(outcomes, unused={"evidence": unused}, notes=notes)

    def _item(self, candidate: Candidate, evidence: list[Evidence], *, reviewed: bool) -> Item[Claim]:
        fields = ("type", "expected", "context", "question", "answer", "answer_wrong")
        supports = ("passage", "base", "document", "title", "text", "score", "rank")
        claim = Claim(
            **{name: getattr(candidate, name) for name in fields},
            evidence=tuple(Support(**{name: getattr(row, name) for name in supports}) for row in evidence),
        )
        produced_by = self.produced_by("reviewed" if reviewed else "unreviewed")
        return Item[Claim].child(
            candidate, *evidence, produced_by=produced_by, payload=claim, candidate=candidate.id, fact=candidate.fact,
            family=candidate.family, reviewed=reviewed, form=candidate.form, wrong_from=candidate.wrong_from,
            verdict_only=candidate.verdict_only, tags=candidate.tags,
        )  # fmt: skip


def _without_broken_families(
    result: GatherResult, candidates: Iterable[Candidate], evidence: Iterable[Evidence]
) -> GatherResult:
    """The result without the true/false items of families of which people dropped one."""
    families = {row.id: row.family for row in candidates if row.type == "tf"}
    broken = {
        families[name] for name, outcomes in result.outcomes if name in families and not isinstance(outcomes[0], Kept)
    }
    lost = {
        name for name, outcomes in result.outcomes if families.get(name) in broken and isinstance(outcomes[0], Kept)
    }
    rest: list[tuple[str, list[Outcome]]] = [
        (name, [Dropped("family_incomplete", families[name])] if name in lost else outcomes)
        for name, outcomes in result.outcomes
    ]
    unused = {row.id: "candidate_dropped" for row in evidence if row.of in lost}
    return GatherResult(rest, {"evidence": {**result.unused["evidence"], **unused}}, result.notes)


def _evidence_by_candidate(evidence: Iterable[Evidence]) -> dict[str, list[Evidence]]:
    """Evidence rows by candidate, in their order (see `Evidence.place`)."""
    by_candidate: dict[str, list[Evidence]] = {}
    for row in sorted(evidence, key=lambda row: row.place):
        by_candidate.setdefault(row.of, []).append(row)
    return by_candidate


def _unused_evidence(
    rows: Iterable[Evidence], tasks: CandidateTasks, votes: CollectedVotes, annotation: AnnotationSpec
) -> dict[str, str]:
    """The rows of one candidate that do not support it, with the reason."""
    questions = annotation.questions_about("evidence")
    required = [(questions[name], value) for name, value in annotation.gating_questions("evidence").items()]
    decided = votes.labels.values
    unused: dict[str, str] = {}
    earlier: set[str] = set()
    for row in rows:
        key = tasks.paragraph_key_of[row.id]
        if not all(passes_gate(q, decided[Subject(key, wording_key(q))], value) for q, value in required):
            unused[row.id] = "not_supporting"
        elif key in earlier:
            unused[row.id] = "repeated_paragraph"
        earlier.add(key)
    return unused
