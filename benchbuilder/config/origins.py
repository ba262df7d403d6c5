"""Where each value of a composed recipe was written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchbuilder.config.search_path import Root, shown
from benchbuilder.config.yaml_source import Key, Mark, RecipeFile

_LINK = re.compile(r"\$\{\s*(oc\.select:\s*)?(\.*)([A-Za-z0-9_][\w.\[\]-]*)\s*(?:,[^{}]*)?\}")


@dataclass(frozen=True)
class Origin:
    """The place that wrote a value: a line of a file, or a word of the command line.

    `text` is the scalar as written, `plain` whether without quotes. `trusted` says that the user wrote it.
    """

    file: Path | None = None
    line: int = 0
    word: str = ""
    text: str = ""
    plain: bool = False
    root: Root | None = None
    trusted: bool = False

    def __str__(self) -> str:
        return f"{shown(self.file)}:{self.line}" if self.file else f"command line: {self.word}"

    @property
    def group(self) -> str:
        """The group of recipe files that the file is of; empty for the first file and the command line."""
        return next(iter(self.file.relative_to(self.root.path).parts[:-1]), "") if self.file and self.root else ""

    def folder(self, cwd: Path) -> Path:
        """The folder that relative paths hang on: the file's, or the current one for the command line."""
        return self.file.parent if self.file else cwd


def parse_key(text: str) -> Key:
    """A dotted key as a tuple.

    >>> parse_key("steps.ask.from[0]")
    ('steps', 'ask', 'from', 0)
    """
    parts = text.replace("[", ".").replace("]", "").split(".")
    return tuple(int(part) if part.isdecimal() else part for part in parts if part)


@dataclass
class Origins:
    """Key -> origin. `of` always answers: for a key that stands nowhere with the nearest one above it."""

    entries: dict[Key, Origin] = field(default_factory=dict[Key, Origin])
    above: set[Key] = field(default_factory=set[Key])
    """Keys that have, or once had, entries below them."""
    links: dict[Key, tuple[Key, str]] = field(default_factory=dict[Key, tuple[Key, str]])
    fallback: Origin = field(default_factory=Origin)

    def copy(self) -> Origins:
        """The same origins, free to change."""
        return Origins(dict(self.entries), set(self.above), dict(self.links), self.fallback)

    def exact(self, key: Key) -> Origin | None:
        """Where just this key was written; None for a default."""
        return self.entries.get(key)

    def of(self, key: Key) -> Origin:
        """Where the value of `key` was written; of an interpolated value, where its target was."""
        target, rest = self._followed(key)
        for end in range(len(target), 0, -1):
            if (origin := self.entries.get(target[:end])) is not None:
                return origin if _harmless(rest) else replace(origin, trusted=False)
        return self.fallback

    def written(self, key: Key) -> Origin:
        """Where `key` itself stands, links not followed; else the nearest key above."""
        for end in range(len(key), 0, -1):
            if (origin := self.entries.get(key[:end])) is not None:
                return origin
        return self.fallback

    def _followed(self, key: Key) -> tuple[Key, str]:
        rest = ""
        for _ in range(20):
            for end in range(1, len(key) + 1):
                if (link := self.links.get(key[:end])) is not None:
                    key, rest = (*link[0], *key[end:]), rest + link[1]
                    break
            else:
                break
        return key, rest


def collect_origins(
    layers: Iterable[tuple[RecipeFile, str]], words: Iterable[tuple[str, Any, str]], raw: Mapping[str, Any]
) -> Origins:
    """Origins of a composed recipe.

    `layers` are its files in the order of merging, each with the package that its keys were put under; `words` the
    command line's (key, value, text); `raw` the composed data before interpolation.
    """
    origins = Origins()
    for file, package in layers:
        prefix = parse_key(package)
        if origins.fallback.file is None:
            origins.fallback = Origin(file.path, 1, root=file.root, trusted=file.root.trusts(file.path))
        for end in range(1, len(prefix) + 1):
            origins.entries.setdefault(prefix[:end], _origin(file, Mark(1, mapping=True)))
        for key, mark in file.marks.items():
            _lay(origins, (*prefix, *key), _origin(file, mark), mark.mapping)
    for key, value, text in words:
        _lay_word(origins, parse_key(key), value, Origin(word=text, trusted=True))
    for key, text in _strings(raw, ()):
        if (match := _LINK.match(text)) is not None:
            target = _target(key, match)
            if not match.group(1) or target in origins.entries:
                origins.links[key] = (target, text[match.end() :])
    return origins


def _origin(file: RecipeFile, mark: Mark) -> Origin:
    trusted = file.root.trusts(file.path)
    return Origin(file.path, mark.line, text=mark.text, plain=mark.plain, root=file.root, trusted=trusted)


def _lay(origins: Origins, key: Key, origin: Origin, mapping: bool) -> None:
    if not mapping and key in origins.above:
        for below in [other for other in origins.entries if len(other) > len(key) and other[: len(key)] == key]:
            del origins.entries[below]
    origins.entries[key] = origin
    origins.above.update(key[:end] for end in range(1, len(key)))


def _lay_word(origins: Origins, key: Key, value: Any, origin: Origin) -> None:
    for end in range(1, len(key)):
        origins.entries.setdefault(key[:end], origin)
    _lay(origins, key, origin, isinstance(value, dict))
    if isinstance(value, dict):
        for name, child in value.items():  # pyright: ignore[reportUnknownVariableType]
            _lay_word(origins, (*key, str(name)), child, origin)


def _strings(value: Any, key: Key) -> Iterable[tuple[Key, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, child in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _strings(child, (*key, str(name)))
    elif isinstance(value, list):
        for index, child in enumerate(value):  # pyright: ignore[reportUnknownVariableType]
            yield from _strings(child, (*key, index))


def _harmless(rest: str) -> bool:
    """Whether what a recipe appends to a value of the user's goes no further than below it."""
    return not rest or (rest.startswith("/") and ".." not in rest and "${" not in rest)


def _target(key: Key, match: re.Match[str]) -> Key:
    dots, name = len(match.group(2)), parse_key(match.group(3))
    return (*key[: len(key) - dots], *name) if dots else name
