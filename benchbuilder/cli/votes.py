"""``benchbuild votes``: votes out to other tools, and in from them."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchbuilder.annotation.database.models import Project
from benchbuilder.annotation.database.project_setup import CLAIMS
from benchbuilder.annotation.formats.build_export import material_of
from benchbuilder.annotation.formats.models import Brought, Material, Rater
from benchbuilder.annotation.formats.registry import FORMATS
from benchbuilder.annotation.formats.user_table import Users, read_users
from benchbuilder.cli.annotation_session import Desk, app_session, open_desk
from benchbuilder.config.recipe_index import did_you_mean
from benchbuilder.config.search_path import shown
from benchbuilder.core.display import counted, harmless
from benchbuilder.core.errors import DataError, Problem, RecipeError

_ACTIONS = ("export", "import", "formats")


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=_ACTIONS, help="write votes for another tool, bring votes in, list formats")
    parser.add_argument(
        "overrides", nargs="*", metavar="FORMAT [FILE ...] key=value",
        help="a format, for import the files, recipe=NAME and any override",
    )  # fmt: skip
    parser.add_argument("--project", default=CLAIMS, help=f"whose votes (default: {CLAIMS})")
    parser.add_argument("--output", metavar="DIR", help="where to write (default: annotation/export of the build)")
    parser.add_argument("--users", metavar="FILE", help="the table of users of the other tool: who is who here (CSV)")
    parser.add_argument(
        "--strict", action="store_true", help="import: a vote that differs from the one that is there is an error"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Write or read files; what a format cannot carry is said each time."""
    if args.action == "formats":
        _list(console)
        return 0
    names = [word for word in args.overrides if "=" not in word and not word.startswith("~")]
    args.overrides = [word for word in args.overrides if word not in names]
    where = f"command line: votes {args.action}"
    if not names or names[0] not in FORMATS:
        hint = did_you_mean(names[0], list(FORMATS)) if names else ""
        told = f"there is no format {names[0]!r}" if names else "no format was named"
        raise RecipeError([Problem(told, where=where, allowed=", ".join(FORMATS), hint=hint)])
    files = [Path(name) for name in names[1:]]
    if bool(files) != (args.action == "import"):
        told = "no file was named" if args.action == "import" else f"{files[0]} is one word too many"
        hint = "benchbuild votes import FORMAT FILE ..." if args.action == "import" else "--output says where to write"
        raise RecipeError([Problem(told, where=where, hint=hint)])
    with open_desk(app_session(args, console)) as desk:
        name = desk.project(args.project)
        project = desk.ballots.project(name)
        if project is None:
            hint = "`benchbuild review` with the same arguments lays them out"
            raise DataError(f"the project {name!r} has no tasks yet", next=hint)
        users = None if args.users is None else _users(Path(args.users))
        if args.action == "export":
            _export(desk, project, names[0], users, args, console)
        else:
            _import(desk, project, names[0], files, users, args, console)
    return 0


def _material(desk: Desk, project: Project) -> Material:
    ballots = desk.ballots
    people = [Rater(person.name, person.code, person.role) for person in ballots.people()]
    live = ballots.live_tasks(project.name)
    everything = ballots.tasks(project.name, retired=True)
    return material_of(
        project, [task for number, task in everything if number in live], people, ballots.votes(project.name),
        ballots.events(project.name), retired=[task for number, task in everything if number not in live],
        wordings=ballots.wordings(project.name),
    )  # fmt: skip


def _users(path: Path) -> Users:
    users, problems = read_users(path.name, _bytes(path))
    Brought(problems=problems).votes_or_refusal()
    return users


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read", where=str(path), why=str(error), next="name a file") from error


def _export(
    desk: Desk, project: Project, name: str, users: Users | None, args: argparse.Namespace, console: Console
) -> None:
    folder = Path(args.output) if args.output else desk.session.store.workplace / "export" / project.name / name
    writes = FORMATS[name].writes
    if writes is None:
        raise RecipeError([Problem(f"{name} is only read", where="command line: votes export",
                                   hint="the build with annotation=files writes packets")])  # fmt: skip
    export = writes(_material(desk, project), users)
    folder.mkdir(parents=True, exist_ok=True)
    for file, data in export.files.items():
        (folder / file).write_bytes(data)
        _say(console, f"  {shown(folder / file)}")
    lost = [str(loss) for loss in export.losses if loss.count != 0]
    if lost:
        _say(console, f"what {name} does not carry:")
    for text in lost:
        _say(console, f"  - {text}")


def _import(
    desk: Desk, project: Project, name: str, files: list[Path], users: Users | None, args: argparse.Namespace,
    console: Console,
) -> None:  # fmt: skip
    material, reads = _material(desk, project), FORMATS[name].reads
    read = [reads(path.name, _bytes(path), material, users) for path in files]
    together = Brought(problems=[problem for brought in read for problem in brought.problems])
    together.votes_or_refusal()
    votes = [vote for brought in read for vote in brought.votes]
    report = desk.ballots.bring_in(project.name, votes, name, strict=args.strict)
    stale = report.stale + sum(brought.stale for brought in read)
    _say(console, f"{counted(report.new, 'new vote')}, {report.changed} changed, {report.same} as before")
    if stale:
        _say(console, f"{counted(stale, 'vote')} left out: about nothing that is shown now")
    for brought in read:
        for what, count in brought.left_out.items():
            _say(console, f"left out, {what}: {count}")


def _list(console: Console) -> None:
    table = Table("format", "file read back", "cannot carry", box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name, form in FORMATS.items():
        table.add_row(name, form.suffix, "; ".join(form.cannot))
    console.print(table)


def _say(console: Console, text: str) -> None:
    console.print(harmless(text), highlight=False, markup=False, soft_wrap=True)
