"""``benchbuild preview``: a few rows through every step, side by side with what was asked and answered."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchbuilder.authoring.dry_run.preview import Preview, ShownRow, ShownStep, preview, preview_page
from benchbuilder.cli.costs import dollars
from benchbuilder.cli.session import add_overrides, open_session, watching
from benchbuilder.core.display import clipped, counted, harmless, shortened
from benchbuilder.core.errors import Problem, RecipeError, ServiceError
from benchbuilder.models.base import Receipt, Reply, Request

_LINES, _CHARACTERS = 8, 240
_ROWS = 5
_WIDEST = 140
_COLUMNS = ("input", "prompt", "reply", "result")


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_overrides(parser)
    parser.add_argument("--full", action="store_true", help="show prompts in full")
    parser.add_argument("--html", metavar="FILE", help="write the same as a page, prompts in full")


def run(args: argparse.Namespace, console: Console) -> int:
    """Run the rows and show them; what a model answers is kept, so that a build does not ask again."""
    rows = taken_rows(args.overrides, _ROWS)
    session = open_session(args, console)
    with watching(console) as watcher:
        done = preview(session.plan, session.store, rows, watcher)
    for step in done.steps:
        _show(step, console, full=args.full)
    for name, why in done.skipped.items():
        _say(console, f"{name:<20} left out: {why}")
    if not done.failures() and (dry := done.dried_up()):
        _say(console, f"no row came through {dry}; n={max(5, 2 * rows)} shows more")
    _tell_price(done, console)
    if args.html is not None:
        Path(args.html).write_text(preview_page(done, session.plan.recipe), encoding="utf-8")
        _say(console, f"wrote {args.html}")
    return ServiceError.exit_code if done.unheard else 0


def taken_rows(words: list[str], default: int) -> int:
    """Take ``n=NUMBER`` out of `words`; RecipeError if it is no number from 1 on."""
    rows = default
    for word in [word for word in words if word.startswith("n=")]:
        words.remove(word)
        if not re.fullmatch(r"n=0*[1-9][0-9]{0,6}", word):
            raise RecipeError([Problem("n is a number of rows", where=f"command line: {word}", allowed="1 or more")])
        rows = int(word[2:])
    return rows


def _say(console: Console, text: str = "", style: str = "") -> None:
    console.print(harmless(text), style=style or None, highlight=False, markup=False, soft_wrap=True)


def _show(step: ShownStep, console: Console, *, full: bool) -> None:
    losses = ", ".join(f"{count} {loss}" for loss, count in step.losses.items())
    told = counted(step.rows, "row") + (f" ({losses})" if losses else "")
    _say(console, f"{step.name:<20} {told}", "bold" if step.shown else "")
    if not step.shown:
        return
    lines = [line for row in step.shown for line in _lines(row, full=full)]
    filled = [column for column, cells in zip(_COLUMNS, zip(*lines, strict=True), strict=True) if any(cells)]
    width = min(console.width, _WIDEST)
    table = Table(box=SIMPLE_HEAD, width=width, show_lines=True, pad_edge=False, header_style="bold")
    for column in filled:
        table.add_column(column, ratio=4 if column == "prompt" else 3, overflow="fold")
    for line in lines:
        cells = zip(_COLUMNS, line, strict=True)
        table.add_row(*(Text(harmless(cell)) for column, cell in cells if column in filled))
    console.print(table)


def _lines(row: ShownRow, *, full: bool) -> list[tuple[str, str, str, str]]:
    """A line a turn: the input stands in the first, the result in the last."""
    if not row.turns and row.wanted is None and not full:
        return [(clipped(row.input, _CHARACTERS), "", "", clipped(_result(row), _CHARACTERS))]
    if not row.turns:
        prompt = "" if row.wanted is None else "(would be asked)\n" + _prompt(row.wanted, full=full)
        return [(row.input, prompt, "", _result(row))]
    lines: list[tuple[str, str, str, str]] = []
    for place, turn in enumerate(row.turns):
        reply = "no reply" if turn.reply is None else _reply(turn.reply)
        first, last = place == 0, place == len(row.turns) - 1
        prompt = _prompt(turn.request, full=full)
        lines.append((row.input if first else "", prompt, reply, _result(row) if last else "asked again"))
    return lines


def _prompt(request: Request, *, full: bool) -> str:
    if full:
        return "\n".join(f"[{message.role}]\n{message.content}" for message in request.messages)
    return shortened(request.messages[-1].content, lines=_LINES, characters=_CHARACTERS)


def _reply(reply: Reply) -> str:
    return reply.text if reply.outcome == "complete" else f"({reply.outcome}) {reply.text}".strip()


def _result(row: ShownRow) -> str:
    return f"{row.result}\n[by {row.by}]" if row.by and row.fate == "kept" else row.result


def _tell_price(done: Preview, console: Console) -> None:
    _say(console)
    if not done.asks:
        _say(console, "no model is set: what needs one is dropped; see a model's replies with "
             "model=openai model.name=NAME")  # fmt: skip
        return
    failures = done.failures()
    for why, count in failures.items():
        _say(console, f"{counted(count, 'request')} failed: {why}")
    if not done.spent and not failures:
        _say(console, "this preview cost nothing: every reply was there from before")
    for receipt in done.spent:
        _say(console, _receipt(receipt))
    if done.unheard:
        _say(console, "no reply came; once the service answers, the same command asks again")
        return
    _say(console, "the replies are kept: a build does not ask for them again, and `benchbuild plan` quotes the rest")


def _receipt(receipt: Receipt) -> str:
    known = f"{dollars(receipt.usd or 0)} USD (prices of {receipt.prices_as_of})"
    usd = "no price known" if receipt.usd is None else known if receipt.prices_as_of else "it runs here: no price"
    tokens = f"{receipt.prompt_tokens:,} + {receipt.completion_tokens:,} tokens"
    lost = f", {counted(receipt.unanswered, 'attempt')} without an answer" if receipt.unanswered else ""
    return f"{receipt.step:<20} {counted(receipt.calls, 'call')} of {receipt.model}, {tokens}, {usd}{lost}"
