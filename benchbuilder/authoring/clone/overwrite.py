"""``new NAME --overwrite``: a recipe that `new` wrote gives way to another one, unless somebody edited it since."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from benchbuilder.authoring.clone.provenance import sha256_of
from benchbuilder.config import display_path
from benchbuilder.core import Problem, RecipeError, read_given_file, read_json, write_atomically

_RECORD = "written.json"
"""What `new` wrote: each file below the current folder, and the SHA-256 of its bytes."""


def record_place(name: str) -> PurePosixPath:
    """Where the record of a recipe's files is."""
    return PurePosixPath("recipes/recipe", name, _RECORD)


def record_of(files: Mapping[PurePosixPath, bytes]) -> bytes:
    """The record of these files."""
    return (json.dumps({str(place): sha256_of(data) for place, data in files.items()}, indent=1) + "\n").encode()


@contextmanager
def removed_recipe(name: str, folder: Path) -> Generator[None]:
    """Remove the files of a recipe, and put them back if the context fails.

    Raises:
        RecipeError: No record says that `new` wrote it, or somebody edited a file since; nothing is removed.
    """
    record = folder / record_place(name)
    if not record.is_file():
        if not (folder / "recipes" / "recipe" / f"{name}.yaml").exists():
            yield
            return
        hint = "choose another name; or remove it yourself, if nobody needs it"
        raise RecipeError(
            [
                Problem(
                    "`new` overwrites only a recipe that it wrote",
                    where="--overwrite",
                    actual=f"there is no {display_path(record)}",
                    hint=hint,
                )
            ]
        )
    known: dict[str, Any] = read_json(record)
    files = {path: read_given_file(path) for place in known if (path := folder / place).is_file()}
    edited = [
        display_path(path)
        for path, data in files.items()
        if sha256_of(data) != known[path.relative_to(folder).as_posix()]
    ]
    if edited:
        hint = "choose another name, or remove these files if nobody needs what was written there"
        raise RecipeError(
            [
                Problem(
                    "somebody edited this recipe since `new` wrote it",
                    where="--overwrite",
                    actual=", ".join(edited[:5]),
                    hint=hint,
                )
            ]
        )
    files[record] = read_given_file(record)
    for path in files:
        path.unlink()
    try:
        yield
    except BaseException:  # also on Ctrl-C: the former recipe must not be lost
        for path, data in files.items():
            write_atomically(path, data)
        raise
