"""``benchbuild check``, ``schema`` and ``new``: validate, describe and copy recipes."""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

import yaml
from rich.console import Console

from benchbuilder.api import check_overrides
from benchbuilder.authoring import (
    KIND_WORDS,
    Clone,
    CloneRequest,
    DataFile,
    UnadaptedText,
    check_request,
    clone_recipe,
    data_request,
    distribution_name,
    plugin_skeleton_files,
    read_back,
    read_data_files,
    removed_recipe,
    start_recipe,
    write_plugin_skeleton,
)
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import (
    OPEN_PLACE,
    RecipeIndex,
    check_content,
    display_path,
    find_roots,
    recipe_schema,
)
from benchbuilder.core import (
    BenchbuilderError,
    DataError,
    Problem,
    RecipeError,
    count_phrase,
    language_name,
    name_file_in_errors,
    read_given_text,
)
from benchbuilder.pipeline import check_store

_MISSING = "a value must be given here"
"""How the problem of an open place begins."""
_MARKED = "title, correct_as_of and personal_data of the card"
"""What `new` leaves for people to say, and marks."""


def run_check(args: argparse.Namespace, console: Console) -> int:
    """Say whether a recipe can run: warnings, for a copied recipe also its unadapted text; raise for errors.

    With ``--store``, say whether a build's folder is whole, without a recipe.
    """
    if args.store is not None:
        return _check_folder(Path(args.store), args.overrides, console)
    name = next((item.partition("=")[2] for item in args.overrides if item.startswith("recipe=")), "")
    try:
        result = check_overrides(args.overrides, args.recipes)
    except (RecipeError, DataError) as error:
        _warn(UnadaptedText(name, find_roots(args.recipes or ())).problems_in_files(), console)
        if isinstance(error, RecipeError) and (summary := _open_places(error.problems)):
            print_line(console, summary)
        raise
    for line in result.rows:
        print_line(console, line)
    _warn(result.warnings, console)
    parts = (count_phrase(result.sources, "source"), count_phrase(result.steps, "step"))
    summary = f"{', '.join(parts)} and {count_phrase(result.files, 'file')} are fine"
    print_line(console, f"{result.name}: {summary}")
    if result.open_before_release:
        print_line(console, f"open before a release, not before a build: {'; '.join(result.open_before_release)}")
    for judged in result.judged:
        share = judged.share
        print_line(console, f"{judged.step}: {share.right} of {count_phrase(share.decided, 'judged row')} are right")
    return 0


def _open_places(problems: Sequence[Problem]) -> str:
    """How many sentences and other values a recipe still lacks; empty unless sentences are among them."""
    missing = [problem.key.partition(".")[0] for problem in problems if problem.message.startswith(_MISSING)]
    if "forms" not in missing:
        return ""
    others = Counter(key for key in missing if key != "forms")
    rest = "".join(f"; {count_phrase(count, 'value')} of {key} open" for key, count in others.items())
    sentences = missing.count("forms")
    verb = "is" if sentences == 1 else "are"
    return f"{count_phrase(sentences, 'sentence')} {verb} open; 0 rules are needed{rest}"


def _check_folder(folder: Path, overrides: Sequence[str], console: Console) -> int:
    """Print what is damaged in a build's folder; exit code 3 if anything is."""
    if overrides:
        raise RecipeError([Problem("--store needs no recipe", where=" ".join(overrides), hint="name the folder alone")])
    if not (folder / "store").is_dir():
        raise DataError(f"{folder} holds no build", next="give the folder of a build, for instance builds/care_mi")
    check_content(folder)
    check = check_store(folder)
    for path, why in check.damaged.items():
        print_line(console, f"{display_path(path)}: {why}")
    for path in check.other_versions:
        print_line(console, f"{display_path(path)}: of another version, which cannot be compared")
    state = f"{len(check.damaged)} damaged" if check.damaged else "all as they were written"
    print_line(console, f"{folder}: {check.files} files, {check.steps} steps: {state}")
    if check.damaged:
        print_line(console, "next: give the command of the build again; it makes what is damaged again, with a note")
    return 3 if check.damaged else 0


def _warn(warnings: Iterable[Problem], console: Console) -> None:
    for warning in warnings:
        print_line(console, f"warning: {warning}")


def run_schema(args: argparse.Namespace, console: Console) -> int:
    """Write a JSON Schema of recipe files, for editors."""
    text = json.dumps(recipe_schema(), ensure_ascii=False, indent=2) + "\n"
    if args.output is None:
        sys.stdout.write(text)
        return 0
    with name_file_in_errors(path := Path(args.output)):
        path.write_text(text, encoding="utf-8", newline="\n")
    comment = f"# yaml-language-server: $schema={args.output}"
    print_line(console, f"wrote {args.output}; put this line on top of a recipe: {comment}")
    return 0


def run_new(args: argparse.Namespace, console: Console) -> int:
    """Write the files and print what to do with them."""
    if args.plugin is not None:
        _write_plugin(args, console)
        return 0
    graphs = [source for source in args.source if ":triples=" in source]
    is_open = args.origin is None and args.language is None and not graphs and not args.data
    if args.name is None or is_open:
        needed = ["a name"] * (args.name is None)
        needed += ["a language" if args.source else "a file, a recipe to copy or a language"] * is_open
        hint = (
            "for instance `benchbuild new mine --data FILE`, `benchbuild new mine --from care_mi`, "
            "`benchbuild new mine --language yo` or `benchbuild new --plugin my_plugin`"
        )
        raise RecipeError([Problem(f"missing: {', and '.join(needed)}", where="new", hint=hint)])
    if args.kind is not None:
        raise RecipeError([Problem("--kind is for plugins", where=f"--kind {args.kind}", hint="give --plugin NAME")])
    if args.columns and not args.data:
        raise RecipeError([Problem("--columns is about a file", where=f"--columns {args.columns}", hint="give --data")])
    with removed_recipe(args.name, Path.cwd()) if args.overwrite else contextlib.nullcontext():
        _write_recipe(args, console)
    return 0


def _write_recipe(args: argparse.Namespace, console: Console) -> None:
    request = CloneRequest(args.name, args.origin or "", args.language, tuple(args.source), tuple(args.also))
    check_request(request, RecipeIndex(find_roots(args.recipes or ())))
    files = read_data_files(args.data, args.columns, args.language)
    request = data_request(request, files, args.recipes) if files else request
    clone = clone_recipe(request, args.recipes) if request.origin else start_recipe(request, args.recipes)
    written = clone.write(Path.cwd())
    if files:
        try:
            _print_data(files, clone, request, console, args.recipes)
        except BenchbuilderError:  # a recipe that cannot read its file is none
            for path in written:
                path.unlink(missing_ok=True)
            folders = {parent for path in written for parent in path.parents if Path.cwd() in parent.parents}
            for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
                with contextlib.suppress(OSError):  # somebody's files are in it
                    folder.rmdir()
            raise
        return
    _print_clone(clone, request, console)
    for line in (*(f"warning: {warning}" for warning in clone.warnings), *clone.notes):
        print_line(console, line)
    if not args.origin:
        given = [source.partition(":")[0] for source in args.source if "=" in source]
        for line in read_back(Path(f"recipes/recipe/{args.name}.yaml"), given):
            print_line(console, line)


def _print_data(
    files: Sequence[DataFile], clone: Clone, request: CloneRequest, console: Console, recipes: Sequence[str] | None
) -> None:
    """Print what the files were taken for, three rows of each, what is open, and the next command."""
    recipe = Path(f"recipes/recipe/{request.name}.yaml")
    tag = str(yaml.safe_load(read_given_text(recipe))["language"])
    language = (language_name(tag) or tag).partition(" (")[0]
    lines: list[str] = []
    for file in files:
        roles = dict[str, list[str]]()
        for role, column in file.roles:
            roles.setdefault(role, []).append(column)
        columns = "; ".join(f"{role}: {', '.join(names)}" for role, names in roles.items())
        settings = ", ".join(f"{key}: {value}" for key, value in file.layout.settings.items() if isinstance(value, str))
        lines.append(f"{file.given}: {KIND_WORDS[file.kind]} in {language}")
        if file.name != file.given.stem:
            lines.append(f"  copied as {recipe.parent / request.name / f'{file.name}{file.suffix}'}")
        lines += [f"  {line}" for line in (*file.notes, columns, settings) if line]
        lines += read_back(recipe, [file.name])
    lines += [*(f"warning: {warning}" for warning in clone.warnings if request.origin), *clone.notes]
    is_open: Sequence[Problem] = ()
    before_release: Sequence[str] = ()
    try:
        before_release = check_overrides([f"recipe={request.name}"], recipes).open_before_release
    except RecipeError as error:
        is_open, before_release = error.problems, ("the licences of sources and card",)
        if not all(problem.message.startswith(_MISSING) for problem in is_open):
            raise
        lines += [f"left to fill in ({OPEN_PLACE}):", *(f"  {problem.key}  {problem.where}" for problem in is_open)]
    if files[0].roles and len(files) == 1:
        columns = _columns_argument(files[0])
        lines.append(f"wrong? correct it, and give this command again with --overwrite --columns {columns}")
    lines += [
        f"written: {recipe}, and {count_phrase(len(clone.files) - 1, 'file')} beside it",
        f"open before a release, not before a build: {'; '.join((*before_release, _MARKED))}",
        f"next: benchbuild {'check' if is_open else 'build'} recipe={request.name}",
    ]
    print_line(console, "\n".join(lines))


def _columns_argument(file: DataFile) -> str:
    """What `--columns` says of a file as it was read; with COL for a name that would have to be written otherwise."""
    pairs = (f"{role}={'COL' if ',' in column else column}" for role, column in file.roles)
    return shlex.quote(",".join(pairs))


def _print_clone(clone: Clone, request: CloneRequest, console: Console) -> None:
    recipe = f"recipes/recipe/{request.name}.yaml"
    copied = f", copied from {request.origin}" if request.origin else ""
    lines = [f"{request.name}: {len(clone.files)} files{copied}", *(f"  {path}" for path in clone.files), "next:"]
    check = f"benchbuild check recipe={request.name}"
    table = PurePosixPath(f"recipes/recipe/{request.name}/relations.tsv")
    sentences = table if table in clone.files else f"recipes/forms/{request.name}.yaml"
    lines += [
        f"  1. open {recipe}: replace every ???, above all in the sources and the card",
        f"  2. {check}   lists what is missing or still about {request.origin}",
        f"  3. benchbuild preview n=3 recipe={request.name}",
    ] if request.origin else [
        f"  1. open {sentences}: write its open sentences, or check those that are there",
        f"  2. open {recipe}: replace every ???, and look at every line that says check",
        f"  3. {check}   says what is still open",
        f"  4. benchbuild recipe={request.name}   makes the items",
    ]  # fmt: skip
    print_line(console, "\n".join(lines))


def _write_plugin(args: argparse.Namespace, console: Console) -> None:
    if args.name is not None or args.origin is not None:
        hint = "give --plugin NAME alone, or NAME --from RECIPE"
        raise RecipeError([Problem("a plugin is not a copy of a recipe", where=f"--plugin {args.plugin}", hint=hint)])
    wanted = tuple(part.strip() for part in (args.kind or "source").split(",") if part.strip())
    folder = Path.cwd() / distribution_name(args.plugin)
    written = write_plugin_skeleton(plugin_skeleton_files(args.plugin, wanted), folder)
    lines = [f"{display_path(folder)}: {len(written)} files"]
    lines += [f"  {display_path(path)}" for path in written]
    lines += ["next:", f"  pip install -e '{display_path(folder)}[dev]' && pytest {display_path(folder)}",
              "  benchbuild ls --kinds   then lists its kinds, and recipes can name them"]  # fmt: skip
    print_line(console, "\n".join(lines))
