"""Receipts: the cost of each step and model, summed from the journal."""

from __future__ import annotations

import json
from typing import Any

from benchbuilder.models.base import Receipt, ReplyOutcome
from benchbuilder.models.gateway.journal import Journal
from benchbuilder.models.gateway.process_owner import is_owner_alive

_OUTCOMES: tuple[ReplyOutcome, ...] = ("complete", "truncated", "empty", "refused", "filtered")


_REPLIES = f"""
SELECT step, model, endpoint, count(*), sum(batched), sum(prompt), sum(completion), sum(cached),
       sum(outcome IS NOT NULL AND estimated), sum(usd), sum(usd IS NULL), max(prices),
       {", ".join(f"sum(outcome IS '{outcome}')" for outcome in _OUTCOMES)}
FROM replies GROUP BY step, model, endpoint
"""
_ATTEMPTS = """
SELECT step, model, endpoint, count(*), sum(prompt + completion), sum(usd), sum(usd IS NULL), max(prices),
       sum(outcome = 'sent' AND owner LIKE 'batch:%')
FROM attempts WHERE outcome <> 'sent' OR owner NOT IN (SELECT value FROM json_each(?)) GROUP BY step, model, endpoint
"""


def read_receipts(journal: Journal) -> tuple[Receipt, ...]:
    """One receipt per step and model, in the order of their names; StoreError if a figure in the journal is damaged."""
    journal.check()
    kept = {tuple(row[:3]): row[3:] for row in journal.rows(_REPLIES)}
    lost = {tuple(row[:3]): row[3:] for row in journal.rows(_ATTEMPTS, _in_flight(journal))}
    return tuple(_receipt(key, kept.get(key), lost.get(key)) for key in sorted(kept.keys() | lost.keys()))


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


def _receipt(key: tuple[str, str, str], replies: Any, lost: Any) -> Receipt:
    calls, batched, prompt, completion, cached, uncounted, usd, unpriced, prices, *outcomes = replies or (0,) * 9
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
    )


def _in_flight(journal: Journal) -> str:
    """Running gateways whose requests may still be answered, as a JSON list."""
    owners = [row[0] for row in journal.rows("SELECT DISTINCT owner FROM attempts WHERE outcome = 'sent'")]
    return json.dumps([owner for owner in owners if is_owner_alive(owner)])
