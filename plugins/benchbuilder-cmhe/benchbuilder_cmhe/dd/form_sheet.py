"""Has people fill in the forms of chats, or takes the drafts of a model as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from benchbuilder.config import FileRef, KindSpec, RuntimeOption, Slot, StepSpec
from benchbuilder.core import Dropped, Fact, GatherStream, Kept, Outcome, Row, StepContext, Table, outcome_pieces
from benchbuilder.steps import Gather, Port

from benchbuilder_cmhe.dd.chat import FORM_FIELDS, IntakeForm
from benchbuilder_cmhe.dd.sheets import SheetColumn, SheetLine, StepSheet, raise_problems, yes_or_no

_FORM = Fact[IntakeForm]
_FIT_COLUMN = "fit"
Field = Literal["age", "sex", "symptoms", "examination", "history", "complaint", "diagnosis"]


class FormSheetSpec(StepSpec):
    """Who fills forms in. Where the recipe's `votes` are by nobody, filled sheets that are there count all the same,
    and drafts stand for the rest.

    `sheet` is a filled sheet (or a folder of them) that the recipe ships; `needed` are groups of fields of which one
    must be filled; `labels` are the headings of the columns.
    """

    votes: Annotated[KindSpec | None, Slot("annotation", inherit="annotation")] = None
    sheet: FileRef | None = None
    needed: dict[str, tuple[Field, ...]]
    labels: Annotated[dict[str, str], RuntimeOption()] = {}


class FormSheet(Gather):
    """Forms that people filled: a row of the sheet is ``fit`` (1) with its fields, or the chat is not (0) and goes."""

    kind: ClassVar[str] = "form_sheet"
    spec_class: ClassVar[type[StepSpec]] = FormSheetSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(_FORM)}
    output: ClassVar[type[Row] | None] = _FORM
    reasons: ClassVar[Mapping[str, str]] = {
        "not_fit": "Whoever filled the form in found no clear case in the chat.",
        "no_form": "Nobody filled the form in, no model did, and nobody is asked to.",
        "incomplete": "The form lacks what the recipe needs.",
    }

    spec: FormSheetSpec

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        labels = self.spec.labels
        shown = SheetColumn("chat", labels.get("chat", "chat"), is_wide=True)
        filled = [SheetColumn(name, labels.get(name, name), is_for_people=True) for name in (*FORM_FIELDS, _FIT_COLUMN)]
        self.sheet = StepSheet(context.step, context.workplace, [shown, *filled], _FIT_COLUMN, self.spec.sheet)

    def external_inputs(self) -> Mapping[str, str]:
        """Hashes of the filled sheets."""
        return self.sheet.external_inputs()

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """Forms; WaitingForPeople with the number of rows that are not filled."""
        table, read = tables["each"], self.sheet.read()
        asked = self.spec.votes is not None and self.spec.votes.kind != "none"
        begins, missing = dict[str, str](), dict[str, SheetLine]()
        people = 0
        for row in table:
            line = _line(row)
            if (key := line.key) in read:
                begins[key] = row.payload.chat[:30]
                people += 1
            elif asked:
                missing[key] = line
        filled = {key: cells for key, cells in read.items() if key in begins}
        wrong = [f"{begins[key]!r}: fit is {cells[_FIT_COLUMN]!r}; write 1 or 0"
                 for key, cells in filled.items() if yes_or_no(cells[_FIT_COLUMN]) is None]  # fmt: skip
        raise_problems(wrong)
        if asked:
            self.sheet.write_unfilled(list(missing.values()))
            if missing:
                raise self.sheet.waiting_error(len(missing), "filled forms" if len(missing) > 1 else "filled form")

        def decide(_: int, row: Any) -> list[Outcome]:
            return [self._outcome(row, filled.get(_line(row).key))]

        notes = {"by_people": people, "by_draft": len(table) - people}
        return GatherStream(outcome_pieces(table, _FORM, decide), notes=notes)

    def _outcome(self, row: Fact[IntakeForm], cells: Mapping[str, str] | None) -> Outcome:
        form = row.payload
        if cells is not None:
            if yes_or_no(cells[_FIT_COLUMN]) is False:
                return Dropped("not_fit")
            form = IntakeForm(chat=form.chat, **{name: cells.get(name, "") for name in FORM_FIELDS})
        elif not form.is_filled():
            return Dropped("no_form")
        fields = form.fields()
        for group, names in self.spec.needed.items():
            if not any(fields[name] for name in names):
                return Dropped("incomplete", f"{group}: {', '.join(names)}")
        produced_by = self.produced_by("draft" if cells is None else "people")
        return Kept(_FORM.child(row, produced_by=produced_by, payload=form))


def _line(row: Fact[IntakeForm]) -> SheetLine:
    return SheetLine({"chat": row.payload.chat}, row.payload.fields())
