"""Changes to the text of a YAML file that leave everything else as it is, comments included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from textwrap import dedent

import yaml

from benchbuilder.config.yaml_source import KeyPath, parse_yaml_tree

OPEN_PLACE = "???"
"""The placeholder of a value that must be given."""


@dataclass(frozen=True, slots=True)
class YamlScalar:
    """A scalar in a file: its key, text and position, and whether it is inside ``{}`` or ``[]``."""

    key: KeyPath
    text: str
    start: int
    end: int
    line: int
    flow: bool


@lru_cache(maxsize=128)
def _parse(text: str) -> yaml.Node | None:
    """The nodes of a text, which nobody changes; one command reads the same files several times."""
    return parse_yaml_tree(text)


class YamlEditor:
    """Collects changes to a text and applies them together.

    >>> editor = YamlEditor("a: 1 # one\\nb: {c: x.txt}\\n")
    >>> for scalar in editor.scalars():
    ...     editor.replace_scalar(scalar, OPEN_PLACE)
    >>> editor.edited_text()
    'a: ??? # one\\nb: {c: "???"}\\n'
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = _parse(text)
        self._changes: dict[tuple[int, int], str] = {}

    def scalars(self) -> Iterator[YamlScalar]:
        """Every scalar value, in the order of the file."""
        if self.tree is not None:
            yield from _scalars(self.tree, (), False)

    def replace_scalar(self, scalar: YamlScalar, text: str) -> None:
        """Replace `scalar` by `text`."""
        self.replace_span(scalar.start, scalar.end, f'"{text}"' if scalar.flow and text == OPEN_PLACE else text)

    def replace_span(self, start: int, end: int, text: str) -> None:
        """Replace the characters from `start` to `end` by `text`; of two nested changes, the wider one counts."""
        if any(a <= start and end <= b for a, b in self._changes if a < b and (a, b) != (start, end)):
            return
        inside = [(a, b) for a, b in self._changes if start <= a and b <= end and (a < b or start < a < end)]
        for old in inside:
            del self._changes[old]
        self._changes[start, end] = text

    def find_entry(self, key: KeyPath) -> tuple[yaml.Node, yaml.Node] | None:
        """The nodes of a key and of its value; None if the file does not hold it."""
        above, name = (self._node(key[:-1]), str(key[-1])) if key else (None, "")
        pairs = above.value if isinstance(above, yaml.MappingNode) else ()
        return next(((found, value) for found, value in pairs if found.value == name), None)

    def children(self, key: KeyPath) -> list[str]:
        """The names below a key; the empty key is the file itself."""
        node = self._node(key)
        return [name.value for name, _ in node.value] if isinstance(node, yaml.MappingNode) else []

    def replace(self, key: KeyPath, text: str, *, old_value_label: str = "") -> None:
        """Set the value of `key` to `text`; the former value stays as a comment after `old_value_label`."""
        entry = self.find_entry(key)
        if entry is None:
            return
        name, value = entry
        start, end = name.end_mark.index, _end(value, self.text)
        old = self.text[start:end].removeprefix(":").strip()
        alone = self.text[end:].partition("\n")[0].strip() == ""
        comment = ""
        if old_value_label and alone and "\n" not in old:
            comment = f" # {old_value_label}: {old}"
        elif old_value_label and alone:
            indent = " " * (name.start_mark.column + 2)
            first, *rest = self.text[start:end].removeprefix(":").splitlines()
            lines = [line for line in (first if first.strip(" >|-") else "", *rest) if line.strip()]
            former = (f"\n{indent}# {line}" for line in dedent("\n".join(lines)).splitlines())
            comment = f" # {old_value_label}:{''.join(former)}"
        self.replace_span(start, end, f":{'' if text.startswith(chr(10)) else ' '}{text}{comment}")

    def remove(self, key: KeyPath) -> None:
        """Remove the lines of a value; set it to ``null`` if it shares a line or is the only one."""
        entry, above = self.find_entry(key), self._node(key[:-1])
        if entry is None or above is None:
            return
        start, end = entry[0].start_mark.index, _end(entry[1], self.text)
        line = self.text.rfind("\n", 0, start) + 1
        after = self.text.find("\n", end) + 1 or len(self.text)
        if is_flow(above) or self.text[line:start].strip() or len(above.value) == 1:
            self.replace(key, "null")
        else:
            self.replace_span(line, after, "")

    def _node(self, key: KeyPath) -> yaml.Node | None:
        """The node of a value; a number in the key is the position in a list."""
        node = self.tree
        for part in key:
            if isinstance(node, yaml.SequenceNode):
                node = node.value[part] if isinstance(part, int) and part < len(node.value) else None
            else:
                pairs = node.value if isinstance(node, yaml.MappingNode) else ()
                node = next((value for name, value in pairs if name.value == str(part)), None)
        return node

    def lists(self, key: KeyPath) -> Iterator[yaml.SequenceNode]:
        """Every list below a key."""
        entry = self.find_entry(key)
        yield from _lists(entry[1]) if entry is not None else ()

    def append(self, key: KeyPath, text: str) -> bool:
        """Write `text` as the last entry of the list at `key`; False if there is no such list with an entry.

        >>> editor = YamlEditor("a: [b, c] # why\\nd:\\n  - e\\n")
        >>> editor.append(("a",), "x"), editor.append(("d",), "y"), editor.append(("z",), "y")
        (True, True, False)
        >>> editor.edited_text()
        'a: [b, c, x] # why\\nd:\\n  - e\\n  - y\\n'
        """
        node = self._node(key)
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            return False
        last = node.value[-1]
        if is_flow(node):
            self.insert(_end(last, self.text), f", {text}")
        else:
            dash = self.text.rfind("-", 0, last.start_mark.index)
            indent = dash - self.text.rfind("\n", 0, dash) - 1
            line_end = self.text.find("\n", _end(last, self.text))
            self.insert(len(self.text) if line_end < 0 else line_end, f"\n{' ' * indent}- {text}")
        return True

    def insert_before(self, key: KeyPath, text: str) -> bool:
        """Write the entry `text` (``name: value``) before the entry at `key` of a mapping; False if there is none.

        >>> editor = YamlEditor("a:\\n  b: 1\\nc: {d: 2}\\n")
        >>> editor.insert_before(("a", "b"), "x: 0"), editor.insert_before(("c", "d"), "y: 3")
        (True, True)
        >>> editor.edited_text()
        'a:\\n  x: 0\\n  b: 1\\nc: {y: 3, d: 2}\\n'
        """
        entry, above = self.find_entry(key), self._node(key[:-1])
        if entry is None or above is None:
            return False
        start = entry[0].start_mark
        self.insert(start.index, f"{text}, " if is_flow(above) else f"{text}\n{' ' * start.column}")
        return True

    def append_entry(self, key: KeyPath, text: str) -> bool:
        """Write the entry `text` (``name: value``) as the last of the mapping at `key`; False if it has no entry.

        >>> editor = YamlEditor("a:\\n  b: 1 # why\\nc: {d: 2}\\n")
        >>> editor.append_entry(("a",), "x: 0"), editor.append_entry(("c",), "y: 3")
        (True, True)
        >>> editor.edited_text()
        'a:\\n  b: 1 # why\\n  x: 0\\nc: {d: 2, y: 3}\\n'
        """
        node = self._node(key)
        if not isinstance(node, yaml.MappingNode) or not node.value:
            return False
        name, last = node.value[-1]
        if is_flow(node):
            self.insert(_end(last, self.text), f", {text}")
        else:
            line_end = self.text.find("\n", _end(last, self.text))
            self.insert(len(self.text) if line_end < 0 else line_end, f"\n{' ' * name.start_mark.column}{text}")
        return True

    def insert(self, index: int, text: str) -> None:
        """Write `text` before the character at `index`."""
        self._changes[index, index] = self._changes.get((index, index), "") + text

    def edited_text(self) -> str:
        """The changed text."""
        text = self.text
        for (start, end), new in sorted(self._changes.items(), reverse=True):
            text = text[:start] + new + text[end:]
        return text


def is_flow(node: yaml.Node) -> bool:
    """Whether a list or mapping is written with brackets or braces."""
    return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)


def _scalars(node: yaml.Node, key: KeyPath, flow: bool) -> Iterator[YamlScalar]:
    if isinstance(node, yaml.ScalarNode):
        start, end = node.start_mark.index, node.end_mark.index
        yield YamlScalar(key, str(node.value), start, end, node.start_mark.line + 1, flow)
    elif isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            yield from _scalars(child, (*key, index), flow or is_flow(node))
    elif isinstance(node, yaml.MappingNode):
        for name, child in node.value:
            yield from _scalars(child, (*key, str(name.value)), flow or is_flow(node))


def _lists(node: yaml.Node) -> Iterator[yaml.SequenceNode]:
    if isinstance(node, yaml.SequenceNode):
        yield node
    for child in node.value if isinstance(node, yaml.CollectionNode) else ():
        yield from _lists(child[1] if isinstance(child, tuple) else child)


def _end(node: yaml.Node, text: str) -> int:
    """The end of a value, without the comments and blank lines after it."""
    if isinstance(node, yaml.ScalarNode) or is_flow(node) or not node.value:
        return len(text[: node.end_mark.index].rstrip())
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last, text)
