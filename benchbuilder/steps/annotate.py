"""Asks people which candidates are good, and makes those into items.

``GatherResult.notes`` of a reviewed step is plain JSON data:

- ``measure_agreement``: for each guiding question that is not a text, in their order, its ``scale`` and what
  `measure_agreement.ratings.measure_ratings` documents: ``n``, ``clusters`` (candidates), ``raters``, and for each
  measure of that scale either ``{"value", "low", "high"}`` (bounds may be null with a ``why``) or ``{"undefined":
  words}``
- ``questions``: for each guiding question its ``label``, ``text`` and ``subject``, its ``gating_questions`` decision
(null
  where it gates nothing) and how often it was decided ``yes`` (1; of other answers: high enough for its gate) of
  ``judged``
- ``threshold_table``: for each threshold ``min_evidence``, ``kept``, ``by_partition`` and ``without`` (gate -> kept
if that
  gate were not there); ``min_evidence`` beside it is the one in force
- ``gates``: for each gate in order ``gate``, ``dropped`` there and ``kept`` after it
- ``backend``: ``annotators`` (person -> votes that count), ``unanimous`` and ``adjudicated`` (decisions), ``unneeded``
  (votes of the adjudicator where the annotators agree), ``stale`` (votes on what is no longer shown) and
  ``stale_by_file``
- ``comments``: remarks of annotators, each with ``annotator``, ``shown`` (key of the row) and ``text``

Of an unreviewed step it is ``{"reviewed": False}``; a reviewed one has ``"reviewed": True``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.annotation import (
    EVIDENCE_GATE,
    AnnotationBackend,
    CandidateDecisions,
    CandidateTasks,
    CollectedVotes,
    Subject,
    collect_votes,
    decision_method,
    first_failed_gate,
    gate_description,
    gate_funnel,
    make_candidate_tasks,
    measure_vote_agreement,
    passes_gate,
    proportional_sample,
    summarise_comments,
    summarise_questions,
    summarise_votes,
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
    StepContext,
    Support,
    Table,
    create_from_spec,
)
from benchbuilder.steps.base import Gather, Port

_SORTS = {"claim": "on questions", "evidence": "on paragraphs"}
_FIELDS = ("text", "right", "wrong")


class AnnotateSpec(StepSpec):
    """`votes` says who judges what, and how votes travel; the recipe's `annotation` unless the step has its own.

    `sample` is for a pilot round: only so many candidates, drawn by the recipe's seed in proportion to their sources,
    go on, and the others are dropped. A larger sample later holds most of it, whose votes still count.
    """

    votes: Annotated[KindSpec | None, Slot("annotation", inherit="annotation")] = None
    sample: Annotated[int | None, Field(ge=1)] = None


@dataclass(frozen=True)
class _CollectedReview:
    """All that is known when people have judged: what was shown, and what came of it."""

    display: CandidateTasks
    poll: CollectedVotes


class Annotate(Gather):
    """Keeps candidates that pass every gate of the recipe, each with its supporting paragraphs only.

    Annotators judge each candidate, an adjudicator only what they are in dispute about. While judgements are missing,
    it asks for just these and raises WaitingForPeople. Paragraphs of one candidate that read the same count once. Where
    the recipe asks nobody, every candidate becomes an unreviewed item with all its evidence.
    """

    kind: ClassVar[str] = "annotate"
    spec_class: ClassVar[type[StepSpec]] = AnnotateSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Candidate), "evidence": Port(Evidence, mode="whole")}
    output: ClassVar[type[Row] | None] = Item[Claim]
    reasons: ClassVar[Mapping[str, str]] = {
        "outside_sample": "Not drawn for the pilot round, of which `sample` says the size.",
        "too_little_evidence": "Fewer paragraphs than the recipe asks for support the right answer.",
        "not_supporting": "Unused paragraph: people judged that the right answer does not follow from it.",
        "repeated_paragraph": "Unused paragraph: it reads the same as another one of its candidate.",
        "candidate_dropped": "Unused paragraph: its candidate was dropped.",
        "without_candidate": "Unused paragraph: its candidate did not reach the annotators.",
    }

    spec: AnnotateSpec

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        if self.spec.votes is None:
            problem = Problem(
                "the step has no votes", key=f"steps.{context.step}.votes", actual="null", hint="add annotation: sheets"
            )
            raise RecipeError([problem])
        self.backend: AnnotationBackend = create_from_spec("annotation", self.spec.votes)
        judging = self.backend.annotation_spec
        if judging is not None and judging.display_fields() and set(judging.display_fields()) != set(_FIELDS):
            problem = Problem(
                f"a candidate shows just {', '.join(_FIELDS)}; each needs a label",
                key=f"steps.{context.step}.votes.fields", actual=", ".join(judging.display_fields()),
            )  # fmt: skip
            raise RecipeError([problem])
        asked = judging.questions_about("claim") if judging else {}
        gating = judging.gating_questions("claim") if judging else {}
        own = {f"not_{name}": gate_description(name, asked[name], value) for name, value in gating.items()}
        self.reasons = own | dict(type(self).reasons)  # pyright: ignore[reportIncompatibleVariableOverride, reportAttributeAccessIssue]

    def external_inputs(self) -> Mapping[str, str]:
        """Hashes of all votes so far."""
        return self.backend.external_inputs(self.context.workplace)

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        """Items, or WaitingForPeople with how many judgements of each sort are missing from whom."""
        everything: list[Candidate] = list(tables["each"])
        evidence: list[Evidence] = list(tables["evidence"])
        candidates = self._draw_sample(everything)
        judging = self.backend.annotation_spec
        if judging is None:
            done = self._keep_unreviewed(candidates, evidence)
        else:
            done = self._apply_decisions(
                judging, self._collect_votes(judging, candidates, evidence), candidates, evidence
            )
        if len(candidates) == len(everything):
            return done
        chosen = {candidate.id for candidate in candidates}
        left = {candidate.id for candidate in everything} - chosen
        outcomes: list[tuple[str, list[Outcome]]] = [(name, [Dropped("outside_sample")]) for name in sorted(left)]
        idle = {row.id: "candidate_dropped" for row in evidence if row.of in left}
        return GatherResult([*done.outcomes, *outcomes], unused={"evidence": {**done.unused["evidence"], **idle}},
                        notes=done.notes)  # fmt: skip

    def _draw_sample(self, candidates: list[Candidate]) -> list[Candidate]:
        size = self.spec.sample
        if size is None or size >= len(candidates):
            return candidates
        return proportional_sample(
            candidates, size, name=lambda row: row.id, group=lambda row: row.partition, seed=self.context.seed
        )

    # --- asking

    def _collect_votes(
        self, judging: AnnotationSpec, candidates: list[Candidate], evidence: list[Evidence]
    ) -> _CollectedReview:
        """What people decided; while something is missing, ask for it and wait."""
        shown = make_candidate_tasks(candidates, evidence)
        return _CollectedReview(shown, collect_votes(self.backend, judging, shown.tasks, self.context, _SORTS))

    # --- outcomes

    def _keep_unreviewed(self, candidates: list[Candidate], evidence: list[Evidence]) -> GatherResult:
        by_candidate = _evidence_by_candidate(evidence)
        outcomes: list[tuple[str, list[Outcome]]] = [
            (c.id, [Kept(self._item(c, by_candidate.get(c.id, []), reviewed=False))]) for c in candidates
        ]
        known = {candidate.id for candidate in candidates}
        unused = {row.id: "without_candidate" for row in evidence if row.of not in known}
        return GatherResult(outcomes, unused={"evidence": unused}, notes={"reviewed": False})

    def _apply_decisions(
        self, judging: AnnotationSpec, case: _CollectedReview, candidates: list[Candidate], evidence: list[Evidence]
    ) -> GatherResult:
        by_candidate = _evidence_by_candidate(evidence)
        outcomes: list[tuple[str, list[Outcome]]] = []
        unused = {row.id: "without_candidate" for row in evidence if row.id not in case.display.paragraph_key_of}
        seen: list[CandidateDecisions] = []
        for candidate in candidates:
            rows = by_candidate.get(candidate.id, [])
            idle = _unused_evidence(rows, case, judging)
            supporting = [row for row in rows if row.id not in idle]
            judged = CandidateDecisions(
                candidate.partition, _claim_decisions(candidate, case, judging), len(supporting)
            )
            seen.append(judged)
            gate = first_failed_gate(judged, judging, judging.min_evidence)
            if gate is None:
                outcomes.append((candidate.id, [Kept(self._item(candidate, supporting, reviewed=True))]))
                unused |= idle
            else:
                outcomes.append((candidate.id, [_dropped_by_gate(gate, judged, candidate, case, judging)]))
                unused |= {row.id: "candidate_dropped" for row in rows}
        return GatherResult(outcomes, unused={"evidence": unused}, notes=_notes(judging, case, seen))

    def _item(self, candidate: Candidate, evidence: list[Evidence], *, reviewed: bool) -> Item[Claim]:
        claim = Claim(
            type=candidate.type,
            expected=candidate.expected,
            context=candidate.context,
            question=candidate.question,
            answer=candidate.answer,
            answer_wrong=candidate.answer_wrong,
            evidence=tuple(
                Support(passage=row.passage, base=row.base, document=row.document, title=row.title, text=row.text,
                        score=row.score, rank=row.rank)
                for row in evidence
            ),
        )  # fmt: skip
        produced_by = self.produced_by("reviewed" if reviewed else "unreviewed")
        return Item[Claim].child(
            candidate, *evidence, produced_by=produced_by, payload=claim, candidate=candidate.id, fact=candidate.fact,
            reviewed=reviewed,
        )  # fmt: skip


def _evidence_by_candidate(evidence: Iterable[Evidence]) -> dict[str, list[Evidence]]:
    """Evidence rows by candidate, by base and rank."""
    found: dict[str, list[Evidence]] = {}
    for row in sorted(evidence, key=lambda row: (row.base, row.rank, row.id)):
        found.setdefault(row.of, []).append(row)
    return found


def _claim_decisions(candidate: Candidate, case: _CollectedReview, judging: AnnotationSpec) -> dict[str, float]:
    """The decisions on the gating questions about a candidate."""
    key, asked = case.display.task_key_of[candidate.id], judging.questions_about("claim")
    return {
        name: case.poll.labels.values[Subject(key, wording_key(asked[name]))]
        for name in judging.gating_questions("claim")
    }


def _unused_evidence(rows: Iterable[Evidence], case: _CollectedReview, judging: AnnotationSpec) -> dict[str, str]:
    """The rows of one candidate that do not support it, with the reason."""
    asked = judging.questions_about("evidence")
    required = [
        (asked[name], wording_key(asked[name]), value) for name, value in judging.gating_questions("evidence").items()
    ]
    decided = case.poll.labels.values
    idle: dict[str, str] = {}
    before: set[str] = set()
    for row in rows:
        key = case.display.paragraph_key_of[row.id]
        if not all(
            passes_gate(question, decided[Subject(key, wording)], value) for question, wording, value in required
        ):
            idle[row.id] = "not_supporting"
        elif key in before:
            idle[row.id] = "repeated_paragraph"
        before.add(key)
    return idle


def _dropped_by_gate(
    gate: str,
    candidate_result: CandidateDecisions,
    candidate: Candidate,
    case: _CollectedReview,
    judging: AnnotationSpec,
) -> Dropped:
    if gate == EVIDENCE_GATE:
        found, needed = candidate_result.supporting_paragraphs, judging.min_evidence
        return Dropped("too_little_evidence", f"{found} supporting paragraphs, {needed} needed")
    subject = Subject(case.display.task_key_of[candidate.id], wording_key(judging.questions_about()[gate]))
    return Dropped(f"not_{gate}", decision_method(subject, case.poll.labels, judging))


# --- telling


def _notes(
    judging: AnnotationSpec, case: _CollectedReview, candidate_results: list[CandidateDecisions]
) -> dict[str, Any]:
    return {
        "reviewed": True,
        "agreement": measure_vote_agreement(case.poll.requests, case.poll.votes, judging),
        "questions": summarise_questions(judging, case.poll),
        "survivors": threshold_table(candidate_results, judging),
        "min_evidence": judging.min_evidence,
        "gates": gate_funnel(candidate_results, judging),
        "votes": summarise_votes(case.poll),
        "comments": summarise_comments(case.poll),
    }
