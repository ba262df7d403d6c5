"""Questions: what a model under evaluation is asked."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from benchbuilder.records.envelope import MadeBy, Row
from benchbuilder.records.statement import Statement


class Question(Row):
    """A true/false (`tf`) or open-ended (`oe`) question about one statement (`of`).

    `text` is the question alone; `context` stands before it. `expected` is the verdict that a right answer gives
    to a tf question (``yes`` or ``no``), empty for oe.
    """

    name: ClassVar[str] = "question"
    identity: ClassVar[tuple[str, ...]] = ("type", "context", "text")

    type: Literal["tf", "oe"]
    text: str
    context: str = ""
    expected: Literal["yes", "no", ""] = ""
    fact: str
    checks: tuple[str, ...] = ()

    @classmethod
    def true_or_false(cls, statement: Statement, *, made_by: MadeBy, text: str, checks: tuple[str, ...]) -> Self:
        """A tf question about `statement`; its polarity is the expected verdict."""
        return cls.child(
            statement,
            made_by=made_by,
            type="tf",
            text=text,
            context=statement.context,
            expected="yes" if statement.polarity == "true" else "no",
            fact=statement.fact,
            checks=checks,
        )
