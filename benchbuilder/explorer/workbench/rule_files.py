"""The files of rules of a recipe: which step has its rules where, and whether a file is the user's own."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchbuilder.config import LoadedRecipe, RecipeRoot, YamlEditor, display_path, installed_folders
from benchbuilder.core import Problem, RecipeError, find_kind, parse_plain_yaml, read_given_file
from benchbuilder.steps import Gather, Map

_GROUP = "rules"


def text_digest(text: str) -> str:
    """The digest of a text, which tells whether a file changed."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class RuleFile:
    """A file of rules as it was read.

    `root` is its folder of recipes. `home` is where it is saved: itself, or, if it came with the program, its copy
    beside the user's recipe; ``None`` if the recipe came with the program too. `judged` holds the judged rows.
    """

    path: Path
    root: RecipeRoot
    text: str
    home: Path | None
    judged: Path

    @property
    def shown(self) -> str:
        """The path for people."""
        return display_path(self.path)

    @cached_property
    def digest(self) -> str:
        """The digest of the text."""
        return text_digest(self.text)

    @cached_property
    def data(self) -> dict[str, Any]:
        """The keys of the text; YAMLError if it is not YAML."""
        data = parse_plain_yaml(self.text)
        return data if isinstance(data, dict) else {}

    @property
    def shown_home(self) -> str:
        """Where the file is saved, for people."""
        return "" if self.home is None else display_path(self.home)

    @property
    def is_copied(self) -> bool:
        """Whether saving makes a copy: the file itself came with the program or a plugin."""
        return self.home is not None and self.home != self.path

    def line_of(self, step: str) -> int:
        """The line on which the rules of a step begin; 1 if the file has none."""
        entry = YamlEditor(self.text).find_entry((step,))
        return 1 if entry is None else entry[0].start_mark.line + 1


def rule_home(loaded: LoadedRecipe, rules: Path) -> Path | None:
    """Where a file of rules is saved; ``None`` if both it and the recipe came with the program."""
    installed = installed_folders()
    if not any(rules.resolve().is_relative_to(folder) for folder in installed):
        return rules
    name, root = _recipe_place(loaded)
    if any(root.path.resolve().is_relative_to(folder) for folder in installed):
        return None
    own = rules.relative_to(_root_of(loaded, rules).path)
    return root.path / own.with_name(f"{name}_{own.name}")  # two folders of recipes hold no file of the same name


def judged_file(loaded: LoadedRecipe, rules: Path) -> Path:
    """The file of judged rows beside a file of rules, or beside the copy that saving will make."""
    home = rule_home(loaded, rules) or rules
    return home.with_name(f"{home.stem}_judged.tsv")


def files_of_steps(loaded: LoadedRecipe) -> dict[str, tuple[Path, ...]]:
    """The steps that work row by row and have keys in files of rules, with these; that with most keys is the first."""
    found: dict[str, tuple[Path, ...]] = {}
    for name, spec in loaded.recipe.steps.items():
        kind = find_kind("step", spec.kind).load()
        if not issubclass(kind, Map) or issubclass(kind, Gather):
            continue
        counts = Counter(
            origin.file
            for key, origin in loaded.origins.entries.items()
            if key[:2] == ("steps", name) and len(key) >= 3 and origin.group == _GROUP and origin.file is not None
        )
        if counts:
            found[name] = tuple(sorted(counts, key=lambda file: (-counts[file], str(file))))
    return found


def steps_with_rules(loaded: LoadedRecipe) -> dict[str, Path]:
    """The steps that work row by row and have keys in files of rules, with the file that has most of them."""
    return {name: files[0] for name, files in files_of_steps(loaded).items()}


def open_rule_file(loaded: LoadedRecipe, step: str, stem: str = "") -> RuleFile:
    """The file with most rules of a step, or that with the name `stem`, as it is now; RecipeError if there is none."""
    files = files_of_steps(loaded)
    if step not in files:
        raise RecipeError([Problem("this step has no file of rules", key=f"steps.{step}",
                                   allowed=", ".join(files) or "none in this recipe")])  # fmt: skip
    path = next((file for file in files[step] if file.stem == stem), None if stem else files[step][0])
    if path is None:
        raise RecipeError([Problem("this file has no rules of the step", key=f"steps.{step}", actual=stem,
                                   allowed=", ".join(file.stem for file in files[step]))])  # fmt: skip
    text, root = read_given_file(path).decode(), _root_of(loaded, path)
    return RuleFile(path, root, text, rule_home(loaded, path), judged_file(loaded, files[step][0]))


def recipe_file(loaded: LoadedRecipe) -> Path:
    """The file of the recipe."""
    name, root = _recipe_place(loaded)
    return root.path / "recipe" / f"{name}.yaml"


def _recipe_place(loaded: LoadedRecipe) -> tuple[str, RecipeRoot]:
    """The name that chooses the recipe, and the folder of recipes that has it."""
    name = next(word.partition("=")[2] for word in reversed(loaded.overrides) if word.startswith("recipe="))
    return name, next(root for root in loaded.roots if (root.path / "recipe" / f"{name}.yaml").is_file())


def _root_of(loaded: LoadedRecipe, path: Path) -> RecipeRoot:
    return next(root for root in loaded.roots if path.is_relative_to(root.path))
