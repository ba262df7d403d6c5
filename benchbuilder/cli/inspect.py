"""``branches_of``, ``trace`` and ``first_rows``: looking into a build."""

from __future__ import annotations

import argparse
import contextlib
from collections import Counter
from collections.abc import Generator
from itertools import takewhile
from typing import Any

from rich.console import Console
from rich.table import Table

from benchbuilder.authoring import Inspector, PromptSteps, TranscriptTurn, journal_lookup
from benchbuilder.cli.session import Session, add_overrides, open_session
from benchbuilder.config import KindSpec
from benchbuilder.core import DataError, Payload, Row, count_phrase, create_from_spec, printable_text, tail_excerpt
from benchbuilder.pipeline import last_command_hint

_LINES, _CHARACTERS = 8, 240
_LONG = 20
_ENVELOPE = frozenset(Row.model_fields) - {"id"}


@contextlib.contextmanager
def _suggest_last_command(session: Session, overrides: list[str]) -> Generator[None]:
    """What is not found may be there under the words of the build."""
    try:
        yield
    except DataError as error:
        if reminder := last_command_hint(session.store, overrides, session.loaded.yaml):
            raise DataError(error.what, where=error.where, why=error.why, next=reminder) from error
        raise


def register_why(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``branches_of``."""
    parser.add_argument("id", help="a row's id, or a source unit as FILE:LINE (as the ledger names it)")
    add_overrides(parser)


def run_why(args: argparse.Namespace, console: Console) -> int:
    """A line a branch."""
    session = open_session(args, console)
    with _suggest_last_command(session, args.overrides):
        inspector = Inspector(session.plan, session.store)
        branches = Counter(inspector.branches_of(args.id))
    for text in inspector.texts_read_at(args.id):
        _print_text(console, text)
    before: tuple[str, ...] = ()
    for branch, count in branches.items():
        shared = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(before, branch.path[:-1], strict=False))))
        kept = max(shared - 1, 0)  # the step where it branches off is said again
        path = ("... " if kept else "") + " > ".join(branch.path[kept:])
        times = f" ({count} times)" if count > 1 else ""
        console.print(
            printable_text(f"{path}: {branch.ending()}{times}"), highlight=False, markup=False, soft_wrap=True
        )
        before = branch.path
    return 0


def register_trace(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``trace``."""
    parser.add_argument("item", help="the id of an item, or of any other row")
    parser.add_argument("--full", action="store_true", help="show prompts in full")
    add_overrides(parser)


def run_trace(args: argparse.Namespace, console: Console) -> int:
    """From the item back to the source line."""
    session = open_session(args, console)
    with _suggest_last_command(session, args.overrides):
        inspector = Inspector(session.plan, session.store)
        rows = inspector.trace(args.item)
    desk = PromptSteps(session.plan, session.store, inspector.manifests)
    told: dict[str, str] = {}
    with journal_lookup(session.store) as lookup:
        for step, row in rows:
            console.print(
                f"{step}  {row.id}  made by {row.produced_by.rule}", style="bold", highlight=False, markup=False
            )
            for name, value in (_row_fields(row) if args.full else _without_repeats(row, told)).items():
                _print_text(console, f"{name}: {value}")
            turns = desk.turns_behind(step, row, lookup)
            by = _model_text(desk.open_step(step).model_spec) if turns else ""
            for turn in turns:
                _print_turn(console, turn, by, full=args.full)
    origin = rows[0][1].origin
    console.print(f"origin: {origin.file}:{origin.line}", highlight=False, markup=False)
    return 0


def _without_repeats(row: Row, told_texts: dict[str, str]) -> dict[str, str]:
    """What a row holds; long texts that stood in a row before are named by that row's id. `told_texts` collects them."""
    shown: dict[str, str] = {}
    for name, value in _row_fields(row).items():
        lines = [line for line in value.splitlines() if len(line) >= _LONG]
        before = {told_texts.get(line, "") for line in lines}
        again = bool(lines) and len(lines) == len(value.splitlines()) and "" not in before and row.id not in before
        shown[name] = f"as in {', '.join(sorted(before))}" if again else value
        for line in lines:
            told_texts.setdefault(line, row.id)
    return shown


def _print_text(console: Console, text: str) -> None:
    indented = printable_text(text).replace("\n", "\n    ")
    console.print(f"    {indented}", highlight=False, markup=False, soft_wrap=True)


def _model_text(spec: KindSpec | None) -> str:
    """A model and where it is reached."""
    if spec is None:
        return ""
    model = create_from_spec("model", spec)
    at = model.identity().get("endpoint")
    return f" of {model.label}" + (f" at {at}" if at else "")


def _print_turn(console: Console, turn: TranscriptTurn, model: str, *, full: bool) -> None:
    """What the model was asked and what it answered, as the journal has it."""
    for message in turn.request.messages:
        content = message.content if full else tail_excerpt(message.content, lines=_LINES, characters=_CHARACTERS)
        _print_text(console, f"--- {message.role}\n{content}")
    if turn.reply is None:
        _print_text(console, "--- the journal holds no reply to this")
        return
    used = turn.reply.usage
    took = "" if used is None else f", {used.prompt} + {used.completion} tokens"
    _print_text(console, f"--- reply{model} ({turn.reply.outcome}{took})\n{turn.reply.text}")


def register_peek(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``first_rows``."""
    parser.add_argument("step", help="a step or a source")
    parser.add_argument("-n", "--rows", type=int, default=5, help="how many rows (default 5)")
    add_overrides(parser)


def run_peek(args: argparse.Namespace, console: Console) -> int:
    """The first rows of a step."""
    session = open_session(args, console)
    known = args.step in session.plan.nodes
    with _suggest_last_command(session, args.overrides) if known else contextlib.nullcontext():
        manifest, rows = Inspector(session.plan, session.store).first_rows(args.step, args.rows)
    head = f"{args.step}: {count_phrase(manifest.rows, 'row')} of {manifest.row}, kind {manifest.kind}"
    console.print(head, highlight=False, markup=False)
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
    data = row.model_dump(mode="json", exclude=set(_ENVELOPE))
    if "payload" in data:
        payload: Payload = getattr(row, "payload")  # noqa: B009 - every role with a payload has it
        held: dict[str, Any] = data.pop("payload")
        data.update(
            {**held, **{name: text for name, text in payload.flat_cells().items() if text not in held.values()}}
        )
    return {
        name: printable_text(str(value))
        for name, value in data.items()
        if name != "id" and value not in ("", None, [], ())
    }
