"""The baseline kinds `constant`, `random` and `echo`."""

from __future__ import annotations

import random
from typing import Any, ClassVar

from benchbuilder.config import KindSpec, Name
from benchbuilder.core import AnswerOutcome, Item
from benchbuilder.evaluation.baselines.base import Baseline, BaselineSpec
from benchbuilder.evaluation.judges.base import make_case


class ConstantSpec(BaselineSpec):
    """The answer to items of each type; ``null`` gives no answer.

    `otherwise` is the answer to items without a type, or with a type that `texts` does not list.
    """

    texts: dict[Name, str | None]
    otherwise: str | None = None


class ConstantBaseline(Baseline):
    """Gives every item of a type the same answer, to show the score of a system that knows nothing.

    Without a text the answer is ``missing``; a blank text is an ``empty`` answer.
    """

    kind: ClassVar[str] = "constant"
    spec_class: ClassVar[type[KindSpec]] = ConstantSpec

    spec: ConstantSpec

    def answer(self, item: Item[Any]) -> tuple[str, AnswerOutcome]:
        """The text for the item's type."""
        text = self.spec.texts.get(_type_of(item), self.spec.otherwise)
        if text is None:
            return "", "missing"
        return text, "complete" if text.strip() else "empty"


class RandomSpec(BaselineSpec):
    """The texts to draw from: those of `texts` for the item's type, else those of `otherwise`.

    If neither has a text, the key of an option in the payload's field `options` is drawn. An item without options gets
    no answer. The same `seed` draws the same answer for the same item, in any order.
    """

    seed: int
    texts: dict[Name, tuple[str, ...]] = {}
    otherwise: tuple[str, ...] = ()
    options: Name = "options"


class RandomBaseline(Baseline):
    """Draws an answer at random, to show the score of a system that knows nothing but always answers.

    A text that is listed more often is drawn more often.
    """

    kind: ClassVar[str] = "random"
    spec_class: ClassVar[type[KindSpec]] = RandomSpec

    spec: RandomSpec

    def answer(self, item: Item[Any]) -> tuple[str, AnswerOutcome]:
        """A text or an option, drawn at random."""
        texts = self.spec.texts.get(_type_of(item), self.spec.otherwise)
        options = texts or tuple(option.key for option in getattr(item.payload, self.spec.options, ()))
        if not options:
            return "", "missing"
        text = random.Random(f"{self.spec.seed}:{item.id}").choice(options).strip()
        return text, "complete" if text else "empty"


class EchoSpec(BaselineSpec):
    """The kind `echo` has no settings."""


class EchoBaseline(Baseline):
    """Repeats the question with its context: it has all words of the question, and no answer."""

    kind: ClassVar[str] = "echo"
    spec_class: ClassVar[type[KindSpec]] = EchoSpec

    def answer(self, item: Item[Any]) -> tuple[str, AnswerOutcome]:
        """The question, in the words that a model under evaluation is asked."""
        question = make_case(item, "").question
        return question, "complete" if question.strip() else "empty"


def _type_of(item: Item[Any]) -> str:
    """The type of the item (``tf``, ``oe``), empty if its payload has none."""
    return str(getattr(item.payload, "type", ""))
