"""The judge kind `prompted`: a chat model whose prompt explains the aspect and asks for a score."""

from __future__ import annotations

import statistics
from collections.abc import Generator, Mapping
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from benchbuilder.config import KindSpec, Slot
from benchbuilder.core import Dropped
from benchbuilder.evaluation.judges.asking import ChatJudge, ChatJudgeSpec
from benchbuilder.evaluation.judges.base import Case, JudgeSpec
from benchbuilder.models import Reply, Request


class PromptedSpec(ChatJudgeSpec):
    """The model to ask, and the number of samples per case."""

    samples: Annotated[int, Field(ge=1, le=64)] = 1
    """Number of scores to average; more than one needs a temperature above 0."""
    words: dict[str, Annotated[float, Field(ge=0, le=1)]] = {}
    """With ``reply: number``: words that the model may write for a score, such as ``{"yes": 1, "no": 0}``."""
    model: Annotated[KindSpec | None, Slot("model")] = None

    @model_validator(mode="after")
    def _words_for_numbers(self) -> PromptedSpec:
        if self.words and self.reply == "json":
            raise ValueError("words are for reply: number; a JSON object has a number")
        return self

    @model_validator(mode="after")
    def _samples_differ(self) -> PromptedSpec:
        if self.samples > 1 and self.sampling.temperature == 0:
            raise ValueError("samples: at temperature 0 they would be the same; set sampling.temperature above 0")
        return self


class PromptedJudge(ChatJudge):
    """Asks a chat model without training; the score is the mean of all samples.

    A case has a score only if every sample has one: a mean of the readable samples alone would be biased.
    """

    kind: ClassVar[str] = "prompted"
    spec_class: ClassVar[type[JudgeSpec]] = PromptedSpec
    spec: PromptedSpec  # pyright: ignore[reportIncompatibleVariableOverride]

    @property
    def model_spec(self) -> KindSpec | None:
        """The model, unless its kind is ``none``."""
        model = self.spec.model
        return None if model is None or model.kind == "none" else model

    @property
    def words(self) -> Mapping[str, float]:
        """Words that stand for scores in its replies."""
        return self.spec.words

    def converse(self, case: Case) -> Generator[Request, Reply, float | Dropped]:
        """Ask for one sample after the other."""
        scores: list[float] = []
        for sample in range(self.spec.samples):
            score = yield from self.ask(case, sample * (self.spec.repair_rounds + 1))
            if isinstance(score, Dropped):
                return score
            scores.append(score)
        return statistics.fmean(scores)
