"""Learns from the replies of a model how many tokens its service counts: per call, per token of ours, per reply."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.models.base import Request
from benchbuilder.models.gateway.journal import Journal
from benchbuilder.models.gateway.journal_tables import unpack_request

LEAST_REPLIES = 5
"""Replies of a model from which a factor, and the length of its replies, is learnt."""
_MOST_REPLIES = 400
_TOWARDS_RATIO = 0.5
"""Weight of the plain ratio against the regression, as a multiple of the squared mean."""


@dataclass(frozen=True)
class PromptFit:
    """What a service counts for a prompt: `per_call` tokens, and `factor` for each that we count."""

    per_call: float = 0.0
    factor: float = 1.0
    replies: int = 0


@contextmanager
def opened_journal(journal: Journal | Path) -> Generator[Journal]:
    """`journal` itself, or the one in a file, closed at the end."""
    opened = Journal(journal) if isinstance(journal, Path) else journal
    try:
        opened.check()
        yield opened
    finally:
        if opened is not journal:
            opened.close()


def fit_prompts(journal: Journal, model: str) -> PromptFit:
    """How the service counts prompts of `model` against our estimate by script."""
    rows = journal.rows(
        "SELECT counted, prompt FROM replies WHERE model = ? AND estimated = 0 AND counted > 0 AND outcome IS NOT NULL"
        f" ORDER BY id DESC LIMIT {_MOST_REPLIES}",
        model,
    )
    return fit_line([(float(counted), float(prompt)) for counted, prompt in rows])


def fit_line(pairs: Sequence[tuple[float, float]]) -> PromptFit:
    """The line through pairs of our count and the count of the service.

    With pairs of like lengths it is near the plain ratio. Fewer than `LEAST_REPLIES` pairs cannot tell a factor from
    what the service puts around a prompt: they show the latter, which is most of a short prompt's error.

    >>> fit_line([(10, 33), (20, 43)])
    PromptFit(per_call=23.0, factor=1.0, replies=2)
    >>> fit = fit_line([(10, 33), (20, 43), (60, 83), (15, 38), (200, 223)] * 20)
    >>> round(fit.per_call), round(fit.factor, 1)
    (23, 1.0)
    """
    if not any(counted for counted, _ in pairs):
        return PromptFit()
    x, y = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
    if len(pairs) < LEAST_REPLIES:
        return PromptFit(max(0.0, y - x), min(1.0, y / x), len(pairs))
    held = _TOWARDS_RATIO * x * x
    slope = sum((one - x) * (other - y) for one, other in pairs) + held * y / x
    factor = max(0.0, slope / (sum((one - x) ** 2 for one, _ in pairs) + held))
    per_call = max(0.0, y - factor * x)
    return PromptFit(per_call, factor if per_call else y / x, len(pairs))


def asked_prompts(journal: Journal, model: str) -> list[tuple[Request, int]]:
    """Some requests to `model`, each with the prompt tokens that the service counted."""
    rows = journal.rows(
        "SELECT request, prompt FROM replies JOIN bodies USING (id) WHERE model = ? AND estimated = 0"
        " AND outcome IS NOT NULL ORDER BY id DESC LIMIT 50",
        model,
    )
    return [(unpack_request(packed), prompt) for packed, prompt in rows]


def mean_reply(journal: Journal | Path, model: str, step: str) -> float | None:
    """The mean tokens of the replies of `model` in `step`; ``None`` with too few of them."""
    with opened_journal(journal) as opened:
        found = opened.rows(
            "SELECT count(*), avg(completion) FROM replies WHERE model = ? AND step = ? AND outcome IS NOT NULL",
            model,
            step,
        )
    replies, mean = found[0] if found else (0, None)
    return float(mean) if replies >= LEAST_REPLIES and mean else None
