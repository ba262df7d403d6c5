"""Asks people what they think of rows, and lets go on what they want.

``GatherResult.notes`` of a reviewed step has ``measure_agreement``, ``questions``, ``gates``, ``backend`` and
``comments`` as `annotate` documents them, and ``chosen``: the `choose` of the step with ``of``, how many rows it
chose from, and ``last``, the decision on the last one that was chosen; null where the step chooses nothing. Of an
unreviewed step it is ``{"reviewed": False}``; a reviewed one has ``"reviewed": True``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from benchbuilder.annotation import (
    EVIDENCE_GATE,
    AnnotationBackend,
    CandidateDecisions,
    CollectedVotes,
    Subject,
    collect_votes,
    decision_method,
    first_failed_gate,
    gate_description,
    gate_funnel,
    make_row_tasks,
    measure_vote_agreement,
    summarise_comments,
    summarise_questions,
    summarise_votes,
    wording_key,
)
from benchbuilder.config import AnnotationSpec, KindSpec, Name, Slot, Spec, StepSpec
from benchbuilder.core import (
    Dropped,
    GatherResult,
    Item,
    Kept,
    Outcome,
    Problem,
    RecipeError,
    Row,
    SpecIssue,
    StepContext,
    Table,
    create_from_spec,
)
from benchbuilder.steps.base import Gather, Port

_SORTS = {"claim": "on rows"}
_RESERVED_REASONS = ("export", "to_fill", "filled", "packets", "votes")
"""Folders of the workplace that are not those of a step."""


class ChooseSpec(Spec):
    """The `n` rows with the lowest or the highest decision on `question` go on; of equal ones, those with lower ids."""

    question: Name
    which: Literal["lowest", "highest"]
    n: Annotated[int, Field(ge=1)]


class VoteSpec(StepSpec):
    """`votes` says who judges what, and how votes travel; the recipe's `annotation` unless the step has its own.

    This step usually asks its own questions: `ways` maps kinds of votes (``sheets``, ``app``) to how its people are
    asked by that kind, and the kind of `votes` chooses among them. Where it asks nobody, none is needed.
    The `fields` of a way name what people are shown of each row, of what its payload shows. `choose` holds for the rows
    that pass all gates.
    """

    votes: Annotated[KindSpec | None, Slot("annotation", inherit="annotation")] = None
    ways: Annotated[dict[str, KindSpec], Slot("annotation")] = {}
    choose: ChooseSpec | None = None

    @model_validator(mode="after")
    def _check_names(self) -> VoteSpec:
        for name, way in self.ways.items():
            if way.kind not in (name, "?"):
                raise ValueError(f"ways.{name}: its kind is {way.kind}; name ways by their kinds")
        return self


class VoteOnRows(Gather):
    """Keeps the rows that pass every gate, and of these the chosen ones.

    Facts pass as they are. Of an item comes a child that says whether it is reviewed, with the same id either way.

    Annotators judge each row, an adjudicator only what they are in dispute about. While judgements are missing, it
    asks for just these and raises WaitingForPeople. Rows that look the same are judged once. Every step has packets,
    votes and a project of its own. Where nobody is asked, every row goes on, and items stay unreviewed.
    """

    kind: ClassVar[str] = "vote"
    spec_class: ClassVar[type[StepSpec]] = VoteSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Row)}
    output: ClassVar[type[Row] | None] = None
    reasons: ClassVar[Mapping[str, str]] = {
        "not_chosen": "Other rows have a lower (or higher) decision, and `choose` says how many go on.",
    }

    spec: VoteSpec

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        if context.step in _RESERVED_REASONS:
            raise RecipeError([Problem("a step where people vote cannot have this name", key=f"steps.{context.step}",
                                       actual=context.step, allowed="any other name")])  # fmt: skip
        self.backend = self._open_backend()
        judging = self.backend.annotation_spec
        asked = judging.questions_about() if judging else {}
        gating = judging.gating_questions("claim") if judging else {}
        own = {f"not_{name}": gate_description(name, asked[name], value) for name, value in gating.items()}
        self.reasons = own | dict(type(self).reasons)  # pyright: ignore[reportIncompatibleVariableOverride, reportAttributeAccessIssue]

    def _open_backend(self) -> AnnotationBackend:
        """The votes of the way that the recipe chooses; RecipeError if it has none."""
        key, chosen = f"steps.{self.context.step}", self.spec.votes
        if chosen is None:
            raise RecipeError([Problem("the step has no votes", key=f"{key}.votes", actual="null",
                                       hint="say who judges what, as `annotation` does")])  # fmt: skip
        own: AnnotationBackend = create_from_spec(
            "annotation", self.spec.ways.get(chosen.kind, chosen), self.context.step
        )
        if self.spec.ways and chosen.kind not in self.spec.ways and own.annotation_spec is not None:
            told = "the step does not say how its people are asked by this kind of votes"
            ways = ", ".join(self.spec.ways)
            raise RecipeError([Problem(told, key=f"{key}.ways", actual=chosen.kind, allowed=ways)])
        return own

    def external_inputs(self) -> Mapping[str, str]:
        """Hashes of all votes so far."""
        return self.backend.external_inputs(self.context.workplace)

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:
        """Fields that the payload does not show, questions that rows cannot be asked, and a choice by none of them."""
        judging = self.backend.annotation_spec
        if judging is None:
            return
        known = _display_fields(rows["each"]) if "each" in rows else ()
        way = f"ways.{judging.kind}" if judging.kind in self.spec.ways else "votes"
        if not judging.display_fields():
            yield SpecIssue(
                f"{way}.fields", "nothing of a row is shown; name its fields, each with a label", "{}", known
            )
        for name in judging.display_fields():
            if known and name not in known:
                yield SpecIssue(f"{way}.fields", "the payload of the rows shows no such field", name, known)
        for name in judging.questions_about("evidence"):
            yield SpecIssue(f"{way}.questions.{name}.subject", "rows have no paragraphs", "evidence", ("claim",))
        if judging.min_evidence:
            yield SpecIssue(f"{way}.min_evidence", "rows have no paragraphs", str(judging.min_evidence), ("0",))
        rated = [name for name, q in judging.questions_about("claim").items() if q.required and q.answer != "text"]
        if self.spec.choose is not None and self.spec.choose.question not in rated:
            yield SpecIssue("choose.question", "everybody must answer it with a number", self.spec.choose.question,
                            tuple(rated))  # fmt: skip

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        """The rows that go on, or WaitingForPeople with how many judgements are missing from whom."""
        rows: list[Any] = list(tables["each"])
        judging = self.backend.annotation_spec
        if judging is None:
            return GatherResult(
                [(row.id, [self._kept_outcome(row, reviewed=False)]) for row in rows], notes={"reviewed": False}
            )
        for complaint in self.validate_inputs({}):
            raise RecipeError([Problem(complaint.message, key=f"steps.{self.context.step}.{complaint.key}",
                                       actual=complaint.actual, allowed=", ".join(complaint.allowed))])  # fmt: skip
        tasks, key_of = make_row_tasks(rows, judging.display_fields())
        made = collect_votes(self.backend, judging, tasks, self.context, _SORTS)
        dropped: dict[str, Dropped] = {}
        seen: list[CandidateDecisions] = []
        for row in rows:
            judged = CandidateDecisions(
                row.partition, _decisions(key_of[row.id], judging.gating_questions("claim"), made, judging), 0
            )
            seen.append(judged)
            gate = first_failed_gate(judged, judging, 0)
            if gate is not None:
                subject = Subject(key_of[row.id], wording_key(judging.questions_about()[gate]))
                dropped[row.id] = Dropped(f"not_{gate}", decision_method(subject, made.labels, judging))
        chosen = self._choose([row for row in rows if row.id not in dropped], key_of, made, judging, dropped)
        outcomes: list[tuple[str, list[Outcome]]] = [
            (row.id, [dropped[row.id] if row.id in dropped else self._kept_outcome(row, reviewed=True)]) for row in rows
        ]
        return GatherResult(outcomes, notes=_notes(judging, made, seen, chosen))

    def _kept_outcome(self, row: Any, *, reviewed: bool) -> Kept:
        """The row as it goes on."""
        if not isinstance(row, Item):
            return Kept(row)
        produced_by = self.produced_by("reviewed" if reviewed else "unreviewed")
        fields = {name: getattr(row, name) for name in ("payload", "candidate", "fact")}  # pyright: ignore[reportUnknownArgumentType]
        return Kept(type(row).child(row, produced_by=produced_by, reviewed=reviewed, **fields))  # pyright: ignore[reportUnknownArgumentType]

    def _choose(
        self,
        rows: list[Any],
        key_of: Mapping[str, str],
        poll_result: CollectedVotes,
        judging: AnnotationSpec,
        dropped: dict[str, Dropped],
    ) -> dict[str, Any] | None:
        """Add to `dropped` the rows that are not chosen; what the notes say of it."""
        choose = self.spec.choose
        if choose is None:
            return None
        sign = 1 if choose.which == "lowest" else -1
        decided = {
            row.id: _decisions(key_of[row.id], (choose.question,), poll_result, judging)[choose.question]
            for row in rows
        }
        order = sorted(decided, key=lambda name: (sign * decided[name], name))
        for name in order[choose.n :]:
            dropped[name] = Dropped("not_chosen", f"{choose.question} is {decided[name]:g}")
        last = decided[order[: choose.n][-1]] if order else None
        return {**choose.model_dump(), "of": len(order), "last": last}


def _display_fields(row: type[Row]) -> tuple[str, ...]:
    """What the payload of a row class shows, by its examples."""
    payload: Any = row.model_fields["payload"].annotation if "payload" in row.model_fields else None
    examples: Iterable[Any] = payload.examples() if hasattr(payload, "examples") else ()
    return tuple(dict.fromkeys(name for example in examples for name, _ in example.display_fields()))


def _decisions(
    key: str, names: Iterable[str], poll_result: CollectedVotes, judging: AnnotationSpec
) -> dict[str, float]:
    """The decisions on the named guiding questions about what is shown under `key`."""
    asked = judging.questions_about()
    return {name: poll_result.labels.values[Subject(key, wording_key(asked[name]))] for name in names}


def _notes(
    judging: AnnotationSpec,
    poll_result: CollectedVotes,
    row_results: list[CandidateDecisions],
    chosen: dict[str, Any] | None,
) -> dict[str, Any]:
    return {
        "reviewed": True,
        "agreement": measure_vote_agreement(poll_result.requests, poll_result.votes, judging),
        "questions": summarise_questions(judging, poll_result),
        "gates": [gate for gate in gate_funnel(row_results, judging) if gate["gate"] != EVIDENCE_GATE],
        "chosen": chosen,
        "votes": summarise_votes(poll_result),
        "comments": summarise_comments(poll_result),
    }
