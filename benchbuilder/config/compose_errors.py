"""Explains why a recipe could not be composed, in terms of recipes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise

from benchbuilder.config.composition_faults import (
    CompositionError,
    CompositionFault,
    UnresolvedValue,
    called_function,
    outward_name,
)
from benchbuilder.config.origins import ValueOrigins, parse_key
from benchbuilder.config.recipe_index import RecipeIndex, did_you_mean
from benchbuilder.config.search_path import bundled_folder
from benchbuilder.config.yaml_source import KeyPath, KeyPosition, RecipeFile, describe_value, dotted_key
from benchbuilder.core import Problem, head_excerpt

_HOSTED = "openai"
_SHOWN = 60
_TEXT_FAULTS = {
    "not_text": ("this override is not valid text", "write it in UTF-8"),
    "no_key": ("this override has no key", "write key=value without spaces around `=`"),
    "too_deep": ("this value is nested too deeply", "count its brackets"),
}
OPEN_CHOICE = "one must be chosen here (`???`)"


def explain_composition(error: CompositionError, overrides: Sequence[str]) -> list[Problem]:
    """One problem for each fault of a composition; `overrides` are those of the command line."""
    return [_explain_fault(fault, error.index, overrides) for fault in error.faults]


def _explain_fault(fault: CompositionFault, index: RecipeIndex, overrides: Sequence[str]) -> Problem:
    match fault.kind:
        case "no_recipe":
            return _no_recipe_problem(overrides, index)
        case "missing_file":
            return _unknown_option_problem(fault.detail, overrides, index)
        case "cycle":
            return _cycle_problem(index)
        case "no_such_group":
            return _no_such_group_problem(fault.key, override_location(fault.override), index)
        case "hydra_message":
            return _HydraMessage(fault.detail, overrides, index).problem()
        case "not_text" | "no_key" | "too_deep":
            message, hint = _TEXT_FAULTS[fault.kind]
            return Problem(message, where=override_location(head_excerpt(fault.override, _SHOWN)), hint=hint)
        case _:
            return _explain_override(fault, overrides)


def _explain_override(fault: CompositionFault, overrides: Sequence[str]) -> Problem:
    value = fault.override.partition("=")[2]
    match fault.kind:
        case "split":
            return _split_override_problem(fault)
        case "unreadable":
            return _unreadable_override_problem(fault)
        case "empty":
            hint = f"for none write {fault.key}=null, for an empty text '{fault.key}=\"\"'"
            return _override_problem(fault, "this override has no value", hint=hint)
        case "chosen_twice":
            places = " and ".join(map(override_location, (fault.detail, fault.override)))
            return Problem("this is chosen twice", key=fault.key, where=places, hint="leave one of them out")
        case "forbidden":
            return _forbidden_override_problem(fault)
        case "several_values":
            return _override_problem(
                fault, "one key takes one value", actual=value, hint=_hint_of_values(fault.key, value)
            )
        case "foreign_variant":
            message = f"a variant belongs to its recipe, and this one is not of {fault.detail!r}"
            return _override_problem(fault, message, actual=value, hint=f"write variant=NAME for {fault.detail}/NAME")
        case "not_a_name":
            return _override_problem(fault, "this key takes the name of a file", actual=value)
        case "nothing_to_delete":
            return _override_problem(fault, "there is nothing to delete")
        case "unmergeable":
            text = fault.override.lstrip("+")
            others = shlex.join(other for other in overrides if other.lstrip("+") != text)
            hint = f"see the present value with `benchbuild show {text.lstrip('~').partition('=')[0]} {others}`"
            where = override_location(text)
            return Problem("this value does not fit what the recipe holds there", where=where, hint=hint)
        case _:  # endless
            return Problem("references make this recipe infinitely large", key=fault.key, where=fault.detail)


def _hint_of_values(key: str, value: str) -> str:
    """How to write several values of a key, or one build for each."""
    sweep = f"benchbuild sweep recipe=NAME '{key}={value.strip('[]') if key == 'variant' else value}'"
    if key == "variant":
        return (
            f"one variant at a time; a build of each: {sweep}"
            if "," in value
            else f"variant={value.strip('[]') or 'NAME'}"
        )
    if re.match(r"(choice|range)\(", value):
        return f"for a build of each value: {sweep}"
    return f"a list: '{key}=[{value}]'; a text: '{key}=\"{value}\"'; a build of each value: {sweep}"


def _override_problem(fault: CompositionFault, message: str, **more: str) -> Problem:
    return Problem(message, key=fault.key, where=override_location(fault.override), **more)


def override_location(override: str) -> str:
    """The place of an override of the command line."""
    return f"command line: {override}"


def _no_recipe_problem(overrides: Sequence[str], index: RecipeIndex) -> Problem:
    """No ``recipe=NAME`` was given."""
    names = [override.lstrip("+").partition("=")[0] for override in overrides]
    typo = next((name for name in names if did_you_mean(name, ["recipe"])), "")
    known = ", ".join(index.option_names("recipe"))
    hint = f"did you mean 'recipe' instead of {typo!r}?" if typo else "add recipe=NAME to the same command"
    return Problem(
        "no recipe was named",
        where=override_location(" ".join(overrides)) if overrides else "command line",
        allowed=f"recipe=NAME with {known}",
        hint=hint,
    )


def _split_override_problem(fault: CompositionFault) -> Problem:
    joined, count = fault.detail, len(fault.override.split(" "))
    advice = ["no spaces around `=`"] if re.search(r"\s=|=\s", fault.override.partition("[")[0]) else []
    advice += ["quote the whole override for the shell"] if "[" in joined else []
    key = joined.partition("=")[0].lstrip("+~")
    hint = f"{', and '.join(advice)}: {shlex.quote(joined)}"
    return Problem(
        f"the shell splits this into {count} arguments", key=key, where=override_location(fault.override), hint=hint
    )


def _unreadable_override_problem(fault: CompositionFault) -> Problem:
    override, where = fault.override, override_location(fault.override)
    key, sign, value = override.partition("=")
    if not sign:
        hint = f"did you mean recipe={key}?" if re.fullmatch(r"\w+", key) else "write key=value"
        return Problem("this override is not `key=value`", where=where, actual=override, hint=hint)
    if not key.isascii():
        return Problem("keys are ASCII", where=where, actual=key, allowed="letters, digits, _, - and .")
    if key == "recipe" and not value.isascii():
        return Problem("no recipe has such a name", key=key, where=where, actual=value, allowed="a-z, 0-9 and _")
    if value.startswith("[") and "]" not in value:
        hint = f"close the bracket, and quote the whole override for the shell: '{key}=[...]'"
        return Problem("a bracket is not closed", key=key.lstrip("+~"), where=where, actual=value, hint=hint)
    if value.startswith("{"):
        return _unreadable_mapping_problem(key.lstrip("+~"), value, where)
    if value.startswith("["):
        texts = (text.strip().strip("'\"") for text in value.strip("[]").split(","))
        quoted = "[" + ",".join(f'"{text}"' for text in texts) + "]"
    else:
        quoted = '"' + value.strip("'\"").replace('"', '\\"') + '"'
    message = "a value that is not plain ASCII must be quoted" if not value.isascii() else "this value cannot be read"
    hint = f"quote it twice, once for the shell and once for benchbuild: '{key}={quoted}'"
    return Problem(message, key=key.lstrip("+~"), where=where, actual=value, hint=hint)


def _unreadable_mapping_problem(key: str, value: str, where: str) -> Problem:
    """Hydra reads no quoted keys; without quotes it reads those of words and blanks."""
    keys = re.findall(_QUOTED_KEY, value)
    plain = re.sub(_QUOTED_KEY, r"\1:", value).replace("{ ", "{").replace(": ", ":")
    hint = f"write it into the recipe, below `{key.rpartition('.')[2]}:`; there keys may hold any sign"
    if keys and all(re.fullmatch(r"[A-Za-z_][\w -]*", one) for one in keys):
        hint = f"keys have no quotes here: {shlex.quote(f'{key}={plain}')}"
    return Problem("this mapping cannot be read", key=key, where=where, actual=value, hint=hint)


_QUOTED_KEY = r"""["']([^"']*)["']\s*:"""


def _forbidden_override_problem(fault: CompositionFault) -> Problem:
    if function := called_function(fault.override):
        message, hint = "functions in ${...} are not available", "let the shell fill in the value"
        return _override_problem(fault, message, actual=f"${{{function}:...}}", hint=hint)
    if name := outward_name(fault.names):
        message = "the name of a choice cannot lead out of the recipes"
        return _override_problem(fault, message, actual=name, hint="add a folder of recipes with --recipes DIR")
    return _override_problem(fault, "Hydra itself cannot be configured", hint=_HYDRA_HINTS.get(fault.key, _LEAVE_OUT))


_HYDRA_HINTS = {
    "hydra.run.dir": "run.dir=FOLDER names the folder of a build",
    "hydra.sweep.dir": "benchbuild sweep --output FOLDER names the folder of a sweep",
    "hydra.mode": "benchbuild sweep recipe=NAME key=a,b builds each alternative",
}
"""What to write instead of a key of Hydra."""
_LEAVE_OUT = "leave this override out"
_RENAMED_OPTIONS = {"annotation/files": "annotation/sheets"}


def _unknown_option_problem(path: str, overrides: Sequence[str], index: RecipeIndex) -> Problem:
    """``group/name`` was chosen but does not exist."""
    group, _, name = path.rpartition("/")
    if path in _RENAMED_OPTIONS:
        former, now = path.replace("/", "="), _RENAMED_OPTIONS[path].replace("/", "=")
        return Problem(f"{former} is now {now}", where=_chosen_at(group, name, overrides, index))
    options = index.option_names(group)
    what = f"there is no {group} {name!r}"
    if group.startswith("variant/"):
        what = f"the recipe {group.removeprefix('variant/')!r} has no variant {name!r}"
    where = _chosen_at(group.split("/")[0], name, overrides, index)
    hint = did_you_mean(name, options) or ("benchbuild ls lists them" if group == "recipe" else "")
    if not hint and group == "model" and _HOSTED in options:
        hint = f"model={_HOSTED} model.name={name}"
    return Problem(
        what, key=group.split("/")[0], where=where, actual=name, allowed=", ".join(options) or "none", hint=hint
    )


def _chosen_at(group: str, name: str, overrides: Sequence[str], index: RecipeIndex) -> str:
    for override in overrides:
        key, _, value = override.partition("=")
        if key.partition("@")[0] == group and name in re.split(r"[\[\],\s/]+", value):
            return override_location(override)
    for file in index.opened_files.values():
        for choice in file.choices:
            if name in [text.rpartition("/")[2] for text in choice.names]:
                return file.location(choice.line)
    return ""


def open_choice_key(key: str, index: RecipeIndex) -> str:
    """Where an opened recipe leaves a choice open with ``???``; empty if none does."""
    choices = ((file, choice) for file in index.opened_files.values() if file.group for choice in file.choices)
    return next(
        (
            file.location(choice.line)
            for file, choice in choices
            if _bare_group(choice.group) == key and "???" in choice.names
        ),
        "",
    )


class _HydraMessage:
    """One message of Hydra, with the known facts about its place."""

    def __init__(self, text: str, overrides: Sequence[str], index: RecipeIndex) -> None:
        self.text, self.overrides, self.index = text, overrides, index
        parent = re.search(r"In '?([\w/-]+)'?:", text)
        self.file = index.opened_files.get(parent.group(1)) if parent else None

    def problem(self) -> Problem:
        """The message in terms of recipes; an unknown one keeps its first line."""
        rules = (
            (r"Could not override '([^']+)'", self._no_such_choice),
            (r"You must specify '([^']+)'", self._not_chosen),
            (r"Multiple values for (\S+)\.(?:\s|$)", self._chosen_twice),
            (r"(\S+) appears more than once", self._chosen_twice),
            (r"Could not delete[^']*'([^']+)'", self._nothing_to_delete),
        )
        for pattern, explain in rules:
            if match := re.search(pattern, self.text):
                return explain(match.group(1))
        if clash := self._clash():
            return clash
        first = next((line.strip() for line in self.text.splitlines() if line.strip()), "")
        where = self.file.location(1) if self.file else ""
        return Problem("the files of this recipe do not fit together", where=where, actual=first)

    def _clash(self) -> Problem | None:
        """A list where another file has a mapping: only this does not merge."""
        own = _nested_keys(self.file) if self.file else []
        for key, mark in own:
            for other in self.index.opened_files.values():
                position = dict(_nested_keys(other)).get(key)
                if position is not None and self.file and position.is_mapping and not mark.is_mapping:
                    entries = [below.text or "..." for name, below in own if name[:-1] == key and name != key]
                    return Problem(
                        "expected a mapping", key=dotted_key(key), where=self.file.location(mark.line),
                        actual=mark.text or describe_value(entries),
                        hint=f"it adds to the mapping at {other.location(position.line)}",
                    )  # fmt: skip
        return None

    def _choices(self, key: str) -> list[str]:
        """Where the opened files choose for `key`, ``group`` or ``group@package``."""
        files = (self.file,) if self.file else self.index.opened_files.values()
        names = {file: [(choice, _bare_group(choice.group)) for choice in file.choices] for file in files}
        exact = [file.location(choice.line) for file, found in names.items() for choice, name in found if name == key]
        group = key.partition("@")[0]
        loose = [
            file.location(choice.line)
            for file, found in names.items()
            for choice, name in found
            if name.partition("@")[0] == group
        ]
        return exact or loose

    def _override_place(self, start: str) -> str:
        places = (override_location(text) for text in self.overrides if text.lstrip("+~").startswith(start))
        return next(places, "")

    def _no_such_choice(self, key: str) -> Problem:
        near = re.search(r"Did you mean to override (?:one of )?([^?\n]+)\?", self.text)
        options = near.group(1).split(", ") if near else []
        where = (self._choices(key) or [self.file.location(1)])[0] if self.file else self._override_place(f"{key}=")
        return Problem(
            "nothing to choose here: the recipe's `defaults` have no such entry", key=key, where=where,
            allowed=", ".join(options), hint=did_you_mean(key, options),
        )  # fmt: skip

    def _not_chosen(self, key: str) -> Problem:
        if place := open_choice_key(key, self.index):
            hint = f"replace ??? by one of these, or give {key}=NAME on the command line"
            allowed = ", ".join(self.index.option_names(key))
            return Problem(OPEN_CHOICE, key=key, where=place, allowed=allowed, hint=hint)
        recipe = next((file for name, file in self.index.opened_files.items() if name.startswith("recipe/")), None)
        return Problem(
            f"the recipe does not choose a {key}", key=key, where=recipe.location(1) if recipe else "",
            allowed=", ".join(self.index.option_names(key)), hint=f"write `- override /{key}: NAME` in its `defaults`",
        )  # fmt: skip

    def _chosen_twice(self, key: str) -> Problem:
        hint = f"to choose another, write `- override /{key}: NAME`"
        return Problem("this is chosen twice", key=key, where=" and ".join(self._choices(key)), hint=hint)

    def _nothing_to_delete(self, key: str) -> Problem:
        return Problem("there is nothing to delete", key=key, where=self._override_place(key))


def _no_such_group_problem(key: str, where: str, index: RecipeIndex) -> Problem:
    groups = index.groups()
    hint = did_you_mean(key, groups)
    return Problem("there is no such group of choices", key=key, where=where, allowed=", ".join(groups), hint=hint)


def _nested_keys(file: RecipeFile) -> list[tuple[KeyPath, KeyPosition]]:
    """The keys of a file in the whole recipe."""
    package = parse_key(file.package.removeprefix("_global_")) if file.package else file.group
    return [((*package, *key), mark) for key, mark in file.marks.items()]


def _cycle_problem(index: RecipeIndex) -> Problem:
    """``defaults`` that lead back to their own file."""
    links = {
        name: {_named_file(name, choice.group, text): choice.line for choice in file.choices for text in choice.names}
        for name, file in index.opened_files.items()
    }

    def walk(path: list[str]) -> list[str]:
        for name in links.get(path[-1], {}):
            if name in path:
                return [*path[path.index(name) :], name]
            if name in links and (circle := walk([*path, name])):
                return circle
        return []

    circle = next((found for name in links if (found := walk([name]))), [])
    places = [index.opened_files[a].location(links[a][b]) for a, b in pairwise(circle)]
    message = "the `defaults` of these files refer to each other in a circle"
    return Problem(message, key="defaults", where=" and ".join(places), actual=" -> ".join(circle))


def _named_file(name: str, group: str, text: str) -> str:
    """The file that an entry of the defaults list of file `name` chooses."""
    return f"{_bare_group(group).partition('@')[0]}/{text}" if group else _sibling(name, text)


def _sibling(name: str, text: str) -> str:
    """The file that `text` names in the defaults list of file `name`."""
    folder = name.rpartition("/")[0]
    return text.lstrip("/") if text.startswith("/") or not folder else f"{folder}/{text}"


def _bare_group(group: str) -> str:
    """A group of a defaults list without keywords and leading slash."""
    return group.rpartition(" ")[2].lstrip("/")


_NEEDED = "a value must be given here (`???`)"
_ECHO = "this refers to a key that still is `???`"
_REFERENCE = re.compile(r"\$\{([^{}:]+)\}")


def without_echoes(problems: Sequence[Problem]) -> list[Problem]:
    """The problems without those that go away with another one: values that refer to a key that must be given."""
    needed = {problem.key for problem in problems if problem.message == _NEEDED}
    return [
        problem
        for problem in problems
        if problem.message != _ECHO or not needed.intersection(_REFERENCE.findall(problem.actual))
    ]


def explain_unresolved(value: UnresolvedValue, origins: ValueOrigins) -> Problem:
    """The problem of a value that is missing or refers to nothing."""
    origin = origins.written_origin(value.key)
    key, where, text = dotted_key(value.key), str(origin), origin.text
    if value.error == "MissingMandatoryValue":
        hint = f"write it there, or {key}=VALUE"
        if origin.root is not None and origin.root.path == bundled_folder("recipes").resolve():
            hint = f"give {key}={key.rpartition('.')[2].upper()} on the command line, or set it in your recipe"
        return Problem(_NEEDED, key=key, where=where, hint=hint)
    if value.error == "InterpolationToMissingValueError":
        return Problem(_ECHO, key=key, where=where, actual=text)
    if value.error == "InterpolationKeyError":
        hint = did_you_mean(text.strip("${ }"), [dotted_key(known) for known in origins.entries])
        return Problem("this refers to a key that does not exist", key=key, where=where, actual=text, hint=hint)
    if value.error == "circle":
        return Problem("this reference leads back to itself", key=key, where=where, actual=text)
    message = "this reference cannot be resolved"
    if value.error == "GrammarParseError":
        message = "this reference cannot be read"
    return Problem(message, key=key, where=where, actual=text, allowed="${another.key}")
