"""Has people proofread the codes of cases, and makes the cases into items."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from benchbuilder.config.spec.base import FileRef, KindSpec, Knob, Slot, StepSpec
from benchbuilder.core.context import Context
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Fate, Gathered, Kept
from benchbuilder.core.records.payloads import Fact, Item
from benchbuilder.core.records.row import Row
from benchbuilder.core.text.normalise import narrow
from benchbuilder.steps.base import Gather, Port

from benchbuilder_cmhe.dd.case import Case, Diagnosis
from benchbuilder_cmhe.dd.classification import Classification, ClassificationSpec, open_classification
from benchbuilder_cmhe.dd.code_case import diagnosed
from benchbuilder_cmhe.dd.names import Match
from benchbuilder_cmhe.dd.sheets import Sheet, SheetColumn, SheetLine, refuse, yes_or_no

_ITEM = Item[Case]
_CODES = re.compile(r"[\s;；,，、]+")
_SHOWN = ("text", "name", "code", "entry", "category", "how")
_FILLED = ("right", "correct")


class ProofreadSpec(StepSpec):
    """Who proofreads, and what. Where the recipe's `votes` are by nobody, codes stay as they were found.

    `per` says what is asked about: each ``name`` with its code once, or each ``case`` with its text. `sheet` is a
    filled sheet (or a folder of them) that the recipe ships; `labels` are the headings of the columns.
    """

    classification: ClassificationSpec
    votes: Annotated[KindSpec | None, Slot("votes", inherit="annotation")] = None
    per: Literal["name", "case"]
    sheet: FileRef | None = None
    labels: Annotated[dict[str, str], Knob()] = {}


class Proofread(Gather):
    """Items of cases whose codes people have confirmed or corrected.

    A row of the sheet is ``right`` (1), or wrong (0) with the ``correct`` codes beside it; with none, there is no code
    for it and the diagnosis goes. While rows are missing, the sheet is written and the build waits.
    """

    kind: ClassVar[str] = "proofread"
    spec_class: ClassVar[type[StepSpec]] = ProofreadSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Case])}
    output: ClassVar[type[Row] | None] = _ITEM
    reasons: ClassVar[Mapping[str, str]] = {
        "no_code_left": "People found that none of its diagnoses has a code.",
        "uncoded": "A diagnosis has no code, and nobody proofreads.",
    }

    spec: ProofreadSpec

    def __init__(self, spec: Any, context: Context) -> None:
        super().__init__(spec, context)
        shown = [
            SheetColumn(name, self.spec.labels.get(name, name), wide=name == "text")
            for name in _SHOWN
            if name != "text" or self.spec.per == "case"
        ]
        filled = [SheetColumn(name, self.spec.labels.get(name, name), filled=True) for name in _FILLED]
        self.sheet = Sheet(context.step, context.workplace, [*shown, *filled], "right", self.spec.sheet)

    def observes(self) -> Mapping[str, str]:
        """Hashes of the filled sheets, if anybody fills them."""
        return self.sheet.observes() if self._asked() else {}

    def _asked(self) -> bool:
        return self.spec.votes is not None and self.spec.votes.kind != "none"

    def gather(self, tables: Mapping[str, Table[Any]]) -> Gathered:
        """Items; WaitingForPeople with the number of rows that are not filled."""
        rows: list[Fact[Case]] = list(tables["each"])
        if not self._asked():
            fates = [(row.id, [self._unreviewed(row)]) for row in rows]
            return Gathered(fates, notes={"reviewed": False, "found": _found(rows)})
        known = open_classification(self.spec.classification)
        lines = {line.key: line for row in rows for line in self._lines(row.payload)}
        filled = {key: cells for key, cells in self.sheet.read().items() if key in lines}
        missing = [line for key, line in lines.items() if key not in filled]
        self.sheet.ask(missing)
        if missing:
            raise self.sheet.waiting(len(missing), "proofread codes" if len(missing) > 1 else "proofread code")
        decided = self._decided(filled, lines, known)
        made = [(row.id, [self._reviewed(row, decided, known)]) for row in rows]
        return Gathered(made, notes={"reviewed": True, "found": _found(rows), "proofread": _counted(decided)})

    def _lines(self, case: Case) -> list[SheetLine]:
        return [self._line(case, diagnosis) for diagnosis in case.diagnoses]

    def _line(self, case: Case, diagnosis: Diagnosis) -> SheetLine:
        shown = {name: getattr(diagnosis, name) for name in _SHOWN if name != "text"}
        return SheetLine({"text": case.text, **shown} if self.spec.per == "case" else shown)

    def _decided(
        self, filled: Mapping[str, Mapping[str, str]], lines: Mapping[str, SheetLine], known: Classification
    ) -> dict[str, tuple[str, ...] | None]:
        """For each row its correct codes; ``None`` where the code is right as it is."""
        decided: dict[str, tuple[str, ...] | None] = {}
        problems: list[str] = []
        for key, cells in filled.items():
            name, right = lines[key].shown["name"], yes_or_no(cells["right"])
            codes = tuple(code[0].upper() + code[1:] for code in _CODES.split(narrow(cells.get("correct", ""))) if code)
            if right is None:
                problems.append(f"{name}: right is {cells['right']!r}; write 1 or 0")
            if right and codes:
                problems.append(f"{name}: the code is right, but {codes[0]} stands beside it; write 0, or take it away")
            if right and not lines[key].shown["code"]:
                problems.append(f"{name}: there is no code that could be right; write 0")
            problems += [
                f"{name}: {code!r} is no code of the classification"
                for code in codes if known.hierarchy.place(code) is None
            ]  # fmt: skip
            decided[key] = None if right else codes
        refuse(problems)
        return decided

    def _reviewed(self, row: Fact[Case], decided: Mapping[str, tuple[str, ...] | None], known: Classification) -> Fate:
        case = row.payload
        kept: list[Diagnosis] = []
        for diagnosis in case.diagnoses:
            codes = decided[self._line(case, diagnosis).key]
            if codes is None:
                kept.append(diagnosis)
            else:
                matches = (Match(code, known.called(code), "person") for code in codes)
                kept += [diagnosed(diagnosis.name, match, known) for match in matches]
        if not kept:
            return Dropped("no_code_left", ", ".join(diagnosis.name for diagnosis in case.diagnoses))
        return Kept(self._item(row, case.model_copy(update={"diagnoses": tuple(kept)}), reviewed=True))

    def _unreviewed(self, row: Fact[Case]) -> Fate:
        if without := [diagnosis.name for diagnosis in row.payload.diagnoses if not diagnosis.code]:
            return Dropped("uncoded", ", ".join(without))
        return Kept(self._item(row, row.payload, reviewed=False))

    def _item(self, row: Fact[Case], case: Case, *, reviewed: bool) -> Item[Case]:
        made_by = self.made_by("reviewed" if reviewed else "unreviewed")
        return _ITEM.child(row, made_by=made_by, payload=case, candidate=row.id, fact=row.id, reviewed=reviewed)


def _found(rows: list[Fact[Case]]) -> dict[str, int]:
    """How many diagnoses came to their codes in each way."""
    counts = Counter(diagnosis.how or "none" for row in rows for diagnosis in row.payload.diagnoses)
    return dict(sorted(counts.items()))


def _counted(decided: Mapping[str, tuple[str, ...] | None]) -> dict[str, int]:
    return {
        "right": sum(codes is None for codes in decided.values()),
        "corrected": sum(bool(codes) for codes in decided.values()),
        "removed": sum(codes == () for codes in decided.values()),
    }
