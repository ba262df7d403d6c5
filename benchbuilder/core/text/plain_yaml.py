"""Reads YAML files that recipes name: plain data without aliases, so that a small file stays small in memory."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError

MAX_CHARACTERS = 20_000_000
"""Most characters of a YAML file."""
_LONGEST_NUMBER = 300
_DEEPEST = 100
"""Levels that the quick parser reads; the plain one reads what is deeper, or says that it is too deep."""


class _PlainLoader(yaml.SafeLoader):
    """Refuses aliases, with which a file of a few lines stands for billions of values."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark
            raise ComposerError(None, None, "YAML aliases are not allowed: write the value again", mark)
        return super().compose_node(parent, index)


def _number(loader: Any, node: yaml.ScalarNode) -> Any:
    """A number, unless it is so long that reading it takes long."""
    if len(node.value) > _LONGEST_NUMBER:
        raise ConstructorError(None, None, "this number is too long: quote it if it is a text", node.start_mark)
    read = yaml.SafeLoader.construct_yaml_int if node.tag.endswith(":int") else yaml.SafeLoader.construct_yaml_float
    return read(loader, node)


def _with_short_numbers(loader: type[Any]) -> type[Any]:
    for tag in ("int", "float"):
        loader.add_constructor(f"tag:yaml.org,2002:{tag}", _number)
    return loader


_PLAIN = _with_short_numbers(_PlainLoader)
_LIBYAML: Any = getattr(yaml, "CSafeLoader", None)
_QUICK = None if _LIBYAML is None else _with_short_numbers(type("QuickLoader", (_LIBYAML,), {}))
"""The parser of libyaml, where PyYAML has it: ten times as quick. It reads what has no alias and is not deep."""


def parse_plain_yaml(text: str) -> Any:
    """The data of a YAML text.

    Raises:
        yaml.YAMLError: The text is not YAML, is too long, is nested too deeply, or contains an alias, an object of a
            program, or a value that is none (such as the 31st of February). The message gives the line.

    >>> parse_plain_yaml("{a: [1, x]}")
    {'a': [1, 'x']}
    """
    if len(text) > MAX_CHARACTERS:
        raise yaml.YAMLError(f"the file has more than {MAX_CHARACTERS} characters")
    if _QUICK is not None:
        with suppress(yaml.YAMLError, ValueError, OverflowError):  # the messages are those of the plain parser
            if _is_shallow(text):
                return yaml.load(text, Loader=_QUICK)
    try:
        return yaml.load(text, Loader=_PLAIN)
    except RecursionError as error:
        raise yaml.YAMLError("the file is nested too deeply") from error
    except (ValueError, OverflowError) as error:
        raise yaml.YAMLError(f"a value cannot be read: {error}") from error


def _is_shallow(text: str) -> bool:
    """Whether a text has no alias and few levels."""
    depth = 0
    for event in yaml.parse(text, Loader=_LIBYAML):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST or isinstance(event, yaml.AliasEvent):
            return False
    return True
