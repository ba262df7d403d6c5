"""The lists that a word list is made of, as a command line names them, and the settings of its making."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from benchbuilder.config import FileRef, LoadedRecipe, Recipe, Spec, bundled_folder, display_path
from benchbuilder.core import Problem, RecipeError, is_language, recipe_name
from benchbuilder.models import find_prompt
from benchbuilder.sources import TermsSpec
from benchbuilder.steps import MergeTermsSpec, NormaliseTermSpec, TranslateSpec

STANDARD_SETTINGS = "standard"
"""The settings for languages that have none of their own."""
_WORD = re.compile(r"[~+]*[A-Za-z_][\w.@/-]*=")
_PREFIX = "words."
_PLAIN = re.compile(r"-?\d+(\.\d+)?|true|false|null|")
_REFS = ("prompt", "system", "repair", "pairs")


class WordListSettings(Spec):
    """How a word list is made: the settings of its steps, and those of single lists by their names."""

    translate: dict[str, Any]
    tidy: dict[str, Any]
    merge: dict[str, Any]
    lists: dict[str, dict[str, Any]] = {}


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """The lists, the words about the making (``words.KEY=VALUE``), and the words of the recipe."""
    lists, making, recipe = list[str](), list[str](), list[str]()
    for word in arguments:
        if not _WORD.match(word) or Path(word).is_file():
            lists.append(word)
        elif word.startswith(_PREFIX):
            making.append(word)
        else:
            recipe.append(word)
    return lists, making, recipe


def read_word_list_settings(loaded: LoadedRecipe, changes: Sequence[str], file: Path | None = None) -> WordListSettings:
    """The settings in `file`, or else those for the recipe's language, with `changes` (``words.KEY=VALUE``) in them.

    RecipeError if they say what nobody knows.
    """
    path = file or _language_settings(loaded)
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _settings_error(
            "the settings cannot be read", "words", display_path(path), " ".join(str(error).split())
        ) from error
    if not isinstance(data, dict):
        raise _settings_error("settings are a mapping", "words", display_path(path), str(data)[:60])
    for change in changes:
        key, _, value = change.removeprefix(_PREFIX).partition("=")
        *above, last = key.split(".")
        node: Any = data
        for part in above:
            node = node.setdefault(part, {})
            if not isinstance(node, dict):
                raise _settings_error(
                    "this is no mapping of settings", f"words.{key}", f"command line: {change}", str(node)
                )
        node[last] = _value(value)
    return _validated(WordListSettings, data, "words", display_path(path))


def _value(text: str) -> Any:
    """A value as the command line writes it: YAML where it is a list, a mapping, a number or in quotes, else the text
    itself, so that a pattern needs no quotes.

    >>> _value("[case]"), _value("3"), _value("^(?P<term>.+): .*$")
    (['case'], 3, '^(?P<term>.+): .*$')
    """
    if text[:1] not in "[{\"'" and not _PLAIN.fullmatch(text):
        return text
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def word_list_sources(lists: Sequence[str], settings: WordListSettings, recipe: Recipe) -> dict[str, TermsSpec]:
    """The source of each list, ``FILE``, ``FILE:COLUMN`` or ``FILE@LANGUAGE``, named after its file."""
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
    """File, column and language of a list; a file whose name has ``:`` or ``@`` in it is taken as it is.

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
    """`name`, or `name` with the first number that makes it new."""
    others, number, free = set(used_names), 1, name
    while free in others:
        number += 1
        free = f"{name}_{number}"
    return free


def word_list_steps(loaded: LoadedRecipe, settings: WordListSettings, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The specs of the steps; `inputs` says what each reads: ``translate`` (if any), ``tidy``, ``merge``."""
    steps: dict[str, Any] = {"tidy": ("normalise_term", NormaliseTermSpec), "merge": ("merge_terms", MergeTermsSpec)}
    if inputs.get("translate"):
        steps = {"translate": ("translate", TranslateSpec), **steps}
    made: dict[str, Any] = {}
    for name, (kind, cls) in steps.items():
        data: dict[str, Any] = {**getattr(settings, name), "kind": kind, "from": inputs[name]}
        if name == "translate":
            about = loaded.recipe.card.summary or loaded.recipe.card.title
            data = {"about": about, **_resolve_paths(data, loaded), "model": loaded.recipe.model}
        made[name] = _validated(cls, data, f"words.{name}", "the settings of word lists")
    return made


def _language_settings(loaded: LoadedRecipe) -> Path:
    """The settings for the recipe's language: ``words/LANGUAGE.yaml`` of a folder of recipes, else the standard."""
    folders = [*(root.path for root in loaded.roots), bundled_folder("recipes")]
    language = loaded.recipe.language
    names = dict.fromkeys((language, language.partition("-")[0], STANDARD_SETTINGS))
    found = (folder / "words" / f"{name}.yaml" for name in names for folder in folders)
    return next(
        (path for path in found if path.is_file()), bundled_folder("recipes") / "words" / f"{STANDARD_SETTINGS}.yaml"
    )


def _resolve_paths(data: Mapping[str, Any], loaded: LoadedRecipe) -> dict[str, Any]:
    """The settings of the translation with the places of prompts, and of the dictionary."""
    placed = dict(data)
    for name in _REFS:
        if isinstance(ref := placed.get(name), str):
            placed[name] = {"path": ref, "resolved_path": str(find_prompt(ref, loaded.prompt_roots).file)}
    if isinstance(path := placed.get("dictionary"), str):
        placed["dictionary"] = {"path": path, "resolved_path": str(Path(path).expanduser().absolute())}
    return placed


def _validated(cls: type[Any], data: Mapping[str, Any], key: str, where: str) -> Any:
    model: type[BaseModel] = cls
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise RecipeError([
            Problem(
                item["msg"], key=".".join([key, *map(str, item["loc"])]), where=where, actual=str(item["input"])[:80]
            )
            for item in error.errors()
        ]) from error  # fmt: skip


def _settings_error(message: str, key: str, where: str, value: str) -> RecipeError:
    return RecipeError([Problem(message, key=key, where=where, actual=value)])
