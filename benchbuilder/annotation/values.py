"""Values of votes: which are allowed, when they are in dispute, and what they decide."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

from benchbuilder.annotation.base import Value
from benchbuilder.config import GuidingQuestion
from benchbuilder.core import to_half_width

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,8})?(\.[0-9]{1,18})?(?<=[0-9])", re.ASCII)


def parse_value(question: GuidingQuestion, text: str) -> Value | None:
    """Parse `text` as an answer to `question`; ``None`` if it is empty.

    Full-width digits are accepted, and a decimal comma in scalars. Texts lose white space at both ends.

    Raises:
        ValueError: the answer is not allowed; the message says what is.
    """
    if question.answer == "text":
        if len(text.strip()) > question.max_chars:
            raise ValueError(f"longer than {question.max_chars} characters")
        return text.strip() or None
    plain = to_half_width(unicodedata.normalize("NFKC", text)).strip().replace(",", ".")
    if not plain:
        return None
    number = _number(plain)
    if question.answer == "scalar":
        if number is None or not 0 <= number <= 1:
            raise ValueError("allowed are numbers from 0 to 1")
        return round(number, 6)
    options = question.options or {0: "", 1: ""}
    if number is None or not number.is_integer() or int(number) not in options:
        raise ValueError(f"allowed are {', '.join(str(option) for option in sorted(options))}")
    return int(number)


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def is_allowed_value(question: GuidingQuestion, value: object) -> bool:
    """Whether `value`, as read from JSON, is an allowed answer to `question`."""
    if question.answer == "text":
        return isinstance(value, str) and 0 < len(value) <= question.max_chars
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if question.answer == "scalar":
        return 0 <= value <= 1
    return value in (question.options or {0: "", 1: ""})


def is_disputed(question: GuidingQuestion, values: Sequence[Value]) -> bool:
    """Whether the `values` that annotators gave need an adjudicator."""
    numbers = [value for value in values if not isinstance(value, str)]
    if question.answer == "text" or len(numbers) < 2:
        return False
    low, high = min(numbers), max(numbers)
    if question.answer != "scalar":
        return low != high
    return high - low > question.tolerance + 1e-9 or (low < question.threshold <= high)


def aggregate_value(question: GuidingQuestion, values: Sequence[Value]) -> float:
    """The decision of `values` without an adjudicator: the value that all gave, or their mean.

    With ``rule: mean``, values may differ. Then the mean counts on scales too, and the majority of binary answers
    (0 on a tie).
    """
    numbers = [float(value) for value in values if not isinstance(value, str)]
    mean = round(math.fsum(numbers) / len(numbers), 6)
    return float(mean > 0.5) if question.answer == "binary" else mean


def passes_gate(question: GuidingQuestion, decision: float, required: float) -> bool:
    """Whether `decision` passes a gate: equal to `required` if binary, at least `required` otherwise."""
    return decision == required if question.answer == "binary" else decision >= required - 1e-9
