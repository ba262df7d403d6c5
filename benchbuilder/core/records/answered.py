"""What a payload offers to steps that show its question with an answer."""

from __future__ import annotations

from typing import Protocol


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
