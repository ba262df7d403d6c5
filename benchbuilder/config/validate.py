"""Validates a composed recipe: hands each node to the spec of its kind, and collects every problem."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import BaseModel, ValidationError

from benchbuilder.config.composed_recipe import ComposedRecipe
from benchbuilder.config.file_refs import FileResolver
from benchbuilder.config.idle_nodes import without_idle_nodes
from benchbuilder.config.origins import ValueOrigins, leaves_of
from benchbuilder.config.output_names import (
    evaluation_folder_problems,
    folder_problems,
    node_name_problems,
    output_name_problems,
)
from benchbuilder.config.recipe_index import RecipeIndex, did_you_mean
from benchbuilder.config.search_path import display_path
from benchbuilder.config.spec.audit import AuditSpec
from benchbuilder.config.spec.base import FileRef, KindSpec, Slot, Spec
from benchbuilder.config.spec.evaluation import EvaluationSpec
from benchbuilder.config.spec.recipe import Recipe, RunSpec, TaskSpec
from benchbuilder.config.user_only import cost_key_problems, user_only_key_problems
from benchbuilder.config.validation_errors import REFERENCE_MARK, explain_validation
from benchbuilder.config.yaml_source import KeyPath, describe_value, dotted_key
from benchbuilder.core import InstallationError, Problem, find_kind, kinds_of_slot

_SHARED_SLOTS = ("tokenizer", "model", "retriever", "annotation")
"""Nodes that others inherit; each may inherit from the ones before."""
_REMOVABLE = ("outputs", "steps", "sources")
"""Mappings from which ``NAME: null`` removes what a recipe inherits."""
_FOR_ALL_RECIPES = ("local", "user")
"""Groups of files that hold the user's settings for every recipe."""
_NAME = r"[a-z][a-z0-9_]*"
_HIDDEN_KEYS = (("base_url",), ("extra_body",))
"""Keys whose values are not repeated in messages: people put secrets there by mistake."""


@dataclass(frozen=True)
class ValidatedRecipe:
    """The `recipe`, None if it could not be built; every problem; and the files that it refers to, by key."""

    recipe: Recipe | None
    problems: list[Problem]
    files: tuple[tuple[str, FileRef], ...]


def validate_recipe(
    composed: ComposedRecipe, unresolved: Sequence[Problem], cwd: Path, prompts: Sequence[Path]
) -> ValidatedRecipe:
    """The specs of a composed recipe, and all problems, the `unresolved` values first.

    Relative paths of the command line start at `cwd`; `prompts` are the folders of prompts.
    """
    references = FileResolver(composed.origins, cwd, prompts)
    builder = _SpecBuilder(composed.origins, references, composed.idle_sources)
    _restore_norwegian(composed)
    builder.problems.update({problem.key: problem for problem in (*unresolved, *_unread_paths(composed))})
    recipe = builder.recipe(without_idle_nodes(composed))
    builder.name(composed.data.get("name"), composed)
    users = [*user_only_key_problems(composed.data, composed.origins), *builder.costs]
    problems = dict.fromkeys(_each_once([*builder.problems.values(), *references.problems, *users]))
    if recipe is not None and not problems:
        problems |= dict.fromkeys(output_name_problems(recipe, composed.origins))
        problems |= dict.fromkeys(node_name_problems(recipe, composed.origins))
        problems |= dict.fromkeys(folder_problems(recipe, composed.origins, cwd))
        problems |= dict.fromkeys(evaluation_folder_problems(recipe, composed.origins, cwd))
    return ValidatedRecipe(recipe, list(problems), tuple(references.files))


def _unread_paths(composed: ComposedRecipe) -> Iterator[Problem]:
    """A problem for each ``paths.NAME=FILE`` of the command line that nothing in the recipe reads.

    ``paths.NAME=null`` takes a file away. A path that the recipe has may go, even if no chosen option reads it.
    """
    read = composed.references
    if read is None or ("paths",) in read:
        return
    names = sorted({str(key[1]) for key in read if len(key) > 1 and key[0] == "paths"})
    for key, origin in composed.origins.entries.items():
        if not origin.override or len(key) != 2 or key[0] != "paths" or key in read:
            continue
        if composed.data["paths"][key[1]] is not None or key in composed.origins.idle_nulls:
            yield Problem(
                "nothing in this recipe reads this path", key=dotted_key(key), where=str(origin),
                hint=did_you_mean(str(key[1]), names), allowed=", ".join(f"paths.{name}" for name in names),
            )  # fmt: skip


def _each_once(problems: Sequence[Problem]) -> list[Problem]:
    """`problems` without those of a value that only refers to another one, whose own problem says the same."""
    own = {(problem.message, problem.where, problem.actual) for problem in problems}

    def repeats(problem: Problem) -> bool:
        value, refers, _ = problem.actual.partition(REFERENCE_MARK)
        return bool(refers) and (problem.message, problem.where, value) in own

    return [problem for problem in problems if not repeats(problem)]


def _restore_norwegian(composed: ComposedRecipe) -> None:
    """Give every `language` that is written ``no`` its text back: YAML reads it as false."""
    for key, value in leaves_of(composed.data, ()):
        if value is False and key[-1] == "language" and composed.origins.origin_of(key).text == "no":
            above: Any = composed.data
            for part in key[:-1]:
                above = above[part]
            above[key[-1]] = "no"


def read_kind_spec(slot: str, data: Mapping[str, Any]) -> Any:
    """The spec of a kind from plain data, validated as in a recipe; kinds within it may be plain data too.

    Args:
        slot: The slot of the kind, for instance ``step``.
        data: Its `kind` and the keys of that kind; specs that were read before are taken as they are.

    Raises:
        InstallationError: There is no such kind.
        ValidationError: The data does not fit the kind.
    """
    cls: type[BaseModel] = find_kind(slot, data["kind"]).load().spec_class
    nested = {
        name: read_kind_spec(inner.slot, data[name])
        for name, inner in _slots(cls).items()
        if isinstance(data.get(name), Mapping) and "kind" in data[name]
    }
    return cls.model_validate({**data, **nested})


class _SpecBuilder:
    """Hands every node that names a kind to the spec of that kind."""

    def __init__(self, origins: ValueOrigins, references: FileResolver, idle_sources: frozenset[str]) -> None:
        self.origins, self.references, self.idle_sources = origins, references, idle_sources
        self.problems: dict[str, Problem] = {}
        self.costs: list[Problem] = []
        self.top: dict[str, Any] = {}
        self.done: dict[int, object] = {}

    def recipe(self, raw: Mapping[str, Any]) -> Recipe | None:
        """The recipe, or None if it could not be made."""
        data = dict(raw)
        self._requires(data.get("requires"))
        self._shared_names(data)
        slots = _slots(Recipe)
        for name in (*_SHARED_SLOTS, *(name for name in slots if name not in _SHARED_SLOTS)):
            if name in data:
                data[name] = self._kept(data[name], (name,)) if name in _REMOVABLE else data[name]
                data[name] = self._slot(slots[name], Recipe.model_fields[name].annotation, data[name], (name,))
                self.top[name] = data[name]
        for name, cls in (("evaluation", EvaluationSpec), ("audit", AuditSpec)):
            if isinstance(data.get(name), dict):
                data[name] = self._kinds_within(cls, data[name], (name,))
        if isinstance(data.get("run"), dict) and "executor" in data["run"]:
            slot, annotation = _slots(RunSpec)["executor"], RunSpec.model_fields["executor"].annotation
            made = self._slot(slot, annotation, data["run"]["executor"], ("run", "executor"))
            data["run"] = {**data["run"], "executor": made}
        if isinstance(data.get("tasks"), dict):
            data["tasks"] = {name: self._task(task, ("tasks", str(name))) for name, task in data["tasks"].items()}
        built = self._validated(Recipe, data, ())
        return built if isinstance(built, Recipe) else None

    def _task(self, raw: Any, key: KeyPath) -> Any:
        """The data of a task, with the specs of its kinds."""
        if not isinstance(raw, dict):
            return raw
        data: dict[str, Any] = {**raw}
        if isinstance(data.get("evaluation"), dict):
            data["evaluation"] = self._kinds_within(EvaluationSpec, data["evaluation"], (*key, "evaluation"))
        if isinstance(data.get("outputs"), dict):
            slot, annotation = _slots(TaskSpec)["outputs"], TaskSpec.model_fields["outputs"].annotation
            given: dict[str, Any] = data["outputs"]
            shared: dict[str, Any] = self.top.get("outputs") or {}
            made = self._slot(slot, annotation, self._kept(given, (*key, "outputs"), shared), (*key, "outputs"))
            data["outputs"] = {name: made.get(name) for name in given}
        return data

    def _kinds_within(self, cls: type[Spec], raw: Mapping[str, Any], key: KeyPath) -> dict[str, Any]:
        """The data of a part of the recipe, with the specs of its kinds; ``null`` removes one kind or all."""
        data = dict(raw)
        for name, slot in _slots(cls).items():
            annotation, given = cls.model_fields[name].annotation, data.get(name)
            if get_origin(annotation) is dict and name in data:
                given = self._kept(given or {}, (*key, name))
            if given is not None:
                data[name] = self._slot(slot, annotation, given, (*key, name))
        return data

    def _slot(self, slot: Slot, annotation: Any, raw: Any, key: KeyPath) -> Any:
        """The value of a field marked `slot`: a spec, a mapping or list of specs, or an inherited one."""
        if raw is None and slot.inherit:
            return self.top.get(slot.inherit)
        if raw is None and NoneType in get_args(annotation):
            return None
        if get_origin(annotation) is dict:
            if isinstance(raw, dict):
                items: Any = raw.items()  # pyright: ignore[reportUnknownMemberType]
                return {name: self._node(slot.slot, child, (*key, name)) for name, child in items}
            self._report("expected a mapping of names", key, raw)
            return {}
        if isinstance(raw, list):
            children: list[Any] = raw
            return [self._node(slot.slot, child, (*key, index)) for index, child in enumerate(children)]
        return self._node(slot.slot, raw, key)

    def _node(self, slot: str, raw: Any, key: KeyPath) -> KindSpec:
        """The spec of a node that names a kind; a stand-in if it is wrong."""
        if not isinstance(raw, dict):
            self._report(f"expected a mapping with the `kind` of a {slot}", key, raw)
            return KindSpec(kind="?")
        node: dict[str, Any] = raw
        if slot == "model":
            self.costs.extend(cost_key_problems(node, key, self.origins))
        name = node.get("kind")
        known = kinds_of_slot(slot)
        if not isinstance(name, str) or name not in known:
            what = f"there is no {slot} kind {name!r}" if isinstance(name, str) else f"a {slot} needs its `kind`"
            place = (*key, "kind")
            self.problems.setdefault(dotted_key(place), Problem(
                what, key=dotted_key(place), where=str(self.origins.origin_of(place)), actual=str(name or ""),
                allowed=", ".join(known),
                hint=self._kind_hint(slot, key) if name is None else did_you_mean(str(name), [*known]),
            ))  # fmt: skip
            return KindSpec(kind="?")
        try:
            cls: type[BaseModel] = known[name].load().spec_class
        except InstallationError as error:
            where = str(self.origins.origin_of((*key, "kind")))
            self.problems[dotted_key(key)] = Problem(error.what, dotted_key(key), where, error.why, hint=error.next)
            return KindSpec(kind="?")
        data = dict(node)
        for field, inner in _slots(cls).items():
            if field in data or inner.inherit:
                annotation = cls.model_fields[field].annotation
                data[field] = self._slot(inner, annotation, data.get(field), (*key, field))
        built = self._validated(cls, data, key)
        return built if isinstance(built, KindSpec) else KindSpec(kind="?")

    def _kind_hint(self, slot: str, key: KeyPath) -> str:
        """What the author of a node without a `kind` may do: it may be a slip of the pen for another one's name."""
        named = [str(other[-2]) for other in self.origins.entries if (other[:-2], other[-1]) == (key[:-1], "kind")]
        otherwise = f"name its kind, or take these settings out: no {slot} of the recipe is named {key[-1]!r}"
        return did_you_mean(str(key[-1]), named) or (otherwise if len(key) > 1 else "")

    def _validated(self, cls: type[BaseModel], data: Mapping[str, Any], key: KeyPath) -> Any:
        try:
            return self._resolve_refs(cls.model_validate(data), key)
        except ValidationError as error:
            for path, problem in explain_validation(error, cls, data, key, self.origins):
                if path[-1:] in _HIDDEN_KEYS:
                    problem = replace(problem, actual="", where=problem.where.partition("=")[0])  # noqa: PLW2901
                self._add(path, problem)
        return None

    def _add(self, path: KeyPath, problem: Problem) -> None:
        """Keep a problem, unless its key, one above or one below already has one."""
        text = dotted_key(path)
        related = [other for other in self.problems if text.startswith(other) or other.startswith(text)]
        if not any(_is_nested_key(text, other) for other in related):
            self.problems[text] = problem

    def _resolve_refs(self, value: Any, key: KeyPath) -> Any:
        """`value` with every file reference resolved; specs that are already resolved stay."""
        if id(value) in self.done:
            return value
        if isinstance(value, FileRef):
            return self.references.resolve_ref(value, key)
        if isinstance(value, Spec):
            changed: dict[str, Any] = {}
            for name, info in type(value).model_fields.items():
                old = getattr(value, name)
                new = self._resolve_refs(old, (*key, info.alias or name))
                if new is not old:
                    changed[name] = new
            value = value.model_copy(update=changed) if changed else value
            self.done[id(value)] = value
            return value
        if isinstance(value, tuple):
            children: tuple[Any, ...] = value
            placed = tuple(self._resolve_refs(child, (*key, index)) for index, child in enumerate(children))
            return placed if any(new is not old for new, old in zip(placed, children, strict=True)) else value
        if isinstance(value, dict):
            items: dict[Any, Any] = value
            return {name: self._resolve_refs(child, (*key, str(name))) for name, child in items.items()}
        return value

    def _kept(self, mapping: Any, key: KeyPath, inherited: Collection[str] = ()) -> Any:
        """A mapping without its ``null`` entries, with which a recipe removes what it inherits.

        One that removes nothing is a problem, except in settings for all recipes. Besides values of the mapping itself
        it may remove what is `inherited`.
        """
        if not isinstance(mapping, dict):
            return mapping
        nodes: dict[str, Any] = mapping
        kept = {name: node for name, node in nodes.items() if node is not None}
        known = [*kept, *inherited, *(self.idle_sources if key == ("sources",) else ())]
        for name in nodes.keys() - kept.keys() - {*known}:
            place = (*key, str(name))
            origin = self.origins.idle_nulls.get(place)
            if origin is not None and origin.group not in _FOR_ALL_RECIPES:
                self._add(place, Problem(
                    "there is nothing of this name to leave out", key=dotted_key(place), where=str(origin),
                    actual="null", allowed=", ".join([*kept, *inherited]), hint=did_you_mean(str(name), known),
                ))  # fmt: skip
        return kept

    def _report(self, message: str, key: KeyPath, raw: Any) -> None:
        self._add(
            key,
            Problem(message, key=dotted_key(key), where=str(self.origins.origin_of(key)), actual=describe_value(raw)),
        )

    def name(self, name: Any, composed: ComposedRecipe) -> None:
        """Report a recipe whose `name` is not that of its file: it would build into the folder of another."""
        origin = self.origins.origin_of(("name",))
        places = RecipeIndex(composed.roots).paths_of(f"recipe/{composed.name}")
        if not places:  # a first file that lets nobody choose a recipe, which is reported elsewhere
            return
        chosen = places[0][0]
        if not isinstance(name, str) or name == chosen.stem:
            return
        where, found, hint = str(origin), name, f"write `name: {chosen.stem}`"
        if origin.override:
            hint = "leave this override out; to build into another folder, give run.dir=FOLDER"
        elif origin.group != "recipe":
            hint = "remove this line; to build into another folder, give run.dir=FOLDER"
        elif not re.fullmatch(_NAME, chosen.stem):
            hint = "names consist of a-z, 0-9 and _: rename the file and the recipe"
        if origin.group == "recipe" and origin.file != chosen:
            where, found = f"{display_path(chosen)}:1", f"{name} (inherited from {origin})"
        message = "the name of a recipe is the name of its file"
        self._add(("name",), Problem(message, "name", where, found, allowed=chosen.stem, hint=hint))

    def _shared_names(self, data: Mapping[str, Any]) -> None:
        """Report a source and a step with the same name."""
        sources, steps = data.get("sources"), data.get("steps")
        if isinstance(sources, dict) and isinstance(steps, dict):
            for name in sorted(set(sources) & set(steps)):  # pyright: ignore[reportUnknownArgumentType]
                key, other = ("steps", str(name)), self.origins.written_origin(("sources", str(name)))
                self.problems[dotted_key(key)] = Problem(
                    "a source has this name too", key=dotted_key(key), where=str(self.origins.written_origin(key)),
                    actual=f"sources.{name} at {other}", hint="rename one of them",
                )  # fmt: skip

    def _requires(self, requires: Any) -> None:
        """Report required packages that are not installed."""
        if not isinstance(requires, dict):
            return
        wanted: dict[str, Any] = requires
        for name, wants in wanted.items():
            key = ("requires", name)
            try:
                have = installed_version(name)
                if SpecifierSet(str(wants)).contains(have, prereleases=True):
                    continue
                message, found = "another version of this package is required", have
            except InvalidSpecifier:
                message, found = "this is not a version range", str(wants)
            except PackageNotFoundError:
                message, found = "this package is required but not installed", ""
            self.problems[dotted_key(key)] = Problem(
                message, key=dotted_key(key), where=str(self.origins.origin_of(key)), actual=found, allowed=str(wants),
                hint=f"pip install '{name}{wants}'",
            )  # fmt: skip


def _is_nested_key(first: str, second: str) -> bool:
    """Whether one dotted key is the other, or above or below it."""
    if not first or not second:
        return True
    short, long = sorted((first, second), key=len)
    return long == short or long[len(short)] in ".["


def _slots(cls: type[BaseModel]) -> dict[str, Slot]:
    """The fields of `cls` that hold kinds."""
    marked = ((name, mark) for name, info in cls.model_fields.items() for mark in info.metadata)
    return {name: mark for name, mark in marked if isinstance(mark, Slot)}
