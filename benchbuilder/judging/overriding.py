"""When an adjudicator goes against every annotator, which takes a reason."""

from __future__ import annotations

from collections.abc import Sequence

from benchbuilder.ports.votes import Value
from benchbuilder.spec.judging import GuidingQuestion


def overrides(question: GuidingQuestion, value: Value, given: Sequence[Value | None]) -> bool:
    """Whether a decision goes against every judge: none gave it, or it lies outside of the range of their scalars.

    >>> grade = GuidingQuestion(order=1, subject="claim", label="a", text="b", answer="scalar")
    >>> overrides(grade, 0.6, (0.2, 0.9)), overrides(grade, 0.1, (0.2, 0.9))
    (False, True)
    """
    numbers = [float(each) for each in given if each is not None and not isinstance(each, str)]
    if isinstance(value, str) or not numbers:
        return True
    if question.answer == "scalar":
        return not min(numbers) - 1e-9 <= value <= max(numbers) + 1e-9
    return float(value) not in numbers
