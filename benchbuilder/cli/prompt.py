"""``benchbuild prompt``: the prompts of a recipe, and exactly what would be sent about a row."""

from __future__ import annotations

import argparse
import json

from rich.console import Console
from rich.table import Table

from benchbuilder.authoring import (
    JournalDriver,
    PromptRequest,
    PromptSteps,
    input_rows_named,
    journal_lookup,
    open_dry_run,
    prompt_request,
    prompt_uses,
    steps_named,
)
from benchbuilder.cli.session import Session, open_session, progress_watcher
from benchbuilder.config import LoadedRecipe, display_path, load_recipe
from benchbuilder.core import DataError, Kept, Problem, RecipeError, count_phrase, outcome_text, printable_text
from benchbuilder.models import Reply


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
        console.print(_prompts_table(loaded))
        _say(console, "\nprompts are looked for in")
        for folder in loaded.prompt_roots:
            _say(console, display_path(folder))
        return 0
    if not args.overrides or "=" in args.overrides[0]:
        hint = "benchbuild prompt show qa2d recipe=care_mi; `benchbuild prompt ls` lists them"
        raise RecipeError([Problem("no prompt was named", where="command line: prompt show", hint=hint)])
    name = args.overrides.pop(0)
    session = open_session(args, console)
    for step in steps_named(session.plan.recipe, name):
        _print_request_for(session, step, args.row, console)
    return 0


def _prompts_table(loaded: LoadedRecipe) -> Table:
    table = Table("prompt", "step", "as", "strategy", "model", box=None, pad_edge=False, header_style="bold")
    for use in prompt_uses(loaded.recipe):
        model = "" if use.model is None else str(getattr(use.model, "name", None) or use.model.kind)
        table.add_row(use.path, use.step, use.field, str(getattr(use.spec, "strategy", "")), model)
    return table


def _print_request_for(session: Session, step: str, row: str, console: Console) -> None:
    plan = session.plan
    if step not in plan.nodes:
        raise DataError(f"step {step!r} has no source behind it", next="choose a source that leads to it")
    with journal_lookup(session.store) as lookup, progress_watcher(console) as watcher:
        only = plan.ancestors_of([step]) - {step}
        with open_dry_run(plan, session.store, JournalDriver(lookup), watcher, only=only) as done:
            desk = PromptSteps(plan, done.store, done.manifests)
            if not desk.is_ready(step):
                told = "; ".join(f"{name}: {why}" for name, why in done.skipped.items() if name in only)
                raise DataError(f"the rows of step {step!r} cannot be had yet", why=told, next="build first")
            rows = input_rows_named(desk, step, row, session.store)
            if not rows:
                raise DataError(f"step {step!r} has no rows", next="benchbuild build says what became of them")
            told = prompt_request(desk, step, rows[0], lookup)
    _print_request(told, console)
    if others := [other.id for other in rows[1:]]:
        few = ", ".join(others[:5]) + (", ..." if len(others) > 5 else "")
        _say(console, f"\n{count_phrase(len(others), 'more row')} called so: {few}")


def _say(console: Console, text: str = "", style: str = "") -> None:
    console.print(printable_text(text), style=style or None, highlight=False, markup=False, soft_wrap=True)


def _print_request(prompt_request: PromptRequest, console: Console) -> None:
    origin = prompt_request.row.origin
    _say(console, f"{prompt_request.step}  {prompt_request.row.id}  {origin.file}:{origin.line}", "bold")
    if prompt_request.outcomes is not None:
        became = "; ".join(outcome_text(outcome) for outcome in prompt_request.outcomes)
        made = any(isinstance(outcome, Kept) for outcome in prompt_request.outcomes)
        _say(console, f"{'a rule makes this row' if made else 'no model is asked about this row'}: {became}")
        asked = (
            "if the model were asked, this would be sent:"
            if prompt_request.request
            else "this step has no prompt for it"
        )
        _say(console, asked)
    if prompt_request.request is None:
        return
    for message in prompt_request.request.messages:
        _say(console, f"\n--- {message.role}", "bold")
        _say(console, message.content)
    _say(console, "\n---", "bold")
    for name, value in _settings(prompt_request).items():
        _say(console, f"{name + ':':<10} {value}")


def _settings(prompt_request: PromptRequest) -> dict[str, str]:
    """What goes with the messages, and where."""
    request, model = prompt_request.request, prompt_request.model
    assert request is not None
    sent = dict(request.sampling) if model is None else model.sent_settings(request.sampling)
    found = {"settings": _plain(sent)}
    if omitted := sorted(set(request.sampling) - set(sent)):
        found["omitted"] = ", ".join(omitted) + " (the backend does not know them)"
    found["schema"] = "none" if request.schema is None else json.dumps(request.schema, ensure_ascii=False)
    if model is None:
        return found | {"model": "none is set: model=openai model.name=NAME, for instance"}
    identity = {name: value for name, value in model.identity().items() if name != "name" and value is not None}
    found["model"] = model.label
    found["reached"] = _plain(identity)
    found["key"] = prompt_request.key
    found["journal"] = "no reply yet" if prompt_request.reply is None else _reply(prompt_request.reply)
    return found


def _plain(values: dict[str, object]) -> str:
    return ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()) or "none"


def _reply(reply: Reply) -> str:
    used = "" if reply.usage is None else f" ({reply.usage.prompt} + {reply.usage.completion} tokens)"
    return f"{reply.outcome}{used}: {reply.text}"
