"""Statements: a fact in one declarative sentence, true or made false."""

from __future__ import annotations

from typing import ClassVar, Literal

from benchbuilder.records.envelope import Row, Span


class Statement(Row):
    """A sentence that is true (made from a fact) or false (made from a true statement).

    `answer` is the span of `text` that answers the fact's question; `seam` the span of the predicate that joins
    question and answer (``None`` where there is none). `joined` says how the text came about. `context` stands
    before a question about the statement. `checks` names every check that the text passed. `fact` is the id of the
    fact that the whole family of statements hangs on.
    """

    name: ClassVar[str] = "statement"
    identity: ClassVar[tuple[str, ...]] = ("polarity", "text")

    polarity: Literal["true", "false"]
    text: str
    joined: Literal["seam", "template", "model", "negation", "replacement"]
    answer: Span | None = None
    seam: Span | None = None
    context: str = ""
    fact: str
    checks: tuple[str, ...] = ()
