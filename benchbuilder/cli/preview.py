"""``benchbuild preview``: run a few rows through every step; show input, prompt, reply and result."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchbuilder.authoring import Preview, PreviewedRow, PreviewedStep, preview_plan, render_preview_page
from benchbuilder.cli.receipts import paid_text
from benchbuilder.cli.session import open_session, progress_watcher
from benchbuilder.cli.terminal import print_line
from benchbuilder.core import (
    Problem,
    RecipeError,
    ServiceError,
    count_phrase,
    directed_parts,
    head_excerpt,
    name_file_in_errors,
    printable_text,
    tail_excerpt,
)
from benchbuilder.models import Receipt, Reply, Request

_LINES, _CHARACTERS = 8, 240
_ROWS = 5
_WIDEST = 140
_COLUMNS = ("input", "prompt", "reply", "result")

_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"


def isolate_directions(text: str) -> str:
    """A text for a terminal, in which each part keeps its direction by isolates of Unicode."""
    return "".join(
        f"{_FIRST_STRONG_ISOLATE}{part}{_POP_ISOLATE}" if own else part for part, own in directed_parts(text)
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Run the rows and show them; replies are stored, so a build does not ask again."""
    rows = take_row_count(args.overrides, _ROWS)
    session = open_session(args, console)
    with progress_watcher(console) as watcher:
        preview = preview_plan(session.plan, session.store, rows, watcher)
    for step in preview.steps:
        _print_step(step, console, full=args.full)
    for name, why in preview.skipped.items():
        print_line(console, f"{name:<20} left out: {why}")
    if not preview.failures() and (empty := preview.first_empty_step()):
        print_line(console, f"no row came through {empty}; n={max(5, 2 * rows)} shows more")
    _print_price(preview, console)
    if args.html is not None:
        with name_file_in_errors(path := Path(args.html)):
            path.write_text(render_preview_page(preview, session.plan.recipe), encoding="utf-8", newline="\n")
        print_line(console, f"wrote {args.html}")
    return ServiceError.exit_code if preview.is_unanswered else 0


def take_row_count(arguments: list[str], default: int) -> int:
    """Take ``n=NUMBER`` out of `arguments`; RecipeError unless it is 1 or more."""
    rows = default
    for argument in [text for text in arguments if text.startswith("n=")]:
        arguments.remove(argument)
        if not re.fullmatch(r"n=0*[1-9][0-9]{0,6}", argument):
            where = f"command line: {argument}"
            raise RecipeError([Problem("n is a number of rows", where=where, allowed="1 or more")])
        rows = int(argument[2:])
    return rows


def _print_step(step: PreviewedStep, console: Console, *, full: bool) -> None:
    losses = ", ".join(f"{count} {loss}" for loss, count in step.losses.items())
    counts = count_phrase(step.rows, "row") + (f" ({losses})" if losses else "")
    print_line(console, f"{step.name:<20} {counts}", "bold" if step.preview_rows else "")
    if not step.preview_rows:
        return
    lines = [line for row in step.preview_rows for line in _lines(row, full=full)]
    filled = [column for column, cells in zip(_COLUMNS, zip(*lines, strict=True), strict=True) if any(cells)]
    width = min(console.width, _WIDEST)
    table = Table(box=SIMPLE_HEAD, width=width, show_lines=True, pad_edge=False, header_style="bold")
    for column in filled:
        table.add_column(column, ratio=4 if column == "prompt" else 3, overflow="fold")
    for line in lines:
        cells = zip(_COLUMNS, line, strict=True)
        table.add_row(*(Text(isolate_directions(printable_text(cell))) for column, cell in cells if column in filled))
    console.print(table)


def _lines(row: PreviewedRow, *, full: bool) -> list[tuple[str, str, str, str]]:
    """One line per turn, with the input in the first and the result in the last."""
    if not row.turns and row.pending_request is None and not full:
        return [(head_excerpt(row.input, _CHARACTERS), "", "", head_excerpt(_result(row), _CHARACTERS))]
    if not row.turns:
        prompt = "" if row.pending_request is None else "(would be asked)\n" + _prompt(row.pending_request, full=full)
        return [(row.input, prompt, "", _result(row))]
    lines: list[tuple[str, str, str, str]] = []
    for index, turn in enumerate(row.turns):
        reply = "no reply" if turn.reply is None else _reply(turn.reply)
        is_first, is_last = index == 0, index == len(row.turns) - 1
        prompt = _prompt(turn.request, full=full)
        lines.append((row.input if is_first else "", prompt, reply, _result(row) if is_last else "asked again"))
    return lines


def _prompt(request: Request, *, full: bool) -> str:
    if full:
        return "\n".join(f"[{message.role}]\n{message.content}" for message in request.messages)
    return tail_excerpt(request.messages[-1].content, lines=_LINES, characters=_CHARACTERS)


def _reply(reply: Reply) -> str:
    return reply.text if reply.outcome == "complete" else f"({reply.outcome}) {reply.text}".strip()


def _result(row: PreviewedRow) -> str:
    return f"{row.result}\n[by {row.method}]" if row.method and row.outcome == "kept" else row.result


def _print_price(preview: Preview, console: Console) -> None:
    print_line(console)
    if not preview.has_model:
        print_line(console, "no model is set: rows that need one are dropped; see a model's replies with "
             "model=openai model.name=NAME")  # fmt: skip
        return
    failures = preview.failures()
    for why, count in failures.items():
        print_line(console, f"{count_phrase(count, 'request')} failed: {why}")
    if not preview.spent and not failures:
        print_line(console, "this preview cost nothing: every reply was stored already")
    for receipt in preview.spent:
        print_line(console, _receipt_text(receipt))
    if preview.is_unanswered:
        print_line(console, "no reply came; once the service answers, repeat the command")
        return
    print_line(
        console, "the replies are stored: a build does not ask for them again, and `benchbuild plan` quotes the rest"
    )


def _receipt_text(receipt: Receipt) -> str:
    usd = paid_text([receipt], receipt.model)
    tokens = f"{receipt.prompt_tokens:,} + {receipt.completion_tokens:,} tokens"
    lost = f", {count_phrase(receipt.unanswered, 'attempt')} without an answer" if receipt.unanswered else ""
    return f"{receipt.step:<20} {count_phrase(receipt.calls, 'call')} of {receipt.model}, {tokens}, {usd}{lost}"
