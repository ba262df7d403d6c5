"""Asks people what they think of rows, and lets go on what they want.

``Gathered.notes`` of a reviewed step has ``agreement``, ``questions``, ``gates``, ``votes`` and ``comments`` as
`annotate` documents them, and ``chosen``: the `choose` of the step with ``of``, how many rows it chose from, and
``last``, the decision on the last one that was chosen; null where the step chooses nothing.
Of an unreviewed step it is ``{"reviewed": False}``; a reviewed one has ``"reviewed": True``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

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
from benchbuilder.annotation.gates import EVIDENCE_GATE, Judged, first_failed, funnel
from benchbuilder.annotation.tasks import display_rows, wording_key
from benchbuilder.config.spec.annotation import JudgingSpec, Name
from benchbuilder.config.spec.base import KindSpec, Slot, Spec, StepSpec
from benchbuilder.core.context import Complaint, Context
from benchbuilder.core.errors import Problem, RecipeError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Fate, Gathered, Kept
from benchbuilder.core.records.payloads import Item
from benchbuilder.core.records.row import Row
from benchbuilder.core.registry import create
from benchbuilder.steps.base import Gather, Port

_SORTS = {"claim": "on rows"}
_TAKEN = ("export", "packets", "votes")
"""Folders of the workplace that are not those of a step."""


class ChooseSpec(Spec):
    """The `n` rows with the lowest or the highest decision on `question` go on; of equal ones, those with lower ids."""

    question: Name
    which: Literal["lowest", "highest"]
    n: Annotated[int, Field(ge=1)]


class VoteSpec(StepSpec):
    """`votes` says who judges what, and how votes travel; the recipe's `annotation` unless the step has its own.

    The questions of this step are seldom those of others: `ways` maps kinds of votes (``files``, ``app``) to how its
    people are asked by that kind, and the kind of `votes` chooses among them. Where it asks nobody, none is needed.
    The `fields` of a way name what people are shown of each row, of what its payload shows. `choose` holds for the rows
    that pass all gates.
    """

    votes: Annotated[KindSpec | None, Slot("votes", inherit="annotation")] = None
    ways: Annotated[dict[str, KindSpec], Slot("votes")] = {}
    choose: ChooseSpec | None = None

    @model_validator(mode="after")
    def _named(self) -> VoteSpec:
        for name, way in self.ways.items():
            if way.kind not in (name, "?"):
                raise ValueError(f"ways.{name}: its kind is {way.kind}; name ways by their kinds")
        return self


class Vote(Gather):
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

    def __init__(self, spec: Any, context: Context) -> None:
        super().__init__(spec, context)
        if context.step in _TAKEN:
            raise RecipeError([Problem("a step where people vote cannot have this name", key=f"steps.{context.step}",
                                       found=context.step, allowed="any other name")])  # fmt: skip
        self.votes = self._opened()
        judging = self.votes.judging
        asked = judging.asked() if judging else {}
        gating = judging.required("claim") if judging else {}
        own = {f"not_{name}": meaning(name, asked[name], value) for name, value in gating.items()}
        self.reasons = own | dict(type(self).reasons)  # pyright: ignore[reportIncompatibleVariableOverride, reportAttributeAccessIssue]

    def _opened(self) -> Votes:
        """The votes of the way that the recipe chooses; RecipeError if it has none."""
        key, chosen = f"steps.{self.context.step}", self.spec.votes
        if chosen is None:
            raise RecipeError([Problem("the step has no votes", key=f"{key}.votes", found="null",
                                       hint="say who judges what, as `annotation` does")])  # fmt: skip
        own: Votes = create("votes", self.spec.ways.get(chosen.kind, chosen), self.context.step)
        if self.spec.ways and chosen.kind not in self.spec.ways and own.judging is not None:
            told = "the step does not say how its people are asked by this kind of votes"
            ways = ", ".join(self.spec.ways)
            raise RecipeError([Problem(told, key=f"{key}.ways", found=chosen.kind, allowed=ways)])
        return own

    def observes(self) -> Mapping[str, str]:
        """Hashes of all votes so far."""
        return self.votes.observes(self.context.workplace)

    def complaints(self, rows: Mapping[str, type[Row]]) -> Iterable[Complaint]:
        """Fields that the payload does not show, questions that rows cannot be asked, and a choice by none of them."""
        judging = self.votes.judging
        if judging is None:
            return
        known = _shown(rows["each"]) if "each" in rows else ()
        way = f"ways.{judging.kind}" if judging.kind in self.spec.ways else "votes"
        if not judging.shown():
            yield Complaint(
                f"{way}.fields", "nothing of a row is shown; name its fields, each with a label", "{}", known
            )
        for name in judging.shown():
            if known and name not in known:
                yield Complaint(f"{way}.fields", "the payload of the rows shows no such field", name, known)
        for name in judging.asked("evidence"):
            yield Complaint(f"{way}.questions.{name}.subject", "rows have no paragraphs", "evidence", ("claim",))
        if judging.min_evidence:
            yield Complaint(f"{way}.min_evidence", "rows have no paragraphs", str(judging.min_evidence), ("0",))
        rated = [name for name, q in judging.asked("claim").items() if q.required and q.answer != "text"]
        if self.spec.choose is not None and self.spec.choose.question not in rated:
            yield Complaint("choose.question", "everybody must answer it with a number", self.spec.choose.question,
                            tuple(rated))  # fmt: skip

    def gather(self, tables: Mapping[str, Table[Any]]) -> Gathered:
        """The rows that go on, or WaitingForPeople with how many judgements are missing from whom."""
        rows: list[Any] = list(tables["each"])
        judging = self.votes.judging
        if judging is None:
            return Gathered([(row.id, [self._kept(row, reviewed=False)]) for row in rows], notes={"reviewed": False})
        for complaint in self.complaints({}):
            raise RecipeError([Problem(complaint.message, key=f"steps.{self.context.step}.{complaint.key}",
                                       found=complaint.found, allowed=", ".join(complaint.allowed))])  # fmt: skip
        tasks, key_of = display_rows(rows, judging.shown())
        made = poll(self.votes, judging, tasks, self.context, _SORTS)
        dropped: dict[str, Dropped] = {}
        seen: list[Judged] = []
        for row in rows:
            judged = Judged(row.partition, _decisions(key_of[row.id], judging.required("claim"), made, judging), 0)
            seen.append(judged)
            gate = first_failed(judged, judging, 0)
            if gate is not None:
                subject = Subject(key_of[row.id], wording_key(judging.asked()[gate]))
                dropped[row.id] = Dropped(f"not_{gate}", how_decided(subject, made.verdicts, judging))
        chosen = self._choose([row for row in rows if row.id not in dropped], key_of, made, judging, dropped)
        fates: list[tuple[str, list[Fate]]] = [
            (row.id, [dropped[row.id] if row.id in dropped else self._kept(row, reviewed=True)]) for row in rows
        ]
        return Gathered(fates, notes=_notes(judging, made, seen, chosen))

    def _kept(self, row: Any, *, reviewed: bool) -> Kept:
        """The row as it goes on."""
        if not isinstance(row, Item):
            return Kept(row)
        made_by = self.made_by("reviewed" if reviewed else "unreviewed")
        fields = {name: getattr(row, name) for name in ("payload", "candidate", "fact")}  # pyright: ignore[reportUnknownArgumentType]
        return Kept(type(row).child(row, made_by=made_by, reviewed=reviewed, **fields))  # pyright: ignore[reportUnknownArgumentType]

    def _choose(
        self, rows: list[Any], key_of: Mapping[str, str], made: Poll, judging: JudgingSpec, dropped: dict[str, Dropped]
    ) -> dict[str, Any] | None:
        """Add to `dropped` the rows that are not chosen; what the notes say of it."""
        choose = self.spec.choose
        if choose is None:
            return None
        sign = 1 if choose.which == "lowest" else -1
        decided = {
            row.id: _decisions(key_of[row.id], (choose.question,), made, judging)[choose.question] for row in rows
        }
        order = sorted(decided, key=lambda name: (sign * decided[name], name))
        for name in order[choose.n :]:
            dropped[name] = Dropped("not_chosen", f"{choose.question} is {decided[name]:g}")
        last = decided[order[: choose.n][-1]] if order else None
        return {**choose.model_dump(), "of": len(order), "last": last}


def _shown(row: type[Row]) -> tuple[str, ...]:
    """What the payload of a row class shows, by its examples."""
    payload: Any = row.model_fields["payload"].annotation if "payload" in row.model_fields else None
    examples: Iterable[Any] = payload.examples() if hasattr(payload, "examples") else ()
    return tuple(dict.fromkeys(name for example in examples for name, _ in example.shown()))


def _decisions(key: str, names: Iterable[str], made: Poll, judging: JudgingSpec) -> dict[str, float]:
    """The decisions on the named guiding questions about what is shown under `key`."""
    asked = judging.asked()
    return {name: made.verdicts.decided[Subject(key, wording_key(asked[name]))] for name in names}


def _notes(judging: JudgingSpec, made: Poll, judged: list[Judged], chosen: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "reviewed": True,
        "agreement": agreement(made.asked, made.ballot, judging),
        "questions": questions_told(judging, made),
        "gates": [gate for gate in funnel(judged, judging) if gate["gate"] != EVIDENCE_GATE],
        "chosen": chosen,
        "votes": votes_told(made),
        "comments": comments_told(made),
    }
