"""The baseline kind `constant`: the same words to every item of a type."""

from __future__ import annotations

from typing import Any, ClassVar

from benchbuilder.config import KindSpec, Name
from benchbuilder.core import AnswerOutcome, Item
from benchbuilder.evaluation.baselines.base import Baseline, BaselineSpec


class ConstantSpec(BaselineSpec):
    """What is said to items of each type; ``null``: nothing.

    `otherwise` is said to items whose type is not among `texts`, and to items without a type.
    """

    texts: dict[Name, str | None]
    otherwise: str | None = None


class ConstantBaseline(Baseline):
    """Says one thing whatever is asked, so that it shows what a score costs that knows nothing.

    Where nothing is to be said the answer is missing; an empty text is an empty answer.
    """

    kind: ClassVar[str] = "constant"
    spec_class: ClassVar[type[KindSpec]] = ConstantSpec

    spec: ConstantSpec

    def answer(self, item: Item[Any]) -> tuple[str, AnswerOutcome]:
        """The text for the item's type."""
        of_type = str(getattr(item.payload, "type", ""))
        text = self.spec.texts.get(of_type, self.spec.otherwise)
        if text is None:
            return "", "missing"
        return text, "complete" if text.strip() else "empty"
