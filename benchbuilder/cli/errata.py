"""``benchbuild errata``: collect reports of errors in items, decide them, and release what was decided."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchbuilder.api import ErrataLog
from benchbuilder.cli.release import print_release
from benchbuilder.cli.session import split_names
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import display_path, load_recipe
from benchbuilder.core import Problem, RecipeError, count_phrase, head_excerpt, printable_text
from benchbuilder.publishing import DECISIONS, ERRATUM_KINDS, DecidedErratum, Decision
from benchbuilder.steps import Erratum

_STATES = ("open", "decided", "released", "rejected")
_SHOWN = 60
_SHORT = 16


def run(args: argparse.Namespace, console: Console) -> int:
    """Run the action."""
    names, overrides = split_names(args.overrides)
    log = ErrataLog(load_recipe(overrides, recipes=args.recipes))
    if args.action == "add":
        _add(log, names, args, console)
    elif args.action == "ls":
        _list(log, names, args, console)
    elif args.action == "decide":
        _decide(log, names, args, console)
    else:
        _release(log, names, args, console)
    return 0


def _add(log: ErrataLog, names: Sequence[str], args: argparse.Namespace, console: Console) -> None:
    if args.file is not None:
        _refuse(names or args.kind or args.text, "the file says which items and what is wrong", "errata add --from")
        added = log.add_file(args.file, release=args.release)
    else:
        _refuse(len(names) != 1, "name one item, or a file of reports with --from", "errata add")
        _refuse(not args.kind, "say what sort of error it is", "errata add", "--kind " + "|".join(ERRATUM_KINDS))
        added = log.add(names[0], args.kind, args.text, who=args.who, release=args.release)
    for erratum in (*added.added, *added.known):
        note = "" if erratum in added.added else f", in the log before ({erratum.state})"
        print_line(console, f"{erratum.id}  {erratum.item}  {erratum.kind}{note}")
    said = "1 new erratum" if len(added.added) == 1 else f"{len(added.added)} new errata"
    print_line(console, f"{said} in {display_path(added.log)}; keep this file under version control")
    if added.added:
        print_line(console, f"next: benchbuild errata decide {added.added[0].id} {'|'.join(DECISIONS)} --by NAME "
                   "--reason WHY recipe=...")  # fmt: skip


def _list(log: ErrataLog, names: Sequence[str], args: argparse.Namespace, console: Console) -> None:
    states = [name for name in names if name in _STATES]
    items = [name for name in names if name not in _STATES]
    found = [
        erratum
        for erratum in log.ls()
        if (not states or erratum.state in states)
        and (not items or any(name in erratum.item or name in erratum.id for name in items))
    ]
    if args.json:
        for erratum in found:
            print_line(console, json.dumps(erratum.model_dump(), ensure_ascii=False))
        return
    if not found:
        print_line(console, "no such errata")
        return
    table = Table("erratum", "item", "version", "kind", "reported", "state", "report", box=SIMPLE_HEAD,
                  pad_edge=False, header_style="bold")  # fmt: skip
    for erratum in found:
        reported = " ".join(filter(None, (erratum.when, erratum.who)))
        table.add_row(erratum.id[:_SHORT], erratum.item, erratum.version or "build", erratum.kind,
                      printable_text(reported), _state_text(erratum),
                      printable_text(head_excerpt(" ".join(erratum.text.split()), _SHOWN)))  # fmt: skip
    console.print(table)
    open_count = sum(erratum.state == "open" for erratum in found)
    print_line(console, f"{len(found)} errata, {open_count} open")


def _state_text(erratum: Erratum) -> str:
    if erratum.state == "open":
        return "open"
    how = f"{erratum.decision} by {erratum.by}" if erratum.decision != "reject" else f"rejected by {erratum.by}"
    return printable_text(f"{how}, in {erratum.released}" if erratum.released else how)


def _decide(log: ErrataLog, names: Sequence[str], args: argparse.Namespace, console: Console) -> None:
    _refuse(len(names) != 2, "name one erratum and one decision", "errata decide",
            "benchbuild errata decide ERRATUM " + "|".join(DECISIONS))  # fmt: skip
    first, second = (names[1], names[0]) if names[0] in DECISIONS else (names[0], names[1])
    decision: Decision | None = next((one for one in DECISIONS if one == second), None)
    if decision is None:
        raise RecipeError(
            [Problem(f"{second!r} is no decision", where="command line: errata decide", allowed=", ".join(DECISIONS))]
        )
    texts: dict[str, str] = {}
    for given in args.set:
        name, separator, text = given.partition("=")
        _refuse(not separator, f"--set has the form FIELD=TEXT, not {given!r}", "errata decide --set")
        texts[name.strip().replace("-", "_")] = text
    made = log.decide(first, decision, by=args.by, reason=args.reason, texts=texts, swap=args.swap, again=args.again)
    _print_decision(made, console)


def _print_decision(made: DecidedErratum, console: Console) -> None:
    erratum = made.erratum
    print_line(console, f"{erratum.id}: {erratum.decision} of {erratum.item}")
    if erratum.after is not None:
        for name, before in erratum.before.model_dump().items():
            if (after := getattr(erratum.after, name)) != before:
                print_line(console, f"  {name}: {printable_text(before)}\n    -> {printable_text(after)}")
    if made.family and erratum.decision in ("withdraw", "fix_key"):
        others, one = count_phrase(len(made.family), "other item"), len(made.family) == 1
        falls = f"{others} of its family {'falls' if one else 'fall'} with it"
        look = f"{others} of its family may rest on the same fact: look at {'it' if one else 'them'} too"
        print_line(console, falls if erratum.decision == "withdraw" else look)
        for item in made.family:
            print_line(
                console, f"  {item.id}  {item.texts.expected or 'open':<4} {printable_text(item.texts.question)}"
            )
    if erratum.decision != "reject":
        print_line(console, "next: build again with the same arguments; then benchbuild errata release")


def _release(log: ErrataLog, names: Sequence[str], args: argparse.Namespace, console: Console) -> None:
    _refuse(names, f"{names[0] if names else ''!r} is no override", "errata release")
    made = log.release(design=args.design, despite=args.despite, note=args.changes)
    print_release(made.release, console)
    changes = made.release.record.changes
    print_line(console, f"{made.level} version after {made.release.record.previous}: {changes.added} added, "
               f"{changes.removed} removed, {changes.changed} changed in key, "
               f"{changes.corrected} in text only")  # fmt: skip
    print_line(console, f"{len(made.errata)} errata are released; benchbuild results --beside compares the scores")


def _refuse(wrong: object, message: str, where: str, hint: str = "") -> None:
    if wrong:
        raise RecipeError([Problem(message, where=f"command line: {where}", hint=hint)])
