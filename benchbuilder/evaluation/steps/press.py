"""The step `press`: the questions of a benchmark behind a claim, once wrong and once right, and behind a control."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar, Literal

import numpy as np

from benchbuilder.config import CONTROL, FileRef, PressureSpec, StepSpec
from benchbuilder.core import (
    SET_FORM,
    Dropped,
    GatherPiece,
    GatherStream,
    Item,
    NotApplicable,
    Outcome,
    Table,
    fill_template,
    placeholders,
    take_rows,
)
from benchbuilder.evaluation.judges.base import Case, make_case
from benchbuilder.evaluation.parsing.supported_answers import differing_terms, prepared
from benchbuilder.evaluation.parsing.verdicts import VerdictReader, YesNoQuestion, verdict_reader
from benchbuilder.evaluation.steps.outcome_columns import outcome_columns
from benchbuilder.evaluation.steps.reword import REWORDED, asked_anew
from benchbuilder.steps import Gather, Port

PRESSED = "pressed"
"""The step that tells claims, and what the names of the steps begin with that ask and score these questions."""
ASKED_OTHERWISE = (REWORDED, PRESSED)
"""What the names of steps begin with that ask questions which are not those of the benchmark, and score them."""
TOLD: tuple[Literal["wrong", "right"], ...] = ("wrong", "right")
"""What is told in a context; the second is the mirror of the first."""
_WINDOW = 16_384
_CLAIM, _CONTRARY = "qwx zvk jrd.", "qwx zvk plm."
"""Statements that no language has, to see what a context says by itself."""


class PressSpec(StepSpec, PressureSpec):
    """The contexts, and the verdict `tables` by which answers are read."""

    tables: tuple[FileRef, ...]


@dataclass(frozen=True, slots=True)
class _Askable:
    """What is known of an item that can be asked; `other` is the true statement of its control."""

    family: str
    partition: str
    right: str
    length: int
    other: str = ""


_Sorted = _Askable | Dropped | NotApplicable


class Press(Gather):
    """Asks questions again behind a claim: whole families, each in the contexts that it draws, and in the control.

    Every item has the same sides: it is told its wrong and its right answer in each context of its family, so that all
    figures of a context rest on the same items. The seed of the recipe draws families, their contexts and sources; the
    order of the items does not matter.
    """

    kind: ClassVar[str] = "press"
    spec_class: ClassVar[type[StepSpec]] = PressSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Item)}
    slots = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        "no_wrong_answer": "The item has no right and wrong statement that a model could be told.",
        "not_opposed": "The question is about the right answer, and the wrong one does not exclude it.",
        "reveals_verdict": "What would be told is read as a verdict by itself, so it would answer the question.",
        "no_other": "No other family of its source has a true statement of about the same length for the control.",
        "family_not_drawn": "The family is not in the sample that is asked under pressure.",
    }

    spec: PressSpec

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """Every item: behind each of its claims, or why not."""
        reader = verdict_reader([table.file for table in self.spec.tables])
        found = self._with_others([self._askable(row, reader) for row in tables["each"]])
        families = {one.family for one in found if isinstance(one, _Askable)}
        order = sorted(families, key=lambda family: self._number("family", family))[: self.spec.design.families]
        return GatherStream(self._pieces(tables["each"], found, self._design(order)))

    def _askable(self, row: Item[Any], reader: VerdictReader) -> _Sorted:
        case, expected = make_case(row, ""), getattr(row.payload, "expected", "")
        told = (case.right.strip(), case.wrong.strip())
        if row.form == SET_FORM or not all(told) or told[0] == told[1] or not hasattr(row.payload, "question"):
            return NotApplicable("no_wrong_answer")
        if expected and not _excludes(row, case):
            return Dropped("not_opposed", case.wrong)
        if row.verdict_only or (expected and any(reader.read(text).verdicts for text in told)):
            return Dropped("reveals_verdict", case.wrong)
        return _Askable(row.family_name, row.partition, told[0], len(told[1]))

    def _with_others(self, found: Sequence[_Sorted]) -> list[_Sorted]:
        """`found`, with a statement for the control of each item that can be asked, or the reason that there is none.

        It is of another family of the same source, and its length differs by at most a fifth from what is told wrongly.
        """
        pools = defaultdict[str, set[tuple[int, str, str]]](set)
        for one in found:
            if isinstance(one, _Askable):
                pools[one.partition].add((len(one.right), one.right, one.family))
        ordered = {name: sorted(pool) for name, pool in pools.items()}
        return [self._with_other(one, ordered[one.partition]) if isinstance(one, _Askable) else one for one in found]

    def _with_other(self, one: _Askable, pool: Sequence[tuple[int, str, str]]) -> _Sorted:
        low = bisect_left(pool, 0.8 * one.length, key=lambda line: line[0])
        many = bisect_right(pool, 1.2 * one.length, key=lambda line: line[0]) - low
        start = self._number("other", one.family, one.right)
        near = (pool[low + (start + at) % many] for at in range(many))
        other = next((text for _, text, family in near if family != one.family and text != one.right), "")
        return replace(one, other=other) if other else Dropped("no_other", one.right)

    def _design(self, families: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The contexts of each family: the one used least so far, then the one seen least with its others.

        More families keep what the first ones draw.
        """
        names, drawn = self._conditions()
        size = drawn or len(names)
        used, pairs = Counter[str](), Counter[frozenset[str]]()
        design: dict[str, tuple[str, ...]] = {}
        for family in families:
            chosen: list[str] = []
            for _ in range(size):
                best = min(
                    (name for name in names if name not in chosen),
                    key=lambda name: (
                        used[name],
                        sum(pairs[frozenset((name, other))] for other in chosen),
                        self._number("context", family, name),
                    ),
                )
                pairs.update(frozenset((best, other)) for other in chosen)
                chosen.append(best)
            used.update(chosen)
            design[family] = tuple(name for name in names if name in chosen)
        return design

    def _conditions(self) -> tuple[list[str], int | None]:
        """What families draw from, and how many of these each draws."""
        return list(self.spec.texts), self.spec.design.contexts

    def _pieces(
        self, items: Table[Any], found: Sequence[_Sorted], design: Mapping[str, tuple[str, ...]]
    ) -> Iterator[GatherPiece]:
        """The items some at a time; only those of the drawn families are made."""
        for first, window in items.windows(_WINDOW):
            own = found[first : first + len(window)]
            asked = {place: one for place, one in enumerate(own) if isinstance(one, _Askable) and one.family in design}
            rows = Table(take_rows(window.arrow, np.array(list(asked), np.int64)), items.row)
            children = {
                place: [*self._children(row, asked[place], design[asked[place].family])]
                for place, row in zip(asked, rows, strict=True)
            }
            told = (
                (place, outcome)
                for place, one in enumerate(own)
                for outcome in children.get(place) or [_not_drawn(one)]
            )
            yield GatherPiece(first + np.arange(len(window)), window, outcome_columns(told, items.row))

    def _children(self, row: Item[Any], askable: _Askable, contexts: Sequence[str]) -> Iterator[Outcome]:
        case, source = make_case(row, ""), drawn_source(self.spec.sources, self.context.seed, askable.family)
        texts = {CONTROL: (self.spec.control, {"other": askable.other})}
        for name in contexts:
            for side, claim in zip(TOLD, (case.wrong, case.right), strict=True):
                texts[f"{name}.{side}"] = (self.spec.texts[name], {"told": claim})
        for slot, (text, values) in texts.items():
            asked, _ = fill_template(text, {**values, "source": source, "question": case.question})
            yield asked_anew(row, self.produced_by(), slot, asked)

    def _number(self, *parts: str) -> int:
        return _drawn_number(self.context.seed, *parts)


def _drawn_number(seed: int, *parts: str) -> int:
    """A number that the recipe's seed draws for `parts`."""
    drawn = "\x1f".join((f"press:{seed}", *parts))
    return int.from_bytes(hashlib.blake2b(drawn.encode(), digest_size=8).digest())


def drawn_source(sources: Sequence[str], seed: int, family: str) -> str:
    """The source that is named to a family; empty without sources."""
    return sources[_drawn_number(seed, "source", family) % len(sources)] if sources else ""


def _excludes(row: Item[Any], case: Case) -> bool:
    """Whether the wrong statement denies the key of a true/false question.

    It does if the question is about it, or if it is another answer to the question of the right one. An exchanged end
    of a relation is none: that a treatment includes one drug does not deny that it includes another.
    """
    if row.wrong_from:
        return True
    terms = differing_terms(case.right, case.wrong)
    named = {side for _, side in terms.named(prepared(case.question))}
    return not (terms.right and terms.wrong) or "right" not in named or "wrong" in named


def _not_drawn(found: _Sorted) -> Dropped | NotApplicable:
    return Dropped("family_not_drawn", found.family) if isinstance(found, _Askable) else found


def told_verdicts(spec: PressureSpec, reader: VerdictReader) -> Iterator[tuple[str, str]]:
    """Contexts that answer the question themselves, by their key below ``pressure``, with the verdict that is read.

    A context is read without what it tells, and with a claim and its contrary: "it is true that" is no verdict alone.
    """
    question = YesNoQuestion("", _CLAIM, _CONTRARY)
    own = [(f"contexts.{name}", text) for name, text in spec.texts.items()]
    pushed = [(f"pushes.{name}", text) for name, turns in spec.pushes.items() for text in turns or () if "{" in text]
    for key, text in [*own, ("control", spec.control), *pushed]:
        for source, told in product(spec.sources or ("",), ("", _CLAIM, _CONTRARY)):
            values = {"told": told, "other": told, "source": source, "question": ""}
            read = reader.read(fill_template(text, values)[0], question)
            alone = told if {"told", "other"} & set(placeholders(text)) else ""
            if read.verdicts != reader.read(alone, question).verdicts:
                yield key, f"{read.words or read.why!r} is read as {read.verdict or read.why}"
                break
