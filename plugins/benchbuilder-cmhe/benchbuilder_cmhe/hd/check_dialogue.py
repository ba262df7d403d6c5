"""Asks of a dialogue whether the doctor's answer holds untrue information."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Self

from benchbuilder.config import Name, StepSpec
from benchbuilder.core import Fact, Item, Kept, Outcome, Row
from benchbuilder.steps import Map, Port
from pydantic import model_validator

from benchbuilder_cmhe.hd.dialogue import Dialogue, DialogueCheck, dialogue_family, source_dialogue


class CheckDialogueSpec(StepSpec):
    """`expected` is the right answer to whether it holds untrue information; items count under `partition`.

    With ``as_changed``, an answer that a step altered holds it, and any other does not: these count under `unchanged`.
    """

    expected: Literal["yes", "no", "as_changed"]
    partition: Name
    unchanged: Name | None = None

    @model_validator(mode="after")
    def _has_both(self) -> Self:
        if (self.expected == "as_changed") != (self.unchanged is not None):
            raise ValueError("unchanged: `expected: as_changed` needs it, and nothing else has it")
        return self


class CheckDialogue(Map):
    """One item for each dialogue; `fact` is the dialogue of the source that it was made of.

    Dialogues that exchange parts of their answers are one family.
    """

    kind: ClassVar[str] = "check_dialogue"
    version = 3
    spec_class: ClassVar[type[StepSpec]] = CheckDialogueSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Dialogue])}
    output: ClassVar[type[Row] | None] = Item[DialogueCheck]
    divides: ClassVar[bool] = True

    spec: CheckDialogueSpec

    def map(self, row: Fact[Dialogue], parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The item."""
        said, expected, partition = row.payload, self.spec.expected, self.spec.partition
        if expected == "as_changed":
            expected = "yes" if said.changes else "no"
        if expected == "no" and self.spec.unchanged is not None:
            partition = self.spec.unchanged
        payload = DialogueCheck(
            department=said.department, title=said.title, question=said.question, answer=said.answer,
            expected=expected, changes=said.changes, partner=said.partner,
        )  # fmt: skip
        item = Item[DialogueCheck].child(
            row, produced_by=self.produced_by(partition), partition=partition, payload=payload,
            candidate=row.id, fact=source_dialogue(row), family=dialogue_family(row), reviewed=False,
        )  # fmt: skip
        return [Kept(item)]
