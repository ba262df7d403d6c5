"""``benchbuild translations``: write the table in which people translate facts, and check it."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from benchbuilder.authoring import check_table, lines_to_translate, located_faults, render_table, translate_step
from benchbuilder.cli.session import open_session, progress_watcher
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import display_path, load_recipe
from benchbuilder.core import Problem, RecipeError, count_phrase, printable_text, write_atomically
from benchbuilder.steps import CheckedTranslations, flagged_counts

_FILE = "file="


def run(args: argparse.Namespace, console: Console) -> int:
    """Run the action; 1 if a check of the table asks for a person."""
    named = [word.removeprefix(_FILE) for word in args.overrides if word.startswith(_FILE)]
    args.overrides = [word for word in args.overrides if not word.startswith(_FILE)]
    return (_write if args.action == "write" else _check)(named[-1] if named else None, args, console)


def _write(named: str | None, args: argparse.Namespace, console: Console) -> int:
    session = open_session(args, console)
    translate_step(session.loaded)
    if not named:
        hint = "benchbuild translations write recipe=NAME file=es.tsv"
        raise RecipeError([Problem("no table is named", where="command line: translations write", hint=hint)])
    path = Path(named)
    with progress_watcher(console) as watcher:
        lines, facts = lines_to_translate(session.loaded, session.plan, session.store, watcher, path)
    checked = check_table(session.loaded, path if path.exists() else None, lines)
    write_atomically(path, render_table(lines, checked).encode())
    open_lines = sum(not line.translation for line in lines)
    print_line(
        console,
        f"wrote {display_path(path.absolute())}: {count_phrase(facts, 'fact')}, "
        f"{count_phrase(len(lines), 'line')}, {open_lines} to translate",
    )
    words = " ".join(session.loaded.overrides)
    task = "fill the column translation" if open_lines else "let a speaker read the column translation"
    print_line(console, f"next: {task}, then benchbuild translations check {words} file={named}")
    return 0


def _check(named: str | None, args: argparse.Namespace, console: Console) -> int:
    loaded = load_recipe(args.overrides, recipes=args.recipes)
    _, spec = translate_step(loaded)
    if named is None and spec.translations is None:
        hint = "benchbuild translations check recipe=NAME file=es.tsv"
        raise RecipeError([Problem("no table is named", where="command line: translations check", hint=hint)])
    checked = check_table(loaded, Path(named) if named else None)
    path = named or display_path(spec.translations.file if spec.translations is not None else Path())
    lines = [line for parts in checked.translations.values() for line in parts.values()]
    for line, fault in located_faults(lines, checked):
        accepted = f" (accepted: {line.note.strip()})" if line.accepted else ""
        print_line(console, printable_text(f"{path}:{line.line}  {line.part}  {fault}{accepted}"))
    return _summarise(checked, console)


def _summarise(checked: CheckedTranslations, console: Console) -> int:
    """How many facts pass, wait and are not translated, what was learnt, and what was not looked at."""
    stopped = {id for id in checked.faults if checked.stopping(id)}
    looked = {id for id, faults in checked.faults.items() if faults} - stopped
    counts = flagged_counts(list(checked.faults.values()))
    found = f" ({', '.join(f'{name} {count}' for name, count in counts.most_common())})" if counts else ""
    total, whole = len(checked.translations), len(checked.faults)
    passed = f"{count_phrase(total, 'fact')}: {whole - len(stopped)} pass, {len(stopped)} wait for a person"
    print_line(console, f"{passed}, {len(looked)} to look at first{found}, {total - whole} without a whole translation")
    learnt = checked.checker.learnt
    print_line(
        console,
        f"bounds are learnt from the {count_phrase(learnt.count, 'pair')} of the table itself"
        + (": too few to learn lengths, letters and units from" if learnt.is_small else ""),
    )
    if missing := checked.checker.not_looked_at():
        print_line(console, f"not looked at: {', '.join(missing)}")
    if stopped:
        print_line(console, "next: correct a line, or write `ok: REASON` into its note")
    return int(bool(stopped))
