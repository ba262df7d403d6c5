"""Takes the name of a concept out of what a model says about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from benchbuilder.config import StepSpec
from benchbuilder.core import Answer, Item, Kept, Outcome, Row
from benchbuilder.steps import Map, Port

from benchbuilder_cmhe.ce.concept import ConceptQuestion
from benchbuilder_cmhe.ce.mentions import mask_names


class MaskSpec(StepSpec):
    """What belongs to a mention besides the name itself."""

    endings: tuple[str, ...] = ()
    """Endings that a mention may have more or less than the name, in scripts with spaces between words: ``s``."""


class Mask(Map):
    """Answers in which every mention of any name of the item's concept is replaced by the mask of its class.

    The longest name that fits counts, in any case and width of letters; in scripts that put spaces between words only
    whole words are mentions. An answer without a mention passes too, and so does one without text.
    """

    kind: ClassVar[str] = "mask"
    version = 2
    spec_class: ClassVar[type[StepSpec]] = MaskSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Answer),
        "item": Port(Item[ConceptQuestion], mode="parent"),
    }
    output: ClassVar[type[Row] | None] = Answer

    spec: MaskSpec

    def map(self, row: Answer, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """The masked answer."""
        item: Item[ConceptQuestion] = parents["item"]
        text, count = mask_names(row.text, item.payload.names, item.payload.mask, self.spec.endings)
        produced_by = self.produced_by("" if count else "no_mention")
        return [Kept(Answer.child(row, produced_by=produced_by, model=row.model, text=text, outcome=row.outcome))]
