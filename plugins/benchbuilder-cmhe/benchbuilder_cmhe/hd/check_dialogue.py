"""Asks of a dialogue whether the doctor's answer holds untrue information."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from benchbuilder.config import Name, StepSpec
from benchbuilder.core import Fact, Item, Kept, Outcome, Row
from benchbuilder.steps import Map, Port

from benchbuilder_cmhe.hd.dialogue import Dialogue, DialogueCheck


class CheckDialogueSpec(StepSpec):
    """`expected` is the right answer to whether it holds untrue information; items count under `partition`."""

    expected: Literal["yes", "no"]
    partition: Name


class CheckDialogue(Map):
    """One item for each dialogue; `fact` is the dialogue of the source that it was made of."""

    kind: ClassVar[str] = "check_dialogue"
    version = 2
    spec_class: ClassVar[type[StepSpec]] = CheckDialogueSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Dialogue])}
    output: ClassVar[type[Row] | None] = Item[DialogueCheck]
    divides: ClassVar[bool] = True

    spec: CheckDialogueSpec

    def map(self, row: Fact[Dialogue], parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The item."""
        said = row.payload
        payload = DialogueCheck(
            department=said.department, title=said.title, question=said.question, answer=said.answer,
            expected=self.spec.expected, changes=said.changes,
        )  # fmt: skip
        item = Item[DialogueCheck].child(
            row, produced_by=self.produced_by(self.spec.partition), partition=self.spec.partition, payload=payload,
            candidate=row.id, fact=row.parents[-1] if row.parents else row.id, reviewed=False,
        )  # fmt: skip
        return [Kept(item)]
