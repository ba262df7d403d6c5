"""Keeps a build from writing over files in its folder that it did not write itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchbuilder.config import display_path, output_name_fault
from benchbuilder.core import StoreError, file_checksum, open_given_file, parse_json, read_given_text, read_sealed_json

RUN_LOG = "run.jsonl"
PROGRAM_FILES = ("recipe.yaml", "ledger.tsv", RUN_LOG)
"""Files beside the outputs that every build writes."""
_SHOWN = 3
_ELSEWHERE = "move or rename it, or build elsewhere with run.dir=FOLDER"


def check_folder(folder: Path, names: Iterable[str], written: Collection[str] | None) -> None:
    """StoreError if a build into `folder` would write over files of somebody else.

    Args:
        folder: The folder of the build, which need not exist.
        names: The files and folders that the build will write, as far as they are known.
        written: The files that a build wrote there; ``None`` if nobody can tell.
    """
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{display_path(folder)} is a file, not a folder", next="choose another run.dir=FOLDER")
    if written is None:
        return
    foreign = [name for name in dict.fromkeys(names) if name not in written and _is_in_the_way(folder / name)]
    if foreign:
        more = f" and {len(foreign) - _SHOWN} more" if len(foreign) > _SHOWN else ""
        raise StoreError(
            f"this build would write over {', '.join(foreign[:_SHOWN])}{more}, which no build wrote",
            where=display_path(folder), why="a build only replaces its own files", next=_ELSEWHERE,
        )  # fmt: skip


def check_owner(folder: Path, name: str, *, builds: bool) -> None:
    """StoreError if `folder` holds what another recipe than `name` wrote, or lies within another build.

    `builds`: the folder is for a build, which may lie in no other; evaluations lie in those of their recipe.
    """
    owner = _owner_of(folder)
    if owner not in ("", name):
        raise StoreError(
            f"the recipe {owner} built into this folder",
            where=display_path(folder),
            why=f"a build of the recipe {name} would replace what is there",
            next=f"build elsewhere with run.dir=FOLDER (evaluate with evaluation.dir=FOLDER); if you renamed {owner}, "
            f"delete {display_path(folder / 'recipe.yaml')} first",
        )
    for above in folder.absolute().parents:
        owner = _owner_of(above)
        if owner and (builds or owner != name):
            raise StoreError(
                f"this folder lies within a build of the recipe {owner}",
                where=display_path(folder),
                why=f"builds do not mix their files; that build is in {display_path(above)}",
                next="choose a folder outside it: run.dir=FOLDER, or evaluation.dir=FOLDER for an evaluation",
            )


def _owner_of(folder: Path) -> str:
    """The name of the recipe that was built into `folder`; empty if its ``recipe.yaml`` was deleted, or is damaged.

    The mark of a complete build holds the recipe itself; that of a build that stopped has the checksum of its file.
    """
    file = folder / "recipe.yaml"
    try:
        mark: Any = read_sealed_json(folder / "store" / "outputs.json")
        given = read_given_text(file, errors="replace")
        known = mark["files"].get(file.name) == file_checksum(file)
        text: str = parse_json(mark["state"])["recipe"] if mark["state"] else given if known else ""
    except (OSError, ValueError, KeyError):
        return ""
    found = re.search(r"^name: (\S+)$", text, re.MULTILINE)
    return found[1] if found else ""


def _is_in_the_way(path: Path) -> bool:
    """Whether there is anything at `path` but a folder, in which a build only adds files."""
    return path.is_symlink() or (path.exists() and not path.is_dir())


def check_names(folder: Path, names: Sequence[str]) -> None:
    """StoreError if exporters wrote a file twice, or under a name that the program uses itself."""
    for place, name in enumerate(names):
        fault = "" if name in PROGRAM_FILES else output_name_fault(name)
        if name in names[:place]:
            fault = "another output has this name"
        if fault:
            raise StoreError(
                f"an output cannot be written as {name}", where=display_path(folder), why=fault,
                next="choose other file names for the outputs of the recipe; the steps are kept",
            )  # fmt: skip


def removable(names: Iterable[str]) -> list[str]:
    """The outdated outputs among `names`, sorted; never the journal or another file of the program."""
    return sorted(name for name in set(names) if not output_name_fault(name))


def holds_build(folder: Path) -> bool:
    """Whether a folder without a list of its files is that of a build: by its run log, or by a step in its store."""
    if any((folder / "store" / "steps").glob("*/latest")):
        return True
    try:
        with open_given_file(folder / RUN_LOG, most_bytes=None) as stream:
            first: Any = parse_json(stream.readline())
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and {"started", "steps", "receipts"} <= first.keys()
