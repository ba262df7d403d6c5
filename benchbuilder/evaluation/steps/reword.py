"""The step `reword`: a sample of the true/false questions, each in several wordings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, ClassVar

import numpy as np

from benchbuilder.config import StepSpec, WordingsSpec
from benchbuilder.core import (
    DataError,
    Dropped,
    GatherPiece,
    GatherStream,
    Item,
    Kept,
    NotApplicable,
    Outcome,
    ProducedBy,
    Table,
    take_rows,
)
from benchbuilder.evaluation.steps.outcome_columns import outcome_columns
from benchbuilder.steps import Gather, Port

REWORDED = "reworded"
"""The step that words questions anew, and what the names of the steps begin with that ask and score these."""
AGAIN = "again.2"
"""The slot of a built question that is asked a second time, to see which answers change by themselves."""
_WINDOW = 16_384
_KEPT_FIELDS = ("candidate", "fact", "family", "reviewed", "form", "wrong_from", "verdict_only", "tags")
_NO_VERDICT = NotApplicable("no_verdict_asked")


class RewordSpec(StepSpec, WordingsSpec):
    """The wordings, and how many item families are asked."""


class Reword(Gather):
    """Words the questions of some item families anew, in each wording as often as it is asked; whole families.

    Only true/false questions whose right verdict is known are asked, and of these the ones that fit every wording. The
    seed of the recipe draws the families. The order of the items does not matter.
    """

    kind: ClassVar[str] = "reword"
    spec_class: ClassVar[type[StepSpec]] = RewordSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Item)}
    slots = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        "no_verdict_asked": "The item is no yes/no question, or which verdict is right is not known.",
        "no_claim": "No frame of evaluation.wordings fits the question, so its claim is not known.",
        "family_not_drawn": "The family is not in the sample that is asked in several wordings.",
    }

    spec: RewordSpec

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """Every item: worded anew, or why not. DataError if no question fits every wording."""
        sorted_out = [self._family_or_reason(row) for row in tables["each"]]
        families = {found for found in sorted_out if isinstance(found, str)}
        unfit = sum(isinstance(found, Dropped) for found in sorted_out)
        if unfit and not families:
            raise DataError(
                "no question can be asked in every wording",
                where="evaluation.wordings",
                why=f"no frame fits any of {unfit:,} true/false questions, and a sentence needs their claim",
                next="add a frame that fits, or remove the sentences with {claim}: "
                "evaluation.wordings.sentences.NAME=null",
            )
        return GatherStream(self._pieces(tables["each"], sorted_out, self._drawn(families)))

    def _family_or_reason(self, row: Item[Any]) -> str | Dropped | NotApplicable:
        """The family of an item that can be asked in every wording, or why it cannot."""
        question = _yes_no_question(row)
        if not question:
            return _NO_VERDICT
        return row.family_name if self._worded(question) is not None else Dropped("no_claim", question)

    def _pieces(
        self, items: Table[Any], sorted_out: Sequence[str | Dropped | NotApplicable], drawn: Set[str]
    ) -> Iterator[GatherPiece]:
        """The items some at a time; only those of the drawn families are made."""
        for first, window in items.windows(_WINDOW):
            found = sorted_out[first : first + len(window)]
            places = [place for place, family in enumerate(found) if isinstance(family, str) and family in drawn]
            asked = zip(places, Table(take_rows(window.arrow, np.array(places, np.int64)), items.row), strict=True)
            children = {place: list(self._children(row)) for place, row in asked}
            told = ((place, outcome) for place, one in enumerate(found)
                    for outcome in (children[place] if place in children else [_not_drawn(one)]))  # fmt: skip
            yield GatherPiece(first + np.arange(len(window)), window, outcome_columns(told, items.row))

    def _worded(self, question: str) -> dict[str, str] | None:
        """The question in each wording; None if its claim is needed and not known."""
        claim = claim_of(question, self.spec.frames)
        texts: dict[str, str] = {}
        for name, sentence in self.spec.sentences.items():
            if sentence is None:
                continue
            if "{claim}" in sentence and not claim:
                return None
            texts[name] = sentence.replace("{question}", question).replace("{claim}", claim)
        return texts

    def _drawn(self, families: set[str]) -> set[str]:
        def key(family: str) -> bytes:
            return hashlib.blake2b(f"reword:{self.context.seed}:{family}".encode(), digest_size=16).digest()

        return set(sorted(families, key=key)[: self.spec.families])

    def _children(self, row: Item[Any]) -> Iterator[Outcome]:
        for name, text in (self._worded(_yes_no_question(row)) or {}).items():
            for repeat in range(1, self.spec.repeats + 1):
                yield asked_anew(row, self.produced_by(), f"{name}.{repeat}", text)


def asked_anew(row: Item[Any], produced_by: ProducedBy, slot: str, question: str) -> Kept:
    """An item with another question, a child of the built one, whose context is part of the question."""
    fields = {name: getattr(row, name) for name in _KEPT_FIELDS}
    payload = row.payload.model_copy(update={"question": question, "context": ""})
    return Kept(type(row).child(row, produced_by=produced_by, slot=slot, payload=payload, **fields), slot)


def _not_drawn(found: str | Dropped | NotApplicable) -> Dropped | NotApplicable:
    return Dropped("family_not_drawn", found) if isinstance(found, str) else found


def claim_of(question: str, frames: tuple[str, ...]) -> str:
    """What a question asks about, by the first frame that fits; empty if none does.

    >>> claim_of("Is this true? “Venus is a planet.”", ("Is this true? “{claim}”",))
    'Venus is a planet.'
    """
    for frame in frames:
        before, _, after = frame.partition("{claim}")
        if question.startswith(before) and question.endswith(after) and len(question) > len(before) + len(after):
            return question[len(before) : len(question) - len(after)]
    return ""


def wording_of(slot: str) -> tuple[str, int]:
    """The wording and the repeat (from 0) of a question that was worded anew, by its slot.

    >>> wording_of("plain.2")
    ('plain', 1)
    """
    name, _, repeat = slot.rpartition(".")
    return name, int(repeat) - 1


def earlier_repeats(item: Item[Any]) -> int:
    """How often an item was asked before in the same words: 0 unless its slot says which repeat it is."""
    return wording_of(item.slot)[1] if item.produced_by.rule == Reword.kind or item.slot == AGAIN else 0


def _yes_no_question(item: Item[Any]) -> str:
    """The question with its context; empty if the item has no known verdict, or shows no question."""
    payload = item.payload
    if getattr(payload, "expected", "") not in ("yes", "no") or not hasattr(payload, "question"):
        return ""
    return f"{getattr(payload, 'context', '')}{payload.question}"
