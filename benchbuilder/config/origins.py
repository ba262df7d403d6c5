"""Where each value of a composed recipe was written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchbuilder.config.search_path import RecipeRoot, display_path
from benchbuilder.config.yaml_source import KeyPath, KeyPosition, RecipeFile, dotted_key

_LINK = re.compile(r"\$\{\s*(oc\.select:\s*)?(\.*)([A-Za-z0-9_][\w.\[\]-]*)\s*(?:,[^{}]*)?\}")

_REFERENCE = re.compile(r"\$\{\s*(oc\.select:\s*)?(\.*)([A-Za-z0-9_][\w.\[\]-]*)\s*[,}]")
"""The beginning of a reference, up to its default."""


@dataclass(frozen=True)
class ValueOrigin:
    """The place that set a value: a line of a file, or an override of the command line.

    `text` is the scalar as written, `is_plain` means without quotes, `trusted` that the user wrote it, or trusts the
    folder of the file. `moved` means that a recipe took the value from another key, or appended to it.
    """

    file: Path | None = None
    line: int = 0
    override: str = ""
    text: str = ""
    is_plain: bool = False
    root: RecipeRoot | None = None
    trusted: bool = False
    is_mapping: bool = False
    moved: bool = False

    @property
    def is_users(self) -> bool:
        """Whether the user gave this value to this very key."""
        return self.trusted and not self.moved

    def __str__(self) -> str:
        return f"{display_path(self.file)}:{self.line}" if self.file else f"command line: {self.override}"

    @property
    def group(self) -> str:
        """The group of the file; empty for the first file and the command line."""
        return _group(self.file, self.root.path) if self.file and self.root else ""

    def folder(self, cwd: Path) -> Path:
        """The folder where relative paths start: the file's, or the current one for the command line."""
        return self.file.parent if self.file else cwd


@lru_cache(maxsize=4096)  # a recipe asks for each of its keys
def _group(file: Path, folder: Path) -> str:
    return next(iter(file.relative_to(folder).parts[:-1]), "")


def parse_key(text: str) -> KeyPath:
    """A dotted key as a tuple.

    >>> parse_key("steps.ask.from[0]")
    ('steps', 'ask', 'from', 0)
    """
    parts = text.replace("[", ".").replace("]", "").split(".")
    return tuple(int(part) if part.isdecimal() else part for part in parts if part)


@dataclass
class ValueOrigins:
    """Origins by key. For a key that was written nowhere, `origin_of` gives the nearest one above it."""

    entries: dict[KeyPath, ValueOrigin] = field(default_factory=dict[KeyPath, ValueOrigin])
    above: set[KeyPath] = field(default_factory=set[KeyPath])
    """Keys that have, or once had, entries below them."""
    links: dict[KeyPath, tuple[KeyPath, str]] = field(default_factory=dict[KeyPath, tuple[KeyPath, str]])
    defaulted: set[KeyPath] = field(default_factory=set[KeyPath])
    """Keys of links that have a default."""
    fallback: ValueOrigin = field(default_factory=ValueOrigin)
    idle_nulls: dict[KeyPath, ValueOrigin] = field(default_factory=dict[KeyPath, ValueOrigin])
    """Where ``null`` was written for a key that had no value so far."""

    def copy(self) -> ValueOrigins:
        """The same origins, free to change."""
        return ValueOrigins(
            dict(self.entries), set(self.above), dict(self.links), set(self.defaulted), self.fallback,
            dict(self.idle_nulls),
        )  # fmt: skip

    def origin_of(self, key: KeyPath) -> ValueOrigin:
        """Where the value of `key` was written; of an interpolated value, where its target was."""
        target, rest, moved = self._follow_link(key)
        for end in range(len(target), 0, -1):
            if (origin := self.entries.get(target[:end])) is not None:
                is_exact = end == len(target) or not origin.is_mapping
                trusted, moved = origin.trusted and is_exact and _stays_below(rest), moved or bool(rest)
                if (trusted, moved) == (origin.trusted, False):
                    return origin
                return replace(origin, trusted=trusted, moved=moved)
        return self.fallback if not self.fallback.trusted else replace(self.fallback, trusted=False)

    def written_origin(self, key: KeyPath) -> ValueOrigin:
        """Where `key` itself was written, without following links; else the nearest key above."""
        for end in range(len(key), 0, -1):
            if (origin := self.entries.get(key[:end])) is not None:
                return origin
        return self.fallback

    def setting_of(self, key: KeyPath) -> KeyPath | None:
        """The written key that gives `key` its value: itself, or a value or link above it; None for a default."""
        for end in range(len(key), 0, -1):
            if (origin := self.entries.get(key[:end])) is not None:
                return None if origin.is_mapping and end < len(key) else key[:end]
        return None

    def explain(self, key: KeyPath) -> str:
        """Where the value of `key` comes from, and by which reference; ``default`` if it was written nowhere."""
        if (setting := self.setting_of(key)) is None:
            return "default"
        if (link := self.links.get(setting)) is None:
            return str(self.entries[setting])
        target = (*link[0], *key[len(setting) :])
        place = "default" if self.setting_of(target) is None else self.origin_of(key)
        return f"{place} (${{{dotted_key(target)}}})"

    def _follow_link(self, key: KeyPath) -> tuple[KeyPath, str, bool]:
        """The key that a value comes from, the text after the links, and whether an untrusted file linked the value."""
        rest, moved = "", False
        for _ in range(20):
            for end in range(1, len(key) + 1):
                if (link := self.links.get(key[:end])) is not None:
                    moved = moved or (end == len(key) and not self.written_origin(key).trusted)
                    key, rest = (*link[0], *key[end:]), rest + link[1]
                    break
            else:
                break
        return key, rest, moved

    def drop_unused_links(self, data: Mapping[str, Any]) -> None:
        """Forget each ``${oc.select:key,default}`` whose key has no value in the composed `data`."""
        for key in [key for key in self.defaulted if key in self.links]:
            if value_at(data, self._follow_link(key)[0]) is None:
                del self.links[key]


def collect_value_origins(
    layers: Iterable[tuple[RecipeFile, str]], overrides: Iterable[tuple[str, Any, str]], raw: Mapping[str, Any]
) -> ValueOrigins:
    """Origins of a composed recipe.

    `layers` are its files in the order of merging, each with the package that its keys were put under; `overrides` the
    command line's (key, value, text); `raw` the composed data before interpolation.
    """
    origins = ValueOrigins()
    for file, package in layers:
        prefix = parse_key(package)
        if origins.fallback.file is None:
            origins.fallback = ValueOrigin(file.path, 1, root=file.root, trusted=file.root.trusts(file.path))
        for end in range(1, len(prefix) + 1):
            origins.entries.setdefault(prefix[:end], _origin(file, KeyPosition(1, is_mapping=True)))
        for key, mark in file.marks.items():
            _record_origin(origins, (*prefix, *key), _origin(file, mark), null=mark.is_null)
    for key, value, text in overrides:
        _record_override(origins, parse_key(key), value, ValueOrigin(override=text, trusted=True))
    for key, text in leaves_of(raw, ()):
        if isinstance(text, str) and (match := _LINK.match(text)) is not None:
            target = _target(key, match)
            if not match.group(1) or target in origins.entries:
                origins.links[key] = (target, text[match.end() :])
                origins.defaulted.update({key} if match.group(1) else ())
    return origins


def record_override(origins: ValueOrigins, key: KeyPath, value: Any, text: str) -> None:
    """Record that the override `text` gives `key`, which has a plain value or none, a plain one."""
    _record_override(origins, key, value, ValueOrigin(override=text, trusted=True))


def references_in(raw: Mapping[str, Any]) -> frozenset[KeyPath] | None:
    """Every key of `raw`, the composed data before interpolation, that refers to another one, and what it refers to.

    None if nobody can tell.
    """
    found: set[KeyPath] = set()
    for key, text in leaves_of(raw, ()):
        for begin in re.finditer(r"\$\{", text) if isinstance(text, str) else ():
            if (match := _REFERENCE.match(text, begin.start())) is None:
                return None
            found |= {key, _target(key, match)}
    return frozenset(found)


def _origin(file: RecipeFile, mark: KeyPosition) -> ValueOrigin:
    trusted = file.root.trusts(file.path)
    return ValueOrigin(
        file.path, mark.line, text=mark.text, is_plain=mark.is_plain, root=file.root, trusted=trusted,
        is_mapping=mark.is_mapping,
    )  # fmt: skip


def _record_origin(origins: ValueOrigins, key: KeyPath, origin: ValueOrigin, *, null: bool) -> None:
    if null and key not in origins.entries and key not in origins.above:
        origins.idle_nulls[key] = origin
    if not origin.is_mapping and key in origins.above:
        for below in [other for other in origins.entries if len(other) > len(key) and other[: len(key)] == key]:
            del origins.entries[below]
    origins.entries[key] = origin
    origins.above.update(key[:end] for end in range(1, len(key)))


def _record_override(origins: ValueOrigins, key: KeyPath, value: Any, origin: ValueOrigin) -> None:
    for end in range(1, len(key)):
        origins.entries.setdefault(key[:end], replace(origin, is_mapping=True))
    origin = replace(origin, is_mapping=isinstance(value, dict))
    _record_origin(origins, key, origin, null=value is None)
    if isinstance(value, dict):
        for name, child in value.items():  # pyright: ignore[reportUnknownVariableType]
            _record_override(origins, (*key, str(name)), child, origin)


def leaves_of(value: Any, key: KeyPath) -> Iterable[tuple[KeyPath, Any]]:
    """The values below `value`, whose key is `key`, that are neither mappings nor lists."""
    if isinstance(value, dict):
        for name, child in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from leaves_of(child, (*key, str(name)))
    elif isinstance(value, list):
        for index, child in enumerate(value):  # pyright: ignore[reportUnknownVariableType]
            yield from leaves_of(child, (*key, index))
    else:
        yield key, value


def _stays_below(rest: str) -> bool:
    """Whether the text that a recipe appends to a value of the user stays below it."""
    return not rest or (rest.startswith("/") and ".." not in rest and "${" not in rest)


def _target(key: KeyPath, match: re.Match[str]) -> KeyPath:
    dots, name = len(match.group(2)), parse_key(match.group(3))
    return (*key[: len(key) - dots], *name) if dots else name


def value_at(data: Any, key: KeyPath) -> Any:
    """The value of `key` in plain data; None if there is none."""
    for part in key:
        if isinstance(data, dict):
            data = data.get(part, data.get(str(part)))  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):  # pyright: ignore[reportUnknownArgumentType]
            data = data[part]  # pyright: ignore[reportUnknownVariableType]
        else:
            return None
    return data  # pyright: ignore[reportUnknownVariableType]
