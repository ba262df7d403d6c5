"""Asks people which candidates are good, and makes those into items.

``Gathered.notes`` of a reviewed step is plain JSON data:

- ``agreement``: for each guiding question that is not a text, in their order, its ``scale`` and what
  `agreement.ratings.measure_ratings` documents: ``n``, ``clusters`` (candidates), ``raters``, and for each measure of
  that scale either ``{"value", "low", "high"}`` (bounds may be null with a ``why``) or ``{"undefined": words}``
- ``questions``: for each guiding question its ``label``, ``text`` and ``subject``, its ``required`` decision (null
  where it gates nothing) and how often it was decided ``yes`` (1; of other answers: high enough for its gate) of
  ``judged``
- ``survivors``: for each threshold ``min_evidence``, ``kept``, ``by_partition`` and ``without`` (gate -> kept if that
  gate were not there); ``min_evidence`` beside it is the one in force
- ``gates``: for each gate in order ``gate``, ``dropped`` there and ``kept`` after it
- ``votes``: ``annotators`` (person -> votes that count), ``unanimous`` and ``adjudicated`` (decisions), ``unneeded``
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

from benchbuilder.annotation.aggregate import agreement
from benchbuilder.annotation.base import Subject, Votes
from benchbuilder.annotation.collect import (
    Poll,
    comments_told,
    how_decided,
    meaning,
    poll,
    questions_told,
    votes_told,
)
from benchbuilder.annotation.gates import EVIDENCE_GATE, Judged, first_failed, funnel, survivors
from benchbuilder.annotation.sample import proportional
from benchbuilder.annotation.tasks import Display, display, wording_key
from benchbuilder.annotation.values import passes
from benchbuilder.config.spec.annotation import JudgingSpec
from benchbuilder.config.spec.base import KindSpec, Slot, StepSpec
from benchbuilder.core.context import Context
from benchbuilder.core.errors import Problem, RecipeError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Fate, Gathered, Kept
from benchbuilder.core.records.payloads import Claim, Item, Support
from benchbuilder.core.records.roles import Candidate, Evidence
from benchbuilder.core.records.row import Row
from benchbuilder.core.registry import create
from benchbuilder.steps.base import Gather, Port

_SORTS = {"claim": "on questions", "evidence": "on paragraphs"}
_FIELDS = ("text", "right", "wrong")


class AnnotateSpec(StepSpec):
    """`votes` says who judges what, and how votes travel; the recipe's `annotation` unless the step has its own.

    `sample` is for a pilot round: only so many candidates, drawn by the recipe's seed in proportion to their sources,
    go on, and the others are dropped. A larger sample later holds most of it, whose votes still count.
    """

    votes: Annotated[KindSpec | None, Slot("votes", inherit="annotation")] = None
    sample: Annotated[int | None, Field(ge=1)] = None


@dataclass(frozen=True)
class _Case:
    """All that is known when people have judged: what was shown, and what came of it."""

    shown: Display
    made: Poll


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

    def __init__(self, spec: Any, context: Context) -> None:
        super().__init__(spec, context)
        if self.spec.votes is None:
            problem = Problem(
                "the step has no votes", key=f"steps.{context.step}.votes", found="null", hint="add annotation: files"
            )
            raise RecipeError([problem])
        self.votes: Votes = create("votes", self.spec.votes)
        judging = self.votes.judging
        if judging is not None and judging.shown() and set(judging.shown()) != set(_FIELDS):
            problem = Problem(
                f"a candidate shows just {', '.join(_FIELDS)}; each needs a label",
                key=f"steps.{context.step}.votes.fields", found=", ".join(judging.shown()),
            )  # fmt: skip
            raise RecipeError([problem])
        asked = judging.asked("claim") if judging else {}
        gating = judging.required("claim") if judging else {}
        own = {f"not_{name}": meaning(name, asked[name], value) for name, value in gating.items()}
        self.reasons = own | dict(type(self).reasons)  # pyright: ignore[reportIncompatibleVariableOverride, reportAttributeAccessIssue]

    def observes(self) -> Mapping[str, str]:
        """Hashes of all votes so far."""
        return self.votes.observes(self.context.workplace)

    def gather(self, tables: Mapping[str, Table[Any]]) -> Gathered:
        """Items, or WaitingForPeople with how many judgements of each sort are missing from whom."""
        everything: list[Candidate] = list(tables["each"])
        evidence: list[Evidence] = list(tables["evidence"])
        candidates = self._sampled(everything)
        judging = self.votes.judging
        if judging is None:
            done = self._unreviewed(candidates, evidence)
        else:
            done = self._reviewed(judging, self._judge(judging, candidates, evidence), candidates, evidence)
        if len(candidates) == len(everything):
            return done
        chosen = {candidate.id for candidate in candidates}
        left = {candidate.id for candidate in everything} - chosen
        fates: list[tuple[str, list[Fate]]] = [(name, [Dropped("outside_sample")]) for name in sorted(left)]
        idle = {row.id: "candidate_dropped" for row in evidence if row.of in left}
        return Gathered([*done.fates, *fates], unused={"evidence": {**done.unused["evidence"], **idle}},
                        notes=done.notes)  # fmt: skip

    def _sampled(self, candidates: list[Candidate]) -> list[Candidate]:
        size = self.spec.sample
        if size is None or size >= len(candidates):
            return candidates
        return proportional(
            candidates, size, name=lambda row: row.id, group=lambda row: row.partition, seed=self.context.seed
        )

    # --- asking

    def _judge(self, judging: JudgingSpec, candidates: list[Candidate], evidence: list[Evidence]) -> _Case:
        """What people decided; while something is missing, ask for it and wait."""
        shown = display(candidates, evidence)
        return _Case(shown, poll(self.votes, judging, shown.tasks, self.context, _SORTS))

    # --- fates

    def _unreviewed(self, candidates: list[Candidate], evidence: list[Evidence]) -> Gathered:
        by_candidate = _by_candidate(evidence)
        fates: list[tuple[str, list[Fate]]] = [
            (c.id, [Kept(self._item(c, by_candidate.get(c.id, []), reviewed=False))]) for c in candidates
        ]
        known = {candidate.id for candidate in candidates}
        unused = {row.id: "without_candidate" for row in evidence if row.of not in known}
        return Gathered(fates, unused={"evidence": unused}, notes={"reviewed": False})

    def _reviewed(
        self, judging: JudgingSpec, case: _Case, candidates: list[Candidate], evidence: list[Evidence]
    ) -> Gathered:
        by_candidate = _by_candidate(evidence)
        fates: list[tuple[str, list[Fate]]] = []
        unused = {row.id: "without_candidate" for row in evidence if row.id not in case.shown.paragraph_of}
        seen: list[Judged] = []
        for candidate in candidates:
            rows = by_candidate.get(candidate.id, [])
            idle = _idle(rows, case, judging)
            supporting = [row for row in rows if row.id not in idle]
            judged = Judged(candidate.partition, _answers(candidate, case, judging), len(supporting))
            seen.append(judged)
            gate = first_failed(judged, judging, judging.min_evidence)
            if gate is None:
                fates.append((candidate.id, [Kept(self._item(candidate, supporting, reviewed=True))]))
                unused |= idle
            else:
                fates.append((candidate.id, [_dropped(gate, judged, candidate, case, judging)]))
                unused |= {row.id: "candidate_dropped" for row in rows}
        return Gathered(fates, unused={"evidence": unused}, notes=_notes(judging, case, seen))

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
        made_by = self.made_by("reviewed" if reviewed else "unreviewed")
        return Item[Claim].child(
            candidate, *evidence, made_by=made_by, payload=claim, candidate=candidate.id, fact=candidate.fact,
            reviewed=reviewed,
        )  # fmt: skip


def _by_candidate(evidence: Iterable[Evidence]) -> dict[str, list[Evidence]]:
    """Evidence rows by candidate, by base and rank."""
    found: dict[str, list[Evidence]] = {}
    for row in sorted(evidence, key=lambda row: (row.base, row.rank, row.id)):
        found.setdefault(row.of, []).append(row)
    return found


def _answers(candidate: Candidate, case: _Case, judging: JudgingSpec) -> dict[str, float]:
    """The decisions on the gating questions about a candidate."""
    key, asked = case.shown.claim_of[candidate.id], judging.asked("claim")
    return {
        name: case.made.verdicts.decided[Subject(key, wording_key(asked[name]))] for name in judging.required("claim")
    }


def _idle(rows: Iterable[Evidence], case: _Case, judging: JudgingSpec) -> dict[str, str]:
    """The rows of one candidate that do not support it, with the reason."""
    asked = judging.asked("evidence")
    required = [(asked[name], wording_key(asked[name]), value) for name, value in judging.required("evidence").items()]
    decided = case.made.verdicts.decided
    idle: dict[str, str] = {}
    before: set[str] = set()
    for row in rows:
        key = case.shown.paragraph_of[row.id]
        if not all(passes(question, decided[Subject(key, wording)], value) for question, wording, value in required):
            idle[row.id] = "not_supporting"
        elif key in before:
            idle[row.id] = "repeated_paragraph"
        before.add(key)
    return idle


def _dropped(gate: str, judged: Judged, candidate: Candidate, case: _Case, judging: JudgingSpec) -> Dropped:
    if gate == EVIDENCE_GATE:
        found, needed = judged.supporting, judging.min_evidence
        return Dropped("too_little_evidence", f"{found} supporting paragraphs, {needed} needed")
    subject = Subject(case.shown.claim_of[candidate.id], wording_key(judging.asked()[gate]))
    return Dropped(f"not_{gate}", how_decided(subject, case.made.verdicts, judging))


# --- telling


def _notes(judging: JudgingSpec, case: _Case, judged: list[Judged]) -> dict[str, Any]:
    return {
        "reviewed": True,
        "agreement": agreement(case.made.asked, case.made.ballot, judging),
        "questions": questions_told(judging, case.made),
        "survivors": survivors(judged, judging),
        "min_evidence": judging.min_evidence,
        "gates": funnel(judged, judging),
        "votes": votes_told(case.made),
        "comments": comments_told(case.made),
    }
