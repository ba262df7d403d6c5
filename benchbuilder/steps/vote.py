"""Asks people what they think of rows, and keeps the rows that pass.

The notes of a reviewed step has ``agreement``, ``questions``, ``gates``, ``votes`` and ``comments`` as
`annotate` documents them, and ``chosen``: the `choose` of the step with ``of``, the number of rows to choose from, and
``last``, the decision on the last chosen row; null if the step chooses nothing. An unreviewed step has
``{"reviewed": False}``; a reviewed one has ``"reviewed": True``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from benchbuilder.annotation import (
    EVIDENCE_GATE,
    AnnotationBackend,
    CandidateDecisions,
    CollectedVotes,
    Task,
    first_failed_gate,
    gate_funnel,
    make_row_tasks,
)
from benchbuilder.config import AnnotationSpec, KindSpec, Name, Slot, Spec, StepSpec
from benchbuilder.core import (
    Dropped,
    FilterResult,
    GatherPiece,
    GatherStream,
    Item,
    OutcomeBatch,
    Problem,
    RecipeError,
    Row,
    SpecIssue,
    Table,
    child_rows,
    column_names,
    combined_column,
    constant_column,
    create_from_spec,
)
from benchbuilder.steps.base import Port
from benchbuilder.steps.review import ReviewStep, decisions_about, dropped_by_gate, review_notes

_WINDOW = 16_384
_compute: Any = pc
_RESERVED_NAMES = ("export", "to_fill", "filled", "packets", "votes")
"""Folders of the workplace that belong to no step."""


class ChooseSpec(Spec):
    """The `n` rows with the lowest or highest decision on `question` go on; of equal ones, those with lower ids."""

    question: Name
    which: Literal["lowest", "highest"]
    n: Annotated[int, Field(ge=1)]


class VoteSpec(StepSpec):
    """`votes` names who judges what, and how votes travel; by default the recipe's `annotation`.

    This step usually has its own questions: `ways` maps annotation backends (``sheets``, ``app``) to their settings
    here, and the kind of `votes` chooses one of them. If it asks nobody, none is needed. The `fields` of a way name the
    displayed fields of each row, among those that its payload displays. `agree` maps a yes/no question to the dotted
    column (``payload.expected``) with the decision that each row needs, ``yes`` or ``no``. People do not see it, so
    they can judge rows of both kinds in one sheet. `choose` applies to the rows that pass all gates and agree.
    """

    votes: Annotated[KindSpec | None, Slot("annotation", inherit="annotation")] = None
    ways: Annotated[dict[str, KindSpec], Slot("annotation")] = {}
    agree: dict[Name, str] = {}
    choose: ChooseSpec | None = None

    @model_validator(mode="after")
    def _check_names(self) -> VoteSpec:
        for name, way in self.ways.items():
            if way.kind not in (name, "?"):
                raise ValueError(f"ways.{name}: its kind is {way.kind}; name ways by their kinds")
        return self


class VoteOnRows(ReviewStep):
    """Keeps the rows that pass every gate, and among these the chosen ones.

    Facts stay unchanged. An item gets a child that states whether it is reviewed, with the same id either way.

    Annotators judge each row, an adjudicator only disputed ones. While judgements are missing, it asks for these and
    raises WaitingForPeople. Rows with the same display are judged once. Every step has sheets, votes and a project of
    its own. If nobody is asked, every row goes on, and items stay unreviewed.
    """

    kind: ClassVar[str] = "vote"
    version = 4
    spec_class: ClassVar[type[StepSpec]] = VoteSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Row)}
    reasons: ClassVar[Mapping[str, str]] = {
        "disagrees": "The decision differs from the row's own column, which `agree` names.",
        "not_chosen": "Other rows have a lower (or higher) decision, and `choose` limits their number.",
    }
    subject_labels: ClassVar[Mapping[str, str]] = {"claim": "on rows"}

    spec: VoteSpec

    def open_backend(self, votes: KindSpec) -> AnnotationBackend:
        """The backend of the way that the recipe chooses; RecipeError if there is none."""
        step, ways = self.context.step, self.spec.ways
        if step in _RESERVED_NAMES:
            raise RecipeError([Problem("a step where people vote cannot have this name", key=f"steps.{step}",
                                       actual=step, allowed="any other name")])  # fmt: skip
        backend: AnnotationBackend = create_from_spec("annotation", ways.get(votes.kind, votes), step)
        if ways and votes.kind not in ways and backend.annotation_spec is not None:
            raise RecipeError([Problem("the step has no settings for this annotation backend",
                                       key=f"steps.{step}.ways", actual=votes.kind,
                                       allowed=", ".join(ways))])  # fmt: skip
        return backend

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:
        """Unknown fields, questions that do not fit rows, and a choice by a question that gives no number."""
        annotation = self.backend.annotation_spec
        if annotation is None:
            return
        known = _display_fields(rows["each"]) if "each" in rows else ()
        way = f"ways.{annotation.kind}" if annotation.kind in self.spec.ways else "votes"
        if not annotation.display_fields():
            yield SpecIssue(
                f"{way}.fields", "nothing of a row is displayed; name its fields, each with a label", "{}", known
            )
        for name in annotation.display_fields():
            if known and name not in known:
                yield SpecIssue(f"{way}.fields", "the payload of the rows displays no such field", name, known)
        for name in annotation.questions_about("evidence"):
            yield SpecIssue(f"{way}.questions.{name}.subject", "rows have no paragraphs", "evidence", ("claim",))
        if annotation.min_evidence:
            yield SpecIssue(f"{way}.min_evidence", "rows have no paragraphs", str(annotation.min_evidence), ("0",))
        yield from self._issues_of_agreement(annotation, rows)
        claim = annotation.questions_about("claim")
        rated = [name for name, q in claim.items() if q.required and q.field is None and q.answer != "text"]
        for name, question in claim.items():
            if question.field is not None and question.field not in annotation.display_fields():
                shown = tuple(annotation.display_fields())
                yield SpecIssue(f"{way}.questions.{name}.field", "no such field is displayed", question.field, shown)
        if self.spec.choose is not None and self.spec.choose.question not in rated:
            yield SpecIssue(
                "choose.question", "everybody must answer it with a number", self.spec.choose.question, tuple(rated)
            )

    def _issues_of_agreement(self, annotation: AnnotationSpec, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:
        """Questions that everybody does not answer with yes or no, and unknown columns."""
        claim = annotation.questions_about("claim")
        asked = [name for name, q in claim.items() if q.required and q.field is None and q.answer == "binary"]
        for name, path in self.spec.agree.items():
            if name not in asked:
                yield SpecIssue("agree", "everybody must answer it with yes or no", name, tuple(asked))
            if "each" in rows and path not in (known := column_names(rows["each"])):
                yield SpecIssue(f"agree.{name}", "the rows have no such column", path, known)

    def gather(self, tables: Mapping[str, Table[Any]]) -> FilterResult | GatherStream:
        """The rows that go on, or WaitingForPeople with the numbers of missing judgements by person."""
        table, annotation = tables["each"], self.backend.annotation_spec
        if annotation is None:
            return self._result(table, {}, {"reviewed": False}, reviewed=False)
        for issue in self.validate_inputs({}):
            raise RecipeError([Problem(issue.message, key=f"steps.{self.context.step}.{issue.key}",
                                       actual=issue.actual, allowed=", ".join(issue.allowed))])  # fmt: skip
        tasks, key_of = make_row_tasks(table, annotation.display_fields())
        votes = self.collect(annotation, tasks)
        dropped: dict[str, Dropped] = {}
        results: list[CandidateDecisions] = []
        for row, partition in zip(table.ids(), table.column("partition"), strict=True):
            key = key_of[row]
            decisions = decisions_about(key, annotation.gating_questions("claim"), votes, annotation)
            results.append(CandidateDecisions(partition, decisions, 0))
            if (gate := first_failed_gate(results[-1], annotation, 0)) is not None:
                dropped[row] = dropped_by_gate(gate, key, votes, annotation)
        gates = [gate for gate in gate_funnel(results, annotation) if gate["gate"] != EVIDENCE_GATE]
        gates += self._drop_disagreements(table, key_of, votes, annotation, dropped)
        chosen: dict[str, Any] | None = None
        if (choose := self.spec.choose) is not None:
            keys = {row: key for row, key in key_of.items() if row not in dropped}
            question = (choose.question,)
            values = {
                name: decisions_about(key, question, votes, annotation)[choose.question] for name, key in keys.items()
            }
            chosen = _choose(choose, values, dropped)
        notes = review_notes(votes, annotation) | {"gates": gates, "chosen": chosen}
        return self._result(table, dropped, notes, reviewed=True)

    def _result(
        self, table: Table[Any], dropped: Mapping[str, Dropped], notes: dict[str, Any], *, reviewed: bool
    ) -> FilterResult | GatherStream:
        """Rows as they are, items as children that say whether they are reviewed; without those `dropped`, by id."""
        drops = [dropped.get(row) for row in table.ids()]
        reasons = [None if drop is None else drop.reason for drop in drops]
        details = ["" if drop is None else drop.detail for drop in drops]
        if not issubclass(table.row, Item):
            return FilterResult(reasons, details, notes=notes)
        return GatherStream(self._item_pieces(table, reasons, details, reviewed=reviewed), notes=notes)

    def _item_pieces(
        self, table: Table[Any], reasons: Sequence[str | None], details: Sequence[str], *, reviewed: bool
    ) -> Iterator[GatherPiece]:
        produced_by = self.produced_by("reviewed" if reviewed else "unreviewed")
        for start, window in table.windows(_WINDOW):
            count = len(window)
            own: Any = pa.array(reasons[start : start + count], pa.string())
            kept: Any = own.is_null()
            parents = window.arrow.filter(kept)
            fields = {name: combined_column(parents, name) for name in _ITEM_FIELDS}
            fields["reviewed"] = pa.array([reviewed] * parents.num_rows, pa.bool_())
            rows = child_rows(table.row, parents, produced_by, constant_column("", parents.num_rows), fields)
            texts = pa.array(details[start : start + count], pa.string())
            outcomes = _compute.if_else(kept, "kept", "dropped")
            branches = OutcomeBatch(
                pa.array(range(count), pa.int64()), constant_column("", count), outcomes, own.fill_null(""), texts, rows
            )
            yield GatherPiece(np.arange(start, start + count), window, branches)

    def shown_tasks(self, tables: Mapping[str, Iterable[Any]]) -> tuple[Sequence[Task], Mapping[str, str]]:
        """The tasks of rows with the fields that the way shows."""
        annotation = self.backend.annotation_spec
        return make_row_tasks(tables["each"], annotation.display_fields() if annotation else ())

    def _drop_disagreements(
        self, table: Table[Any], key_of: Mapping[str, str], votes: CollectedVotes, annotation: AnnotationSpec,
        dropped: dict[str, Dropped],
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Add the rows whose decisions differ from their columns, and return the gates for the notes."""
        gates: list[dict[str, Any]] = []
        for name, path in self.spec.agree.items():
            before = len(dropped)
            for row_id, expected in zip(table.ids(), table.column(path), strict=True):
                decision = decisions_about(key_of[row_id], (name,), votes, annotation)[name]
                if row_id not in dropped and decision != (expected == "yes"):
                    dropped[row_id] = Dropped("disagrees", f"{name} is {decision:g}, and {path} is {expected}")
            kept = len(key_of) - len(dropped)
            gates.append({"gate": name, "dropped": len(dropped) - before, "kept": kept})
        return gates


_ITEM_FIELDS = ("payload", "candidate", "fact", "family", "form", "wrong_from", "verdict_only", "tags")
"""What a review leaves as it is."""


def _choose(choose: ChooseSpec, values: Mapping[str, float], dropped: dict[str, Dropped]) -> dict[str, Any]:
    """Add the rows that are not chosen to `dropped`, and return the notes about the choice."""
    sign = 1 if choose.which == "lowest" else -1
    order = sorted(values, key=lambda name: (sign * values[name], name))
    for name in order[choose.n :]:
        dropped[name] = Dropped("not_chosen", f"{choose.question} is {values[name]:g}")
    last = values[order[: choose.n][-1]] if order else None
    return {**choose.model_dump(), "of": len(order), "last": last}


def _display_fields(row: type[Row]) -> tuple[str, ...]:
    """The fields that the payload of a row class displays, by its examples."""
    payload: Any = row.model_fields["payload"].annotation if "payload" in row.model_fields else None
    examples: Iterable[Any] = payload.examples() if hasattr(payload, "examples") else ()
    return tuple(dict.fromkeys(name for example in examples for name, _ in example.display_fields()))
