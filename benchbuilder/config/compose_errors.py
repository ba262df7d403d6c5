"""What went wrong while composing, in our words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise

from benchbuilder.config.origins import parse_key
from benchbuilder.config.recipe_index import RecipeIndex, did_you_mean
from benchbuilder.config.yaml_source import KeyPath, KeyPosition, RecipeFile, describe_value, dotted_key
from benchbuilder.core import Problem

_HOSTED = "openai"
_RESOLVER = re.compile(r"\$\{\s*([A-Za-z_][\w.]*)\s*:")


OPEN_CHOICE = "one must be chosen here (`???`)"


def override_location(override: str) -> str:
    """The place of a command-line word."""
    return f"command line: {override}"


def no_recipe_problem(overrides: Sequence[str], library: RecipeIndex) -> Problem:
    """No ``recipe=NAME`` was given."""
    names = [word.lstrip("+").partition("=")[0] for word in overrides]
    typo = next((name for name in names if did_you_mean(name, ["recipe"])), "")
    known = ", ".join(library.option_names("recipe"))
    hint = f"did you mean 'recipe' instead of {typo!r}?" if typo else "for instance `benchbuild recipe=NAME`"
    return Problem(
        "no recipe was named",
        where=override_location(" ".join(overrides)),
        allowed=f"recipe=NAME with {known}",
        hint=hint,
    )


def split_override_problem(overrides: Sequence[str]) -> tuple[int, Problem] | None:
    """How many of the first words the shell made of one, and what to say; None if the first one is whole.

    Torn are ``key = value``, and a list with spaces: ``key=[a, b]``.
    """
    count, joined = _join_split_override(overrides)
    spaced = count > 1
    if "=[" in joined and "]" not in joined:
        for word in overrides[count:]:
            if "=" in word:
                break
            count, joined = count + 1, f"{joined}{',' * (joined[-1] not in ',[' and word[:1] not in ',]')}{word}"
            if "]" in word:
                break
    if count == 1 or joined.count("[") != joined.count("]"):
        return None
    advice = ["no spaces around `=`"] if spaced else []
    advice += ["quote the whole word for the shell"] if "[" in joined else []
    hint = f"{', and '.join(advice)}: {shlex.quote(joined)}"
    key, where = joined.partition("=")[0].lstrip("+~"), override_location(" ".join(overrides[:count]))
    return count, Problem(f"the shell makes {count} words of this", key=key, where=where, hint=hint)


def _join_split_override(words: Sequence[str]) -> tuple[int, str]:
    """How many of the first words are one ``key=value`` with spaces around the sign, and that without them."""
    first, second, third = (*words[:3], "", "")[:3]
    if "=" not in first and second == "=" and third:
        return 3, first + second + third
    if ("=" not in first and second.startswith("=") and second != "=") or (
        first.endswith("=")
        and first.count("=") == 1
        and len(first) > 1
        and second
        and "=" not in second
        and second[0] != "~"
    ):
        return 2, first + second
    return 1, first


def unreadable_override_problem(override: str) -> Problem:
    """A word that the grammar of overrides cannot read."""
    key, sign, value = override.partition("=")
    if not sign:
        hint = f"did you mean recipe={key}?" if re.fullmatch(r"\w+", key) else "write key=value"
        return Problem("this word is no `key=value`", where=override_location(override), actual=override, hint=hint)
    if not key.isascii():
        return Problem(
            "keys are ASCII", where=override_location(override), actual=key, allowed="letters, digits, _, - and ."
        )
    if value.startswith("[") and "]" not in value:
        hint = f"close the bracket, and quote the whole word for the shell: '{key}=[...]'"
        return Problem(
            "a bracket is not closed", key=key.lstrip("+~"), where=override_location(override), actual=value, hint=hint
        )
    if value.startswith("["):
        texts = (text.strip().strip("'\"") for text in value.strip("[]").split(","))
        quoted = "[" + ",".join(f'"{text}"' for text in texts) + "]"
    else:
        quoted = '"' + value.strip("'\"").replace('"', '\\"') + '"'
    message = "a value that is not plain ASCII must be quoted" if not value.isascii() else "this value cannot be read"
    hint = f"quote it twice, once for the shell and once for us: '{key}={quoted}'"
    return Problem(message, key=key.lstrip("+~"), where=override_location(override), actual=value, hint=hint)


def refused_override_problem(override: str, key: str, choices: Sequence[str]) -> Problem | None:
    """A word that may not stand there whatever it means; `choices` are the names chosen if the key is a group."""
    where = override_location(override)
    if re.match(r"hydra\b", key):
        return Problem("Hydra itself cannot be configured", key=key, where=where, hint="leave this word out")
    if (match := _RESOLVER.search(override)) and match.group(1) != "oc.select":
        return Problem(
            "functions in ${...} are not available", key=key, where=where, actual=f"${{{match.group(1)}:...}}",
            hint="let the shell fill in the value",
        )  # fmt: skip
    bad = next((name for name in choices if ".." in name or name.startswith(("/", "~")) or "\\" in name), None)
    if bad is not None:
        return Problem(
            "the name of a choice cannot lead out of the recipes", key=key, where=where, actual=bad,
            hint="use --recipes DIR to add a folder of recipes",
        )  # fmt: skip
    return None


def several_values_problem(override: str, key: str) -> Problem:
    """Several values for one key."""
    value = override.partition("=")[2]
    hint = f"a list: '{key}=[{value}]'; a text: '{key}=\"{value}\"'"
    return Problem("one key takes one value", key=key, where=override_location(override), actual=value, hint=hint)


def foreign_variant_problem(word: str, recipe: str) -> Problem:
    """``variant=OTHER/name``."""
    return Problem(
        f"a variant belongs to its recipe, and this one is not of {recipe!r}", key="variant", where=override_location(word),
        actual=word.partition("=")[2], hint=f"write variant=NAME for {recipe}/NAME",
    )  # fmt: skip


def invalid_name_problem(word: str, key: str) -> Problem:
    """A group choice that is no name."""
    found = word.partition("=")[2]
    return Problem("this key takes the name of a file", key=key, where=override_location(word), actual=found)


def unknown_option_problem(path: str, overrides: Sequence[str], library: RecipeIndex) -> Problem:
    """``group/name`` was chosen and is not there."""
    group, _, name = path.rpartition("/")
    options = library.option_names(group)
    what = f"there is no {group} {name!r}"
    if group.startswith("variant/"):
        what = f"the recipe {group.removeprefix('variant/')!r} has no variant {name!r}"
    where = _chosen_at(group.split("/")[0], name, overrides, library)
    hint = did_you_mean(name, options) or ("benchbuild ls lists them" if group == "recipe" else "")
    if not hint and group == "model" and _HOSTED in options:
        hint = f"model={_HOSTED} model.name={name}"
    return Problem(
        what, key=group.split("/")[0], where=where, actual=name, allowed=", ".join(options) or "none", hint=hint
    )


def _chosen_at(group: str, name: str, words: Sequence[str], library: RecipeIndex) -> str:
    for word in words:
        key, _, value = word.partition("=")
        if key.partition("@")[0] == group and name in re.split(r"[\[\],\s/]+", value):
            return override_location(word)
    for file in library.opened_files.values():
        for choice in file.choices:
            if name in [text.rpartition("/")[2] for text in choice.names]:
                return file.location(choice.line)
    return ""


def explain_composition(text: str, missing: str, overrides: Sequence[str], library: RecipeIndex) -> Problem:
    """Hydra's message `text`, translated; `missing` is the file that it did not find."""
    if missing:
        return unknown_option_problem(missing, overrides, library)
    return _HydraMessage(text, overrides, library).problem()


def open_choice_key(key: str, library: RecipeIndex) -> str:
    """Where a recipe that was read leaves a choice open with ``???``; empty if none does."""
    choices = ((file, choice) for file in library.opened_files.values() if file.group for choice in file.choices)
    return next(
        (f.location(one.line) for f, one in choices if _bare_group(one.group) == key and "???" in one.names), ""
    )


class _HydraMessage:
    """One message of Hydra's, with what is known of its place."""

    def __init__(self, text: str, words: Sequence[str], library: RecipeIndex) -> None:
        self.text, self.words, self.library = text, words, library
        parent = re.search(r"In '?([\w/-]+)'?:", text)
        self.file = library.opened_files.get(parent.group(1)) if parent else None

    def problem(self) -> Problem:
        """The message in our words; one that is not known keeps its first line."""
        rules = (
            (r"Could not override '([^']+)'", self._no_such_choice),
            (r"looks like a config group\s+override, but config group '([^']+)'", self._no_such_group),
            (r"You must specify '([^']+)'", self._not_chosen),
            (r"Multiple values for (\S+)\.(?:\s|$)", self._chosen_twice),
            (r"(\S+) appears more than once", self._chosen_twice),
            (r"Could not delete[^']*'([^']+)'", self._nothing_to_delete),
            (r"Error merging override (.+)", self._unmergeable_word),
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
        """A list where another file has a mapping: the one thing that does not merge."""
        own = _nested_keys(self.file) if self.file else []
        for key, mark in own:
            for other in self.library.opened_files.values():
                there = dict(_nested_keys(other)).get(key)
                if there is not None and self.file and there.is_mapping and not mark.is_mapping:
                    entries = [below.text or "..." for name, below in own if name[:-1] == key and name != key]
                    return Problem(
                        "a mapping is wanted", key=dotted_key(key), where=self.file.location(mark.line),
                        actual=mark.text or describe_value(entries), hint=f"it adds to the mapping at {other.location(there.line)}",
                    )  # fmt: skip
        return None

    def _choices(self, key: str) -> list[str]:
        """Where the read files choose for `key`, ``group`` or ``group@package``."""
        files = (self.file,) if self.file else self.library.opened_files.values()
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

    def _word(self, start: str) -> str:
        return next((override_location(word) for word in self.words if word.lstrip("+~").startswith(start)), "")

    def _no_such_choice(self, key: str) -> Problem:
        near = re.search(r"Did you mean to override (?:one of )?([^?\n]+)\?", self.text)
        options = near.group(1).split(", ") if near else []
        where = (self._choices(key) or [self.file.location(1)])[0] if self.file else self._word(f"{key}=")
        return Problem(
            "nothing to choose here: the recipe's `defaults` have no such entry", key=key, where=where,
            allowed=", ".join(options), hint=did_you_mean(key, options),
        )  # fmt: skip

    def _no_such_group(self, key: str) -> Problem:
        groups = self.library.groups()
        return Problem(
            "there is no such group of choices", key=key, where=self._word(f"{key}@"), allowed=", ".join(groups),
            hint=did_you_mean(key, groups),
        )  # fmt: skip

    def _not_chosen(self, key: str) -> Problem:
        if place := open_choice_key(key, self.library):
            hint = f"write one of these in the place of ???, or {key}=NAME on the command line"
            allowed = ", ".join(self.library.option_names(key))
            return Problem(OPEN_CHOICE, key=key, where=place, allowed=allowed, hint=hint)
        recipe = next((file for name, file in self.library.opened_files.items() if name.startswith("recipe/")), None)
        return Problem(
            f"the recipe does not choose a {key}", key=key, where=recipe.location(1) if recipe else "",
            allowed=", ".join(self.library.option_names(key)), hint=f"write `- override /{key}: NAME` in its `defaults`",
        )  # fmt: skip

    def _chosen_twice(self, key: str) -> Problem:
        hint = f"to choose another, write `- override /{key}: NAME`"
        return Problem("this is chosen twice", key=key, where=" and ".join(self._choices(key)), hint=hint)

    def _nothing_to_delete(self, key: str) -> Problem:
        return Problem("there is nothing to delete", key=key, where=self._word(key))

    def _unmergeable_word(self, word: str) -> Problem:
        hint = "look at what stands there with `benchbuild show`"
        where = override_location(word.lstrip("+"))
        return Problem("this value does not fit what the recipe holds there", where=where, hint=hint)


def _nested_keys(file: RecipeFile) -> list[tuple[KeyPath, KeyPosition]]:
    """The keys of a file as they stand in the whole."""
    package = parse_key(file.package.removeprefix("_global_")) if file.package else file.group
    return [((*package, *key), mark) for key, mark in file.marks.items()]


def explain_cycle(library: RecipeIndex) -> Problem:
    """``defaults`` that lead back to their own file."""
    links = {
        name: {
            _sibling(name, text): choice.line for choice in file.choices if not choice.group for text in choice.names
        }
        for name, file in library.opened_files.items()
    }

    def walk(path: list[str]) -> list[str]:
        for name in links.get(path[-1], {}):
            if name in path:
                return [*path[path.index(name) :], name]
            if name in links and (circle := walk([*path, name])):
                return circle
        return []

    circle = next((found for name in links if (found := walk([name]))), [])
    places = [library.opened_files[a].location(links[a][b]) for a, b in pairwise(circle)]
    message = "the `defaults` of these files refer to each other in a circle"
    return Problem(message, key="defaults", where=" and ".join(places), actual=" -> ".join(circle))


def _sibling(name: str, text: str) -> str:
    """The file that `text` names in the defaults list of file `name`."""
    folder = name.rpartition("/")[0]
    return text.lstrip("/") if text.startswith("/") or not folder else f"{folder}/{text}"


def _bare_group(group: str) -> str:
    """A group of a defaults list without keywords and leading slash."""
    return group.rpartition(" ")[2].lstrip("/")


def explain_reference(kind: str, text: str, key: str, where: str, known: Sequence[str], *, own: bool) -> Problem:
    """A value that cannot be resolved; `kind` is the name of the exception, `text` the value as written, `known`
    every key that there is; `own` says that the file is not one that came with benchbuilder."""
    if kind == "MissingMandatoryValue":
        way = f"give {key}={key.rpartition('.')[2].upper()} on the command line, or set it in your recipe"
        hint = f"write it there, or {key}=VALUE" if own else way
        return Problem("a value must be given here (`???`)", key=key, where=where, hint=hint)
    if kind == "InterpolationToMissingValueError":
        return Problem("this refers to a key that still is `???`", key=key, where=where, actual=text)
    if kind == "InterpolationKeyError":
        hint = did_you_mean(text.strip("${ }"), known)
        return Problem("this refers to a key that is not there", key=key, where=where, actual=text, hint=hint)
    if kind == "GrammarParseError":
        return Problem("this reference cannot be read", key=key, where=where, actual=text, allowed="${another.key}")
    if kind == "circle":
        return Problem("this reference leads back to itself", key=key, where=where, actual=text)
    return Problem("this reference cannot be resolved", key=key, where=where, actual=text, allowed="${another.key}")
