"""The recipe files below the roots, found by group and name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from benchbuilder.errors import Problem, RecipeError
from benchbuilder.recipe_file import RecipeFile, read_recipe_file
from benchbuilder.roots import Root, shown


def did_you_mean(text: str, known: Sequence[str] | dict[str, object]) -> str:
    """``did you mean 'X'?`` for the nearest of `known`, or nothing."""
    close = get_close_matches(text.lower(), [str(name) for name in known], n=1)
    return f"did you mean {close[0]!r}?" if close else ""


class Library:
    """Files are named as Hydra names them: ``group/name`` without ``.yaml``. `read` holds those that were opened."""

    def __init__(self, roots: Sequence[Root]) -> None:
        self.roots = tuple(roots)
        self.read: dict[str, RecipeFile] = {}

    def places(self, name: str) -> list[tuple[Path, Root]]:
        """Every file of this name, in the order of the roots."""
        found = [(root.path / f"{name}.yaml", root) for root in self.roots]
        return [(path, root) for path, root in found if path.is_file()]

    def open(self, name: str) -> RecipeFile | None:
        """The file, parsed and checked; None if there is none. RecipeError if it stands in two roots."""
        if name in self.read:
            return self.read[name]
        if ".." in name or "\\" in name:
            raise RecipeError([Problem("`..` is not allowed in the name of a recipe file", found=name)])
        places = self.places(name)
        if len(places) > 1:
            found = " and ".join(f"{shown(path)} ({root.label})" for path, root in places)
            message = f"`{name}` stands in {len(places)} places, and which one counts is not for us to guess"
            raise RecipeError([Problem(message, found=found, hint="rename or remove one of them")])
        if not places:
            return None
        path, root = places[0]
        if not root.trusts(path) and not path.resolve().is_relative_to(root.path):
            message = "a link leads this file out of its folder of recipes"
            raise RecipeError([Problem(message, where=shown(path), found=str(path.resolve()))])
        self.read[name] = read_recipe_file(path, root)
        return self.read[name]

    def options(self, group: str) -> list[str]:
        """The names in a group."""
        folders = [root.path / group for root in self.roots]
        return sorted({path.stem for folder in folders if folder.is_dir() for path in folder.glob("*.yaml")})

    def groups(self) -> list[str]:
        """The groups at the top: folders that hold YAML files."""
        found = (path for root in self.roots for path in root.path.iterdir() if path.is_dir())
        return sorted({path.name for path in found if any(path.rglob("*.yaml"))})

    def is_group(self, name: str) -> bool:
        """Whether `name` is a folder below a root."""
        return bool(name) and any((root.path / name).is_dir() for root in self.roots)
