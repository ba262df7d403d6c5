"""The parts of a recipe: the recipe files that it chooses, and the texts and prompts that they name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.config import (
    PRIMARY_FILE,
    DefaultsChoice,
    LoadedRecipe,
    RecipeFile,
    RecipeIndex,
    YamlEditor,
    YamlScalar,
    did_you_mean,
)
from benchbuilder.core import Problem, RecipeError

SHARED_GROUPS = ("flow", "judge", "model", "outputs", "prices", "retriever", "run", "source", "tokenizer")
"""Groups without content of a field of knowledge: a copy chooses the same options of them."""
_OWN = ("user", "local", "variant")
"""Groups that belong to one user or to one recipe."""
_BOUND = (
    "annotation.votes", "annotation.gold.file", "steps.**.votes", "steps.**.sheet", "evaluation.answers",
    "evaluation.published", "evaluation.published_judges", "evaluation.baselines.*.file", "evaluation.scorers.*.file",
    "reviews.*.rows.file",
)  # fmt: skip
"""Keys of files about the items of one recipe: answers, votes and published results. One star matches one part of a
key, two match any number."""
_BOUND_KEYS = tuple(
    re.compile(re.escape(key).replace(r"\*\*", ".+").replace(r"\*", r"[^.]+")).fullmatch for key in _BOUND
)

_PATH = re.compile(r"(?=.*\w)(?=.*[./])(?![/~])[^*?{}()\[\]|\\\"'<>:;,^$\n]{1,200}")
"""A possible path: a letter, a dot or a slash, and no character that only patterns and sentences have."""


@dataclass(frozen=True, slots=True)
class FileMention:
    """A scalar that names a file: a prompt below a folder of prompts, or a file relative to the one that names it."""

    scalar: YamlScalar
    file: Path
    is_prompt: bool


class RecipeParts:
    """The recipe files that are copied with a recipe, by ``group/name``."""

    def __init__(self, recipe: str, library: RecipeIndex, also: Sequence[str]) -> None:
        self.library = library
        self.recipe = f"recipe/{recipe}"
        self.files: dict[str, RecipeFile] = {}
        self.default_options: dict[str, str] = {}
        """Groups that the recipe leaves at their default, with the option that is copied for each."""
        self._add(self.recipe)
        chosen = {_group(choice) for file in self.files.values() for choice in file.choices
                  if choice.group.startswith("override ")}  # fmt: skip
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
        """Each name in an entry of `defaults`, with the file that it chooses."""
        group, folder = _group(choice), "/".join(map(str, file.group))
        if not choice.group:
            group = folder
        elif not choice.group.rpartition(" ")[2].startswith("/") and self.library.is_group(f"{folder}/{group}"):
            group = f"{folder}/{group}"
        for name in choice.names:
            if name not in ("_self_", "null", "???"):
                option = name.partition("@")[0]
                yield name, option.removeprefix("/") if option.startswith("/") else f"{group}/{option}"

    def _add(self, name: str, *, requested: bool = False) -> bool:
        """Add a file with all files that it chooses; whether it is copied."""
        group = name.partition("/")[0]
        if name in self.files:
            return True
        file = self.library.open_file(name) if "/" in name else None
        if file is None or (not requested and group in (*_OWN, *SHARED_GROUPS)):
            return False
        # a file that only sets its kind holds no texts of a language
        if name != self.recipe and not requested and len(file.marks) <= 1 and not file.choices:
            return False
        self.files[name] = file
        for choice in file.choices:
            for _, target in self.targets(choice, file):
                self._add(target)
        return True


def file_mentions(
    editor: YamlEditor, path: Path, root: Path, prompts: Sequence[Path], known: Collection[Path] = ()
) -> Iterator[FileMention]:
    """The scalars of the file at `path` that name existing files, or `known` ones."""
    for scalar in editor.scalars():
        text = scalar.text
        if not _PATH.fullmatch(text) or scalar.key[:1] == ("defaults",):
            continue
        beside = (path.parent / text).resolve()
        if beside in known or (beside.exists() and beside.is_relative_to(root) and beside != path.parent):
            yield FileMention(scalar, beside, is_prompt=False)
            continue
        for folder in prompts:
            prompt = (folder / text).resolve()
            if prompt.is_file() and prompt.is_relative_to(folder):
                yield FileMention(scalar, prompt, is_prompt=True)
                break


def source_files(loaded: LoadedRecipe) -> dict[Path, str]:
    """The files and folders of the recipe's sources, with the key of each."""
    return {ref.file.resolve(): key for key, ref in loaded.files if key.startswith("sources.")}


def bound_files(loaded: LoadedRecipe) -> dict[Path, str]:
    """The files about the items of the recipe, with the key of each."""
    return {ref.file.resolve(): key for key, ref in loaded.files if is_bound(key)}


def is_bound(key: str) -> bool:
    """Whether the file of a key is about the items of one recipe."""
    _, _, below = key.partition(".")[2].partition(".")
    return any(bound(key) or (key.startswith("tasks.") and bound(below)) for bound in _BOUND_KEYS)


def _group(choice: DefaultsChoice) -> str:
    return choice.group.rpartition(" ")[2].partition("@")[0].removeprefix("/")


def _unknown_option(name: str, library: RecipeIndex) -> Problem:
    group = name.partition("/")[0]
    known = [f"{group}/{option}" for option in library.option_names(group)] if library.is_group(group) else []
    hint = did_you_mean(name, known) or "`GROUP/OPTION` as in `annotation/app`"
    return Problem("there is no such option", where=f"--also {name}", actual=name, allowed=", ".join(known), hint=hint)
