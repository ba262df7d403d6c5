"""What models will cost, in lines and tables for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.table import Table

from benchbuilder.authoring import Quote, QuoteRange, StepQuote
from benchbuilder.cli.receipts import receipt_lines
from benchbuilder.config import BudgetSpec
from benchbuilder.core import format_dollars


def print_quote(console: Console, quote: Quote | None, budget: BudgetSpec) -> None:
    """Print the quote with its notes and how it fits the budget."""
    if quote is None:
        console.print("no model would be asked: nothing to pay", highlight=False)
        return
    console.print(quote_table(quote))
    for line in (*quote_notes(quote), *budget_lines(quote, budget)):
        console.print(line, highlight=False, markup=False, soft_wrap=not console.is_terminal)


def quote_table(quote: Quote) -> Table:
    """Two lines for each step: what is expected, and that with every repair and replies of full length."""
    table = Table("step", "model", box=None, pad_edge=False, header_style="bold")
    for name in ("calls", "tokens in", "tokens out", "USD"):
        table.add_column(name, justify="right", no_wrap=True)
    for step in quote.steps:
        _add_quote_row(table, step.step, step.model, (step.calls, step.prompt_tokens, step.completion_tokens), step.usd)
    if len(quote.steps) > 1:
        table.add_section()
        _add_quote_row(table, "all steps", "", (quote.calls, quote.prompt_tokens, quote.completion_tokens), quote.usd)
    return table


def _add_quote_row(table: Table, name: str, model: str, counts: Sequence[QuoteRange], usd: QuoteRange | None) -> None:
    table.add_row(
        name, model, *(f"{r.expected:,.0f}" for r in counts), "no price" if usd is None else _usd(usd.expected)
    )
    if any(r.expected != r.at_most for r in counts):
        most = ("no limit" if r.at_most is None else f"{r.at_most:,.0f}" for r in counts)
        table.add_row("  if all are long", "", *most, "no price" if usd is None else _usd(usd.at_most))


def _usd(amount: float | None) -> str:
    return "no limit" if amount is None else format_dollars(amount)


def quote_notes(quote: Quote) -> Iterator[str]:
    """How the numbers were made, and what they leave out."""
    if any(r.expected != r.at_most for r in (quote.calls, quote.prompt_tokens, quote.completion_tokens)):
        yield "if all are long: every repair round, and every reply as long as sampling.max_new_tokens lets it be"
    if quote.steps:
        yield "these are estimates; a budget is the bound, and counts what the service reports"
    for step in {(s.model, s.counting_method): s for s in quote.steps}.values():
        yield f"{step.model}: tokens {step.counting_method}{_priced(step)}"
    if answered := sum(step.answered for step in quote.steps):
        replies, they = ("reply", "it costs") if answered == 1 else ("replies", "they cost")
        yield f"{answered:,} {replies} from earlier runs will be used again: {they} nothing"
    for step in quote.steps:
        if step.completion_tokens.at_most is None:
            yield f"{step.step}: nothing limits its replies; sampling.max_new_tokens would"
        if step.thinking_unknown:
            yield f"{step.step}: thinking is not in the estimate: unknown, could be up to the limit"
        if step.refused:
            rows, them = ("row goes", "it") if step.refused == 1 else ("rows go", "them")
            yield f"{step.step}: {step.refused:,} {rows} on by a real reply only: later steps are quoted without {them}"
    for name, why in quote.skipped.items():
        yield f"{name} is not in the quote: {why}"


def _priced(step: StepQuote) -> str:
    if step.is_local:
        return "; runs here: no price"
    if step.usd is None:
        return f"; no price known: {step.unpriced}"
    batch = "" if step.batch_proportion is None else f", in batches at {step.batch_proportion:g} of them"
    return f"; prices of {step.prices_as_of}{batch}"


def budget_lines(quote: Quote, budget: BudgetSpec) -> Iterator[str]:
    """What was spent, what the budget allows, and whether the quote fits."""
    yield from (f"so far: {line}" for line in receipt_lines(quote.spent))
    if budget.usd is None and budget.tokens is None:
        yield "no budget is set: budget.usd=AMOUNT stops the build before it costs more"
    if budget.usd is not None:
        if unknown := sorted({r.model for r in quote.spent if r.usd is None}):
            yield f"budget.usd does not count what was paid without a known price: {', '.join(unknown)}"
        spent = sum(r.usd or 0 for r in quote.spent)
        reserve = max((step.reserve_usd for step in quote.steps), default=0)
        yield _cap_line("budget.usd", budget.usd, (spent, quote.usd, reserve), lambda usd: f"{usd:.4f}", "USD")
    if budget.tokens is not None:
        spent = sum(r.prompt_tokens + r.completion_tokens + r.unanswered_tokens for r in quote.spent)
        reserve = max((step.reserve_tokens for step in quote.steps), default=0)
        tokens = quote.prompt_tokens + quote.completion_tokens
        yield _cap_line("budget.tokens", budget.tokens, (spent, tokens, reserve), lambda n: f"{n:,.0f}", "tokens")


def _cap_line(
    key: str, cap: float, amounts: tuple[float, QuoteRange | None, float], format_amount: Callable[[float], str],
    unit: str,
) -> str:  # fmt: skip
    """Say whether the cap has room for the quote on top of what was spent.

    Args:
        key: The key of the cap.
        cap: The cap.
        amounts: What was spent, the quote, and the reserve that must be free before a request is sent.
        format_amount: Writes an amount in the unit.
        unit: USD or tokens.
    """
    spent, wanted, reserve = amounts
    if wanted is None:
        return f"{key} needs a price for every model: the build asks no model that has none"
    name, stops = f"{key}={cap:g}" if unit == "USD" else f"{key}={cap}", "the build would stop there"
    cap_text = str(cap) if unit == "USD" else format_amount(cap)
    sums_up = f"spent {format_amount(spent)} + quote {format_amount(wanted.expected)} of {cap_text} {unit}"
    if wanted.expected and spent >= cap:
        return f"{sums_up}: the build stops before its first request"
    if spent + wanted.expected > cap:
        verdict = f"the quote exceeds {name}"
    elif wanted.at_most is None:
        verdict, stops = "the quote has no upper end", f"at {name} {stops}"
    elif spent + wanted.at_most > cap:
        verdict = f"the quote's upper end exceeds {name}"
    elif wanted.at_most and spent + wanted.at_most + reserve > cap:
        verdict = f"the quote comes close to {name}, and what a request can cost at most is set aside first"
    else:
        return f"{sums_up}: the quote fits in {name}"
    return f"{sums_up}: {verdict}: {stops}, and continues with a higher cap"
