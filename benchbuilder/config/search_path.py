"""Where recipes and prompts are found."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from benchbuilder.core import Problem, RecipeError, special_file

RECIPES_ENV = "BENCHBUILDER_RECIPES"
PRIMARY_FILE = "benchbuild.yaml"
"""The file that makes a folder of recipes complete: it needs no other."""
_MOST_FILES = 2_000
"""The most files of which a digest is made."""


@dataclass(frozen=True)
class RecipeRoot:
    """A folder that is searched for recipes.

    `label` says how it was found. `trusted` lists the user's own parts of it: a subfolder such as ``local``, or
    everything (the empty string). Only files there may contain addresses, names of secrets and paths that lead out.
    """

    path: Path
    label: str
    trusted: tuple[str, ...] = ()

    def trusts(self, file: Path) -> bool:
        """Whether `file` is the user's own configuration."""
        return any(file.is_relative_to(self.path / part) for part in self.trusted)


def bundled_folder(name: str) -> Path:
    """The bundled folder `name` (``recipes`` or ``prompts``): inside an installed wheel, else beside the package."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "bundled" / name
    return inside if inside.is_dir() else package.parent / name


def find_roots(
    explicit: Sequence[str] = (), *, cwd: Path | None = None, environ: Mapping[str, str] | None = None
) -> tuple[RecipeRoot, ...]:
    """Every folder with recipes: `explicit` (``--recipes``), the environment variable, ``./recipes``, the user's own
    configuration, installed packages with a ``benchbuilder.recipes`` entry point, the bundled ones.

    A requested folder that does not exist raises RecipeError. A folder found twice counts once. The bundled recipes are
    left out if another folder is complete, such as a checkout of benchbuilder itself.
    """
    here = cwd or Path.cwd()
    env = os.environ if environ is None else environ
    asked = [(text, f"--recipes {text}") for text in explicit]
    asked += [(text, f"{RECIPES_ENV}={text}") for text in env.get(RECIPES_ENV, "").split(os.pathsep) if text]
    roots = [_explicit_root(here, text, label) for text, label in asked]
    roots.insert(len(explicit), RecipeRoot((here / "recipes").resolve(), "./recipes", ("local",)))
    roots.append(RecipeRoot(_user_folder(env), "your own configuration", ("",)))
    roots += _packaged_folder()
    if not any((root.path / PRIMARY_FILE).is_file() for root in roots):
        roots.append(RecipeRoot(bundled_folder("recipes").resolve(), "bundled with benchbuilder"))
    return _merge_roots(root for root in roots if root.path.is_dir())


def _explicit_root(here: Path, text: str, label: str) -> RecipeRoot:
    path = (here / Path(text).expanduser()).resolve()
    if not path.is_dir():
        raise RecipeError(
            [Problem("this folder of recipes does not exist", where=label, actual=str(path), hint="check the path")]
        )
    return RecipeRoot(path, label)


def _user_folder(env: Mapping[str, str]) -> Path:
    base = env.get("XDG_CONFIG_HOME") or str(Path(env.get("HOME") or "~").expanduser() / ".config")
    return (Path(base) / "benchbuilder").resolve()


def _packaged_folder() -> Iterable[RecipeRoot]:
    for entry in sorted(entry_points(group="benchbuilder.recipes"), key=lambda entry: entry.name):
        module, _, folder = entry.value.partition(":")
        spec = importlib.util.find_spec(module)
        for location in (spec.submodule_search_locations if spec else None) or ():
            name = entry.dist.name if entry.dist else module
            yield RecipeRoot((Path(location) / (folder or "recipes")).resolve(), f"package {name}")


def _merge_roots(roots: Iterable[RecipeRoot]) -> tuple[RecipeRoot, ...]:
    """Each folder once, under its first label; it trusts what any of its entries trusts."""
    merged: dict[Path, RecipeRoot] = {}
    for root in roots:
        first = merged.get(root.path, root)
        merged[root.path] = RecipeRoot(root.path, first.label, tuple(dict.fromkeys((*first.trusted, *root.trusted))))
    return tuple(merged.values())


def prompt_roots(roots: Iterable[RecipeRoot]) -> tuple[Path, ...]:
    """The folders with prompts: ``prompts`` beside each folder of recipes; the bundled one if none is complete."""
    beside = {root.path.parent / "prompts": (root.path / PRIMARY_FILE).is_file() for root in roots}
    found = {path: complete for path, complete in beside.items() if path.is_dir()}
    if not any(found.values()):
        found[bundled_folder("prompts").resolve()] = True
    return tuple(found)


def display_path(path: Path, cwd: Path | None = None) -> str:
    """`path` for messages: relative to the current folder if it is below."""
    here = (cwd or Path.cwd()).resolve()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def digest_of_files(roots: Sequence[RecipeRoot]) -> str | None:
    """A digest of every folder and every YAML file below `roots`; None if there are links, pipes or too many files."""
    digest, remaining = hashlib.sha256(), _MOST_FILES
    for root in roots:
        for folder, folders, names in os.walk(root.path):
            folders.sort()
            for name in (*folders, *sorted(name for name in names if name.endswith(".yaml"))):
                path, remaining = Path(folder, name), remaining - 1
                if remaining < 0 or path.is_symlink() or special_file(path):
                    return None
                try:
                    data = path.read_bytes() if name not in folders else b""
                except OSError:
                    return None
                digest.update(f"{path}\0{len(data)}\0".encode(errors="surrogateescape") + data)
    return digest.hexdigest()
