"""``benchbuild people``: manage who works in the review app, and their invite links."""

from __future__ import annotations

import argparse
import re

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchbuilder.annotation import Person
from benchbuilder.cli.annotation_session import open_annotation_session
from benchbuilder.cli.commands import APP_ADDRESS
from benchbuilder.cli.session import open_session, split_names
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import display_path
from benchbuilder.core import Problem, RecipeError, printable_text

_NAME = re.compile(r"[^\s=/~+][^\s=/]{0,59}")


def run(args: argparse.Namespace, console: Console) -> int:
    """Run the action; links are shown once, because only their hashes are stored."""
    names, args.overrides = split_names(args.overrides)
    _check(args, names)
    with open_annotation_session(open_session(args, console)) as annotation:
        store, projects = annotation.store, [annotation.checked_project(name) for name in args.project]
        for name in names:
            if args.action == "revoke":
                store.revoke(name)
                print_line(console, f"{name}: link and sessions end now; votes stay, unfinished work goes to others")
                continue
            if args.action == "allow":
                store.allow_projects(name, projects)
                print_line(console, f"{name}: works on {', '.join(projects) or 'every project'}")
                continue
            if args.action == "invite":
                person, token = store.invite(name, args.role, args.days, projects)
            else:
                person, token = store.reinvite(name, args.days)
            print_line(console, f"{person.name} ({person.role} {person.code}), until {person.expires_at:%Y-%m-%d}:")
            print_line(console, f"  {args.url.rstrip('/')}/enter/{token}")
        if args.action in ("invite", "link"):
            if annotation.app_spec is None or annotation.app_spec.database_env is None:
                folder = display_path(annotation.session.store.workplace)
                print_line(
                    console,
                    f"links and votes are kept in {folder}: another run.dir has its own; to keep them, "
                    "invite again there, or let annotation.database_env name one database for both",
                )
            if args.url == APP_ADDRESS:
                print_line(console, f"links lead to {APP_ADDRESS}; if `review` serves elsewhere, give --url")
            print_line(console, "give each link only to its person: anyone with it can work in their name, and it "
                 "is not shown again (`people link NAME` makes a new one)")  # fmt: skip
        if args.action == "ls":
            _list(store.people(), console)
    return 0


def _check(args: argparse.Namespace, names: list[str]) -> None:
    where = f"command line: people {args.action}"
    if args.action != "ls" and not names:
        raise RecipeError(
            [Problem("no person was named", where=where, hint=f"benchbuild people {args.action} NAME ...")]
        )
    if wrong := [name for name in names if not _NAME.fullmatch(name)]:
        raise RecipeError([Problem(f"{wrong[0]!r} is not a valid name", where=where,
                                   allowed="up to 60 characters without white space, = and /")])  # fmt: skip
    if not 1 <= args.days <= 3650:
        raise RecipeError(
            [Problem("--days is a number of days", where=where, actual=str(args.days), allowed="1 to 3650")]
        )


def _list(people: list[Person], console: Console) -> None:
    if not people:
        print_line(console, "nobody is invited yet: benchbuild people invite NAME --role annotator recipe=...")
        return
    table = Table("name", "role", "code", "projects", "link works until", "last seen", box=SIMPLE_HEAD, pad_edge=False,
                  header_style="bold")  # fmt: skip
    for person in people:
        until = "revoked" if person.revoked else f"{person.expires_at:%Y-%m-%d}"
        seen = f"{person.seen_at:%Y-%m-%d %H:%M}" if person.seen_at else "never"
        projects = ", ".join(person.projects) or "every one"
        table.add_row(printable_text(person.name), person.role, person.code, projects, until, seen)
    console.print(table)
