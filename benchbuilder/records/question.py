"""Questions: what a model under evaluation is asked."""

from __future__ import annotations

from typing import ClassVar, Literal

from benchbuilder.records.envelope import Row


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
