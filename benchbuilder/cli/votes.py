"""``benchbuild votes``: export votes to other tools, import them, and write what they decide."""

from __future__ import annotations

import argparse
import json
from collections.abc import Generator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, get_args

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchbuilder.annotation import (
    VOTE_FORMATS,
    ExportInput,
    ParsedVotes,
    Project,
    Rater,
    Spool,
    Task,
    UserTable,
    build_export_input,
    error_reports,
    read_user_table,
    row_decisions,
)
from benchbuilder.cli.annotation_session import AnnotationSession, create_rating_projects, open_annotation_session
from benchbuilder.cli.label_quality import print_quality
from benchbuilder.cli.session import open_session, split_names
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import did_you_mean, display_path
from benchbuilder.core import DataError, Problem, RecipeError, count_phrase, open_given_file, write_atomically
from benchbuilder.steps import ErratumKind

ERRATUM_KINDS: tuple[str, ...] = get_args(ErratumKind)


def run(args: argparse.Namespace, console: Console) -> int:
    """Write or read files; print what the format cannot carry."""
    if args.action == "formats":
        _print_formats(console)
        return 0
    names, args.overrides = split_names(args.overrides)
    if args.action == "quality":
        return print_quality(names, args, console)
    if args.action == "decisions":
        return _write_decisions(names, args, console)
    where = f"command line: votes {args.action}"
    if not names or names[0] not in VOTE_FORMATS:
        hint = did_you_mean(names[0], list(VOTE_FORMATS)) if names else ""
        message = f"there is no format {names[0]!r}" if names else "no format was named"
        raise RecipeError([Problem(message, where=where, allowed=", ".join(VOTE_FORMATS), hint=hint)])
    files = [Path(name) for name in names[1:]]
    if bool(files) != (args.action == "import"):
        message = "no file was named" if args.action == "import" else f"export takes no file: {files[0]}"
        hint = "benchbuild votes import FORMAT FILE ..." if args.action == "import" else "--output says where to write"
        raise RecipeError([Problem(message, where=where, hint=hint)])
    with open_annotation_session(open_session(args, console)) as annotation:
        name = annotation.checked_project(args.project)
        if name in annotation.session.plan.recipe.reviews and args.action == "export":
            create_rating_projects(annotation, console)
        project = annotation.store.project(name)
        if project is None:
            hint = "`benchbuild review` with the same arguments creates them"
            raise DataError(f"the project {name!r} has no tasks yet", next=hint)
        users = None if args.users is None else _read_users(Path(args.users))
        if args.action == "export":
            _export(annotation, project, names[0], users, args, console)
        else:
            _import(annotation, project, names[0], files, users, args, console)
    return 0


def _export_material(annotation: AnnotationSession, project: Project) -> ExportInput:
    store = annotation.store
    people = [Rater(person.name, person.code, person.role) for person in store.people()]
    live, retired = Spool[Task](block=8), Spool[Task](block=8)
    for is_live, task in store.each_task(project.name):
        (live if is_live else retired).append(task)
    return build_export_input(
        project, live, people, store.vote_events(project.name), store.events(project.name), retired=retired,
        wordings=store.wordings(project.name),
    )  # fmt: skip


def _read_users(path: Path) -> UserTable:
    with _reading(path) as file:
        users, problems = read_user_table(path.name, file.read())
    ParsedVotes(problems=problems).votes_or_raise()
    return users


@contextmanager
def _reading(path: Path) -> Generator[IO[bytes]]:
    try:
        file = open_given_file(path)
    except OSError as error:
        raise DataError(
            f"{path} cannot be read", where=str(path), why=str(error), next="name a readable file"
        ) from error
    with file:
        yield file


def _export(
    annotation: AnnotationSession, project: Project, name: str, users: UserTable | None, args: argparse.Namespace,
    console: Console,
) -> None:  # fmt: skip
    folder = Path(args.output) if args.output else annotation.session.store.workplace / "export" / project.name / name
    writer = VOTE_FORMATS[name].writer
    if writer is None:
        raise RecipeError([Problem(f"{name} can only be imported", where="command line: votes export",
                                   hint="the build with annotation=sheets writes annotation sheets")])  # fmt: skip
    export = writer(_export_material(annotation, project), users, folder)
    for file in export.files:
        print_line(console, f"  {display_path(folder / file)}")
    losses = [str(loss) for loss in export.losses if loss.count != 0]
    if losses:
        print_line(console, f"what {name} does not carry:")
    for text in losses:
        print_line(console, f"  - {text}")


def _import(
    annotation: AnnotationSession, project: Project, name: str, files: list[Path], users: UserTable | None,
    args: argparse.Namespace, console: Console,
) -> None:  # fmt: skip
    material, reader = _export_material(annotation, project), VOTE_FORMATS[name].reader
    parsed_files: list[ParsedVotes] = []
    for path in files:
        with _reading(path) as file:
            parsed_files.append(reader(path.name, file, material, users))
    ParsedVotes(problems=[problem for parsed in parsed_files for problem in parsed.problems]).votes_or_raise()
    several = len(parsed_files) > 1  # of one file, the store need not keep a copy
    votes = chain.from_iterable(parsed.votes for parsed in parsed_files) if several else parsed_files[0].votes
    report = annotation.store.import_votes(project.name, votes, name, strict=args.strict)
    stale = report.stale + sum(parsed.stale for parsed in parsed_files)
    print_line(console, f"{count_phrase(report.new, 'new vote')}, {report.changed} changed, {report.same} as before")
    if stale:
        print_line(console, f"{count_phrase(stale, 'vote')} left out: their tasks are no longer shown")
    for parsed in parsed_files:
        for reason, count in parsed.omitted.items():
            print_line(console, f"left out, {reason}: {count}")


def _write_decisions(names: list[str], args: argparse.Namespace, console: Console) -> int:
    """Write what the votes on a rating project decide, and its errors as reports for the log of errata."""
    if names:
        raise RecipeError([Problem(f"decisions takes no name: {names[0]}", where="command line: votes decisions",
                                   hint="--project NAME")])  # fmt: skip
    with open_annotation_session(open_session(args, console)) as annotation:
        project = annotation.checked_project(args.project)
        if project not in annotation.session.plan.recipe.reviews:
            reviews = ", ".join(annotation.session.plan.recipe.reviews)
            raise RecipeError([Problem(f"a build follows the votes on {project!r} itself", allowed=reviews,
                                       where=f"command line: --project {project}")])  # fmt: skip
        decided = row_decisions(annotation.store, project)
        folder = Path(args.output) if args.output else annotation.session.store.workplace / "decisions" / project
    if not decided:
        raise DataError(
            f"the project {project!r} has no tasks yet", next="`benchbuild review` with the same arguments creates them"
        )
    reports = [report for one in decided for report in error_reports(one, project, ERRATUM_KINDS)]
    done = sum(one.is_complete for one in decided)
    print_line(console, f"{count_phrase(len(decided), 'row')}: {done} decided, {len(decided) - done} waiting for votes")
    for name, rows in (("decisions.jsonl", [one.as_row() for one in decided]), ("reports.jsonl", reports)):
        write_atomically(folder / name, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        print_line(console, f"  {display_path(folder / name)} ({count_phrase(len(rows), 'row')})")
    if reports:
        print_line(console, f"next: benchbuild errata add --from {display_path(folder / 'reports.jsonl')} recipe=...")
    return 0


def _print_formats(console: Console) -> None:
    table = Table("format", "file read back", "cannot carry", box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name, vote_format in VOTE_FORMATS.items():
        table.add_row(name, vote_format.suffix, "; ".join(vote_format.limitations))
    console.print(table)
