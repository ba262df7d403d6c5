"""Receipts: the cost of each step and model, summed from the journal."""

from __future__ import annotations

from typing import Any

from benchbuilder.models.base import Receipt, ReplyOutcome
from benchbuilder.models.gateway.journal import Journal
from benchbuilder.models.gateway.journal_tables import THOUGHTS
from benchbuilder.models.gateway.process_owner import is_owner_alive

_OUTCOMES: tuple[ReplyOutcome, ...] = ("complete", "truncated", "thought_out", "empty", "refused", "filtered")


_REPLIES = f"""
SELECT step, model, endpoint, count(*), sum(batched), sum(prompt), sum(completion), sum(cached),
       sum(outcome IS NOT NULL AND estimated), sum(usd), sum(usd IS NULL), max(prices),
       {", ".join(f"sum(outcome IS '{outcome}')" for outcome in _OUTCOMES)}
FROM replies GROUP BY step, model, endpoint
"""
_REASONING = f"""
SELECT step, model, endpoint, sum(tokens), max(t.estimated)
FROM replies JOIN {THOUGHTS} AS t USING (key) GROUP BY step, model, endpoint
"""
_ATTEMPTS = """
SELECT step, model, endpoint, CASE outcome WHEN 'sent' THEN owner END, count(*), sum(prompt + completion), sum(usd),
       sum(usd IS NULL), max(prices), sum(outcome = 'sent' AND owner LIKE 'batch:%')
FROM attempts GROUP BY 1, 2, 3, 4
"""
"""Attempts without a reply. Those on their way have an owner; all are read at once, as a build sends more meanwhile."""


def read_receipts(journal: Journal) -> tuple[Receipt, ...]:
    """One receipt per step and model, in the order of their names; StoreError if a figure in the journal is damaged."""
    journal.check()
    kept = {tuple(row[:3]): row[3:] for row in journal.rows(_REPLIES)}
    lost = _lost_attempts(journal)
    thought = journal.rows("SELECT 1 FROM sqlite_master WHERE name = ?", THOUGHTS) and journal.rows(_REASONING)
    thoughts = {tuple(row[:3]): row[3:] for row in thought}
    return tuple(
        _receipt(key, kept.get(key), lost.get(key), thoughts.get(key)) for key in sorted(kept.keys() | lost.keys())
    )


def total_spent(journal: Journal) -> tuple[float, int]:
    """Total US dollars and tokens in the journal; entries without a price add no dollars."""
    usd, tokens = 0.0, 0
    for receipt in read_receipts(journal):
        usd += receipt.usd or 0.0
        tokens += receipt.prompt_tokens + receipt.completion_tokens + receipt.unanswered_tokens
    return usd, tokens


def unpriced_models(journal: Journal) -> list[str]:
    """Models with entries without a price in the journal."""
    return sorted({receipt.model for receipt in read_receipts(journal) if receipt.usd is None})


def _receipt(key: tuple[str, str, str], replies: Any, lost: Any, thoughts: Any) -> Receipt:
    calls, batched, prompt, completion, cached, uncounted, usd, unpriced, prices, *outcomes = replies or (0,) * 9
    reasoning, estimated = thoughts or (0, 0)
    unanswered, tokens, lost_usd, lost_unpriced, lost_prices, pending = lost or (0,) * 6
    return Receipt(
        step=key[0],
        model=key[1],
        endpoint=key[2],
        calls=calls,
        batched=batched,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=cached,
        uncounted=uncounted,
        unanswered=unanswered,
        unanswered_tokens=tokens,
        usd=None if unpriced or lost_unpriced else (usd or 0.0) + (lost_usd or 0.0),
        prices_as_of=max(prices or "", lost_prices or ""),
        outcomes={name: count for name, count in zip(_OUTCOMES, outcomes, strict=False) if count},
        pending=pending,
        reasoning_tokens=reasoning,
        reasoning_estimated=bool(estimated),
    )


def _lost_attempts(journal: Journal) -> dict[tuple[str, str, str], tuple[Any, ...]]:
    """The attempts whose replies will not come, by step, model and endpoint."""
    lost: dict[tuple[str, str, str], tuple[Any, ...]] = {}
    for step, model, endpoint, owner, *figures in journal.rows(_ATTEMPTS):
        if owner is not None and is_owner_alive(owner):
            continue
        key, (count, tokens, usd, unpriced, prices, pending) = (step, model, endpoint), figures
        before = lost.get(key, (0, 0, 0.0, 0, "", 0))
        lost[key] = (
            before[0] + count, before[1] + (tokens or 0), before[2] + (usd or 0.0), before[3] + unpriced,
            max(before[4], prices or ""), before[5] + pending,
        )  # fmt: skip
    return lost
