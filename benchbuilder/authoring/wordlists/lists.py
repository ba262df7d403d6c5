"""The sources of a word list as a command line names them, and the settings of its steps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from benchbuilder.config import FileRef, LoadedRecipe, Recipe, Spec, bundled_folder, display_path
from benchbuilder.core import Problem, RecipeError, language_fault, parse_plain_yaml, read_given_text, recipe_name
from benchbuilder.models import find_prompt
from benchbuilder.sources import TermsSpec
from benchbuilder.steps import MergeTermsSpec, NormaliseTermSpec, TranslateSpec

STANDARD_SETTINGS = "standard"
"""The settings of languages without settings of their own."""
_OVERRIDE = re.compile(r"[~+]*[A-Za-z_][\w.@/-]*=")
_PREFIX = "words."
_PLAIN = re.compile(r"-?\d+(\.\d+)?|true|false|null|")
_REFS = ("prompt", "system", "repair", "pairs")


def is_language(code: str) -> bool:
    """Whether `code` is the tag of a known language (BCP 47).

    >>> is_language("zh-Hant"), is_language("csv/terms")
    (True, False)
    """
    return not language_fault(code)


class WordListSettings(Spec):
    """The settings of the steps that make a word list, and of single sources by name."""

    translate: dict[str, Any]
    tidy: dict[str, Any]
    merge: dict[str, Any]
    lists: dict[str, dict[str, Any]] = {}


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """The sources, the settings of the list (``words.KEY=VALUE``), and the overrides of the recipe."""
    lists, settings, overrides = list[str](), list[str](), list[str]()
    for argument in arguments:
        if not _OVERRIDE.match(argument) or Path(argument).is_file():
            lists.append(argument)
        else:
            (settings if argument.startswith(_PREFIX) else overrides).append(argument)
    return lists, settings, overrides


def read_word_list_settings(loaded: LoadedRecipe, changes: Sequence[str], file: Path | None = None) -> WordListSettings:
    """Read the settings of a word list.

    Args:
        loaded: The recipe.
        changes: Changes to the settings, ``words.KEY=VALUE``.
        file: The file; by default that of the recipe's language.

    Raises:
        RecipeError: The settings are invalid.
    """
    path = file or _language_settings(loaded)
    where = display_path(path)
    try:
        data: Any = parse_plain_yaml(read_given_text(path))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _settings_error("the settings cannot be read", "words", where, " ".join(str(error).split())) from error
    if not isinstance(data, dict):
        raise _settings_error("settings are a mapping", "words", where, str(data)[:60])
    for change in changes:
        key, _, value = change.removeprefix(_PREFIX).partition("=")
        *above, last = key.split(".")
        node: Any = data
        for part in above:
            node = node.setdefault(part, {})
            if not isinstance(node, dict):
                raise _settings_error("not a mapping of settings", f"words.{key}", f"command line: {change}", str(node))
        node[last] = _value(value)
    return _validated(WordListSettings, data, "words", where)


def _value(text: str) -> Any:
    """A value of the command line: YAML for lists, mappings, numbers and quoted text; otherwise plain text, such as
    patterns.

    >>> _value("[case]"), _value("3"), _value("^(?P<term>.+): .*$")
    (['case'], 3, '^(?P<term>.+): .*$')
    """
    if text[:1] not in "[{\"'" and not _PLAIN.fullmatch(text):
        return text
    try:
        return parse_plain_yaml(text)
    except yaml.YAMLError:
        return text


def word_list_sources(lists: Sequence[str], settings: WordListSettings, recipe: Recipe) -> dict[str, TermsSpec]:
    """The spec of each source: ``FILE``, ``FILE:COLUMN`` or ``FILE@LANGUAGE``, named after its file."""
    taken = {*recipe.sources, *recipe.steps}
    specs: dict[str, TermsSpec] = {}
    for text in lists:
        path, column, language = parse_list_argument(text)
        name = unused_name(recipe_name(Path(path).stem), {*taken, *specs})
        data: dict[str, Any] = {"language": language, **settings.lists.get(name, {})}
        if column is not None:
            data["columns"] = {**data.get("columns", {}), "term": column}
        data |= {"kind": "terms", "path": FileRef(path=path, resolved_path=str(Path(path).expanduser().absolute()))}
        specs[name] = _validated(TermsSpec, data, f"words.lists.{name}", text)
    if unknown := sorted(set(settings.lists) - set(specs)):
        raise RecipeError([Problem("there is no such list", key=f"words.lists.{unknown[0]}", actual=unknown[0],
                                   allowed=", ".join(specs))])  # fmt: skip
    return specs


def parse_list_argument(text: str) -> tuple[str, str | int | None, str]:
    """The file, column and language of a source; the name of an existing file may contain ``:`` and ``@``.

    >>> parse_list_argument("terms.csv:2@en"), parse_list_argument("own.txt")
    (('terms.csv', 2, 'en'), ('own.txt', None, ''))
    """
    if Path(text).exists():
        return text, None, ""
    rest, mark, language = text.rpartition("@")
    if not mark or not is_language(language):
        rest, language = text, ""
    if Path(rest).exists():
        return rest, None, language
    path, mark, column = rest.rpartition(":")
    if not mark or not path or "/" in column:
        return rest, None, language
    return path, int(column) if column.isdecimal() else column, language


def unused_name(name: str, used_names: Iterable[str]) -> str:
    """`name`, with the first number that makes it unused if necessary."""
    used, number, unused = set(used_names), 1, name
    while unused in used:
        number += 1
        unused = f"{name}_{number}"
    return unused


def word_list_steps(loaded: LoadedRecipe, settings: WordListSettings, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The specs of the steps; `inputs` are the inputs of ``translate`` (if any), ``tidy`` and ``merge``."""
    steps: dict[str, Any] = {"tidy": ("normalise_term", NormaliseTermSpec), "merge": ("merge_terms", MergeTermsSpec)}
    if inputs.get("translate"):
        steps = {"translate": ("translate", TranslateSpec), **steps}
    specs: dict[str, Any] = {}
    for name, (kind, cls) in steps.items():
        data: dict[str, Any] = {**getattr(settings, name), "kind": kind, "from": inputs[name]}
        if name == "translate":
            about = loaded.recipe.card.summary or loaded.recipe.card.title
            data = {"about": about, **_resolve_paths(data, loaded), "model": loaded.recipe.model}
        specs[name] = _validated(cls, data, f"words.{name}", "the settings of word lists")
    return specs


def _language_settings(loaded: LoadedRecipe) -> Path:
    """The settings of the recipe's language, ``words/LANGUAGE.yaml`` in a folder of recipes, or the standard ones."""
    folders = [*(root.path for root in loaded.roots), bundled_folder("recipes")]
    language = loaded.recipe.language
    names = dict.fromkeys((language, language.partition("-")[0], STANDARD_SETTINGS))
    paths = [folder / "words" / f"{name}.yaml" for name in names for folder in folders]
    return next((path for path in paths if path.is_file()), paths[-1])


def _resolve_paths(data: Mapping[str, Any], loaded: LoadedRecipe) -> dict[str, Any]:
    """The settings of the translation, with the resolved paths of prompts and dictionary."""
    resolved = dict(data)
    for name in _REFS:
        if isinstance(ref := data.get(name), str):
            resolved[name] = {"path": ref, "resolved_path": str(find_prompt(ref, loaded.prompt_roots).file)}
    if isinstance(path := data.get("dictionary"), str):
        resolved["dictionary"] = {"path": path, "resolved_path": str(Path(path).expanduser().absolute())}
    return resolved


def _validated(cls: type[Any], data: Mapping[str, Any], key: str, where: str) -> Any:
    model: type[BaseModel] = cls
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = [
            Problem(fault["msg"], ".".join([key, *map(str, fault["loc"])]), where, actual=str(fault["input"])[:80])
            for fault in error.errors()
        ]
        raise RecipeError(problems) from error


def _settings_error(message: str, key: str, where: str, value: str) -> RecipeError:
    return RecipeError([Problem(message, key=key, where=where, actual=value)])
