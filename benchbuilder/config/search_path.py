"""Where recipes and prompts are found."""

from __future__ import annotations

import filecmp
import hashlib
import importlib.util
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchbuilder.config.trust import trusted_folders, user_folder, user_path
from benchbuilder.core import Problem, RecipeError, installed_entry_points, read_given_file, special_file

RECIPES_ENV = "BENCHBUILDER_RECIPES"
PRIMARY_FILE = "benchbuild.yaml"
"""The file that makes a folder of recipes complete: it needs no other."""
_MOST_FILES = 2_000
"""The most files of which a digest is made."""


@dataclass(frozen=True)
class RecipeRoot:
    """A folder that is searched for recipes.

    `label` says how it was found. Only files in `trusted` folders may contain addresses, names of secrets, prices and
    paths that lead out.
    """

    path: Path
    label: str
    trusted: tuple[Path, ...] = ()

    def trusts(self, file: Path) -> bool:
        """Whether the user, or the installation, vouches for `file`."""
        return any(file.is_relative_to(folder) for folder in self.trusted)

    def how_to_trust(self, file: Path | None = None) -> str:
        """What to type so that `file`, or the whole folder, is trusted."""
        own = self.path / "local"
        folder = shlex.quote(display_path(own if file is not None and file.is_relative_to(own) else self.path))
        return f"if you wrote this, or have read it: add `--trust {folder}`, or give `benchbuild trust {folder}` once"


def bundled_folder(name: str) -> Path:
    """The bundled folder `name` (``recipes`` or ``prompts``): inside an installed wheel, else beside the package."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "bundled" / name
    return inside if inside.is_dir() else package.parent / name


def find_roots(
    explicit: Sequence[str] = (),
    *,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    packages: bool = True,
) -> tuple[RecipeRoot, ...]:
    """Every folder with recipes: `explicit` (``--recipes``), the environment variable, ``./recipes``, the user's own
    configuration, installed packages with a ``benchbuilder.recipes`` entry point, the bundled ones.

    A folder found twice counts once, and so does an exact copy of the bundled one: a checkout of the installed version.
    The bundled recipes are left out if a trusted folder is complete, such as a checkout in which recipes were changed.
    Without `packages`, installed packages are not asked, which takes a tenth of a second.

    Raises:
        RecipeError: A requested folder does not exist, or a folder that is not trusted would replace the bundled one.
    """
    here = cwd or Path.cwd()
    env = os.environ if environ is None else environ
    asked = [(text, f"--recipes {text}") for text in explicit]
    asked += [(text, f"{RECIPES_ENV}={text}") for text in env.get(RECIPES_ENV, "").split(os.pathsep) if text]
    roots = [RecipeRoot(_explicit_folder(here, text, label), label) for text, label in asked]
    roots.insert(len(explicit), RecipeRoot((here / "recipes").resolve(), "./recipes"))
    roots.append(RecipeRoot(user_folder(env), "your own configuration"))
    packaged, bundled = list(_packaged_folder()) if packages else [], bundled_folder("recipes").resolve()
    trusted = (bundled, user_folder(env), *(root.path for root in packaged), *trusted_folders(env))
    roots = [replace(root, trusted=trusted) for root in (*roots, *packaged) if root.path.is_dir()]
    roots = [root for root in roots if root.path == bundled or not _is_copy(root.path, bundled)]
    if not any(_is_complete(root, bundled) for root in roots) and bundled.is_dir():
        roots.append(RecipeRoot(bundled, "bundled with benchbuilder", trusted))
    found: dict[Path, RecipeRoot] = {}
    for root in roots:
        found.setdefault(root.path, root)
    return tuple(found.values())


def installed_folders() -> tuple[Path, ...]:
    """The folders of recipes that came with the program and with installed plugins."""
    return bundled_folder("recipes").resolve(), *(root.path for root in _packaged_folder())


def searched_folders(explicit: Sequence[str] = ()) -> tuple[Path, ...]:
    """Every folder that `find_roots` looks into, whether it exists or not, and that of the prompts beside each."""
    here, env = Path.cwd(), os.environ
    texts = [*explicit, *env.get(RECIPES_ENV, "").split(os.pathsep)]
    asked = [here / Path(text).expanduser() for text in texts if text]
    folders = [*asked, here / "recipes", here / user_path(env), *(root.path for root in _packaged_folder())]
    beside = [folder.resolve().parent / "prompts" for folder in folders]  # each may be a link, or lie behind one
    return *folders, *beside, bundled_folder("recipes"), bundled_folder("prompts")


def _explicit_folder(here: Path, text: str, label: str) -> Path:
    path = (here / Path(text).expanduser()).resolve()
    if not path.is_dir():
        raise RecipeError(
            [Problem("this folder of recipes does not exist", where=label, actual=str(path), hint="check the path")]
        )
    return path


def _is_copy(folder: Path, bundled: Path) -> bool:
    """Whether a folder of recipes, and the prompts beside it, have the files of the bundled ones, byte for byte."""
    return (folder / PRIMARY_FILE).is_file() and all(
        _same_files(ours, theirs)
        for ours, theirs in ((folder, bundled), (folder.parent / "prompts", bundled_folder("prompts")))
    )


def _same_files(first: Path, second: Path) -> bool:
    names = [{path.relative_to(top) for path in top.rglob("*") if not path.is_dir()} for top in (first, second)]
    return names[0] == names[1] and all(
        (first / name).is_file() and filecmp.cmp(first / name, second / name, shallow=False) for name in names[0]
    )


def _is_complete(root: RecipeRoot, bundled: Path) -> bool:
    """Whether a folder needs no other; RecipeError if nobody vouches for it, and it would replace the bundled one."""
    primary = root.path / PRIMARY_FILE
    if primary.is_file() and not root.trusts(primary) and bundled.is_dir():
        message = "this folder would replace the recipes of the program, and you do not trust it"
        hint = f"work in a folder of your own, where only your recipes are (mkdir mine; cd mine); {root.how_to_trust()}"
        raise RecipeError([Problem(message, where=root.label, actual=display_path(primary), hint=hint)])
    return primary.is_file()


def _packaged_folder() -> Iterable[RecipeRoot]:
    for entry in sorted(installed_entry_points("benchbuilder.recipes"), key=lambda entry: entry.name):
        module, _, folder = entry.value.partition(":")
        spec = importlib.util.find_spec(module)
        for location in (spec.submodule_search_locations if spec else None) or ():
            name = entry.dist.name if entry.dist else module
            yield RecipeRoot((Path(location) / (folder or "recipes")).resolve(), f"package {name}")


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
                    data = read_given_file(path) if name not in folders else b""
                except OSError:
                    return None
                digest.update(f"{path}\0{len(data)}\0".encode(errors="surrogateescape") + data)
    return digest.hexdigest()
