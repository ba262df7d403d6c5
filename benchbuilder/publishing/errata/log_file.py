"""Writing to the log of errata: whole lines or none, and one process at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from benchbuilder.config import LoadedRecipe, display_path
from benchbuilder.core import DataError, Problem, RecipeError, read_given_file, write_atomically
from benchbuilder.publishing.release.change_notes import released_errata
from benchbuilder.publishing.release.item_changes import errata_file
from benchbuilder.publishing.release.record import all_releases
from benchbuilder.steps import CorrectSpec, Erratum, read_errata

_PATIENCE_S = 30


def log_of(loaded: LoadedRecipe) -> Path:
    """The log that a recipe names; RecipeError if its flow follows no errata, or it names none or another sort of file.

    The file need not be there.
    """
    file = errata_file(loaded)
    if file is None:
        steps = [name for name, spec in loaded.whole.steps.items() if isinstance(spec, CorrectSpec)]
        if not steps:
            raise RecipeError([Problem("no step of this recipe follows errata", key=loaded.file_key("steps"),
                                       hint="add a step before the evidence: {kind: correct, from: families, "
                                       "errata: errata.jsonl}")])  # fmt: skip
        raise RecipeError([Problem("this recipe names no log of errata", key="paths.errata", actual="null",
                                   hint="write paths.errata: errata.jsonl into your recipe, and put that file under "
                                   "version control; for a trial, paths.errata=errata.jsonl")])  # fmt: skip
    if file.suffix != ".jsonl":
        raise RecipeError([Problem("a log of errata is a file of JSON Lines", key="paths.errata",
                                   actual=display_path(file), hint="name it errata.jsonl")])  # fmt: skip
    return file


def begin_log(file: Path) -> None:
    """Make an empty log, if there is none; DataError if its folder is missing."""
    if file.exists():
        return
    if not file.parent.is_dir():
        raise DataError(
            f"the folder {display_path(file.parent)} does not exist", where="paths.errata",
            why="the log of errata lies beside the recipe", next="make the folder, or correct the path",
        )  # fmt: skip
    write_atomically(file, "")


def append_errata(file: Path, change: Callable[[dict[str, Erratum]], Sequence[Erratum]]) -> list[Erratum]:
    """Append what `change` makes of the errata that are in the log; returns the new lines.

    The former bytes stay as they are. The file is written under another name and renamed, so an interruption leaves the
    log as it was.

    Raises:
        DataError: The log is missing or damaged, or another process holds it.
    """
    file = file.resolve()
    lock = FileLock(file.with_name(f".{file.name}.lock"))
    try:
        with lock.acquire(timeout=_PATIENCE_S):
            lines = list(change(read_errata(file)))
            if lines:
                before = _utf8_bytes(file)
                gap = b"" if not before or before.endswith(b"\n") else b"\n"
                text = "".join(json.dumps(line.model_dump(), ensure_ascii=False) + "\n" for line in lines)
                write_atomically(file, before + gap + text.encode())
            return lines
    except Timeout as error:
        raise DataError(
            f"{display_path(file)} is in use", where=display_path(file),
            why=f"another process held it for {_PATIENCE_S} s", next="wait for the other command, and repeat this one",
        ) from error  # fmt: skip


def _utf8_bytes(file: Path) -> bytes:
    """The bytes of the log; DataError if a program saved it otherwise than in UTF-8: new lines would not fit."""
    data = read_given_file(file)
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{display_path(file)} is not in UTF-8", where=display_path(file), why=str(error),
                        next="save it again as UTF-8, or take it back from version control") from error  # fmt: skip
    return data


def mark_released(file: Path, releases: Path) -> list[Erratum]:
    """Append that errata were released, for those that a release follows; also after a release that was interrupted."""
    versions: dict[str, str] = {}
    for folder in all_releases(releases):
        for name in released_errata(folder):
            versions.setdefault(name, folder.name)
    if not versions:
        return []

    def change(errata: dict[str, Erratum]) -> list[Erratum]:
        return [
            erratum.model_copy(update={"state": "released", "released": versions[erratum.id]})
            for erratum in errata.values()
            if erratum.state == "decided" and erratum.id in versions
        ]

    return append_errata(file, change)
