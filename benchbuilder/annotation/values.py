"""Values of votes: what people may answer, when two answers are in dispute, and what they decide."""

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
    """What `text` answers to `question`; ``None`` if it is empty. ValueError, which says what is allowed, if it cannot.

    Digits of every width and script count, and so does a comma in a scalar. Texts lose white space at both ends.
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
    """Whether `value`, as it came out of JSON, is an answer to `question`."""
    if question.answer == "text":
        return isinstance(value, str) and 0 < len(value) <= question.max_chars
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if question.answer == "scalar":
        return 0 <= value <= 1
    return value in (question.options or {0: "", 1: ""})


def is_disputed(question: GuidingQuestion, values: Sequence[Value]) -> bool:
    """Whether annotators who gave `values` need somebody to decide."""
    numbers = [value for value in values if not isinstance(value, str)]
    if question.answer == "text" or len(numbers) < 2:
        return False
    low, high = min(numbers), max(numbers)
    if question.answer != "scalar":
        return low != high
    return high - low > question.tolerance + 1e-9 or (low < question.threshold <= high)


def aggregate_value(question: GuidingQuestion, values: Sequence[Value]) -> float:
    """What `values` decide where no adjudicator does: the one that all gave, or their mean.

    By the rule ``aggregate_value`` people may differ: then the mean counts on a scale too, and the majority of binary answers
    (0 if there is none).
    """
    numbers = [float(value) for value in values if not isinstance(value, str)]
    middle = round(math.fsum(numbers) / len(numbers), 6)
    return float(middle > 0.5) if question.answer == "binary" else middle


def passes_gate(question: GuidingQuestion, decision: float, required: float) -> bool:
    """Whether `decision` is what a gate requires: just that if binary, that or more otherwise."""
    return decision == required if question.answer == "binary" else decision >= required - 1e-9
