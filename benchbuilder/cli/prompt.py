"""``benchbuild prompt``: the prompts of a recipe, and exactly what would be sent about a row."""

from __future__ import annotations

import argparse
import json

from rich.console import Console
from rich.table import Table

from benchbuilder.authoring.dry_run.run import rehearse
from benchbuilder.authoring.dry_run.show_prompt import Sending, rows_called, sending, steps_called, uses
from benchbuilder.authoring.dry_run.transcripts import Archivist, Desk, looking
from benchbuilder.cli.session import Session, open_session, watching
from benchbuilder.config.load import Loaded, load_recipe
from benchbuilder.config.search_path import shown
from benchbuilder.core.display import counted, fate_text, harmless
from benchbuilder.core.errors import DataError, Problem, RecipeError
from benchbuilder.core.records.outcomes import Kept
from benchbuilder.models.base import Reply


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=("show", "ls"), help="show what would be sent, or list the prompts")
    parser.add_argument(
        "overrides", nargs="*", metavar="NAME key=value",
        help="for show: a prompt file (qa2d) or a step; then recipe=NAME and any override",
    )  # fmt: skip
    parser.add_argument("--row", metavar="ID", default="", help="a row's id or FILE:LINE (default: the first row)")


def run(args: argparse.Namespace, console: Console) -> int:
    """Print messages, settings, model and key."""
    if args.action == "ls":
        loaded = load_recipe(args.overrides, recipes=args.recipes)
        console.print(_listed(loaded))
        _say(console, "\nprompts are looked for in")
        for folder in loaded.prompts:
            _say(console, shown(folder))
        return 0
    if not args.overrides or "=" in args.overrides[0]:
        hint = "benchbuild prompt show qa2d recipe=care_mi; `benchbuild prompt ls` lists them"
        raise RecipeError([Problem("no prompt was named", where="command line: prompt show", hint=hint)])
    name = args.overrides.pop(0)
    session = open_session(args, console)
    for step in steps_called(session.plan.recipe, name):
        _show(session, step, args.row, console)
    return 0


def _listed(loaded: Loaded) -> Table:
    table = Table("prompt", "step", "as", "strategy", "model", box=None, pad_edge=False, header_style="bold")
    for use in uses(loaded.recipe):
        model = "" if use.model is None else str(getattr(use.model, "name", None) or use.model.kind)
        table.add_row(use.path, use.step, use.field, str(getattr(use.spec, "strategy", "")), model)
    return table


def _show(session: Session, step: str, row: str, console: Console) -> None:
    plan = session.plan
    if step not in plan.nodes:
        raise DataError(f"step {step!r} has no source behind it", next="choose a source that leads to it")
    with looking(session.store) as lookup, watching(console) as watcher:
        only = plan.leading_to([step]) - {step}
        with rehearse(plan, session.store, Archivist(lookup), watcher, only=only) as done:
            desk = Desk(plan, done.store, done.manifests)
            if not desk.ready(step):
                told = "; ".join(f"{name}: {why}" for name, why in done.skipped.items() if name in only)
                raise DataError(f"the rows of step {step!r} cannot be had yet", why=told, next="build first")
            rows = rows_called(desk, step, row, session.store)
            if not rows:
                raise DataError(f"step {step!r} has no rows", next="benchbuild build says what became of them")
            told = sending(desk, step, rows[0], lookup)
    _print(told, console)
    if others := [other.id for other in rows[1:]]:
        few = ", ".join(others[:5]) + (", ..." if len(others) > 5 else "")
        _say(console, f"\n{counted(len(others), 'more row')} called so: {few}")


def _say(console: Console, text: str = "", style: str = "") -> None:
    console.print(harmless(text), style=style or None, highlight=False, markup=False, soft_wrap=True)


def _print(told: Sending, console: Console) -> None:
    origin = told.row.origin
    _say(console, f"{told.step}  {told.row.id}  {origin.file}:{origin.line}", "bold")
    if told.fates is not None:
        became = "; ".join(fate_text(fate) for fate in told.fates)
        made = any(isinstance(fate, Kept) for fate in told.fates)
        _say(console, f"{'a rule makes this row' if made else 'no model is asked about this row'}: {became}")
        asked = "if the model were asked, this would be sent:" if told.request else "this step has no prompt for it"
        _say(console, asked)
    if told.request is None:
        return
    for message in told.request.messages:
        _say(console, f"\n--- {message.role}", "bold")
        _say(console, message.content)
    _say(console, "\n---", "bold")
    for name, value in _settings(told).items():
        _say(console, f"{name + ':':<10} {value}")


def _settings(told: Sending) -> dict[str, str]:
    """What goes with the messages, and where."""
    request, model = told.request, told.model
    assert request is not None
    sent = dict(request.sampling) if model is None else model.sent(request.sampling)
    found = {"settings": _plain(sent)}
    if omitted := sorted(set(request.sampling) - set(sent)):
        found["omitted"] = ", ".join(omitted) + " (the backend does not know them)"
    found["schema"] = "none" if request.schema is None else json.dumps(request.schema, ensure_ascii=False)
    if model is None:
        return found | {"model": "none is set: model=openai model.name=NAME, for instance"}
    identity = {name: value for name, value in model.identity().items() if name != "name" and value is not None}
    found["model"] = model.label
    found["reached"] = _plain(identity)
    found["key"] = told.key
    found["journal"] = "no reply yet" if told.reply is None else _reply(told.reply)
    return found


def _plain(values: dict[str, object]) -> str:
    return ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()) or "none"


def _reply(reply: Reply) -> str:
    used = "" if reply.usage is None else f" ({reply.usage.prompt} + {reply.usage.completion} tokens)"
    return f"{reply.outcome}{used}: {reply.text}"
