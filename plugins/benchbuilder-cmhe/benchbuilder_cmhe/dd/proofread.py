"""Has people proofread the codes of cases, and makes the cases into items."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from benchbuilder.config import FileRef, KindSpec, RuntimeOption, Slot, StepSpec
from benchbuilder.core import (
    Dropped,
    Fact,
    GatherStream,
    Item,
    Kept,
    Outcome,
    Row,
    StepContext,
    Table,
    outcome_pieces,
    to_half_width,
)
from benchbuilder.steps import Gather, Port

from benchbuilder_cmhe.dd.case import Diagnosis, PatientCase
from benchbuilder_cmhe.dd.classification import Classification, ClassificationSpec, open_classification
from benchbuilder_cmhe.dd.code_case import coded_diagnosis
from benchbuilder_cmhe.dd.names import CodeMatch
from benchbuilder_cmhe.dd.sheets import SheetColumn, SheetLine, StepSheet, raise_problems, yes_or_no

_ITEM = Item[PatientCase]
_CODES = re.compile(r"[\s;；,，、]+")
_DISPLAY_COLUMNS = ("text", "name", "code", "entry", "category", "how")
_COLUMNS_TO_FILL = ("right", "correct")


class ProofreadSpec(StepSpec):
    """Who proofreads, and what. Where the recipe's `votes` are by nobody, codes stay as they were found.

    `per` says what is asked about: each ``name`` with its code once, or each ``case`` with its text. `sheet` is a
    filled sheet (or a folder of them) that the recipe ships; `labels` are the headings of the columns.
    """

    classification: ClassificationSpec
    votes: Annotated[KindSpec | None, Slot("annotation", inherit="annotation")] = None
    per: Literal["name", "case"]
    sheet: FileRef | None = None
    labels: Annotated[dict[str, str], RuntimeOption()] = {}


class Proofread(Gather):
    """Items of cases whose codes people have confirmed or corrected.

    A row of the sheet is ``right`` (1), or wrong (0) with the ``correct`` codes beside it; with none, there is no code
    for it and the diagnosis goes. While rows are missing, the sheet is written and the build waits.
    """

    kind: ClassVar[str] = "proofread"
    version = 2
    spec_class: ClassVar[type[StepSpec]] = ProofreadSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[PatientCase])}
    output: ClassVar[type[Row] | None] = _ITEM
    reasons: ClassVar[Mapping[str, str]] = {
        "no_code_left": "People found that none of its diagnoses has a code.",
        "uncoded": "A diagnosis has no code, and nobody proofreads.",
    }

    spec: ProofreadSpec

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        shown = [
            SheetColumn(name, self.spec.labels.get(name, name), is_wide=name == "text")
            for name in _DISPLAY_COLUMNS
            if name != "text" or self.spec.per == "case"
        ]
        filled = [SheetColumn(name, self.spec.labels.get(name, name), is_for_people=True) for name in _COLUMNS_TO_FILL]
        self.sheet = StepSheet(context.step, context.workplace, [*shown, *filled], "right", self.spec.sheet)

    def external_inputs(self) -> Mapping[str, str]:
        """Hashes of the filled sheets, if anybody fills them."""
        return self.sheet.external_inputs() if self._is_reviewed_by_people() else {}

    def _is_reviewed_by_people(self) -> bool:
        return self.spec.votes is not None and self.spec.votes.kind != "none"

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """Items; WaitingForPeople with the number of rows that are not filled."""
        table, is_reviewed = tables["each"], self._is_reviewed_by_people()
        read = self.sheet.read() if is_reviewed else {}
        found, shown, missing = Counter[str](), dict[str, SheetLine](), dict[str, SheetLine]()
        for row in table:
            found.update(diagnosis.how or "none" for diagnosis in row.payload.diagnoses)
            for line in self._sheet_lines(row.payload) if is_reviewed else ():
                key = line.key
                (shown if key in read else missing)[key] = line
        notes: dict[str, Any] = {"reviewed": is_reviewed, "found": dict(sorted(found.items()))}

        def undecided(_: int, row: Any) -> list[Outcome]:
            return [self._unreviewed_outcome(row)]

        if not is_reviewed:
            return GatherStream(outcome_pieces(table, _ITEM, undecided), notes=notes)
        known = open_classification(self.spec.classification)
        filled = {key: cells for key, cells in read.items() if key in shown}
        self.sheet.write_unfilled(list(missing.values()))
        if missing:
            raise self.sheet.waiting_error(len(missing), "proofread codes" if len(missing) > 1 else "proofread code")
        decided = self._decisions(filled, shown, known)

        def decide(_: int, row: Any) -> list[Outcome]:
            return [self._reviewed_outcome(row, decided, known)]

        notes["proofread"] = _count_decisions(decided)
        return GatherStream(outcome_pieces(table, _ITEM, decide), notes=notes)

    def _sheet_lines(self, case: PatientCase) -> list[SheetLine]:
        return [self._sheet_line(case, diagnosis) for diagnosis in case.diagnoses]

    def _sheet_line(self, case: PatientCase, diagnosis: Diagnosis) -> SheetLine:
        shown = {name: getattr(diagnosis, name) for name in _DISPLAY_COLUMNS if name != "text"}
        return SheetLine({"text": case.text, **shown} if self.spec.per == "case" else shown)

    def _decisions(
        self, filled: Mapping[str, Mapping[str, str]], lines: Mapping[str, SheetLine], known: Classification
    ) -> dict[str, tuple[str, ...] | None]:
        """For each row its correct codes; ``None`` where the code is right as it is."""
        decided: dict[str, tuple[str, ...] | None] = {}
        problems: list[str] = []
        for key, cells in filled.items():
            name, right = lines[key].displayed["name"], yes_or_no(cells["right"])
            codes = tuple(
                code[0].upper() + code[1:] for code in _CODES.split(to_half_width(cells.get("correct", ""))) if code
            )
            if right is None:
                problems.append(f"{name}: right is {cells['right']!r}; write 1 or 0")
            if right and codes:
                problems.append(f"{name}: the code is right, but {codes[0]} stands beside it; write 0, or take it away")
            if right and not lines[key].displayed["code"]:
                problems.append(f"{name}: there is no code that could be right; write 0")
            problems += [
                f"{name}: {code!r} is no code of the classification"
                for code in codes if known.hierarchy.place(code) is None
            ]  # fmt: skip
            decided[key] = None if right else codes
        raise_problems(problems)
        return decided

    def _reviewed_outcome(
        self, row: Fact[PatientCase], decisions: Mapping[str, tuple[str, ...] | None], known: Classification
    ) -> Outcome:
        case = row.payload
        kept: list[Diagnosis] = []
        for diagnosis in case.diagnoses:
            codes = decisions[self._sheet_line(case, diagnosis).key]
            if codes is None:
                kept.append(diagnosis)
            else:
                matches = (CodeMatch(code, known.name_of(code), "person") for code in codes)
                kept += [coded_diagnosis(diagnosis.name, match, known) for match in matches]
        if not kept:
            return Dropped("no_code_left", ", ".join(diagnosis.name for diagnosis in case.diagnoses))
        return Kept(self._item(row, case.model_copy(update={"diagnoses": tuple(kept)}), reviewed=True))

    def _unreviewed_outcome(self, row: Fact[PatientCase]) -> Outcome:
        if without := [diagnosis.name for diagnosis in row.payload.diagnoses if not diagnosis.code]:
            return Dropped("uncoded", ", ".join(without))
        return Kept(self._item(row, row.payload, reviewed=False))

    def _item(self, row: Fact[PatientCase], case: PatientCase, *, reviewed: bool) -> Item[PatientCase]:
        produced_by = self.produced_by("reviewed" if reviewed else "unreviewed")
        return _ITEM.child(
            row, produced_by=produced_by, payload=case, candidate=row.id, fact=row.id, family=row.id, reviewed=reviewed
        )


def _count_decisions(decisions: Mapping[str, tuple[str, ...] | None]) -> dict[str, int]:
    return {
        "right": sum(codes is None for codes in decisions.values()),
        "corrected": sum(bool(codes) for codes in decisions.values()),
        "removed": sum(codes == () for codes in decisions.values()),
    }
