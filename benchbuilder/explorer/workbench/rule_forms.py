"""Writes rules into a draft from forms: an ending at the end of a list, and a frame among the frames of a step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import regex
import yaml
from pydantic import BaseModel
from rapidfuzz.distance import Postfix

from benchbuilder.config import KeyPath, StepSpec, YamlEditor, dotted_key, parse_key
from benchbuilder.core import parse_plain_yaml

_LISTS = ("seams", "ends")
_END = "end"
"""The key of an entry, in a list of mappings, that holds its ending."""
_FRAMES = "frames"
_GAP = "%answer%"
_SHOWN = 4
_PLAIN = re.compile(r"[^\W\d_][\w ]*")
_YAML_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class EndingList:
    """A list that an ending can be added to, by its key below the step; `examples` are its first endings.

    `patterns` are the entries, if they are mappings such as ``{end: is, negated: is not}``.
    """

    key: KeyPath
    examples: tuple[str, ...]
    patterns: tuple[Mapping[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """The key as text."""
        return dotted_key(self.key)

    def entry(self, ending: str) -> str:
        """An entry with this ending, as YAML. Its other values are those of the entry with the most similar ending.

        >>> patterns = ({"end": "is", "negated": "is not"}, {"end": "causes", "negated": "does not cause"})
        >>> EndingList(("seams",), ("is",), patterns).entry("this is")
        '{end: this is, negated: this is not}'
        """
        if not self.patterns:
            return yaml_text(ending)
        nearest = max(self.patterns, key=lambda entry: (Postfix.similarity(entry[_END], ending), -len(entry[_END])))
        changed = {name: value.replace(nearest[_END], ending) if isinstance(value, str) else value
                   for name, value in nearest.items()}  # fmt: skip
        return _flow(changed)


@dataclass(frozen=True)
class NewFrame:
    """A frame as a form gives it; `before` is the name of the frame before which it stands, empty: it is the last."""

    name: str
    match: str
    write: str
    before: str = ""


def ending_lists(text: str, step: str) -> list[EndingList]:
    """The lists of endings below a step; none while the draft is no YAML."""
    try:
        data = parse_plain_yaml(text)
    except yaml.YAMLError:
        return []
    return list(_ending_lists(data.get(step) if isinstance(data, dict) else None, ()))


def frame_mappings(spec: StepSpec) -> list[KeyPath]:
    """The keys below a step that hold frames by name."""
    return list(_frame_mappings(spec, ()))


def frame_names(text: str, step: str, key: KeyPath) -> list[str]:
    """The names of the frames that a draft has under a key; none while it is no YAML."""
    try:
        return YamlEditor(text).children((step, *key))
    except yaml.YAMLError:
        return []


def with_entry(text: str, step: str, name: str, entry: str) -> str | None:
    """A draft with one more entry, written as YAML, in a list of endings; None if there is no such list."""
    key = parse_key(name)
    if key not in [each.key for each in ending_lists(text, step)]:
        return None
    editor = YamlEditor(text)
    return editor.edited_text() if editor.append((step, *key), entry) else None


def with_frame(text: str, step: str, key: KeyPath, frame: NewFrame) -> str | None:
    """A draft with one more frame under a key of a step; None if the name is taken or wrong, or there is no place."""
    editor = YamlEditor(text)
    place: KeyPath = (step, *key)
    names = editor.children(place)
    entry = f"{frame.name}: {{match: {yaml_text(frame.match)}, write: {yaml_text(frame.write)}}}"
    if not _NAME.fullmatch(frame.name) or frame.name in names:
        return None
    if frame.before in names:
        written = editor.insert_before((*place, frame.before), entry)
    elif names:
        written = editor.append_entry(place, entry)
    elif editor.find_entry(place) is not None:
        editor.replace(place, f"{{{entry}}}")
        written = True
    else:
        written = _with_first_frame(editor, place, entry)
    return editor.edited_text() if written else None


def proposed_frame(place: str, words: str, names: Iterable[str], *, of_statements: bool) -> NewFrame:
    r"""A frame for questions of a shape, to be changed by an author.

    >>> proposed_frame("last", "caused by", ["added_1"], of_statements=False).match
    '(?i)(?P<head>.*)caused\\W*by'
    >>> proposed_frame("first", "which", (), of_statements=False).write
    '{answer}{rest}'
    """
    pattern = r"\W*".join(regex.escape(word) for word in words.split())
    gap = rf"\s?{_GAP}(?P<tail>.*)" if of_statements else ""
    parts = {
        "last": (rf"(?i)(?P<head>.*){pattern}{gap}", f"{{head}}{words} {{answer}}"),
        "first": (rf"(?i){pattern}(?P<rest>.*)", "{answer}{rest}"),
        "colon": (r"(?P<head>.*)[:：]", "{head} {answer}"),
        "blank": (r"(?P<head>.*?)(?:_{2,}|…|\.{3,})(?P<tail>.*)", "{head}{answer}{tail}"),
    }
    match, write = parts.get(place, parts["last"])
    known = set(names)
    name = next(name for number in range(1, len(known) + 2) if (name := f"added_{number}") not in known)
    return NewFrame(name, match, write)


def yaml_text(text: str) -> str:
    """A text as YAML, in quotes where it needs them.

    >>> yaml_text("the choice is"), yaml_text("no"), yaml_text("it's: so")
    ('the choice is', "'no'", "'it''s: so'")
    """
    plain = _PLAIN.fullmatch(text) and text == text.strip() and text.lower() not in _YAML_WORDS
    return text if plain else "'" + text.replace("'", "''") + "'"


def _flow(entry: Mapping[str, Any]) -> str:
    values = (f"{name}: {yaml_text(each) if isinstance(each, str) else _plain(each)}" for name, each in entry.items())
    return f"{{{', '.join(values)}}}"


def _plain(value: Any) -> str:
    return str(yaml.safe_dump(value, default_flow_style=True, allow_unicode=True)).removesuffix("...\n").strip()


def _ending_lists(data: Any, key: KeyPath) -> Iterator[EndingList]:
    if isinstance(data, dict):
        node: Mapping[str, Any] = data
        for name, value in node.items():
            yield from _ending_lists(value, (*key, name))
    elif isinstance(data, list):
        entries: list[Any] = data
        if key and key[-1] in _LISTS and entries:
            if all(isinstance(entry, str) for entry in entries):
                yield EndingList(key, tuple(entries[:_SHOWN]))
            elif all(isinstance(entry, dict) and isinstance(entry.get(_END), str) for entry in entries):
                yield EndingList(key, tuple(entry[_END] for entry in entries[:_SHOWN]), tuple(entries))
        for number, entry in enumerate(entries):
            yield from _ending_lists(entry, (*key, number))


def _frame_mappings(spec: BaseModel, key: KeyPath) -> Iterator[KeyPath]:
    for name in type(spec).model_fields:
        value = getattr(spec, name)
        if name == _FRAMES and isinstance(value, Mapping):
            yield (*key, name)
        elif isinstance(value, BaseModel):
            yield from _frame_mappings(value, (*key, name))


def _with_first_frame(editor: YamlEditor, place: KeyPath, entry: str) -> bool:
    """Write the mapping of frames with one entry before the other keys of its step."""
    siblings = editor.children(place[:-1])
    first = editor.find_entry((*place[:-1], siblings[0])) if siblings else None
    if first is None:
        return False
    indent = " " * (first[0].start_mark.column + 2)
    return editor.insert_before((*place[:-1], siblings[0]), f"{place[-1]}:\n{indent}{entry}")
