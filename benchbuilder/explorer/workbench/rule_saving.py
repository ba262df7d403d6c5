"""Saves a draft into a file of rules of the user's own: never over another change, never into a bundled file."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.config import LoadedRecipe, load_recipe
from benchbuilder.core import BenchbuilderError, Problem, RecipeError, write_atomically
from benchbuilder.explorer.workbench.rule_drafts import RuleDraft
from benchbuilder.explorer.workbench.rule_files import RuleFile, text_digest
from benchbuilder.pipeline import Checksums, Store, make_plan


class ChangedMeanwhileError(BenchbuilderError):
    """The file is not the one that a draft began from."""


@dataclass(frozen=True)
class SavedRules:
    """A saved file: the command that builds with it, and the steps that run again of all."""

    file: str
    command: str
    again: tuple[str, ...]
    steps: int


def text_difference(before: str, after: str, name: str) -> str:
    """The unified difference of two texts of a file."""
    lines = (text.splitlines(keepends=True) for text in (before, after))
    found = difflib.unified_diff(*lines, fromfile=name, tofile=name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in found)


def require_own_file(loaded: LoadedRecipe, file: RuleFile) -> None:
    """RecipeError if the file came with the program or a plugin: such files are never written."""
    if not file.is_own:
        name = loaded.recipe.name
        raise RecipeError([Problem(
            "these rules came with the program, and are not changed", where=file.shown,
            hint=f"make a recipe of your own, and open that: benchbuild new my_{name} --from {name}",
        )])  # fmt: skip


def save_rules(
    loaded: LoadedRecipe, file: RuleFile, draft: RuleDraft, folder: Path, recipes: Sequence[str]
) -> SavedRules:
    """Write a draft into its file, and say what a build would do.

    Args:
        loaded: The recipe.
        file: The file as it is now.
        draft: The draft.
        folder: The folder of the build.
        recipes: Further folders of recipes.

    Raises:
        RecipeError: The file is not the user's own, or the recipe is wrong with the draft; then nothing is changed.
        ChangedMeanwhileError: The file is not the one that the draft began from.
    """
    require_own_file(loaded, file)
    now = file.path.read_bytes().decode()
    if text_digest(now) != draft.begun:
        raise ChangedMeanwhileError(
            f"{file.shown} changed after the draft was begun", where=file.shown,
            why="somebody else, or another program, wrote it", next="choose which changes to keep",
        )  # fmt: skip
    write_atomically(file.path, draft.text)
    try:
        changed = load_recipe(loaded.overrides, recipes=recipes)
    except RecipeError:
        write_atomically(file.path, now)
        raise
    store = Store(folder)
    plan = make_plan(changed.recipe, store, Checksums(store.checksums).sha256_of)
    again = tuple(name for name, status in plan.statuses(store).items() if status.state == "run")
    return SavedRules(file.shown, f"benchbuild {shlex.join(loaded.overrides)}", again, len(plan.nodes))
