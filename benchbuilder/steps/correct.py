"""The step `correct`: fixes or withdraws candidates as the log of errata says."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from benchbuilder.config import FileRef, KeyedByStep, StepSpec, display_path
from benchbuilder.core import (
    Candidate,
    DataError,
    Dropped,
    FilterResult,
    FrozenModel,
    GatherStream,
    Table,
    combined_column,
    constant_column,
    decided_pieces,
    raise_row_errors,
    read_row_file,
)
from benchbuilder.steps.base import Gather, Port

_compute: Any = pc


class CorrectSpec(StepSpec):
    """Where the errata of the benchmark are."""

    errata: Annotated[FileRef | None, KeyedByStep()] = None
    """The log that ``benchbuild errata`` writes (``.jsonl``); ``null``: there is none. Its decisions in force are part
    of the key. Reports without a decision are not."""


class Correct(Gather):
    """Follows the decisions about errata, so that a fix survives every later build.

    A candidate is found by its texts and its verdict, whatever its id. A fixed one is a child of the former and has a
    new id. So people judge it anew, and models are asked about it anew. If a candidate is withdrawn, the rest of its
    family is dropped too: what is left of a family tells something about its verdicts. All others are kept as they are.
    """

    kind: ClassVar[str] = "correct"
    spec_class: ClassVar[type[StepSpec]] = CorrectSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Candidate)}
    reasons: ClassVar[Mapping[str, str]] = {
        "withdrawn": "An erratum withdraws the question.",
        "family_incomplete": "An erratum withdraws another question of its family.",
    }

    spec: CorrectSpec

    @cached_property
    def _corrections(self) -> Corrections:
        return Corrections(() if self.spec.errata is None else read_errata(self.spec.errata.file).values())

    def fingerprint(self) -> Mapping[str, str]:
        """The decisions in force, if there are any."""
        return {"the decisions about errata": self._corrections.digest()} if self._corrections.errata else {}

    def gather(self, tables: Mapping[str, Table[Any]]) -> FilterResult | GatherStream:
        """Every candidate: as it was, fixed, or dropped."""
        table = tables["each"]
        if not self._corrections.errata:
            return FilterResult([None] * len(table), constant_column("", len(table)))
        decided: dict[int, Candidate | Dropped] = {}
        lost: dict[str, str] = {}
        used = set[str]()
        for place, row in self._named_rows(table):
            corrected = self._corrections.apply(ItemTexts.of(row))
            used.update(corrected.errata)
            if corrected.texts is None:
                lost.setdefault(row.family or row.fact, corrected.errata[-1])
                decided[place] = Dropped("withdrawn", corrected.errata[-1])
            elif corrected.texts != ItemTexts.of(row):
                decided[place] = self._fixed(row, corrected.texts)
        for place, family in _rows_of_families(table, lost):
            if not isinstance(decided.get(place), Dropped):
                decided[place] = Dropped("family_incomplete", lost[family])
        notes = {
            "errata": sorted(used),
            "errata_of_other_items": sorted({e.id for e in self._corrections.errata} - used),
        }
        return GatherStream(decided_pieces(table, decided), notes=notes)

    def _named_rows(self, table: Table[Any]) -> Iterator[tuple[int, Candidate]]:
        """The candidates with the question of an erratum, and their positions."""
        questions = pa.array(sorted({erratum.before.question for erratum in self._corrections.errata}), pa.string())
        start = 0
        for batch in table.batches():
            mask: Any = _compute.is_in(combined_column(batch, "question"), value_set=questions)
            places = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
            yield from zip((start + places).tolist(), Table(batch.filter(mask), table.row), strict=True)
            start += batch.num_rows

    def _fixed(self, row: Candidate, texts: ItemTexts) -> Candidate:
        """The candidate with other texts. No check of a step before holds for them."""
        kept = ("fact", "family", "negated", "form", "wrong_from", "verdict_only", "tags")
        fields: dict[str, Any] = {name: getattr(row, name) for name in kept} | texts.model_dump()
        if row.asked in texts.question:
            fields["asked"] = row.asked
        return Candidate.child(row, produced_by=self.produced_by(), **fields)


def _rows_of_families(table: Table[Any], families: Collection[str]) -> Iterator[tuple[int, str]]:
    """The positions of the candidates of some families, each with its family."""
    wanted = pa.array(sorted(families), pa.string())
    start = 0
    for batch in table.batches(["fact", "family"]):
        fact, family = (combined_column(batch, name) for name in ("fact", "family"))
        own = _compute.if_else(_compute.equal(family, ""), fact, family)
        mask = _compute.is_in(own, value_set=wanted)
        places = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
        yield from zip((start + places).tolist(), own.filter(mask).to_pylist(), strict=True)
        start += batch.num_rows


ErratumKind = Literal["wrong_key", "ambiguous", "outdated", "leak", "text"]
ErratumDecision = Literal["", "fix_key", "fix_text", "withdraw", "reject"]
ErratumState = Literal["open", "decided", "rejected", "released"]
ITEM_FIELDS = ("type", "expected", "context", "question", "answer", "answer_wrong")
"""What makes an item the one that it is, for the log: its texts and its verdict."""


class ItemTexts(FrozenModel):
    """The texts of an item, and the verdict of a true/false question."""

    type: str
    expected: str = ""
    context: str = ""
    question: str
    answer: str
    answer_wrong: str

    @classmethod
    def of(cls, row: Any) -> ItemTexts:
        """Those of a candidate, of a payload, or of another row with these fields."""
        return cls(**{name: getattr(row, name) for name in ITEM_FIELDS})

    @property
    def key(self) -> tuple[str, ...]:
        """What answers are held against: the verdict, or the right and the wrong answer."""
        return (self.expected,) if self.type == "tf" else (self.answer, self.answer_wrong)


class Erratum(FrozenModel):
    """A line of the log: one report of an error in one item, as far as it has come.

    `item` is the id of the item in the release `version` (empty: in a build). `who` reported it on the day `when`.
    `state` is ``open``; ``decided`` (builds follow the decision); ``released`` (as a part of the version `released`);
    or ``rejected``. `by` decided it on the day `decided`, because of `reason`, which is published. `before` has the
    texts of the item, `after` those of a fixed one. `who`, `by` and `text` are never published.
    """

    id: str
    item: str
    task: str = ""
    version: str = ""
    who: str = ""
    when: str
    kind: ErratumKind
    text: str
    state: ErratumState = "open"
    decision: ErratumDecision = ""
    by: str = ""
    decided: str = ""
    reason: str = ""
    before: ItemTexts
    after: ItemTexts | None = None
    released: str = ""

    @property
    def is_in_force(self) -> bool:
        """Whether builds follow its decision."""
        return self.state in ("decided", "released") and self.decision != "reject"


def read_errata(path: Path) -> dict[str, Erratum]:
    """The errata of a log as they are now, by id, in the order of their last changes.

    The last line of an erratum counts. Errata that were released stand before those that are decided.

    Raises:
        DataError: The file is missing or unreadable, or lines of it are no errata; with all such lines.
    """
    errata: dict[str, Erratum] = {}
    problems: list[str] = []
    for line, row in _rows(path):
        try:
            erratum = Erratum.model_validate(row)
        except ValidationError as error:
            fault = error.errors()[0]
            problems.append(f"{display_path(path)}:{line}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}")
            continue
        if fault := _fault(erratum):
            problems.append(f"{display_path(path)}:{line}: {fault}")
        errata.pop(erratum.id, None)
        errata[erratum.id] = erratum
    raise_row_errors(problems, "the log of errata has lines that cannot be used",
                     "correct them, or take them back from version control")  # fmt: skip
    return errata


def _rows(path: Path) -> Iterable[tuple[int, Mapping[str, Any]]]:
    if not path.is_file():
        raise DataError(
            f"{display_path(path)} does not exist",
            where="errata of the step that corrects",
            why="the log of errata is named by the recipe, and decisions in it may not be left out silently",
            next="correct the path, or begin a log: benchbuild errata add",
        )
    if path.suffix != ".jsonl":
        raise DataError(f"{display_path(path)} is no log of errata", where=display_path(path),
                        why="its name does not end in .jsonl", next="name it errata.jsonl")  # fmt: skip
    return read_row_file(path)


def _fault(erratum: Erratum) -> str:
    if erratum.is_in_force and not erratum.decision:
        return f"{erratum.id} is {erratum.state} without a decision"
    if erratum.is_in_force and (erratum.after is None) != (erratum.decision == "withdraw"):
        return f"{erratum.id} needs the texts of the fixed item in `after`, or none if it is withdrawn"
    return ""


@dataclass(frozen=True)
class CorrectedItem:
    """What the errata in force make of an item: the ids that changed it, and its texts (``None``: withdrawn)."""

    errata: tuple[str, ...]
    texts: ItemTexts | None


class Corrections:
    """The decisions in force, in the order in which they were made."""

    def __init__(self, errata: Iterable[Erratum]) -> None:
        self.errata = tuple(erratum for erratum in errata if erratum.is_in_force)
        self._places: defaultdict[ItemTexts, list[int]] = defaultdict(list)
        for place, erratum in enumerate(self.errata):
            self._places[erratum.before].append(place)

    def apply(self, texts: ItemTexts) -> CorrectedItem:
        """What becomes of an item: each decision that fits is followed once, in order."""
        used: list[int] = []
        current = texts
        while True:
            place = next((place for place in self._places.get(current, ()) if not used or place > used[-1]), None)
            if place is None:
                return CorrectedItem(tuple(self.errata[place].id for place in used), current)
            used.append(place)
            after = self.errata[place].after
            if after is None:
                return CorrectedItem(tuple(self.errata[place].id for place in used), None)
            current = after

    def digest(self) -> str:
        """A hash of what the decisions change; without people, reasons and dates."""
        changes = [[e.id, e.before.model_dump(), e.after and e.after.model_dump()] for e in self.errata]
        return hashlib.sha256(json.dumps(changes, ensure_ascii=False, sort_keys=True).encode()).hexdigest()
