"""The recipe files below the roots, found by group and name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from benchbuilder.config.search_path import RecipeRoot, display_path
from benchbuilder.config.yaml_source import DefaultsChoice, RecipeFile, excerpt_of, parse_recipe_text
from benchbuilder.core import DataError, Problem, RecipeError, read_given_file, read_json


def did_you_mean(text: str, known: Sequence[str] | dict[str, object]) -> str:
    """``did you mean 'X'?`` for the nearest of `known`, or nothing."""
    close = get_close_matches(text.lower(), [str(name) for name in known], n=1)
    return f"did you mean {close[0]!r}?" if close else ""


ORIGIN_FILE = "origin.json"
"""The file beside the data of a copied recipe that names its original."""


class RecipeIndex:
    """The recipe files by name, as Hydra names them: ``group/name`` without ``.yaml``.

    `opened_files` holds the files that were opened so far. `drafts` holds texts that stand for those of files.
    """

    def __init__(self, roots: Sequence[RecipeRoot], drafts: Mapping[Path, str] | None = None) -> None:
        self.roots, self.drafts = tuple(roots), dict(drafts or {})
        self.opened_files: dict[str, RecipeFile] = {}

    def paths_of(self, name: str) -> list[tuple[Path, RecipeRoot]]:
        """Every file of this name, in the order of the roots."""
        found = [(root.path / f"{name}.yaml", root) for root in self.roots]
        return [(path, root) for path, root in found if path.is_file()]

    def open_file(self, name: str) -> RecipeFile | None:
        """The file, parsed and checked; None if there is none. RecipeError if two roots have it."""
        if name in self.opened_files:
            return self.opened_files[name]
        if ".." in name or "\\" in name:
            raise RecipeError([Problem("`..` is not allowed in the name of a recipe file", actual=name)])
        places = self.paths_of(name)
        if len(places) > 1:
            found = " and ".join(f"{display_path(path)} ({root.label})" for path, root in places)
            message = f"`{name}` exists in {len(places)} folders"
            raise RecipeError([Problem(message, actual=found, hint="rename or remove one of them")])
        if not places:
            return None
        path, root = places[0]
        if not root.trusts(path) and not path.resolve().is_relative_to(root.path):
            message = "a link leads this file out of its folder of recipes"
            raise RecipeError([Problem(message, where=display_path(path), actual=str(path.resolve()))])
        file = parse_recipe_text(path, root, self.text_of(path))
        if problems := [problem for choice in file.choices if (problem := self._misplaced(choice, file))]:
            raise RecipeError(problems)
        self.opened_files[name] = file
        return file

    def text_of(self, path: Path) -> bytes:
        """The text of a file, or its draft."""
        return self.drafts[path].encode() if path in self.drafts else read_given_file(path)

    def _misplaced(self, choice: DefaultsChoice, file: RecipeFile) -> Problem | None:
        """The problem of an entry of `defaults` that Hydra would reject for another reason, or accept silently."""
        group = choice.group.rpartition(" ")[2]
        name = (choice.names or ("",))[0]
        folder = "/".join(map(str, file.group))
        if not group and name.strip("_") == "self" and name != "_self_" and not self.paths_of(f"{folder}/{name}"):
            return Problem(
                "there is no such file", key="defaults", where=file.location(choice.line), actual=f"- {name}",
                hint="did you mean `_self_`?",
            )  # fmt: skip
        override = choice.group.startswith("override ")
        top = group.removeprefix("/")
        relative = not group.startswith("/")
        own = relative and self.is_group(f"{folder}/{top}")
        if file.group and top in self._chosen() and not own and (relative or not override):
            return _without_override(choice, top, file)
        overrides = (entry for entry in file.choices if entry.group.startswith("override "))
        above = next((entry for entry in overrides if entry.line < choice.line), None)
        if above is None or override or name == "_self_":
            return None
        return Problem(
            "`override` is above another entry", key=above.group.rpartition(" ")[2].removeprefix("/"),
            where=file.location(above.line), actual=f"above line {choice.line}",
            hint="move the `override` lines below the others, `_self_` last",
        )  # fmt: skip

    def _chosen(self) -> set[str]:
        """The groups that the first file chooses from, for every recipe."""
        return {
            choice.group.rpartition(" ")[2]
            for file in self.opened_files.values()
            if not file.group
            for choice in file.choices
        }

    def owner_of_variant(self, recipe: str, name: str) -> str:
        """The recipe that has the variant: `recipe`, or the nearest one that it is a copy of; else `recipe`."""
        line = [recipe]
        while not self.paths_of(f"variant/{line[-1]}/{name}"):
            original = next((_original(path.with_suffix("")) for path, _ in self.paths_of(f"recipe/{line[-1]}")), "")
            if original in ("", *line):
                return recipe
            line.append(original)
        return line[-1]

    def option_names(self, group: str) -> list[str]:
        """The names in a group."""
        folders = [root.path / group for root in self.roots]
        found = (path for folder in folders if folder.is_dir() for path in folder.glob("*.yaml"))
        return sorted({path.stem for path in found if path.is_file()})

    def groups(self) -> list[str]:
        """The groups at the top: folders that hold YAML files."""
        found = (path for root in self.roots for path in root.path.iterdir() if path.is_dir())
        return sorted({path.name for path in found if any(path.rglob("*.yaml"))})

    def is_group(self, name: str) -> bool:
        """Whether `name` is a folder below a root."""
        return bool(name) and any((root.path / name).is_dir() for root in self.roots)


def _original(folder: Path) -> str:
    """The recipe that the one with this folder is a copy of; empty if it is none, or its record is damaged."""
    try:
        data: Any = read_json(folder / ORIGIN_FILE)
        return data["recipe"] if re.fullmatch(r"\w+", data["recipe"]) else ""
    except (OSError, ValueError, LookupError, TypeError, DataError):  # `check` reports what is wrong with a record
        return ""


def _without_override(choice: DefaultsChoice, group: str, file: RecipeFile) -> Problem:
    """The problem of ``- /group: name`` or ``- group: name`` if the group is already chosen."""
    message, hint = (
        "this is already chosen: to choose another, write `override` and a slash",
        f"write `- override /{group}: {choice.written_form}`",
    )
    if group == file.group[0]:
        message, hint = "a file of the same group is listed without its group", f"write `- {choice.written_form}`"
    found = excerpt_of(f"- {choice.group}: {choice.written_form}")
    return Problem(message, key=group, where=file.location(choice.line), actual=found, hint=hint)
