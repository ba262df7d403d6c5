"""What a recipe says about wrong answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from benchbuilder.config import KindSpec, PromptRef, Sampling, Slot, Spec, StepSpec
from benchbuilder.core import Regex
from benchbuilder.steps.language.changed_numbers import NumberChanges

WrongSource = Literal["listed", "number", "rows", "model"]


class RowLoan(Spec):
    """Which question lends its answer to which. The patterns are data of the language.

    Two questions must be of the same type, have the same ``head``, and rest on different passages (`gold`). Their
    answers must have the same quotation marks, scripts, name dots and capital at the start. Of the questions that may
    lend, the `nearest` in wording are considered.
    """

    question_words: dict[str, tuple[Regex, ...]] = {}
    """Patterns of the question words of each type; the first pattern that a question holds gives its type. The named
    group ``head``, if a pattern has one, is the noun that the question word belongs to."""
    not_questions: tuple[Regex, ...] = ()
    """Patterns of questions that neither lend nor borrow: those for reasons, ways and accounts."""
    nearest: Annotated[int, Field(ge=1, le=50)] = 4
    max_question_similarity: Annotated[float, Field(gt=0, le=1)] = 0.85
    """Questions this alike may be the same question: neither lends its answer to the other, or to one like it."""
    max_answer_similarity: Annotated[float, Field(gt=0, le=1)] = 0.6
    """Answers this alike may say the same."""
    uses: Annotated[int, Field(ge=1)] = 1
    """How often one text may be a wrong answer."""


class WrongAnswersSpec(StepSpec):
    """Where wrong answers come from, and what they must be like."""

    order: Annotated[tuple[WrongSource, ...], Field(min_length=1)] = ("listed", "number", "rows", "model")
    """The first that yields a wrong answer: ``listed`` in the source; ``number``, one number of the right answer
    changed; ``rows``, the answer to another question; ``model``, written by a model."""
    longest: Annotated[int, Field(ge=1)]
    """The most characters of a right answer for which `number` and `rows` look for a wrong one."""
    lists: tuple[Regex, ...] = ()
    """Patterns in answers that have several parts; `number` and `rows` pass over them."""
    number: NumberChanges = NumberChanges()
    number_types: tuple[str, ...] = ()
    """The types of question (`rows.question_words`) whose answers may have a number changed; empty: all."""
    rows: RowLoan = RowLoan()
    prompt: PromptRef | None = None
    """The prompt that asks a model for wrong answers, each on a line."""
    check: PromptRef | None = None
    """The prompt that shows question and proposal, and asks whether the proposal is right."""
    system: PromptRef | None = None
    """The system message of both; ``null``: none."""
    ask: Annotated[int, Field(ge=1, le=10)] = 4
    """How many wrong answers the model is asked for."""
    denies: tuple[Regex, ...] = ()
    """Patterns of first lines that say that the proposal is not right; any other reply counts as yes."""
    denial: str = ""
    """A reply that says so; a quote assumes it."""
    sampling: Sampling = Sampling()
    model: Annotated[KindSpec | None, Slot("model", inherit="model")] = None

    @model_validator(mode="after")
    def _has_data(self) -> WrongAnswersSpec:
        if len(set(self.order)) < len(self.order):
            raise ValueError("order: each source of wrong answers stands in it once")
        if unknown := set(self.number_types) - self.rows.question_words.keys():
            raise ValueError(f"number_types: {', '.join(sorted(unknown))} is no type of rows.question_words")
        if "rows" in self.order and not self.rows.question_words:
            raise ValueError(
                "rows.question_words is empty: write the question words of the language, or leave `rows` out of order"
            )
        if "model" in self.order and not (self.prompt and self.check and self.denies and self.denial):
            raise ValueError("order names `model`: it needs prompt, check, denies and denial")
        return self
