"""Questions with known answers: what they offer to steps that show an answer, and those that list no options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Protocol, Self

from pydantic import Field

from benchbuilder.core.records.payload_base import FIRST, FieldPayload


class AnsweredQuestion(Protocol):
    """A question with known right and wrong answers, whatever the shape of its source."""

    @property
    def context(self) -> str:
        """The text before the question (may be empty)."""
        ...

    @property
    def question(self) -> str:
        """The question as its source asks it."""
        ...

    @property
    def wrong_from(self) -> str:
        """Where the wrong answers come from, such as ``listed`` (beside the right one)."""
        ...

    def right_answers(self) -> tuple[str, ...]:
        """Every right answer; the first is the one that is shown."""
        ...

    def wrong_answers(self) -> tuple[str, ...]:
        """The wrong answers, in order (may be empty)."""
        ...


class QuestionAnswer(FieldPayload):
    """A question with the answers that are known to be right; the first one is shown.

    `wrong` are wrong answers, which come `wrong_from` somewhere: ``listed`` in the source, ``number`` (a number of the
    right answer was changed), ``rows`` (the answer to another question) or ``model``. `answer_type` says what is asked
    for (empty: unknown). `gold` are keys of the passages that hold the answer, or their texts.
    """

    kind: ClassVar[str] = "question_answer"
    text_fields = ("context", "question", "answers", "wrong")  # not `gold`, which names passages
    cell_fields = {
        "context": "context",
        "question": "question",
        "answer": f"answers{FIRST}",
        "answers": "answers",
        "wrong": "wrong",
    }

    context: str = ""
    question: str
    answers: Annotated[tuple[str, ...], Field(min_length=1)]
    wrong: tuple[str, ...] = ()
    wrong_from: str = ""
    answer_type: str = ""
    gold: tuple[str, ...] = ()

    def right_answers(self) -> tuple[str, ...]:
        """Every right answer; the first is the one that is shown."""
        return self.answers

    def wrong_answers(self) -> tuple[str, ...]:
        """The wrong answers, in order."""
        return self.wrong

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {"context": (self.context,), "question": (self.question,), "answers": self.answers, "wrong": self.wrong}

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        return (
            cls(question="Which planet is second?", answers=("Venus",), wrong=("Mars",), wrong_from="listed"),
            cls(context="Look up.", question="How many planets are there?", answers=("8", "eight"), gold=("atlas-1",)),
        )
