"""``benchbuild why`` and ``peek``: look into a build."""

from __future__ import annotations

import argparse
import contextlib
from collections import Counter
from collections.abc import Generator, Sequence
from itertools import takewhile
from typing import Any

from rich.console import Console
from rich.table import Table

from benchbuilder.cli.session import Session, open_session
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import KindSpec
from benchbuilder.core import DataError, Payload, Row, count_phrase, create_from_spec, printable_text, tail_excerpt
from benchbuilder.pipeline import Inspector, PromptSteps, TranscriptTurn, journal_lookup, last_command_hint

_LINES, _CHARACTERS = 8, 240
_LONG = 20
_HEADER_FIELDS = frozenset(Row.model_fields) - {"id"}


@contextlib.contextmanager
def _suggest_last_command(session: Session, overrides: list[str]) -> Generator[None]:
    """Name the last command of the build where its rows are not found."""
    try:
        yield
    except DataError as error:
        if reminder := last_command_hint(session.store, overrides, session.loaded.yaml):
            raise DataError(error.what, where=error.where, why=error.why, next=reminder) from error
        raise


def run_why(args: argparse.Namespace, console: Console) -> int:
    """The rows from a row back to its source line, or the texts of a source line; then one line for each branch."""
    session = open_session(args, console)
    with _suggest_last_command(session, args.overrides):
        inspector = Inspector.of_plan(session.plan, session.store)
        branches = Counter(inspector.branches_of(args.id))
    for text in inspector.texts_read_at(args.id):
        _print_text(console, text)
    if rows := inspector.trace(args.id):
        _print_rows(rows, session, PromptSteps(session.plan, session.store, inspector.manifests), full=args.full)
    before: tuple[str, ...] = ()
    for branch, count in branches.items():
        shared = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(before, branch.path[:-1], strict=False))))
        skipped = max(shared - 1, 0)  # the step where it branches off is repeated
        path = ("... " if skipped else "") + " > ".join(branch.path[skipped:])
        times = f" ({count} times)" if count > 1 else ""
        print_line(console, f"{path}: {branch.ending()}{times}")
        before = branch.path
    return 0


def _print_rows(rows: Sequence[tuple[str, Row]], session: Session, prompts: PromptSteps, *, full: bool) -> None:
    """Print a row and what it was made of, with the prompts and the replies behind them."""
    shown_lines: dict[str, str] = {}
    with journal_lookup(session.store) as lookup:
        for step, row in rows:
            print_line(session.console, f"{step}  {row.id}  produced by {row.produced_by.rule}", "bold")
            for name, value in (_row_fields(row) if full else _without_repeats(row, shown_lines)).items():
                _print_text(session.console, f"{name}: {value}")
            turns = prompts.turns_behind(step, row, lookup)
            model = _model_text(prompts.open_step(step).model_spec) if turns else ""
            for turn in turns:
                _print_turn(session.console, turn, model, full=full)
    origin = rows[0][1].origin
    print_line(session.console, f"origin: {origin.file}:{origin.line}")


def _without_repeats(row: Row, shown_lines: dict[str, str]) -> dict[str, str]:
    """The fields of a row; a long text that an earlier row has is named by that row's id, which `shown_lines` maps."""
    shown: dict[str, str] = {}
    for name, value in _row_fields(row).items():
        lines = [line for line in value.splitlines() if len(line) >= _LONG]
        rows = {shown_lines.get(line, "") for line in lines}
        is_repeat = bool(lines) and len(lines) == len(value.splitlines()) and "" not in rows and row.id not in rows
        shown[name] = f"as in {', '.join(sorted(rows))}" if is_repeat else value
        for line in lines:
            shown_lines.setdefault(line, row.id)
    return shown


def _print_text(console: Console, text: str) -> None:
    indented = printable_text(text).replace("\n", "\n    ")
    print_line(console, f"    {indented}")


def _model_text(spec: KindSpec | None) -> str:
    """The model and its endpoint."""
    if spec is None:
        return ""
    model = create_from_spec("model", spec)
    endpoint = model.identity().get("endpoint")
    return f" of {model.label}" + (f" at {endpoint}" if endpoint else "")


def _print_turn(console: Console, turn: TranscriptTurn, model: str, *, full: bool) -> None:
    """Print one request and its reply, as the journal has them."""
    for message in turn.request.messages:
        content = message.content if full else tail_excerpt(message.content, lines=_LINES, characters=_CHARACTERS)
        _print_text(console, f"--- {message.role}\n{content}")
    if turn.reply is None:
        _print_text(console, "--- the journal has no reply to this request")
        return
    used = turn.reply.usage
    tokens = "" if used is None else f", {used.prompt} + {used.completion} tokens"
    _print_text(console, f"--- reply{model} ({turn.reply.outcome}{tokens})\n{turn.reply.text}")


def run_peek(args: argparse.Namespace, console: Console) -> int:
    """Print the first rows of a step."""
    session = open_session(args, console)
    is_known = args.step in session.plan.nodes
    with _suggest_last_command(session, args.overrides) if is_known else contextlib.nullcontext():
        manifest, rows = Inspector.of_plan(session.plan, session.store).first_rows(args.step, args.rows)
    head = f"{args.step}: {count_phrase(manifest.rows, 'row')} of {manifest.row}, kind {manifest.kind}"
    print_line(console, head)
    for row in rows:
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_row("id", row.id)
        table.add_row("origin", f"{row.origin.file}:{row.origin.line}")
        for name, value in _row_fields(row).items():
            table.add_row(name, value)
        console.print()
        console.print(table, highlight=False, markup=False)
    return 0


def _row_fields(row: Row) -> dict[str, str]:
    data = row.model_dump(mode="json", exclude=set(_HEADER_FIELDS))
    if "payload" in data:
        payload: Payload = getattr(row, "payload")  # noqa: B009 - every role with a payload has it
        fields: dict[str, Any] = data.pop("payload")
        cells = {name: text for name, text in payload.flat_cells().items() if text not in fields.values()}
        data.update({**fields, **cells})
    return {
        name: printable_text(str(value))
        for name, value in data.items()
        if name != "id" and value not in ("", None, [], ())
    }
