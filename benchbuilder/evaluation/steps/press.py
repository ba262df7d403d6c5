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

from benchbuilder.config import CONTROL, FileRef, PressureSpec, StepSpec, is_afresh
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
from benchbuilder.evaluation.steps.reword import AGAIN, REWORDED, asked_anew
from benchbuilder.steps import Gather, Port

PRESSED = "pressed"
"""The step that tells claims, and what the names of the steps begin with that ask and score these questions."""
ASKED_OTHERWISE = (REWORDED, PRESSED)
"""What the names of steps begin with that ask questions which are not those of the benchmark, and score them."""
TOLD: tuple[Literal["wrong", "right"], ...] = ("wrong", "right")
"""What is told in a context; the second is the mirror of the first."""
_WINDOW, _ASKED_AGAIN, _LONGEST = 256, 50, 2_000
"""Rows at a time; how many built questions are asked again; and how many signs may be told."""
_CLAIM, _CONTRARY = "qwx zvk jrd.", "qwx zvk plm."
"""Statements that no language has, to see what a context says by itself."""


class PressSpec(StepSpec, PressureSpec):
    """The contexts, and the verdict `tables` by which answers are read."""

    tables: tuple[FileRef, ...]


@dataclass(frozen=True, slots=True)
class Askable:
    """What is known of an item that can be asked; `other` is the true statement of its control."""

    id: str
    family: str
    partition: str
    right: str
    length: int
    other: str = ""
    again: bool = False


_Sorted = Askable | Dropped | NotApplicable


class Press(Gather):
    """Asks questions again behind a claim: whole families, each in the contexts that it draws, and in the control.

    Contexts of a guard are asked once more with it, and so is the control. Some questions are asked again as they are.

    Every item has the same sides: it is told its wrong and its right answer in each context of its family, so that all
    figures of a context rest on the same items. The seed of the recipe draws families, their contexts and sources; the
    order of the items does not matter.
    """

    kind: ClassVar[str] = "press"
    version: ClassVar[int] = 2
    spec_class: ClassVar[type[StepSpec]] = PressSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Item)}
    slots = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        "no_wrong_answer": "The item has no right and wrong statement that a model could be told.",
        "not_opposed": "The question is about the right answer, and the wrong one does not exclude it.",
        "reveals_verdict": "What would be told is read as a verdict by itself, so it would answer the question.",
        "no_passage": "The item has no paragraph that a context could quote.",
        "term_not_found": "No paragraph names the right answer by the words in which it differs from the wrong one.",
        "both_terms_in_passage": "Each paragraph that names the right answer names the wrong one too.",
        "told_too_long": "What would be told is longer than 2,000 characters.",
        "no_other": "No other family of its source has a true statement of about the same length for the control.",
        "family_not_drawn": "The family is not in the sample that is asked under pressure.",
    }

    spec: PressSpec

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """Every item: behind each of its claims, or why not."""
        found, order = self._drawn(tables["each"])
        rank = {family: place for place, family in enumerate(order)}
        asked = [one for one in found if isinstance(one, Askable) and one.family in rank]
        first = sorted(asked, key=lambda one: (rank[one.family], one.id))[:_ASKED_AGAIN]
        again = {one.id for one in first}
        found = [replace(one, again=one.id in again) if isinstance(one, Askable) else one for one in found]
        return GatherStream(self._pieces(tables["each"], found, self._design(order)))

    def families_of(self, items: Table[Any]) -> dict[str, Counter[str]]:
        """By the type of the questions, how many of each family are asked under pressure."""
        found, order = self._drawn(items)
        asked, drawn = dict[str, Counter[str]](), set(order)
        for one, row in zip(found, items, strict=True):
            if isinstance(one, Askable) and one.family in drawn:
                asked.setdefault(getattr(row.payload, "type", ""), Counter())[one.family] += 1
        return asked

    def _drawn(self, items: Table[Any]) -> tuple[list[_Sorted], list[str]]:
        """What is known of each item, and the families that are asked, in the order in which they are drawn."""
        reader = verdict_reader([table.file for table in self.spec.tables])
        found = self._with_others([self._askable(row, reader) for row in items])
        families = {one.family for one in found if isinstance(one, Askable)}
        return found, sorted(families, key=lambda family: self._number("family", family))[: self.spec.design.families]

    def _askable(self, row: Item[Any], reader: VerdictReader) -> _Sorted:
        case, expected = make_case(row, ""), getattr(row.payload, "expected", "")
        told = (case.right.strip(), case.wrong.strip())
        if row.form == SET_FORM or not all(told) or told[0] == told[1] or not hasattr(row.payload, "question"):
            return NotApplicable("no_wrong_answer")
        if expected and not _excludes(row, case):
            return Dropped("not_opposed", case.wrong)
        if row.verdict_only or (expected and any(reader.read(text).verdicts for text in told)):
            return Dropped("reveals_verdict", case.wrong)
        return Askable(row.id, row.family_name, row.partition, told[0], len(told[1]))

    def _with_others(self, found: Sequence[_Sorted]) -> list[_Sorted]:
        """`found`, with a statement for the control of each item that can be asked, or the reason that there is none.

        It is of another family of the same source, and its length differs by at most a fifth from what is told wrongly.
        """
        pools = defaultdict[str, set[tuple[int, str, str]]](set)
        for one in found:
            if isinstance(one, Askable):
                pools[one.partition].add((len(one.right), one.right, one.family))
        ordered = {name: sorted(pool) for name, pool in pools.items()}
        return [self._with_other(one, ordered[one.partition]) if isinstance(one, Askable) else one for one in found]

    def _with_other(self, one: Askable, pool: Sequence[tuple[int, str, str]]) -> _Sorted:
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
        size = len(names) if drawn is None else drawn
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
            asked = {place: one for place, one in enumerate(own) if isinstance(one, Askable) and one.family in design}
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

    def _children(self, row: Item[Any], askable: Askable, contexts: Sequence[str]) -> Iterator[Outcome]:
        case = make_case(row, "")
        guards = {name: [guard for guard, own in self.spec.guarded.items() if name in own] for name in contexts}
        for guard in ("", *dict.fromkeys(guard for own in guards.values() for guard in own)):
            asked = self._filled(self.spec.control, askable, case, other=askable.other)
            yield asked_anew(row, self.produced_by(), condition(CONTROL, guard), asked)
        for name in contexts:
            texts = self._told(self.spec.texts[name], askable, case)
            for guard, side in product(("", *guards[name]), TOLD):
                slot = f"{condition(name, guard)}.{side}"
                told = texts if isinstance(texts, Dropped) else asked_anew(row, self.produced_by(), slot, texts[side])
                yield replace(told, slot=slot)
        if askable.again:
            yield asked_anew(row, self.produced_by(), AGAIN, case.question)

    def _told(self, text: str, askable: Askable, case: Case) -> dict[str, str] | Dropped:
        """What is asked by what is told, or why neither side can be."""
        passages: Mapping[str, str] = {}
        if "{passage}" in text:
            found = passages_of(case)
            if isinstance(found, str):
                return Dropped(found, case.right)
            passages = found
        claims = dict(zip(TOLD, (case.wrong, case.right), strict=True))
        texts = {
            side: self._filled(text, askable, case, told=claims[side], passage=passages.get(side, "")) for side in TOLD
        }
        longest = max(map(len, texts.values())) - len(case.question)
        return Dropped("told_too_long", f"{longest:,} characters") if longest > _LONGEST else texts

    def _filled(self, text: str, askable: Askable, case: Case, **values: str) -> str:
        source = drawn_source(self.spec.sources, self.context.seed, askable.family)
        return fill_template(text, {**values, "source": source, "question": case.question})[0]

    def _number(self, *parts: str) -> int:
        return _drawn_number(self.context.seed, *parts)


def _drawn_number(seed: int, *parts: str) -> int:
    """A number that the recipe's seed draws for `parts`."""
    drawn = "\x1f".join((f"press:{seed}", *parts))
    return int.from_bytes(hashlib.blake2b(drawn.encode(), digest_size=8).digest())


def drawn_source(sources: Sequence[str], seed: int, family: str) -> str:
    """The source that is named to a family; empty without sources."""
    return sources[_drawn_number(seed, "source", family) % len(sources)] if sources else ""


def condition(context: str, guard: str) -> str:
    """The name of a context, or of the control, that is asked with a guard.

    >>> condition("guideline", "check"), condition("control", "")
    ('guideline+check', 'control')
    """
    return f"{context}+{guard}" if guard else context


def guard_of(slot: str) -> str:
    """The guard of a question by its slot; empty without one.

    >>> guard_of("guideline+check.wrong"), guard_of("control+check"), guard_of("control")
    ('check', 'check', '')
    """
    return slot.partition("+")[2].partition(".")[0]


def passages_of(case: Case) -> dict[str, str] | str:
    """The first paragraph that names the right answer and not the wrong one, by what is told, or a reason without one.

    On the wrong side, the words of the wrong answer stand in the place of the right one's.
    """
    if not case.evidence:
        return "no_passage"
    terms, found = differing_terms(case.right, case.wrong), "term_not_found"
    for text in case.evidence if terms.right and terms.wrong else ():
        named = terms.named(prepared(text)) if len(prepared(text)) == len(text) else []
        places = [at for at, side in named if side == "right"]
        if places and len(places) == len(named):
            right, wrong = _as_written(terms.right, case.right), _as_written(terms.wrong, case.wrong)
            changed, end = "", 0
            for at in places:
                same = text[at].isupper() == right[0].isupper()
                changed += text[end:at] + (wrong if same else wrong[0].swapcase() + wrong[1:])
                end = at + len(right)
            return {"wrong": changed + text[end:], "right": text}
        found = "both_terms_in_passage" if places else found
    return found


def _as_written(term: str, statement: str) -> str:
    """A term of a statement with the capitals that it has there."""
    at = prepared(statement).find(term)
    return statement[at : at + len(term)] if len(prepared(statement)) == len(statement) and at >= 0 else term


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
    return Dropped("family_not_drawn", found.family) if isinstance(found, Askable) else found


def told_verdicts(spec: PressureSpec, reader: VerdictReader) -> Iterator[tuple[str, str]]:
    """Contexts that answer the question themselves, by their key below ``pressure``, with the verdict that is read.

    A context is read without what it tells, and with a claim and its contrary: "it is true that" is no verdict alone.
    """
    question = YesNoQuestion("", _CLAIM, _CONTRARY)
    own = [(f"contexts.{name}", text) for name, text in spec.texts.items()]
    pushed = [
        (f"pushes.{name}", text)
        for name, turns in spec.pushes.items()
        for text in turns or ()
        if "{" in text and not is_afresh(text)
    ]
    for key, text in [*own, ("control", spec.control), *pushed]:
        for source, told in product(spec.sources or ("",), ("", _CLAIM, _CONTRARY)):
            passage = "" if "{told}" in text else told
            values = {"told": told, "other": told, "passage": passage, "source": source, "question": ""}
            read = reader.read(fill_template(text, values)[0], question)
            alone = told if {"told", "other", "passage"} & set(placeholders(text)) else ""
            if read.verdicts != reader.read(alone, question).verdicts:
                yield key, f"{read.words or read.why!r} is read as {read.verdict or read.why}"
                break
    for name, guard in spec.guards.items():
        if guard is not None and (read := reader.read(guard.system)).verdicts:
            yield f"guards.{name}.system", f"{read.words!r} is read as {read.verdict or read.why}"
