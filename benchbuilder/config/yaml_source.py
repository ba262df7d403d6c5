"""One recipe file as YAML nodes: the position of each key, and checks of what a shared file may not contain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from benchbuilder.config.search_path import RecipeRoot, display_path
from benchbuilder.core import Problem, RecipeError, read_given_file

KeyPath = tuple[str | int, ...]

_STR = "tag:yaml.org,2002:str"
_OPENING = ":-?[{"
"""Characters without which nothing in YAML is nested."""
_SMALL_FILE = 3_000
_DEEPEST = 100
_LONGEST_NUMBER = 300
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\Z|_self_\Z")
_RESOLVER = re.compile(r"\$\{\s*([A-Za-z_][\w.]*)\s*:")
_DUNDER = re.compile(r"_\w+_\Z")
_PACKAGES = {
    "recipe": "_global_", "variant": "_global_", "local": "_global_", "user": "_global_",
    "flow": "steps", "rules": "steps", "source": "sources.{name}",
}  # fmt: skip
"""The packages of files by group; keys of other groups go below the name of the group."""


def dotted_key(key: KeyPath) -> str:
    """A key as people write it.

    >>> dotted_key(("steps", "ask", "from", 0))
    'steps.ask.from[0]'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key).lstrip(".")


def excerpt_of(value: Any, most: int = 60) -> str:
    """A value or YAML node in one line, cut off after `most` characters.

    >>> excerpt_of({"tone": "plain", "endings": [".", None]})
    '{tone: plain, endings: [., null]}'
    """
    text = ""
    for piece in _pieces(value):
        text += piece
        if len(text) > most:
            return f"{text[: most - 4]} ..."
    return text


def describe_value(value: Any) -> str:
    """What a value or YAML node is: a list or mapping with an excerpt, else the text itself.

    >>> describe_value(["a", "b"])
    'a list: [a, b]'
    """
    if isinstance(value, Mapping | yaml.MappingNode):
        return f"a mapping: {excerpt_of(value)}"
    return f"a list: {excerpt_of(value)}" if isinstance(value, list | tuple | yaml.SequenceNode) else excerpt_of(value)


def _pieces(value: Any) -> Iterator[str]:
    """The text of a value bit by bit, so that a huge one can be left early."""
    node: Any = value.value if isinstance(value, yaml.Node) else value
    if isinstance(value, Mapping | yaml.MappingNode):
        pairs: Iterable[Any] = node.items() if isinstance(node, Mapping) else node  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        for index, (name, child) in enumerate(pairs):
            yield ", " if index else "{"
            yield from _pieces(name)
            yield ": "
            yield from _pieces(child)
        yield "}" if node else "{}"
    elif isinstance(value, list | tuple | yaml.SequenceNode):
        for index, child in enumerate(node):
            yield ", " if index else "["
            yield from _pieces(child)
        yield "]" if node else "[]"
    else:
        plain = node is None or isinstance(node, bool)
        yield {None: "null", True: "true", False: "false"}[node] if plain else " ".join(str(node).split())


@dataclass(frozen=True)
class KeyPosition:
    """The position of a key: its line (from 1); for a scalar its `text`, and whether it is unquoted (`is_plain`)."""

    line: int
    text: str = ""
    is_plain: bool = False
    is_mapping: bool = False

    @property
    def is_null(self) -> bool:
        """Whether it is ``null`` in one of the forms that YAML has for it."""
        return not self.is_mapping and self.is_plain and self.text in ("", "~", "null", "Null", "NULL")


@dataclass(frozen=True)
class DefaultsChoice:
    """An entry of a defaults list: the group as written (keywords and package too), the chosen names and their text."""

    line: int
    group: str
    names: tuple[str, ...]
    written_form: str = ""


@dataclass(eq=False)
class RecipeFile:
    """A parsed file: `marks` in the order of the file (parents first), `choices` of its defaults list."""

    path: Path
    root: RecipeRoot
    marks: dict[KeyPath, KeyPosition] = field(default_factory=dict[KeyPath, KeyPosition])
    choices: list[DefaultsChoice] = field(default_factory=list[DefaultsChoice])
    package: str = ""
    problems: list[Problem] = field(default_factory=list[Problem])

    @property
    def group(self) -> KeyPath:
        """The folders below the root: the package of the keys, unless the file sets one."""
        return self.path.relative_to(self.root.path).parent.parts

    def location(self, line: int) -> str:
        """``file:line`` for messages."""
        return f"{display_path(self.path)}:{line}"

    def report(self, message: str, line: int, key: KeyPath = (), **more: str) -> None:
        """Note a problem at `line`."""
        self.problems.append(Problem(message, key=dotted_key(key), where=self.location(line), **more))


def read_recipe_file(path: Path, root: RecipeRoot) -> RecipeFile:
    """Parse the file and check every node; RecipeError with all problems.

    The same bytes are parsed once per process, so do not change the result.
    """
    return parse_recipe_text(path, root, read_given_file(path))


@lru_cache(maxsize=256)
def parse_recipe_text(path: Path, root: RecipeRoot, data: bytes) -> RecipeFile:
    """What `read_recipe_file` makes of a file with this content; nothing is read."""
    file = RecipeFile(path, root)
    try:
        text = data.decode()
        tree = parse_yaml_tree(text)
    except UnicodeDecodeError as error:
        file.report("the file is not UTF-8", 1, hint="save it as UTF-8")
        raise RecipeError(file.problems) from error
    except RecursionError as error:
        file.report("the file is nested too deeply", 1)
        raise RecipeError(file.problems) from error
    except (ValueError, OverflowError) as error:  # as in "\UFFFFFFFF"
        file.report("an escape in the file is no character", 1, hint="look for \\U in double quotes")
        raise RecipeError(file.problems) from error
    except yaml.YAMLError as error:
        file.problems.append(_syntax(error, file))
        raise RecipeError(file.problems) from error
    _header(text, file)
    if isinstance(tree, yaml.MappingNode):
        _package(text, file)
        _walk(tree, (), file, set())
    elif tree is not None:
        file.report(
            "a recipe file is a mapping of keys", 1, actual=describe_value(tree), hint="write `key: value` lines"
        )
    if file.problems:
        raise RecipeError(file.problems)
    return file


def parse_yaml_tree(text: str) -> yaml.Node | None:
    """The nodes of a text; YAMLError if it is not YAML, RecursionError if it is nested too deeply.

    The parser in C is six times as fast, but crashes on deep nesting, explains errors less well, and takes tabs for
    spaces. Texts that may have any of these go to the other parser.
    """
    quick = getattr(yaml, "CSafeLoader", None)
    if quick is not None and "\t" not in text and sum(map(text.count, _OPENING)) <= _SMALL_FILE:
        try:
            tree = yaml.compose(text, Loader=quick)
        except yaml.YAMLError:
            tree = None
        if tree is not None and not _is_too_deep(tree):
            return tree
    return yaml.compose(text, Loader=yaml.SafeLoader)


def _is_too_deep(tree: yaml.Node) -> bool:
    """Whether nodes are nested so deeply that recursion might fail."""
    level, seen = [tree], set[int]()
    for _ in range(_DEEPEST):
        below: list[yaml.Node] = []
        for node in level:
            if isinstance(node, yaml.CollectionNode) and id(node) not in seen:
                seen.add(id(node))
                for part in node.value:
                    below.extend(part if isinstance(part, tuple) else (part,))
        level = below
    return bool(level)


def _header(text: str, file: RecipeFile) -> None:
    """Read the package of the file where Hydra reads it: in comments ``# @...`` above everything else."""
    for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
        if line and not re.match(r"#\s*@", line):
            return
        if match := re.match(r"#\s*@package\s+(\S+)", line):
            file.package = match.group(1)
            if file.package.removeprefix("_global_.").split(".")[0] == "hydra":
                file.report("a recipe cannot configure Hydra itself", number, actual=line)


def _package(text: str, file: RecipeFile) -> None:
    """Report a file that does not name its package in the first line, if its group needs that."""
    group = str(file.group[0]) if file.group else ""
    wanted = _PACKAGES.get(group, "").format(name=file.path.stem)
    if not wanted or file.problems or file.package.removeprefix("_global_.") in (wanted, "_global_"):
        return
    lines = enumerate(text.splitlines(), start=1)
    number, found = next(((number, line) for number, line in lines if "@package" in line), (1, ""))
    file.report(
        f"a file in `{group}/` must say in its first line where its keys go", number, actual=found.strip(),
        hint=f"write `# @package {wanted}` as the first line",
    )  # fmt: skip


def _syntax(error: yaml.YAMLError, file: RecipeFile) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = mark.line + 1 if mark else 1
    said = str(getattr(error, "problem", None) or error).partition("\n")[0]
    hints = {
        "'\\t'": ("a tab where YAML expects spaces", "indent with spaces"),
        "mapping values are not allowed": (
            "a colon where YAML does not expect one",
            "quote texts that contain a colon, and check the indentation",
        ),
        "could not find expected ':'": ("a key without a colon", "write `key: value`"),
        "expected <block end>": ("the indentation does not fit the lines above", "align keys of one mapping"),
        "but got '{'": ("`${...}` inside braces", "inside { } or [ ] put ${...} in quotes"),
        "but found '?'": ("`???` inside braces", 'inside { } or [ ] write "???" in quotes'),
        "expected ',' or": ("a bracket or brace is not closed", "close it, or quote texts that contain brackets"),
    }
    for sign, (message, hint) in hints.items():
        if sign in said:
            return Problem(message, where=file.location(line), actual=_line(mark), hint=hint)
    return Problem(
        "this is not YAML", where=file.location(line), actual=said, hint="look at this line and the one above"
    )


def _line(mark: Any) -> str:
    lines = mark.buffer.rstrip("\0").splitlines() if mark and mark.buffer else []
    return lines[mark.line].strip() if lines and mark.line < len(lines) else ""


def _walk(node: yaml.Node, key: KeyPath, file: RecipeFile, seen: set[int]) -> None:
    line = node.start_mark.line + 1
    if id(node) in seen:
        named = tuple(part for part in key if isinstance(part, str))
        line = file.marks[named].line if named in file.marks else line
        file.report("YAML aliases are not allowed", line, key, hint="refer to the other key with ${the.other.key}")
        return
    seen.add(id(node))
    if node.tag.startswith("!") or "python/" in node.tag:
        file.report("YAML tags are not allowed", line, key, actual=node.tag)
    if isinstance(node, yaml.ScalarNode):
        _whole_characters(node, key, file)
        _scalar(node, key, file)
    elif isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            file.marks[*key, index] = _mark(child, child)
            _walk(child, (*key, index), file, seen)
    elif isinstance(node, yaml.MappingNode):
        _mapping(node, key, file, seen)


def _whole_characters(node: yaml.ScalarNode, key: KeyPath, file: RecipeFile) -> None:
    """Report half a character (a lone surrogate, as in ``"\\ud800"``), which no file can hold."""
    if any("\ud800" <= character <= "\udfff" for character in node.value):
        shown = node.value.encode(errors="backslashreplace").decode()
        file.report("this text has half a character", node.start_mark.line + 1, key, actual=shown)


def _mapping(node: yaml.MappingNode, key: KeyPath, file: RecipeFile, seen: set[int]) -> None:
    lines: dict[str, int] = {}
    for name, value in node.value:
        line = name.start_mark.line + 1
        if not _check_name(name, key, file):
            continue
        path = (*key, name.value)
        if name.value in lines:
            file.report("this key occurs twice", line, path, actual=f"first in line {lines[name.value]}")
            continue
        lines[name.value] = line
        if path == ("defaults",):
            _defaults(value, file)
            continue
        file.marks[path] = _mark(name, value)
        _walk(value, path, file, seen)


def _check_name(name: yaml.Node, key: KeyPath, file: RecipeFile) -> bool:
    line, text = name.start_mark.line + 1, str(name.value)
    path = (*key, text)
    if isinstance(name, yaml.ScalarNode):
        _whole_characters(name, key, file)
    if not isinstance(name, yaml.ScalarNode) or text == "<<":
        file.report("a key must be a name", line, key, actual=describe_value(name))
    elif name.tag != _STR and not text.isdecimal():
        file.report(f"YAML does not read the key `{text}` as text", line, path, hint=f'write "{text}":')
    elif _DUNDER.match(text):
        file.report("a recipe cannot have this key: recipes are data, not code", line, path, actual=f"{text}:")
    elif path == ("hydra",):
        file.report("a recipe cannot configure Hydra itself", line, path, hint="remove the key")
    elif not text.isascii():
        hint = "the command line cannot name other keys; put the text into a value"
        file.report("keys are ASCII", line, path, actual=text, allowed="letters, digits, _ and -", hint=hint)
    elif not _KEY.match(text):
        file.report("this is not a valid key", line, path, actual=text, allowed="letters, digits, _ and -")
    else:
        return True
    return False


def _mark(place: yaml.Node, value: yaml.Node) -> KeyPosition:
    line = place.start_mark.line + 1
    if isinstance(value, yaml.ScalarNode):
        return KeyPosition(line, str(value.value), is_plain=not value.style)
    return KeyPosition(line, is_mapping=isinstance(value, yaml.MappingNode))


def _scalar(node: yaml.ScalarNode, key: KeyPath, file: RecipeFile) -> None:
    if node.tag.endswith((":int", ":float")) and len(node.value) > _LONGEST_NUMBER:
        hint = "quote it if it is a text"
        file.report("this number is too long", node.start_mark.line + 1, key, actual=node.value[:40], hint=hint)
    for match in _RESOLVER.finditer(str(node.value)):
        if match.group(1) != "oc.select":
            _refuse_resolver(match.group(1), node.start_mark.line + 1, key, file)


def _refuse_resolver(name: str, line: int, key: KeyPath, file: RecipeFile) -> None:
    file.report(
        "a recipe cannot call functions in ${...}", line, key, actual=f"${{{name}:...}}",
        allowed="${another.key}", hint="give such values on the command line",
    )  # fmt: skip


def _defaults(node: yaml.Node, file: RecipeFile) -> None:
    if not isinstance(node, yaml.SequenceNode):
        file.report("`defaults` is a list", node.start_mark.line + 1, ("defaults",), actual=describe_value(node))
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
            _check_choice(text, choice, file)


def _choice(item: yaml.Node, line: int) -> DefaultsChoice | None:
    if isinstance(item, yaml.ScalarNode):
        return DefaultsChoice(line, "", (str(item.value),))
    if not isinstance(item, yaml.MappingNode) or len(item.value) != 1:
        return None
    name, value = item.value[0]
    if isinstance(value, yaml.ScalarNode):
        names: Iterator[str] = iter(() if value.tag.endswith(":null") else (str(value.value),))
    elif isinstance(value, yaml.SequenceNode):
        names = (str(child.value) for child in value.value)
    else:
        return None
    return DefaultsChoice(line, str(name.value), tuple(names), excerpt_of(value, 2000))


def _check_choice(text: str, choice: DefaultsChoice, file: RecipeFile) -> None:
    """Report a choice that leads out of the root, into Hydra, or calls a function."""
    group, _, package = text.rpartition(" ")[2].partition("@")
    if ".." in text:
        file.report("`..` is not allowed in `defaults`", choice.line, ("defaults",), actual=text)
    elif "hydra" in (group.strip("/").split("/")[0], package.removeprefix("_global_.").split(".")[0]):
        file.report("a recipe cannot configure Hydra itself", choice.line, ("defaults",), actual=text)
    elif match := _RESOLVER.search(text):
        _refuse_resolver(match.group(1), choice.line, ("defaults",), file)
