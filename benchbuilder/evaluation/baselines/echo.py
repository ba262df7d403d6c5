"""The baseline kind `echo`: the question itself."""

from __future__ import annotations

from typing import Any, ClassVar

from benchbuilder.config import KindSpec
from benchbuilder.core import AnswerOutcome, Item
from benchbuilder.evaluation.baselines.base import Baseline, BaselineSpec
from benchbuilder.evaluation.judges.base import make_case


class EchoSpec(BaselineSpec):
    """Nothing to say."""


class EchoBaseline(Baseline):
    """Gives the question back, with its context: all of its words and no answer."""

    kind: ClassVar[str] = "echo"
    spec_class: ClassVar[type[KindSpec]] = EchoSpec

    def answer(self, item: Item[Any]) -> tuple[str, AnswerOutcome]:
        """The question, as a model under evaluation is asked it."""
        question = make_case(item, "").question
        return question, "complete" if question.strip() else "empty"
