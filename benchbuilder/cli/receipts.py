"""What models have cost, in lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchbuilder.core import format_dollars
from benchbuilder.models import Receipt


def receipt_lines(receipts: Sequence[Receipt]) -> Iterator[str]:
    """One line for each model that answered, and one for attempts without an answer."""
    models: dict[tuple[str, str], list[Receipt]] = {}
    for receipt in receipts:
        models.setdefault((receipt.model, receipt.endpoint), []).append(receipt)
    for (model, _), group in models.items():
        calls, batched = sum(r.calls for r in group), sum(r.batched for r in group)
        if calls:
            thought = sum(r.reasoning_tokens for r in group)
            about = "about " if any(r.reasoning_estimated for r in group) else ""
            thinking = f" (of which thinking {about}{thought:,})" if thought else ""
            written = sum(r.completion_tokens for r in group)
            tokens = f"{sum(r.prompt_tokens for r in group):,} + {written:,} tokens{thinking}"
            in_batches = f" ({batched:,} in batches)" if batched else ""
            replies = "reply" if calls == 1 else "replies"
            yield f"{calls:,} {replies} by {model}{in_batches} over all runs, {tokens}, {paid_text(group, model)}"
    if uncounted := sum(receipt.uncounted for receipt in receipts if receipt.endpoint):
        replies = "reply" if uncounted == 1 else "replies"
        yield f"{uncounted:,} {replies} came without plausible token counts: our own counts replace them"
    if pending := sum(receipt.pending for receipt in receipts):
        requests = f"{pending:,} {'request is' if pending == 1 else 'requests are'}"
        yield f"{requests} in unfinished batches: the sum includes the most that this can cost"
    if lost := sum(receipt.unanswered - receipt.pending for receipt in receipts):
        more = "more " if pending or any(receipt.calls for receipt in receipts) else ""
        attempts = f"{lost:,} {more}{'attempt' if lost == 1 else 'attempts'}"
        yield f"{attempts} got no answer but may be billed: the sum includes the most that this can cost"


def paid_text(receipts: Sequence[Receipt], model: str) -> str:
    """The cost of the replies of one model."""
    known = [receipt.usd for receipt in receipts if receipt.usd is not None]
    if len(known) < len(receipts):
        return f"no price known for {model}"
    dates = sorted({receipt.prices_as_of for receipt in receipts if receipt.prices_as_of})
    return f"{format_dollars(sum(known))} USD (prices of {', '.join(dates)})" if dates else "runs here: no price"
