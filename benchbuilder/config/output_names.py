"""Names in the folder of a build: those that the program uses itself, and those that recipes give."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from benchbuilder.config.origins import ValueOrigins
from benchbuilder.config.search_path import display_path
from benchbuilder.config.spec.recipe import OWN_FOLDERS, Recipe
from benchbuilder.config.yaml_source import KeyPath, dotted_key
from benchbuilder.core import Problem, create_from_spec, special_file

_OWN_FILES = frozenset({"ledger.tsv", "recipe.yaml", "run.jsonl"})
_OWN_STARTS = ("replies.sqlite", "evaluation-", "audit-")
"""The journal with the files that SQLite puts beside it, and the folders of benchmarks from elsewhere."""
_OWN_ENDS = (".tmp", ".draft", ".old", ".lock")
_UNSAFE = re.compile(r'[\x00-\x1f\x7f\\:*?"<>|\ud800-\udfff]')
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9])\s*(\.|\Z)")
"""Names of devices on Windows, also with an ending."""
_LONGEST = 200
"""Bytes of a name: most file systems take 255, and endings are added while a file is written."""


def comparable_name(name: str) -> str:
    """`name` as the least exact file system compares it: without case, Unicode forms, dots and spaces at the end.

    >>> comparable_name("Replies.SQLite. ")
    'replies.sqlite'
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).rstrip(". ")


def is_reserved_name(name: str) -> bool:
    """Whether Windows means a device by `name`, also with an ending.

    >>> is_reserved_name("con"), is_reserved_name("NUL.txt"), is_reserved_name("console")
    (True, True, False)
    """
    return _RESERVED.match(comparable_name(name)) is not None


def output_name_fault(name: str) -> str:
    """Why no output may have the relative path `name`; empty if one may.

    >>> output_name_fault("items.jsonl"), output_name_fault("replies.sqlite-wal")
    ('', 'the program uses this name itself')
    """
    for part in name.split("/"):
        plain = comparable_name(part)
        if not plain or part.startswith(".") or _UNSAFE.search(part) or PurePosixPath(name).is_absolute():
            return "this is not the name of a file in the build's folder"
        if plain in OWN_FOLDERS | _OWN_FILES or plain.startswith(_OWN_STARTS) or plain.endswith(_OWN_ENDS):
            return "the program uses this name itself"
        if len(part.encode()) > _LONGEST:
            return f"this name is longer than {_LONGEST} bytes"
        if part != part.rstrip(". ") or is_reserved_name(part):
            return "Windows cannot have a file of this name"
    return ""


def output_name_problems(recipe: Recipe, origins: ValueOrigins) -> Iterator[Problem]:
    """A problem for each output whose name the program uses itself, or another output of the same folder has."""
    groups: dict[KeyPath, Mapping[str, Any]] = {}
    for task, part in recipe.by_task().items():
        above: KeyPath = ("tasks", task) if task else ()
        groups[*above, "outputs"] = part.outputs
        if part.evaluation is not None:
            groups[*above, "evaluation", "outputs"] = part.evaluation.outputs
    found: dict[Problem, None] = {}
    for group, outputs in groups.items():
        taken: dict[str, KeyPath] = {}
        for output, spec in outputs.items():
            key: KeyPath = (*group, output, "file")
            key = ("outputs", output, "file") if _is_of_recipe(key, origins) else key
            for name in create_from_spec("exporter", spec).output_names():
                first = taken.setdefault(comparable_name(name), key)
                fault = output_name_fault(name) or (f"{dotted_key(first)} has this name too" if first != key else "")
                if fault:
                    where = str(origins.origin_of(key))
                    found[Problem(fault, dotted_key(key), where, name, hint="choose another name")] = None
    yield from found


def node_name_problems(recipe: Recipe, origins: ValueOrigins) -> Iterator[Problem]:
    """A problem for each name that becomes a folder and that a system without case, or Windows, cannot tell or have."""
    groups: list[list[KeyPath]] = [[(part, name) for part in ("sources", "steps") for name in getattr(recipe, part)]]
    groups.append([("tasks", name) for name in recipe.tasks])
    for task, part in recipe.by_task().items():
        above: KeyPath = ("tasks", task) if task else ()
        if (evaluation := part.evaluation) is not None:
            answering = {"models": evaluation.models, "baselines": evaluation.baselines}
            groups.append([(*above, "evaluation", kind, name) for kind, names in answering.items() for name in names])
            groups.append([(*above, "evaluation", "judges", name) for name in evaluation.judges])
    for keys in groups:
        taken: dict[str, KeyPath] = {}
        for key in keys:
            name = str(key[-1])
            first = taken.setdefault(comparable_name(name), key)
            fault = f"`{first[-1]}` has this name too, but for capitals" if first[-1] != name else ""
            if is_reserved_name(name):
                fault = "Windows cannot have a folder of this name"
            if fault:
                yield Problem(
                    fault, dotted_key(key), str(origins.written_origin(key)), name, hint="choose another name"
                )


def folder_problems(recipe: Recipe, origins: ValueOrigins, cwd: Path) -> Iterator[Problem]:
    """A problem if a file, or a link that leads nowhere, is where the folder of the build must be."""
    folder = recipe.place_of_build(cwd)
    for way in (folder, *folder.parents):
        if way.is_dir():
            return
        if kind := special_file(way) or ("a file" if way.exists() else ""):
            where = "" if recipe.run.dir is None else str(origins.origin_of(("run", "dir")))
            hint = "choose another run.dir=FOLDER"
            yield Problem(f"this is {kind}, not a folder", "run.dir", where, display_path(way), hint=hint)
            return


def evaluation_folder_problems(recipe: Recipe, origins: ValueOrigins, cwd: Path) -> Iterator[Problem]:
    """A problem for each evaluation whose folder is that of the build, above it, or in its store."""
    build = Path(os.path.abspath(recipe.place_of_build(cwd)))  # noqa: PTH100 - keeps links
    for task, part in recipe.by_task().items():
        if part.evaluation is None or part.evaluation.dir is None:
            continue
        given = part.evaluation.dir
        folder = Path(os.path.abspath(cwd / given))  # noqa: PTH100 - keeps links
        if build.is_relative_to(folder) or folder.is_relative_to(build / "store"):
            key: KeyPath = ("tasks", task, "evaluation", "dir") if task else ("evaluation", "dir")
            yield Problem(
                "the evaluation would write over the build", dotted_key(key), str(origins.origin_of(key)), str(given),
                hint="choose a folder of its own, for instance evaluation.dir=builds/NAME",
            )  # fmt: skip


def _is_of_recipe(key: KeyPath, origins: ValueOrigins) -> bool:
    """Whether an output of a task is one of the whole recipe's."""
    return key[0] == "tasks" and key[2] == "outputs" and key[:4] not in origins.entries
