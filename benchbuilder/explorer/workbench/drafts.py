"""Drafts of a file of rules: what differs from the file, and the specs of the steps with these differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel, ValidationError

from benchbuilder.config import (
    FileRef,
    KeyPath,
    LoadedRecipe,
    RecipeFile,
    StepSpec,
    dotted_key,
    explain_validation,
    leaves_of,
    list_parts,
    load_recipe,
    parse_recipe_text,
)
from benchbuilder.core import Problem, RecipeError, parse_plain_yaml, pattern_excerpt
from benchbuilder.explorer.workbench.rule_files import RuleFile

_MISSING = object()
_LINK = "${"


@dataclass(frozen=True)
class DraftChange:
    """A key of a file of rules, from the name of its step on, whose value differs; `removed` if it is gone.

    `reordered` if only the order of its entries differs: other changes give their values.
    """

    key: KeyPath
    value: Any
    removed: bool = False
    reordered: bool = False


@dataclass(frozen=True)
class DraftRules:
    """What a draft changes: the specs of the steps, the keys, and the new texts under them, such as patterns.

    `overridden` holds changed keys that another place sets, with this place: they have no effect.
    """

    specs: dict[str, StepSpec] = field(default_factory=dict[str, StepSpec])
    changed: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    overridden: tuple[tuple[str, str], ...] = ()


def read_draft(file: RuleFile, text: str, loaded: LoadedRecipe) -> DraftRules:
    """The rules of a draft.

    Only keys whose value differs from the file replace those of the resolved recipe, and what links to them. If a value
    has a link, or names another file, the whole recipe is composed, as if the draft were saved.

    Raises:
        RecipeError: The draft is no file of a recipe, or its values do not fit, with every problem and its line.
    """
    parsed = parse_recipe_text(file.path, file.root, text.encode())
    before, after = file.data, _plain(parse_plain_yaml(text))
    changes = list(_differences(before, after, ()))
    if whole := [change for change in changes if len(change.key) < 2]:
        raise RecipeError([Problem("the rules of a step are a mapping, and stay in the file", where=_place(
            change.key, parsed), key=dotted_key(change.key)) for change in whole])  # fmt: skip
    overridden = [(change, origin) for change in changes if (origin := _winner(change, file, loaded))]
    effective = [change for change in changes if change not in [lost for lost, _ in overridden]]
    specs = None
    if not any(_LINK in repr(change.value) and not change.reordered for change in changes):
        specs = _changed_specs([*effective, *_linked(effective, loaded)], parsed, loaded)
    if specs is None:
        specs = _composed_specs(file, text, loaded)
    return DraftRules(
        specs, tuple(dotted_key(change.key) for change in changes), tuple(_new_texts(before, changes)),
        tuple((dotted_key(change.key), origin) for change, origin in overridden),
    )  # fmt: skip


def _plain(data: Any) -> dict[str, Any]:
    return data if isinstance(data, dict) else {}


def _differences(before: Any, after: Any, key: KeyPath) -> Iterator[DraftChange]:
    if isinstance(before, dict) and isinstance(after, dict):
        old: dict[str, Any] = before
        new: dict[str, Any] = after
        for name in [*new, *(name for name in old if name not in new)]:
            if name not in new:
                yield DraftChange((*key, name), None, removed=True)
            else:
                yield from _differences(old.get(name, _MISSING), new[name], (*key, name))
        added = [*(name for name in old if name in new), *(name for name in new if name not in old)]
        if len(key) >= 2 and list(new) != added:  # of rules in order, the first that fits counts
            yield DraftChange(key, new, reordered=True)
    elif before != after or type(before) is not type(after):
        yield DraftChange(key, after)


def _new_texts(before: Mapping[str, Any], changes: Iterable[DraftChange]) -> Iterator[str]:
    """The texts that a draft has and the file has not, each after its key."""
    known = {text for _, text in leaves_of(before, ())}
    for change in changes:
        for key, text in () if change.reordered else leaves_of(change.value, change.key):
            if isinstance(text, str) and text not in known:
                yield f"{dotted_key(key)}: {pattern_excerpt(text)}"


def _place(key: KeyPath, parsed: RecipeFile) -> str:
    """The line of a key in a draft, or of the nearest key above."""
    marks = (parsed.marks[key[:end]].line for end in range(len(key), 0, -1) if key[:end] in parsed.marks)
    return parsed.location(next(marks, 1))


def _winner(change: DraftChange, file: RuleFile, loaded: LoadedRecipe) -> str:
    """Where a changed key is written that wins over the file; empty if the file wins."""
    key: KeyPath = ("steps", *change.key)
    origin = loaded.origins.entries.get(key)
    if origin is None or origin.is_mapping or origin.file == file.path:
        return ""
    return str(origin)


def _linked(changes: list[DraftChange], loaded: LoadedRecipe) -> Iterator[DraftChange]:
    """The changes of keys that are links to a changed key, or into it."""
    for key, (target, rest) in loaded.origins.links.items():
        if rest or key[:1] != ("steps",) or target[:1] != ("steps",):
            continue
        own, wanted = key[1:], target[1:]
        for change in changes:
            if change.key[: len(wanted)] == wanted:
                yield replace(change, key=(*own, *change.key[len(wanted) :]))
            elif wanted[: len(change.key)] == change.key:
                value = change.value
                for part in wanted[len(change.key) :]:
                    value = value.get(part, _MISSING) if isinstance(value, dict) else _MISSING
                if value is not _MISSING:
                    yield DraftChange(own, value)


def _composed_specs(file: RuleFile, text: str, loaded: LoadedRecipe) -> dict[str, StepSpec]:
    """The specs that differ in the recipe with the draft in the place of the file."""
    draft = load_recipe(loaded.overrides, recipes=loaded.search_paths, drafts={file.path: text})
    before = loaded.recipe.steps
    return {name: spec for name, spec in draft.recipe.steps.items() if name in before and spec != before[name]}


def _changed_specs(changes: list[DraftChange], parsed: RecipeFile, loaded: LoadedRecipe) -> dict[str, StepSpec] | None:
    """The specs with changed values; ``None`` if one of them names another file."""
    by_step: dict[str, list[DraftChange]] = {}
    for change in changes:
        by_step.setdefault(str(change.key[0]), []).append(change)
    specs: dict[str, StepSpec] = {}
    problems: list[Problem] = []
    names_files = False
    for step, own in by_step.items():
        spec = loaded.recipe.steps.get(step)
        if spec is None:
            continue
        data = {info.alias or name: getattr(spec, name) for name, info in type(spec).model_fields.items()}
        for change in own:
            _put(data, change.key[1:], change)
        try:
            specs[step] = type(spec).model_validate(data)
        except ValidationError as error:
            found = {key[1:]: problem for key, problem in explain_validation(
                error, type(spec), data, ("steps", step), loaded.origins)}  # fmt: skip
            problems += [
                replace(problem, key=dotted_key(key), where=_place(key, parsed), actual="")
                for key, problem in found.items()
                if not any(other != key and other[: len(key)] == key for other in found)
            ]
            continue
        if any(not ref.resolved_path for ref in list_parts(specs[step], FileRef)):
            names_files = True
    if problems:
        raise RecipeError(problems)
    return None if names_files else specs


def _put(data: dict[str, Any], path: KeyPath, change: DraftChange) -> None:
    """Set or remove a value below `data`; models on the way become plain data."""
    for part in path[:-1]:
        inner = data.get(str(part))
        if isinstance(inner, BaseModel) and not isinstance(inner, FileRef):
            names = type(inner).model_fields
            inner = {names[name].alias or name: getattr(inner, name) for name in inner.model_fields_set}
        data[str(part)] = dict(inner) if isinstance(inner, dict) else {}  # pyright: ignore[reportUnknownArgumentType]
        data = data[str(part)]
    if change.removed:
        data.pop(str(path[-1]), None)
        return
    name, old = str(path[-1]), data.get(str(path[-1]))
    if change.reordered and isinstance(old, dict):
        known: dict[str, Any] = old
        order = iter([each for each in change.value if each in known])
        data[name] = {each: known[each] for each in (next(order) if each in change.value else each for each in known)}
        return
    data[name] = change.value
