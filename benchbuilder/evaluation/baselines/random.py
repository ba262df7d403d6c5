"""The baseline kind `random`: a choice by chance among what could be said."""

from __future__ import annotations

import random
from typing import Any, ClassVar

from benchbuilder.config import KindSpec, Name
from benchbuilder.core import AnswerOutcome, Item
from benchbuilder.evaluation.baselines.base import Baseline, BaselineSpec


class RandomSpec(BaselineSpec):
    """What is drawn from: for items of a type one of its `texts`, for others one of `otherwise`.

    Where neither has anything, the key of one of the options in the field `options` of the payload is drawn, and an
    item without options gets no answer. The same `seed` draws the same for the same item, in any order.
    """

    seed: int
    texts: dict[Name, tuple[str, ...]] = {}
    otherwise: tuple[str, ...] = ()
    options: Name = "options"


class RandomBaseline(Baseline):
    """Draws an answer by chance: what a model is worth that knows nothing and yet answers.

    A text that stands there more often is drawn more often.
    """

    kind: ClassVar[str] = "random"
    spec_class: ClassVar[type[KindSpec]] = RandomSpec

    spec: RandomSpec

    def answer(self, item: Item[Any]) -> tuple[str, AnswerOutcome]:
        """One of what could be said."""
        texts = self.spec.texts.get(str(getattr(item.payload, "type", "")), self.spec.otherwise)
        options = texts or tuple(option.key for option in getattr(item.payload, self.spec.options, ()))
        if not options:
            return "", "missing"
        drawn = random.Random(f"{self.spec.seed}:{item.id}").choice(options).strip()
        return drawn, "complete" if drawn else "empty"
