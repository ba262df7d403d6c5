"""``benchbuild prompt`` and ``replies``: show the requests to models, and write the replies that a recipe uses."""

from __future__ import annotations

import argparse
import json
import shlex
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchbuilder.authoring import (
    PromptRequest,
    collect_replies,
    input_rows_named,
    open_dry_run,
    prompt_request,
    prompt_uses,
    steps_named,
)
from benchbuilder.cli.session import Session, open_session, progress_watcher
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import LoadedRecipe, display_path, load_recipe
from benchbuilder.core import DataError, Kept, Problem, RecipeError, count_phrase, outcome_text
from benchbuilder.models import Reply, write_replies
from benchbuilder.pipeline import JournalDriver, PromptSteps, journal_lookup, last_command_hint


def run_prompt(args: argparse.Namespace, console: Console) -> int:
    """Print messages, settings, model and key."""
    if args.action == "ls":
        loaded = load_recipe(args.overrides, recipes=args.recipes)
        console.print(_prompts_table(loaded))
        print_line(console, "\nfolders of prompts, in this order:")
        for folder in loaded.prompt_roots:
            print_line(console, display_path(folder))
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
        raise DataError(f"step {step!r} gets no rows from any source", next="choose a source that feeds it")
    with journal_lookup(session.store) as lookup, progress_watcher(console) as watcher:
        only = plan.ancestors_of([step]) - {step}
        with open_dry_run(plan, session.store, JournalDriver(lookup), watcher, only=only) as dry_run:
            prompt_steps = PromptSteps(plan, dry_run.store, dry_run.manifests)
            if not prompt_steps.is_ready(step):
                reasons = "; ".join(f"{name}: {why}" for name, why in dry_run.skipped.items() if name in only)
                raise DataError(f"the rows of step {step!r} are not built yet", why=reasons, next="build first")
            rows = input_rows_named(prompt_steps, step, row, session.store)
            if not rows:
                raise DataError(f"step {step!r} has no rows", next="benchbuild build reports why")
            request = prompt_request(prompt_steps, step, rows[0], lookup)
    _print_request(request, console)
    if other_ids := [row.id for row in rows[1:]]:
        few = ", ".join(other_ids[:5]) + (", ..." if len(other_ids) > 5 else "")
        print_line(console, f"\n{count_phrase(len(other_ids), 'more row')} of this name: {few}")


def _print_request(prompt_request: PromptRequest, console: Console) -> None:
    origin = prompt_request.row.origin
    print_line(console, f"{prompt_request.step}  {prompt_request.row.id}  {origin.file}:{origin.line}", "bold")
    if prompt_request.outcomes is not None:
        became = "; ".join(outcome_text(outcome) for outcome in prompt_request.outcomes)
        is_made = any(isinstance(outcome, Kept) for outcome in prompt_request.outcomes)
        print_line(console, f"{'a rule makes this row' if is_made else 'no model is asked about this row'}: {became}")
        has_request = prompt_request.request is not None
        print_line(console, "a model would get this request:" if has_request else "this step has no prompt for it")
    if prompt_request.request is None:
        return
    for message in prompt_request.request.messages:
        print_line(console, f"\n--- {message.role}", "bold")
        print_line(console, message.content)
    print_line(console, "\n---", "bold")
    for name, value in _settings(prompt_request).items():
        print_line(console, f"{name + ':':<10} {value}")


def _settings(prompt_request: PromptRequest) -> dict[str, str]:
    """What is sent with the messages, and to which model."""
    request, model = prompt_request.request, prompt_request.model
    assert request is not None
    sent = dict(request.sampling) if model is None else model.sent_settings(request.sampling)
    settings = {"settings": _plain(sent)}
    if omitted := sorted(set(request.sampling) - set(sent)):
        settings["omitted"] = ", ".join(omitted) + " (unknown to the backend)"
    settings["schema"] = "none" if request.schema is None else json.dumps(request.schema, ensure_ascii=False)
    if model is None:
        return settings | {"model": "none is set: model=openai model.name=NAME, for instance"}
    identity = {name: value for name, value in model.identity().items() if name != "name" and value is not None}
    settings["model"] = model.label
    settings["reached"] = _plain(identity)
    settings["key"] = prompt_request.key
    settings["journal"] = "no reply yet" if prompt_request.reply is None else _reply(prompt_request.reply)
    return settings


def _plain(values: dict[str, object]) -> str:
    return ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()) or "none"


def _reply(reply: Reply) -> str:
    used = "" if reply.usage is None else f" ({reply.usage.prompt} + {reply.usage.completion} tokens)"
    return f"{reply.outcome}{used}: {reply.text}"


def run_replies(args: argparse.Namespace, console: Console) -> int:
    """Write the file; no model is asked for a missing reply."""
    session = open_session(args, console)
    if not any(node.model_spec for node in session.plan.nodes.values()):
        hint = last_command_hint(session.store, args.overrides, session.loaded.yaml)
        raise RecipeError([Problem("this recipe asks no model: give the overrides of the build",
                                   where=f"command line: {shlex.join(args.overrides)}", hint=hint)])  # fmt: skip
    with journal_lookup(session.store) as lookup, progress_watcher(console) as watcher:
        collected = collect_replies(session.plan, session.store, lookup, watcher)
    count = write_replies(Path(args.output), collected.replies)

    say = partial(print_line, console)
    for step in session.plan.nodes:
        if collected.used_by_step[step] or collected.missing_by_step[step]:
            missing = collected.missing_by_step[step]
            without = f", {count_phrase(missing, 'request')} without one" if missing else ""
            say(f"{step:<20} {_reply_count(collected.used_by_step[step])}{without}")
        if step in collected.skipped:
            say(f"{step:<20} left out: {collected.skipped[step]}")
    say(f"{_reply_count(count)} in {args.output} (equal requests to one model count once)")
    if collected.missing_by_step:
        say("a rebuild fails where a reply is missing; build with the same arguments first")
    elif count:
        kept = [text for text in args.overrides if not text.startswith(("model=", "model.", "run.dir="))]
        beside = f"run.dir={display_path(session.store.folder)}_again"
        command = shlex.join([*kept, "model=replay", f"model.replies={args.output}", beside])
        say(f"next: benchbuild {command} rebuilds without an API key, in its own folder")
    return 0


def _reply_count(count: int) -> str:
    return "1 reply" if count == 1 else f"{count} replies"
