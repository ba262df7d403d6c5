"""Saves a draft into a file of rules of the user's own, or into a copy: never over another change or a bundled file."""

from __future__ import annotations

import difflib
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.config import LoadedRecipe, PromptRef, YamlEditor, display_path, load_recipe, parse_key
from benchbuilder.core import BenchbuilderError, Problem, RecipeError, make_folder, read_given_file, write_atomically
from benchbuilder.explorer.workbench.rule_drafts import RuleDraft
from benchbuilder.explorer.workbench.rule_files import RuleFile, files_of_steps, recipe_file, text_digest
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


@dataclass(frozen=True)
class RulesCopy:
    """What a copy of bundled rules needs: the tables that they name by paths from their folder, each with its place,
    and the recipe, which chooses the copy from then on.
    """

    tables: Mapping[Path, Path]
    recipe: Path
    before: str
    after: str


def saved_place(loaded: LoadedRecipe, file: RuleFile, text: str) -> Path:
    """Where `text` is saved; RecipeError if the recipe came with the program or a plugin, or the place is taken.

    A copy with this text is no obstacle: it is what a killed server had written, before the recipe chose it.
    """
    if file.home is None:
        name = loaded.recipe.name
        raise RecipeError([Problem(
            "this recipe came with the program: with other rules, its name would stand for something else here",
            where=file.shown, hint=f"make a recipe of your own, and open that: benchbuild new my_{name} --from {name}",
        )])  # fmt: skip
    if file.is_copied and file.home.exists() and read_given_file(file.home) != text.encode():
        raise RecipeError([Problem(
            "the copy of these rules would replace a file that the recipe does not use", where=file.shown_home,
            hint="rename that file, or have the recipe choose it",
        )])  # fmt: skip
    return file.home


def copy_of_rules(loaded: LoadedRecipe, file: RuleFile) -> RulesCopy | None:
    """What copying needs; ``None`` if the file is saved where it is. RecipeError if the recipe cannot choose a copy."""
    if not file.is_copied or file.home is None:
        return None
    tables: dict[Path, Path] = {}
    for key, ref in loaded.files:
        written = loaded.origins.origin_of(parse_key(key)).file == file.path
        if not isinstance(ref, PromptRef) and written and ref.file.is_relative_to(file.root.path):
            relative = os.path.relpath(ref.file, file.path.parent)
            tables[ref.file] = Path(os.path.normpath(file.home.parent / relative))
    recipe = recipe_file(loaded)
    editor = YamlEditor(read_given_file(recipe).decode())
    for scalar in editor.scalars():
        group = str(scalar.key[2]).rpartition(" ")[2] if len(scalar.key) > 2 and scalar.key[0] == "defaults" else ""
        if group.removeprefix("/") == "rules" and scalar.text == file.path.stem:
            editor.replace_scalar(scalar, file.home.stem)
            return RulesCopy(tables, recipe, editor.text, editor.edited_text())
    raise RecipeError([Problem(
        "the recipe does not choose these rules itself, so it cannot choose a copy", where=display_path(recipe),
        hint=f"write `- override /rules: [...]` with {file.path.stem} into its `defaults`",
    )])  # fmt: skip


def save_rules(
    loaded: LoadedRecipe, file: RuleFile, draft: RuleDraft, folder: Path, recipes: Sequence[str]
) -> SavedRules:
    """Write a draft into its file, or into a copy beside the user's recipe, and say what a build would do.

    Args:
        loaded: The recipe.
        file: The file as it is now.
        draft: The draft.
        folder: The folder of the build.
        recipes: Further folders of recipes.

    Raises:
        RecipeError: The recipe came with the program, or it is wrong with the draft; then nothing is changed.
        ChangedMeanwhileError: The file is not the one that the draft began from.
    """
    place = saved_place(loaded, file, draft.text)
    now = read_given_file(file.path).decode()
    if text_digest(now) != draft.begun:
        raise ChangedMeanwhileError(
            f"{file.shown} changed after the draft was begun", where=file.shown,
            why="somebody else, or another program, wrote it", next="choose which changes to keep",
        )  # fmt: skip
    changed = _written(loaded, place, draft.text, copy_of_rules(loaded, file), recipes)
    store = Store(folder)
    plan = make_plan(changed.recipe, store, Checksums(store.checksums).sha256_of)
    again = tuple(name for name, status in plan.statuses(store).items() if status.state == "run")
    return SavedRules(display_path(place), f"benchbuild {shlex.join(loaded.overrides)}", again, len(plan.nodes))


def _written(
    loaded: LoadedRecipe, place: Path, text: str, copy: RulesCopy | None, recipes: Sequence[str]
) -> LoadedRecipe:
    """The recipe after the rules are written, which is undone if it is wrong then."""
    texts = {place: text} | ({} if copy is None else {copy.recipe: copy.after})
    new = {} if copy is None else {table: to for table, to in copy.tables.items() if not to.exists()}
    tables = {to: read_given_file(table) for table, to in new.items()}
    before = {path: read_given_file(path) if path.exists() else None for path in (*texts, *tables)}
    try:
        for path, data in (*tables.items(), *texts.items()):
            make_folder(path.parent)
            write_atomically(path, data)
        changed = load_recipe(loaded.overrides, recipes=recipes)
        if not any(place in files for files in files_of_steps(changed).values()):
            raise RecipeError([Problem("the recipe does not use the saved file", where=display_path(place),
                                       hint="does the command line choose other rules?")])  # fmt: skip
    except (BenchbuilderError, OSError):
        for path, data in before.items():
            if data is None:
                path.unlink(missing_ok=True)
            else:
                write_atomically(path, data)
        raise
    return changed
