"""The step `reword`: a sample of the true/false questions, each in several wordings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from benchbuilder.config import StepSpec, WordingsSpec
from benchbuilder.core import DataError, Dropped, GatherResult, Item, Kept, NotApplicable, Outcome, Table
from benchbuilder.steps import Gather, Port

REWORDED = "reworded"
"""The step that words questions anew, and what the names of the steps begin with that ask and score these."""


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

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        """Every item: worded anew, or why not. DataError if no question fits every wording."""
        rows: list[Item[Any]] = list(tables["each"])
        questions = {row.id: question for row in rows if (question := _yes_no_question(row))}
        worded = {name: texts for name, question in questions.items() if (texts := self._worded(question)) is not None}
        if questions and not worded:
            raise DataError(
                "no question can be asked in every wording", where="evaluation.wordings",
                why=f"no frame fits any of {len(questions):,} true/false questions, and a sentence needs their claim",
                next="add a frame that fits, or remove the sentences with {claim}: "
                     "evaluation.wordings.sentences.NAME=null",
            )  # fmt: skip
        drawn = self._drawn({row.family_name for row in rows if row.id in worded})
        outcomes: list[tuple[str, list[Outcome]]] = []
        for row in rows:
            if row.id not in questions:
                outcomes.append((row.id, [NotApplicable("no_verdict_asked")]))
            elif row.id not in worded:
                outcomes.append((row.id, [Dropped("no_claim", questions[row.id])]))
            elif row.family_name not in drawn:
                outcomes.append((row.id, [Dropped("family_not_drawn", row.family_name)]))
            else:
                outcomes.append((row.id, list(self._children(row, worded[row.id]))))
        return GatherResult(outcomes)

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

    def _children(self, row: Item[Any], texts: Mapping[str, str]) -> Iterator[Outcome]:
        for name, text in texts.items():
            payload = row.payload.model_copy(update={"question": text, "context": ""})
            for repeat in range(1, self.spec.repeats + 1):
                slot = f"{name}.{repeat}"
                yield Kept(
                    type(row).child(
                        row, produced_by=self.produced_by(), slot=slot, payload=payload, candidate=row.candidate,
                        fact=row.fact, family=row.family, reviewed=row.reviewed, form=row.form,
                        wrong_from=row.wrong_from, verdict_only=row.verdict_only, tags=row.tags,
                    ),
                    slot,
                )  # fmt: skip


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
    """How often an item was asked before in the same words: 0 unless it was worded anew for several repeats."""
    return wording_of(item.slot)[1] if item.produced_by.rule == Reword.kind else 0


def _yes_no_question(item: Item[Any]) -> str:
    """The question with its context; empty if the item has no known verdict, or shows no question."""
    payload = item.payload
    if getattr(payload, "expected", "") not in ("yes", "no") or not hasattr(payload, "question"):
        return ""
    return f"{getattr(payload, 'context', '')}{payload.question}"
