"""What a recipe is made of: the recipe files that it chooses, and the texts and prompts that these name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.authoring.clone.edit_yaml import YamlEditor, YamlScalar
from benchbuilder.config import PRIMARY_FILE, DefaultsChoice, LoadedRecipe, RecipeFile, RecipeIndex, did_you_mean
from benchbuilder.core import Problem, RecipeError

SHARED_GROUPS = ("flow", "judge", "model", "outputs", "prices", "retriever", "run", "source", "tokenizer")
"""Groups that say nothing about a field of knowledge: a clone chooses the same options of them."""
_OWN = ("user", "local", "variant")
"""Groups that belong to somebody, or to one recipe."""
_BOUND = (
    "annotation.votes", "annotation.gold.file", "steps.**.votes", "steps.**.sheet", "evaluation.answers",
    "evaluation.published", "evaluation.published_judges", "evaluation.baselines.*.file", "evaluation.scorers.*.file",
    "reviews.*.rows.file",
)  # fmt: skip
"""Files about the items of one recipe: what people and models said of them, and what others published. A star stands
for one part of a key, two for any number."""
_BOUND_KEYS = tuple(
    re.compile(re.escape(key).replace(r"\*\*", ".+").replace(r"\*", r"[^.]+")).fullmatch for key in _BOUND
)

_PATH = re.compile(r"(?=.*\w)(?=.*[./])(?![/~])[^*?{}()\[\]|\\\"'<>:;,^$\n]{1,200}")
"""What may be a path: a letter, a dot or a slash, and nothing that only patterns and sentences have."""


@dataclass(frozen=True, slots=True)
class FileMention:
    """A scalar that names a file: a prompt below a folder of prompts, or a file beside the one that names it."""

    scalar: YamlScalar
    file: Path
    is_prompt: bool


class RecipeParts:
    """The recipe files that are copied with a recipe, by ``group/name``, and those that they build on."""

    def __init__(self, recipe: str, library: RecipeIndex, also: Sequence[str]) -> None:
        self.library = library
        self.recipe = f"recipe/{recipe}"
        self.files: dict[str, RecipeFile] = {}
        self.default_options: dict[str, str] = {}
        """Groups that the recipe leaves as they are for every recipe, and the option copied for each."""
        self._add(self.recipe)
        chosen = {_group(choice) for file in self.files.values() for choice in file.choices if _overrides(choice)}
        primary = library.open_file(PRIMARY_FILE.removesuffix(".yaml"))
        for choice in primary.choices if primary is not None else ():
            group = _group(choice)
            for name in choice.names if group not in {*chosen, *_OWN, *SHARED_GROUPS, "recipe"} else ():
                if self._add(f"{group}/{name}"):
                    self.default_options[group] = f"{group}/{name}"
        for name in also:
            if not self._add(name, requested=True):
                raise RecipeError([_unknown_option(name, library)])

    def targets(self, choice: DefaultsChoice, file: RecipeFile) -> Iterator[tuple[str, str]]:
        """Each name of an entry of `defaults` with the file that it chooses."""
        group, folder = _group(choice), "/".join(map(str, file.group))
        if not choice.group:
            group = folder
        elif not choice.group.rpartition(" ")[2].startswith("/") and self.library.is_group(f"{folder}/{group}"):
            group = f"{folder}/{group}"
        for name in choice.names:
            if name not in ("_self_", "null", "???"):
                yield name, name.removeprefix("/") if name.startswith("/") else f"{group}/{name}"

    def _add(self, name: str, *, requested: bool = False) -> bool:
        """Take a file in with all that it chooses; whether it is copied."""
        group = name.partition("/")[0]
        if name in self.files:
            return True
        file = self.library.open_file(name) if "/" in name else None
        if file is None or (not requested and group in (*_OWN, *SHARED_GROUPS)):
            return False
        if name != self.recipe and not requested and not _has_texts(file):
            return False
        self.files[name] = file
        for choice in file.choices:
            for _, target in self.targets(choice, file):
                self._add(target)
        return True


def file_mentions(
    editor: YamlEditor, path: Path, root: Path, prompts: Sequence[Path], known: Collection[Path] = ()
) -> Iterator[FileMention]:
    """The scalars of the file at `path` that name files which are there, or are `known`."""
    for scalar in editor.scalars():
        text = scalar.text
        if not _PATH.fullmatch(text) or scalar.key[:1] == ("defaults",):
            continue
        beside = (path.parent / text).resolve()
        if beside in known or (beside.exists() and beside.is_relative_to(root) and beside != path.parent):
            yield FileMention(scalar, beside, is_prompt=False)
            continue
        for folder in prompts:
            found = (folder / text).resolve()
            if found.is_file() and found.is_relative_to(folder):
                yield FileMention(scalar, found, is_prompt=True)
                break


def source_files(loaded: LoadedRecipe) -> dict[Path, str]:
    """The files and folders of the recipe's sources, with the key of each."""
    return {ref.file.resolve(): key for key, ref in loaded.files if key.startswith("sources.")}


def bound_files(loaded: LoadedRecipe) -> dict[Path, str]:
    """The files that are about the recipe's own items, with the key of each."""
    return {ref.file.resolve(): key for key, ref in loaded.files if is_bound(key)}


def is_bound(key: str) -> bool:
    """Whether the file of a key is about the items of one recipe."""
    _, _, below = key.partition(".")[2].partition(".")
    return any(bound(key) or (key.startswith("tasks.") and bound(below)) for bound in _BOUND_KEYS)


def _has_texts(file: RecipeFile) -> bool:
    """Whether a file says more than a kind and numbers: words of a language, or where they stand."""
    return len(file.marks) > 1 or bool(file.choices)


def _group(choice: DefaultsChoice) -> str:
    return choice.group.rpartition(" ")[2].partition("@")[0].removeprefix("/")


def _overrides(choice: DefaultsChoice) -> bool:
    return choice.group.startswith("override ")


def _unknown_option(name: str, library: RecipeIndex) -> Problem:
    group = name.partition("/")[0]
    known = [f"{group}/{option}" for option in library.option_names(group)] if library.is_group(group) else []
    hint = did_you_mean(name, known) or "`GROUP/OPTION` as in `annotation/app`"
    return Problem("there is no such option", where=f"--also {name}", actual=name, allowed=", ".join(known), hint=hint)
