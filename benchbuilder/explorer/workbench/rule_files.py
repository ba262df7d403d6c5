"""The files of rules of a recipe: which step has its rules where, and whether a file is the user's own."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchbuilder.config import LoadedRecipe, RecipeRoot, YamlEditor, display_path, installed_folders
from benchbuilder.core import Problem, RecipeError, find_kind, parse_plain_yaml
from benchbuilder.steps import Gather, Map

_GROUP = "rules"


def text_digest(text: str) -> str:
    """The digest of a text, which tells whether a file changed."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class RuleFile:
    """A file of rules as it was read; `root` is its folder of recipes."""

    path: Path
    root: RecipeRoot
    text: str

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

    @cached_property
    def is_own(self) -> bool:
        """Whether the file is the user's, and did not come with the program or a plugin."""
        return not any(self.path.resolve().is_relative_to(folder) for folder in installed_folders())

    @property
    def judged(self) -> Path:
        """The file of judged rows beside this one."""
        return judged_file(self.path)

    def line_of(self, step: str) -> int:
        """The line on which the rules of a step begin; 1 if the file has none."""
        entry = YamlEditor(self.text).find_entry((step,))
        return 1 if entry is None else entry[0].start_mark.line + 1


def judged_file(rules: Path) -> Path:
    """The file of judged rows beside a file of rules."""
    return rules.with_name(f"{rules.stem}_judged.tsv")


def steps_with_rules(loaded: LoadedRecipe) -> dict[str, Path]:
    """The steps that work row by row and have keys in a file of rules, with the file that has most of them."""
    found: dict[str, Path] = {}
    for name, spec in loaded.recipe.steps.items():
        kind = find_kind("step", spec.kind).load()
        if not issubclass(kind, Map) or issubclass(kind, Gather):
            continue
        counts = Counter(
            origin.file for key, origin in loaded.origins.entries.items()
            if key[:2] == ("steps", name) and len(key) >= 3 and origin.group == _GROUP and origin.file is not None
        )  # fmt: skip
        if counts:
            found[name] = max(counts, key=lambda file: (counts[file], str(file)))
    return found


def open_rule_file(loaded: LoadedRecipe, step: str) -> RuleFile:
    """The file with the rules of a step, as it is now; RecipeError if the step has none."""
    files = steps_with_rules(loaded)
    if step not in files:
        raise RecipeError([Problem("this step has no file of rules", key=f"steps.{step}",
                                   allowed=", ".join(files) or "none in this recipe")])  # fmt: skip
    path = files[step]
    root = next(root for root in loaded.roots if path.is_relative_to(root.path))
    return RuleFile(path, root, path.read_bytes().decode())
