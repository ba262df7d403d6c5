"""One recipe file as YAML nodes: where each key stands, checked for what a shared file may not hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from benchbuilder.errors import Problem, RecipeError
from benchbuilder.roots import Root, shown

Key = tuple[str | int, ...]

_STR = "tag:yaml.org,2002:str"
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\Z|_self_\Z")
_RESOLVER = re.compile(r"\$\{\s*([A-Za-z_][\w.]*)\s*:")
_DUNDER = re.compile(r"_\w+_\Z")


def dotted(key: Key) -> str:
    """A key as people write it.

    >>> dotted(("steps", "ask", "from", 0))
    'steps.ask.from[0]'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key).lstrip(".")


@dataclass(frozen=True)
class Mark:
    """Where a key stands: its line (from 1); for a scalar its `text`, and whether that is `plain` (unquoted)."""

    line: int
    text: str = ""
    plain: bool = False
    mapping: bool = False


@dataclass(frozen=True)
class Choice:
    """An entry of a defaults list: the group (with keywords and package, as written) and the chosen names."""

    line: int
    group: str
    names: tuple[str, ...]


@dataclass(eq=False)
class RecipeFile:
    """A parsed file: `marks` in the order of the file (parents first), `choices` of its defaults list."""

    path: Path
    root: Root
    marks: dict[Key, Mark] = field(default_factory=dict[Key, Mark])
    choices: list[Choice] = field(default_factory=list[Choice])
    package: str = ""
    problems: list[Problem] = field(default_factory=list[Problem])

    @property
    def group(self) -> Key:
        """The folders below the root: where the keys go if the file says no package."""
        return self.path.relative_to(self.root.path).parent.parts

    def at(self, line: int) -> str:
        """``file:line`` for messages."""
        return f"{shown(self.path)}:{line}"

    def report(self, message: str, line: int, key: Key = (), **more: str) -> None:
        """Note a problem at `line`."""
        self.problems.append(Problem(message, key=dotted(key), where=self.at(line), **more))


def read_recipe_file(path: Path, root: Root) -> RecipeFile:
    """Parse the file and look at every node; RecipeError with all that is wrong in it."""
    file = RecipeFile(path, root)
    try:
        text = path.read_bytes().decode()
        tree = yaml.compose(text, Loader=yaml.SafeLoader)  # the C loader crashes on deep nesting
    except UnicodeDecodeError as error:
        file.report("the file is not UTF-8", 1, hint="save it as UTF-8")
        raise RecipeError(file.problems) from error
    except RecursionError as error:
        file.report("the file is nested too deeply", 1)
        raise RecipeError(file.problems) from error
    except yaml.YAMLError as error:
        file.problems.append(_syntax(error, file))
        raise RecipeError(file.problems) from error
    _header(text, file)
    if isinstance(tree, yaml.MappingNode):
        _walk(tree, (), file, set())
    elif tree is not None:
        file.report("a recipe file is a mapping of keys", 1, found=_shape(tree), hint="write `key: value` lines")
    if file.problems:
        raise RecipeError(file.problems)
    return file


def _header(text: str, file: RecipeFile) -> None:
    for number, line in enumerate(text.splitlines()[:10], start=1):
        if match := re.match(r"#\s*@package\s+(\S+)", line.strip()):
            file.package = match.group(1)
            if file.package.removeprefix("_global_.").split(".")[0] == "hydra":
                file.report("a recipe cannot configure Hydra itself", number, found=line.strip())


def _syntax(error: yaml.YAMLError, file: RecipeFile) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = mark.line + 1 if mark else 1
    said = str(getattr(error, "problem", None) or error).partition("\n")[0]
    hints = {
        "'\\t'": ("a tab stands where YAML wants spaces", "indent with spaces"),
        "mapping values are not allowed": (
            "a colon stands where YAML does not expect one",
            "put texts that hold a colon in quotes, and check the indentation",
        ),
        "could not find expected ':'": ("a key without a colon", "write `key: value`"),
        "expected <block end>": ("the indentation does not fit the lines above", "align keys of one mapping"),
        "but got '{'": ("`${...}` inside braces", "inside { } or [ ] put ${...} in quotes"),
        "but found '?'": ("`???` inside braces", 'inside { } or [ ] write "???" in quotes'),
        "expected ',' or": ("a bracket or brace is not closed", "close it, or quote texts that hold brackets"),
    }
    for sign, (message, hint) in hints.items():
        if sign in said:
            return Problem(message, where=file.at(line), found=_line(mark), hint=hint)
    return Problem("this is not YAML", where=file.at(line), found=said, hint="look at this line and the one above")


def _line(mark: Any) -> str:
    lines = mark.buffer.rstrip("\0").splitlines() if mark and mark.buffer else []
    return lines[mark.line].strip() if lines and mark.line < len(lines) else ""


def _shape(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    return "a list" if isinstance(node, yaml.SequenceNode) else f"`{node.value}`"


def _walk(node: yaml.Node, key: Key, file: RecipeFile, seen: set[int]) -> None:
    line = node.start_mark.line + 1
    if id(node) in seen:
        named = tuple(part for part in key if isinstance(part, str))
        line = file.marks[named].line if named in file.marks else line
        file.report("YAML aliases are not allowed", line, key, hint="refer to the other key with ${the.other.key}")
        return
    seen.add(id(node))
    if node.tag.startswith("!") or "python/" in node.tag:
        file.report("YAML tags are not allowed", line, key, found=node.tag)
    if isinstance(node, yaml.ScalarNode):
        _scalar(node, key, file)
    elif isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            file.marks[*key, index] = _mark(child, child)
            _walk(child, (*key, index), file, seen)
    elif isinstance(node, yaml.MappingNode):
        _mapping(node, key, file, seen)


def _mapping(node: yaml.MappingNode, key: Key, file: RecipeFile, seen: set[int]) -> None:
    lines: dict[str, int] = {}
    for name, value in node.value:
        line = name.start_mark.line + 1
        if not _name_is_fine(name, key, file):
            continue
        path = (*key, name.value)
        if name.value in lines:
            file.report("this key stands twice", line, path, found=f"first in line {lines[name.value]}")
            continue
        lines[name.value] = line
        if path == ("defaults",):
            _defaults(value, file)
            continue
        file.marks[path] = _mark(name, value)
        _walk(value, path, file, seen)


def _name_is_fine(name: yaml.Node, key: Key, file: RecipeFile) -> bool:
    line, text = name.start_mark.line + 1, str(name.value)
    path = (*key, text)
    if not isinstance(name, yaml.ScalarNode) or text == "<<":
        file.report("a key must be a name", line, key, found=_shape(name))
    elif name.tag != _STR and not text.isdecimal():
        file.report(f"YAML reads the key `{text}` as something else than text", line, path, hint=f'write "{text}":')
    elif _DUNDER.match(text):
        file.report("a recipe cannot hold this key: it is data and names no code", line, path, found=f"{text}:")
    elif path == ("hydra",):
        file.report("a recipe cannot configure Hydra itself", line, path, hint="take the key out")
    elif not text.isascii():
        hint = "the command line cannot name other keys; put the text into a value"
        file.report("keys are ASCII", line, path, found=text, allowed="letters, digits, _ and -", hint=hint)
    elif not _KEY.match(text):
        file.report("this is no key", line, path, found=text, allowed="letters, digits, _ and -")
    else:
        return True
    return False


def _mark(place: yaml.Node, value: yaml.Node) -> Mark:
    line = place.start_mark.line + 1
    if isinstance(value, yaml.ScalarNode):
        return Mark(line, str(value.value), plain=value.style is None)
    return Mark(line, mapping=isinstance(value, yaml.MappingNode))


def _scalar(node: yaml.ScalarNode, key: Key, file: RecipeFile) -> None:
    for match in _RESOLVER.finditer(str(node.value)):
        if match.group(1) != "oc.select":
            _refuse_resolver(match.group(1), node.start_mark.line + 1, key, file)


def _refuse_resolver(name: str, line: int, key: Key, file: RecipeFile) -> None:
    file.report(
        "a recipe cannot call functions in ${...}", line, key, found=f"${{{name}:...}}",
        allowed="${another.key}", hint="give such values on the command line",
    )  # fmt: skip


def _defaults(node: yaml.Node, file: RecipeFile) -> None:
    if not isinstance(node, yaml.SequenceNode):
        file.report("`defaults` is a list", node.start_mark.line + 1, ("defaults",), found=_shape(node))
        return
    for item in node.value:
        line = item.start_mark.line + 1
        choice = _choice(item, line)
        if choice is None:
            allowed = "`- name`, `- group: name` or `- group: [name, name]`"
            file.report("an entry of `defaults` has another shape", line, ("defaults",), allowed=allowed)
            continue
        file.choices.append(choice)
        for text in (choice.group, *choice.names):
            _choice_is_fine(text, choice, file)


def _choice(item: yaml.Node, line: int) -> Choice | None:
    if isinstance(item, yaml.ScalarNode):
        return Choice(line, "", (str(item.value),))
    if not isinstance(item, yaml.MappingNode) or len(item.value) != 1:
        return None
    name, value = item.value[0]
    if isinstance(value, yaml.ScalarNode):
        names: Iterator[str] = iter(() if value.tag.endswith(":null") else (str(value.value),))
    elif isinstance(value, yaml.SequenceNode):
        names = (str(child.value) for child in value.value)
    else:
        return None
    return Choice(line, str(name.value), tuple(names))


def _choice_is_fine(text: str, choice: Choice, file: RecipeFile) -> None:
    """Refuse what leads out of the root, into Hydra, or calls a function."""
    group, _, package = text.rpartition(" ")[2].partition("@")
    if ".." in text:
        file.report("`..` is not allowed in `defaults`", choice.line, ("defaults",), found=text)
    elif "hydra" in (group.strip("/").split("/")[0], package.removeprefix("_global_.").split(".")[0]):
        file.report("a recipe cannot configure Hydra itself", choice.line, ("defaults",), found=text)
    elif match := _RESOLVER.search(text):
        _refuse_resolver(match.group(1), choice.line, ("defaults",), file)
