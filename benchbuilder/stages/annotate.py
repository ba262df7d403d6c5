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

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.errors import Problem, RecipeError, WaitingForPeople
from benchbuilder.judging.sampling import proportional
from benchbuilder.judging.shown import Asked, Display, display, everything_asked, wording_key
from benchbuilder.judging.survivors import EVIDENCE_GATE, Judged, first_failed, funnel, survivors
from benchbuilder.judging.values import passes
from benchbuilder.judging.verdicts import Verdicts, agreement, decide
from benchbuilder.kinds import create
from benchbuilder.ports.stage import Context, Gather, Port
from benchbuilder.ports.votes import Ballot, Instructions, Subject, Votes
from benchbuilder.records.candidate import Candidate
from benchbuilder.records.envelope import Row
from benchbuilder.records.evidence import Evidence
from benchbuilder.records.fates import Dropped, Fate, Gathered, Kept
from benchbuilder.records.item import Claim, Item, Support
from benchbuilder.records.table import Table
from benchbuilder.retelling import counted
from benchbuilder.spec.base import KindSpec, Slot, StepSpec
from benchbuilder.spec.judging import GuidingQuestion, JudgingSpec


class AnnotateSpec(StepSpec):
    """`votes` says who judges what, and how votes travel; the recipe's `annotation` unless the step has its own.

    `sample` is for a pilot round: only so many candidates, drawn by the recipe's seed in proportion to their sources,
    go on, and the others are dropped. A larger sample later holds most of it, whose votes still count.
    """

    votes: Annotated[KindSpec | None, Slot("votes", inherit="annotation")] = None
    sample: Annotated[int | None, Field(ge=1)] = None


@dataclass(frozen=True)
class _Case:
    """All that is known when people have judged: what was shown, what came back, what it decides."""

    shown: Display
    asked: dict[Subject, Asked]
    ballot: Ballot
    verdicts: Verdicts


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
        asked = judging.asked("claim") if judging else {}
        gating = judging.required("claim") if judging else {}
        own = {f"not_{name}": _meaning(name, asked[name], value) for name, value in gating.items()}
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
        asked = everything_asked(shown.tasks, judging)
        workplace = self.context.workplace
        ballot = self.votes.collect(asked.keys(), workplace)
        verdicts = decide(asked, ballot, judging)
        wanted = verdicts.wanted(asked)
        instructions = self.votes.ask(shown.tasks, ballot, wanted, self.context)
        if wanted:
            raise _waiting(ballot, instructions)
        return _Case(shown, asked, ballot, verdicts)

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
    return {name: case.verdicts.decided[Subject(key, wording_key(asked[name]))] for name in judging.required("claim")}


def _idle(rows: Iterable[Evidence], case: _Case, judging: JudgingSpec) -> dict[str, str]:
    """The rows of one candidate that do not support it, with the reason."""
    asked = judging.asked("evidence")
    required = [(asked[name], wording_key(asked[name]), value) for name, value in judging.required("evidence").items()]
    decided = case.verdicts.decided
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
    how = "mean of all" if judging.rule == "mean" else "unanimous"
    return Dropped(f"not_{gate}", "adjudicated" if subject in case.verdicts.adjudicated else how)


# --- telling


def _meaning(name: str, question: GuidingQuestion, value: float) -> str:
    """What it means to fail the gate of a guiding question."""
    needed = f"{value:g}" if question.answer == "binary" else f"{value:g} or more"
    return f"People did not answer {needed} to the guiding question {name!r}: {question.text}"


def _waiting(ballot: Ballot, instructions: Instructions) -> WaitingForPeople:
    missing = instructions.missing
    total = sum(missing.values())
    people = dict.fromkeys(name.rpartition(": ")[0] for name in missing)
    told = ", ".join(f"{person} {' and '.join(_sorts(person, missing))}" for person in people)
    stale = sum(ballot.stale.values())
    warnings = [instructions.warning] if instructions.warning else []
    if stale:
        warnings.append(f"{stale} votes are about something that is no longer shown and do not count")
    return WaitingForPeople(
        f"{counted(total, 'judgement')} {'is' if total == 1 else 'are'} missing: {told}",
        missing=dict(missing),
        where=instructions.where,
        why="; ".join(warnings),
        next=instructions.next,
    )


def _sorts(person: str, missing: Mapping[str, int]) -> list[str]:
    words = {"claim": "on questions", "evidence": "on paragraphs"}
    return [f"{missing[f'{person}: {sort}']} {word}" for sort, word in words.items() if f"{person}: {sort}" in missing]


def _notes(judging: JudgingSpec, case: _Case, judged: list[Judged]) -> dict[str, Any]:
    verdicts, ballot = case.verdicts, case.ballot
    cast = Counter(person for votes in ballot.votes.values() for person in votes)
    deciding = Counter(ballot.decisions[subject][0] for subject in verdicts.adjudicated)
    return {
        "reviewed": True,
        "agreement": agreement(case.asked, ballot, judging),
        "questions": _questions(judging, case),
        "survivors": survivors(judged, judging),
        "min_evidence": judging.min_evidence,
        "gates": funnel(judged, judging),
        "votes": {
            "annotators": dict(sorted(cast.items())) | dict(sorted(deciding.items())),
            "unanimous": len(verdicts.decided) - len(verdicts.adjudicated),
            "adjudicated": len(verdicts.adjudicated),
            "unneeded": verdicts.unneeded,
            "stale": sum(ballot.stale.values()),
            "stale_by_file": dict(sorted(ballot.stale.items())),
        },
        "comments": [{"annotator": c.annotator, "shown": c.key, "text": c.text} for c in sorted(ballot.comments)],
    }


def _questions(judging: JudgingSpec, case: _Case) -> dict[str, Any]:
    """What was asked, and how often it was decided so that it passes (binary: so that it is 1)."""
    total, yes = Counter[str](), Counter[str]()
    questions = judging.asked()
    required = judging.required("claim") | judging.required("evidence")
    for subject, value in case.verdicts.decided.items():
        name = case.asked[subject].question
        total[name] += 1
        least = 1.0 if questions[name].answer == "binary" else required.get(name, questions[name].threshold)
        yes[name] += value >= least
    return {
        name: {"label": question.label, "text": question.text, "subject": question.subject,
               "required": required.get(name), "yes": yes[name], "judged": total[name]}
        for name, question in questions.items()
    }  # fmt: skip
