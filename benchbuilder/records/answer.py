"""Answers: what a model under evaluation said to an item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from benchbuilder.records.envelope import Row
from benchbuilder.records.item import Item

AnswerOutcome = Literal["complete", "truncated", "empty", "refused", "filtered", "missing"]


class Answer(Row):
    """One answer to one item. `model` is the name that the recipe gives the model.

    The item is its driving parent, or an ancestor, where a model answers in several phases.

    `outcome` is what became of the request: ``complete``, ``truncated`` at the limit of new tokens, ``empty``,
    ``refused`` by the model, ``filtered`` by the service, or ``missing`` where a file of answers has none. An answer
    that holds no text is an answer all the same: it is scored and counted.
    """

    name: ClassVar[str] = "answer"
    identity: ClassVar[tuple[str, ...]] = ("model", "text")

    model: str
    text: str
    outcome: AnswerOutcome = "complete"

    def item_among(self, items: Mapping[str, Item[Any]]) -> Item[Any]:
        """The item of `items` (by id) that it answers; KeyError if it is not among them."""
        for parent in self.parents:
            if parent in items:
                return items[parent]
        raise KeyError(self.id)
