"""What ``benchbuild show`` prints: what was set and where, a part in full, and the places of a text."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from benchbuilder.config.load import LoadedRecipe
from benchbuilder.config.origins import ValueOrigin, leaves_of, parse_key, value_at
from benchbuilder.config.render import COLUMN, annotate_with_origins, recipe_data, render_data
from benchbuilder.config.search_path import display_path
from benchbuilder.config.yaml_source import KeyPath, dotted_key, excerpt_of, read_recipe_file
from benchbuilder.core import Problem, RecipeError, count_phrase, read_given_text

_USERS = ("recipe", "variant", "user", "local")
"""The groups whose files are the recipe itself; those of other groups are options that it chooses."""
_OF_PARTS = ("sources", "steps", "reviews")
_FEW = 3

_Line = tuple[str, str]
"""A text, and where what it says was written."""


def summarise_recipe(loaded: LoadedRecipe) -> str:
    """What the recipe and the command line choose and set, by part, with file and line.

    What the chosen options set is named without its values. Defaults are counted.
    """
    data, origins = recipe_data(loaded.recipe, runtime_options=True), loaded.origins
    settings = {key: origins.entries[found] for key, _ in _leaves(data, ()) if (found := origins.setting_of(key))}
    parts = dict[KeyPath, dict[KeyPath, ValueOrigin]]()
    for key, origin in settings.items():
        parts.setdefault(key[: _part_length(key)], {})[key] = origin
    lines = [*_choices(loaded), *_left_out(data, loaded)]
    for part, own in parts.items():
        lines += _ShownPart(part, own, value_at(data, part), loaded).lines()
    words, defaults = shlex.join(loaded.overrides), sum(1 for _ in _leaves(data, ())) - len(settings)
    example = dotted_key(next((part for part in parts if part[-2:-1] == ("steps",)), ("sources",)))
    return "".join(f"{text:<{COLUMN}}  # {place}\n" for text, place in lines) + (
        f"\nLeft at the default: {count_phrase(defaults, 'more setting')}. One part in full: "
        f"`benchbuild show {example} {words}`; everything: `--all`;\nwhere a text stands: `--find TEXT`.\n"
    )


def render_parts(loaded: LoadedRecipe, names: Sequence[str], *, plain: bool) -> str:
    """The parts of the resolved recipe with these dotted keys, or all of it without, as YAML with origins.

    Of a key within a list, the whole list. A `plain` text has no origins, and no options that do not change the output,
    as the recipe.yaml of a build.

    Raises:
        RecipeError: The recipe has no such part.
    """
    data = recipe_data(loaded.recipe, runtime_options=not plain)
    shown: dict[str, Any] = {} if names else data
    for name in names:
        key = parse_key(name)
        found = next((end for end in range(1, len(key)) if isinstance(value_at(data, key[:end]), list)), len(key))
        path = [str(part) for part in key[:found]]
        node = value_at(data, key[: found - 1])
        if not path or not isinstance(node, dict) or path[-1] not in node:
            raise RecipeError([_unknown_part(name, data, loaded)])
        here = shown
        for part in path[:-1]:
            here = here.setdefault(part, {})
        here[path[-1]] = node[path[-1]]
    text = render_data(shown)
    return text if plain else annotate_with_origins(text, loaded.origins)


def find_text(loaded: LoadedRecipe, text: str) -> str:
    """The places where `text` was written: texts that hold it, numbers that are it, and lines of files of steps.

    A setting that refers to another is no place of its own.

    Raises:
        RecipeError: It stands nowhere.
    """
    origins, lines = loaded.origins, list[_Line]()
    for key, value in leaves_of(recipe_data(loaded.recipe, runtime_options=True), ()):
        setting = origins.setting_of(key)
        found = text in value if isinstance(value, str) else text == excerpt_of(value)
        if found and setting not in origins.links:
            lines.append((f"{dotted_key(key)}: {excerpt_of(value, COLUMN)}", origins.explain(key)))
    for file, key in {ref.file: key for key, ref in reversed(loaded.files) if key.startswith("steps.")}.items():
        for number, line in enumerate(read_given_text(file).splitlines(), 1) if file.is_file() else ():
            if text in line:
                lines.append((f"{key}: {excerpt_of(line, COLUMN)}", f"{display_path(file)}:{number}"))
    if not lines:
        hint = "give less of it: words that a rule fills in stand elsewhere than those around them"
        raise RecipeError([Problem("no setting has this text", where="command line: --find", actual=text, hint=hint)])
    return "".join(f"{text:<{COLUMN}}  # {place}\n" for text, place in lines)


class _ShownPart:
    """A part of the recipe: a section, or a source, step or review; the `origins` of its settings, what it holds."""

    def __init__(self, key: KeyPath, origins: Mapping[KeyPath, ValueOrigin], value: Any, loaded: LoadedRecipe) -> None:
        self.key, self.origins, self.value, self.loaded = key, origins, value, loaded

    def lines(self) -> Iterator[_Line]:
        """The settings of the user with their values, and for each other file the names of its settings."""
        name, kind = dotted_key(self.key), (*self.key, "kind")
        others = dict[Path | None, dict[str, KeyPath]]()
        for key in sorted(self.origins, key=lambda key: self.origins[key].line):
            if not _is_users(origin := self.origins[key]) and key not in (kind, self.key):
                others.setdefault(origin.file, {}).setdefault(str(key[len(self.key)]), key)
        if self.key in self.origins:
            yield _with_value(name, self.value)[0], self._place(self.key)
            return
        before = "  "
        if kind in self.origins:
            names = others.pop(self.origins[kind].file, {})
            names.pop("from", None)
            text = _with_names(f"{name}: {self.value['kind']}", self._inputs(), "from")
            if len(whole := _with_names(text, names)) <= COLUMN:
                yield whole, self._place(kind)
            else:
                yield from ((text, self._place(kind)), (_with_names(" ", names), self._first_of(names)))
        elif others:
            names = others.pop(next(iter(others)))
            yield _with_names(f"{name}:", names), self._first_of(names)
        else:
            before = f"{name}."
        for key in dict.fromkeys(key[: len(self.key) + 1] for key in self.origins):
            if key != kind and not (key[-1] == "from" and self._files(key) == self._files(kind)):
                yield from ((before + text, place) for text, place in self._of_user(key))
        yield from ((_with_names(" ", names), self._first_of(names)) for names in others.values())

    def _inputs(self) -> list[str]:
        """What a step reads."""
        ports = self.value.get("from")
        found = [str(ref) for refs in (ports.values() if isinstance(ports, dict) else ()) for ref in refs]
        return list(dict.fromkeys(found))

    def _of_user(self, key: KeyPath) -> Iterator[_Line]:
        """The settings at and below `key` that the user made, in one line where all were made in one place."""
        keys = [other for other in self.origins if other[: len(key)] == key]
        users = [other for other in keys if _is_users(self.origins[other])]
        below = dict.fromkeys(other[: len(key) + 1] for other in users)
        shown = _only(value_at(self.value, key[len(self.key) :]), [other[len(key) :] for other in keys])
        line, is_whole = _with_value(dotted_key(key[len(self.key) :]), shown)
        if users and users == keys and len(self._files(key)) == 1 and (is_whole or key in users or len(below) > _FEW):
            yield line, self._place(key)
        else:
            yield from (found for other in below for found in self._of_user(other))

    def _files(self, key: KeyPath) -> set[tuple[Path | None, str]]:
        """The files and overrides that make the settings at and below `key`."""
        return {(origin.file, origin.override) for at, origin in self.origins.items() if at[: len(key)] == key}

    def _first_of(self, names: Mapping[str, KeyPath]) -> str:
        return str(self.origins[next(iter(names.values()))])

    def _place(self, key: KeyPath) -> str:
        """Where the value of `key` was written; of a mapping that was made in one place, where it begins."""
        if any(file is None for file, _ in self._files(key)):
            return "command line"
        return self.loaded.origins.explain(key)


def _is_users(origin: ValueOrigin) -> bool:
    return origin.file is None or origin.group in _USERS


def _part_length(key: KeyPath) -> int:
    """How many names of a key name its part."""
    above = 2 if key[0] == "tasks" else 0
    return above + (2 if key[above : above + 1] and key[above] in _OF_PARTS else 1)


def _with_value(name: str, value: Any) -> tuple[str, bool]:
    """A key with its value in one line, and whether it is whole; else the line says how much the value holds."""
    room = max(20, COLUMN - len(name) - 20)
    text = excerpt_of(value, room) or "''"
    if len(excerpt_of(value, room + 1)) <= room:
        return f"{name}: {text}", True
    return f"{name}: {text} ({count_phrase(len(value), 'character' if isinstance(value, str) else 'value')})", False


def _with_names(text: str, names: Collection[str], word: str = "with") -> str:
    """`text` with as many names as stand in the line, and the number of the others."""
    for shown in range(len(names), 0, -1):
        more = [f"{len(names) - shown} more"] if shown < len(names) else []
        line = f"{text} {word} {', '.join([*list(names)[:shown], *more])}"
        if len(line) <= COLUMN:
            return line
    return f"{text} {word} {len(names)} more" if names else text


def _leaves(value: Any, key: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """The values below `value` that are no mappings; lists count as one."""
    if isinstance(value, dict) and value:
        for name, child in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _leaves(child, (*key, str(name)))
    else:
        yield key, value


def _only(value: Any, keys: Sequence[KeyPath]) -> Any:
    """A value without the defaults in it: what is at these keys below it."""
    if () in keys:
        return value
    names = dict.fromkeys(str(key[0]) for key in keys)
    return {name: _only(value[name], [key[1:] for key in keys if key[0] == name]) for name in names}


def _choices(loaded: LoadedRecipe) -> list[_Line]:
    """The options of groups that the recipe's own files and the command line choose."""
    entries, found = loaded.origins.entries, dict[str, _Line]()
    files = {origin.file: origin.root for origin in entries.values() if origin.group in _USERS}
    opened = [read_recipe_file(file, root) for file, root in files.items() if file is not None and root is not None]
    opened.sort(key=lambda file: f"{file.group[0]}={file.path.stem}" in loaded.overrides)
    for file in sorted(opened, key=lambda file: _USERS.index(str(file.group[0]))):  # what an outer file chooses counts
        for choice in file.choices:
            group = choice.group.rpartition(" ")[2].lstrip("/")
            if choice.names and choice.names != ("_self_",):
                text = f"{group}={choice.written_form}" if group else f"{file.path.stem} starts from {choice.names[0]}"
                found[group or text] = text, file.location(choice.line)
    set_words = {origin.override for origin in entries.values()}
    for word in loaded.overrides:
        key, _, value = word.lstrip("+").partition("=")
        later = entries.get(parse_key(key))
        if word not in set_words and not (later is not None and later.override):
            found[key] = f"{key}={value}" if value else word, "command line"
    return list(found.values())


def _left_out(data: Any, loaded: LoadedRecipe) -> Iterator[_Line]:
    """What the user took out of the recipe by ``null``."""
    for key, origin in loaded.origins.entries.items():
        above = value_at(data, key[:-1])
        is_null = origin.file is None or (origin.is_plain and origin.text in ("", "~", "null"))
        if is_null and _is_users(origin) and isinstance(above, dict) and key[-1] not in above:
            yield f"{dotted_key(key)}: null", str(origin) if origin.file else "command line"


def _unknown_part(name: str, data: Any, loaded: LoadedRecipe) -> Problem:
    origin = loaded.origins.entries.get(parse_key(name))
    if origin is not None:
        return Problem("the shown recipe leaves this out", key=name, where=str(origin))
    keys = [key[:end] for key, _ in _leaves(data, ()) for end in range(1, len(key) + 1)]
    known = list(dict.fromkeys(map(dotted_key, keys)))
    same = [key for key in known if key.rpartition(".")[2] == name.rpartition(".")[2]]
    near = " or ".join(map(repr, same[:_FEW] or get_close_matches(name, known, n=_FEW)))
    hint = f"did you mean {near}?" if near else "`benchbuild show` without a part names the parts"
    return Problem("the recipe has no such part", where=f"command line: {name}", hint=hint)
