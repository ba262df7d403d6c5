"""``benchbuild votes``: votes out to other tools, and in from them."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchbuilder.annotation import (
    CLAIMS_PROJECT,
    VOTE_FORMATS,
    ExportInput,
    ParsedVotes,
    Project,
    Rater,
    UserTable,
    build_export_input,
    read_user_table,
)
from benchbuilder.cli.annotation_session import AnnotationSession, app_session, open_annotation_session
from benchbuilder.config import did_you_mean, display_path
from benchbuilder.core import DataError, Problem, RecipeError, count_phrase, printable_text

_ACTIONS = ("export", "import", "formats")


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=_ACTIONS, help="write votes for another tool, bring votes in, list formats")
    parser.add_argument(
        "overrides", nargs="*", metavar="FORMAT [FILE ...] key=value",
        help="a format, for import the files, recipe=NAME and any override",
    )  # fmt: skip
    parser.add_argument("--project", default=CLAIMS_PROJECT, help=f"whose votes (default: {CLAIMS_PROJECT})")
    parser.add_argument("--output", metavar="DIR", help="where to write (default: annotation/export of the build)")
    parser.add_argument("--users", metavar="FILE", help="the table of users of the other tool: who is who here (CSV)")
    parser.add_argument(
        "--strict", action="store_true", help="import: a vote that differs from the one that is there is an error"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Write or read files; what a format cannot carry is said each time."""
    if args.action == "formats":
        _print_formats(console)
        return 0
    names = [word for word in args.overrides if "=" not in word and not word.startswith("~")]
    args.overrides = [word for word in args.overrides if word not in names]
    where = f"command line: votes {args.action}"
    if not names or names[0] not in VOTE_FORMATS:
        hint = did_you_mean(names[0], list(VOTE_FORMATS)) if names else ""
        told = f"there is no format {names[0]!r}" if names else "no format was named"
        raise RecipeError([Problem(told, where=where, allowed=", ".join(VOTE_FORMATS), hint=hint)])
    files = [Path(name) for name in names[1:]]
    if bool(files) != (args.action == "import"):
        told = "no file was named" if args.action == "import" else f"{files[0]} is one word too many"
        hint = "benchbuild votes import FORMAT FILE ..." if args.action == "import" else "--output says where to write"
        raise RecipeError([Problem(told, where=where, hint=hint)])
    with open_annotation_session(app_session(args, console)) as desk:
        name = desk.checked_project(args.project)
        project = desk.store.project(name)
        if project is None:
            hint = "`benchbuild review` with the same arguments lays them out"
            raise DataError(f"the project {name!r} has no tasks yet", next=hint)
        users = None if args.users is None else _read_users(Path(args.users))
        if args.action == "export":
            _export(desk, project, names[0], users, args, console)
        else:
            _import(desk, project, names[0], files, users, args, console)
    return 0


def _export_material(annotation: AnnotationSession, project: Project) -> ExportInput:
    ballots = annotation.store
    people = [Rater(person.name, person.code, person.role) for person in ballots.people()]
    live = ballots.live_task_ids(project.name)
    everything = ballots.tasks(project.name, include_retired=True)
    return build_export_input(
        project, [task for number, task in everything if number in live], people, ballots.vote_events(project.name),
        ballots.events(project.name), retired=[task for number, task in everything if number not in live],
        wordings=ballots.wordings(project.name),
    )  # fmt: skip


def _read_users(path: Path) -> UserTable:
    users, problems = read_user_table(path.name, _read_bytes(path))
    ParsedVotes(problems=problems).votes_or_raise()
    return users


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read", where=str(path), why=str(error), next="name a file") from error


def _export(
    annotation: AnnotationSession,
    project: Project,
    name: str,
    users: UserTable | None,
    args: argparse.Namespace,
    console: Console,
) -> None:
    folder = Path(args.output) if args.output else annotation.session.store.workplace / "export" / project.name / name
    writes = VOTE_FORMATS[name].writer
    if writes is None:
        raise RecipeError([Problem(f"{name} is only read", where="command line: votes export",
                                   hint="the build with annotation=sheets writes packets")])  # fmt: skip
    export = writes(_export_material(annotation, project), users)
    folder.mkdir(parents=True, exist_ok=True)
    for file, data in export.files.items():
        (folder / file).write_bytes(data)
        _say(console, f"  {display_path(folder / file)}")
    lost = [str(loss) for loss in export.losses if loss.count != 0]
    if lost:
        _say(console, f"what {name} does not carry:")
    for text in lost:
        _say(console, f"  - {text}")


def _import(
    annotation: AnnotationSession, project: Project, name: str, files: list[Path], users: UserTable | None, args: argparse.Namespace,
    console: Console,
) -> None:  # fmt: skip
    material, reads = _export_material(annotation, project), VOTE_FORMATS[name].reader
    read = [reads(path.name, _read_bytes(path), material, users) for path in files]
    together = ParsedVotes(problems=[problem for brought in read for problem in brought.problems])
    together.votes_or_raise()
    votes = [vote for brought in read for vote in brought.votes]
    report = annotation.store.import_votes(project.name, votes, name, strict=args.strict)
    stale = report.stale + sum(brought.stale for brought in read)
    _say(console, f"{count_phrase(report.new, 'new vote')}, {report.changed} changed, {report.same} as before")
    if stale:
        _say(console, f"{count_phrase(stale, 'vote')} left out: about nothing that is shown now")
    for brought in read:
        for what, count in brought.omitted.items():
            _say(console, f"left out, {what}: {count}")


def _print_formats(console: Console) -> None:
    table = Table("format", "file read back", "cannot carry", box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name, form in VOTE_FORMATS.items():
        table.add_row(name, form.suffix, "; ".join(form.limitations))
    console.print(table)


def _say(console: Console, text: str) -> None:
    console.print(printable_text(text), highlight=False, markup=False, soft_wrap=True)
