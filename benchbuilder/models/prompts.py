"""Finds, checks and renders prompts: Jinja files that are not trusted, and neither are the values they show."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import (
    StrictUndefined,
    Template,
    TemplateError,
    TemplateRuntimeError,
    TemplateSyntaxError,
    meta,
    nodes,
    pass_context,
)
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from benchbuilder.core import Problem, RecipeError, parse_plain_yaml, read_given_text

MAX_SOURCE = 100_000
"""Most characters of a prompt file."""
MAX_OUTPUT = 200_000
"""Most characters of a rendered prompt."""
MAX_LOOPS = 2
"""Deepest nesting of loops."""
MAX_PARTS = 5_000
"""Most parts of a prompt: texts, names, operators, constants."""
MAX_DEPTH = 100
"""Deepest nesting of the parts of a prompt."""
MAX_STEPS = 100_000
"""Most passes through the loops of one prompt."""
MAX_RENDER_S = 5.0
"""Most seconds of the loops of one prompt."""

FILTERS = ("first", "join", "last", "length", "lower", "trim", "upper")
LOOP_ATTRIBUTES = ("first", "index", "index0", "last", "length")
TESTS = ("defined", "eq", "equalto", "false", "ne", "none", "string", "true")

_ALLOWED: tuple[type[nodes.Node], ...] = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.For, nodes.If, nodes.Name, nodes.Getattr, nodes.Getitem,
    nodes.Const, nodes.List, nodes.Tuple, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not,
    nodes.CondExpr, nodes.Filter, nodes.Test,
)  # fmt: skip


@dataclass(frozen=True)
class Prompt:
    """A prompt file: its `name` as the recipe writes it, its path and its text."""

    name: str
    file: Path
    source: str


def find_prompt(name: str, roots: Sequence[Path]) -> Prompt:
    """Read the prompt `name` from the first of `roots` that has it.

    Raises:
        RecipeError: No root has it, or the name leads out of the root (``..``, an absolute path, a link).
    """
    for root in roots:
        file = (root / name).resolve()
        if Path(name).is_absolute() or not file.is_relative_to(root.resolve()):
            raise _wrong("the prompt lies outside its folder", name, found=name, allowed=f"a file under {root}")
        if file.is_file():
            return read_prompt(name, file)
    raise _wrong("there is no such prompt", name, allowed=", ".join(str(root) for root in roots))


def read_prompt(name: str, file: Path) -> Prompt:
    """Read the prompt in `file`, which the recipe calls `name`; RecipeError if it cannot be read."""
    try:
        return Prompt(name=name, file=file, source=read_given_text(file))
    except (OSError, UnicodeDecodeError) as error:
        raise _wrong("the prompt cannot be read", str(file), found=str(error)) from error


def read_few_shot_pairs(file: Path) -> list[dict[str, str]]:
    """Read few-shot pairs from a YAML file: a list of mappings of strings, all with the same keys.

    Raises:
        RecipeError: The file holds anything else, or cannot be read.
    """
    try:
        pairs: Any = parse_plain_yaml(read_given_text(file))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _wrong("the few-shot pairs cannot be read", str(file), found=" ".join(str(error).split())) from error
    if not isinstance(pairs, list) or not pairs:
        raise _wrong("few-shot pairs are a list", str(file), allowed="one mapping a pair")
    found: list[dict[str, str]] = []
    for number, pair in enumerate(pairs, 1):
        if not isinstance(pair, dict) or not all(type(part) is str for item in pair.items() for part in item):
            raise _wrong(f"pair {number} is no mapping of strings", str(file), found=str(pair), allowed="quote numbers")
        if found and set(pair) != set(found[0]):
            wanted = ", ".join(sorted(found[0]))
            raise _wrong(f"pair {number} has other keys", str(file), found=", ".join(sorted(pair)), allowed=wanted)
        found.append(dict(pair))
    return found


def used_variables(prompt: Prompt) -> frozenset[str]:
    """The variables of a prompt; RecipeError if it does not parse or uses a forbidden construct."""
    tree = _parsed(prompt)
    if problems := [_problem(prompt, *refused) for refused in _forbidden_nodes(tree)]:
        raise RecipeError(problems)
    return frozenset(_variables(tree, prompt))


def _variables(tree: nodes.Template, prompt: Prompt) -> set[str]:
    try:
        return meta.find_undeclared_variables(tree)
    except RecursionError as error:
        raise _wrong("the prompt is nested too deeply", str(prompt.file)) from error


def check_prompt(prompt: Prompt, allowed: Collection[str]) -> list[Problem]:
    """Find all problems of a prompt, each with its line, without rendering it.

    A prompt may use the names in `allowed`, ``{{ a.b }}``, ``for``, ``if``, comparisons and a few filters. Calls,
    assignments, arithmetic, includes and macros are refused. They would let a shared prompt read other files, grow
    without bound, or depend on text outside the hash of its file.
    """
    try:
        tree = _parsed(prompt)
        problems = [_problem(prompt, *refused) for refused in _forbidden_nodes(tree)]
        # looking for variables evaluates constants, which is safe only where nothing was refused
        unknown = set[str]() if problems else _variables(tree, prompt) - set(allowed)
        if not problems:
            _template(prompt)
    except RecipeError as error:
        return list(error.problems)
    for node in tree.find_all(nodes.Name) if unknown else ():
        if node.name in unknown and node.ctx == "load":
            unknown.remove(node.name)
            known = ", ".join(sorted(allowed)) or "none"
            message = "the prompt uses a variable that its step does not give"
            problems.append(_problem(prompt, node.lineno, message, node.name, known))
    return sorted(problems, key=lambda problem: int(problem.where.rpartition(":")[2]))


def render_prompt(prompt: Prompt, values: Mapping[str, Any]) -> str:
    """Fill a prompt with values.

    Args:
        prompt: The prompt.
        values: Plain dicts, lists, strings, numbers and booleans by name. An object would be a way out of the sandbox.

    Raises:
        TypeError: A value is of another type.
        RecipeError: The prompt has a problem, a value is missing, or the result exceeds ``MAX_OUTPUT`` characters.
    """
    for name, value in values.items():
        _require_plain(value, name)
    parts: list[str] = []
    size = 0
    template = _compiled(prompt, frozenset(values))
    try:
        for part in template.generate({**values, _STEPS: _Steps()}):
            size += len(part)
            if size > MAX_OUTPUT:
                raise _wrong("the rendered prompt is too long", str(prompt.file), allowed=f"{MAX_OUTPUT} characters")
            parts.append(part)
    except (TemplateError, RecursionError) as error:
        raise _wrong("the prompt cannot be filled", str(prompt.file), found=str(error)) from error
    return "".join(parts).strip("\n")


@lru_cache(maxsize=64)
def _compiled(prompt: Prompt, allowed: frozenset[str]) -> Template:
    """The checked prompt as a template; cached, as one prompt is rendered for many rows."""
    if problems := check_prompt(prompt, allowed):
        raise RecipeError(problems, next="correct the prompt and run again")
    return _template(prompt)


def _template(prompt: Prompt) -> Template:
    """The prompt, translated with its loops counted; RecipeError if Python cannot take what it becomes."""
    tree = _parsed(prompt)
    for loop in list(tree.find_all(nodes.For)):
        loop.iter = nodes.Filter(loop.iter, _STEPS, [], [], None, None, lineno=loop.lineno)
    environment = _environment()
    filters: dict[str, Any] = environment.filters
    filters[_STEPS] = _counted
    try:
        return environment.from_string(tree)
    except (RecursionError, MemoryError, SyntaxError) as error:
        raise _wrong("the prompt is nested too deeply", str(prompt.file)) from error


_STEPS = "_steps"
"""The name under which a prompt counts its loops; no prompt can read it."""


class _Steps:
    """The passes through loops that are left to one rendering."""

    def __init__(self) -> None:
        self.left, self.until = MAX_STEPS, time.monotonic() + MAX_RENDER_S

    def each(self, items: Sequence[Any]) -> Iterator[Any]:
        for item in items:
            self.left -= 1
            if self.left < 0:
                raise TemplateRuntimeError(f"its loops take more than {MAX_STEPS} passes")
            if time.monotonic() > self.until:
                raise TemplateRuntimeError(f"its loops take more than {MAX_RENDER_S:g} s")
            yield item


class _CountedItems:
    """The items of one loop, with the length that `loop.length` needs."""

    def __init__(self, items: Sequence[Any], steps: _Steps) -> None:
        self._items, self._steps = items, steps

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return self._steps.each(self._items)


@pass_context
def _counted(context: Context, items: Any) -> Any:
    """What a loop goes through, counted; only lists, texts and mappings."""
    if isinstance(items, dict):
        items = list(items)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if not isinstance(items, list | tuple | str):
        raise TemplateRuntimeError("a loop goes through a list, a text or the names of a mapping")
    steps: Any = context.resolve(_STEPS)
    return _CountedItems(items, steps)  # pyright: ignore[reportUnknownArgumentType]


class _Sandbox(ImmutableSandboxedEnvironment):
    """Refuses all calls; ``a.b`` and ``a[b]`` read dicts, lists and the counters of a loop only."""

    def is_safe_callable(self, obj: Any) -> bool:  # noqa: ARG002
        return False

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self._look(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        return self._look(obj, argument)

    def _look(self, obj: Any, name: Any) -> Any:
        if type(obj) is dict and name in obj:
            return obj[name]
        if type(obj) is list and type(name) is int and -len(obj) <= name < len(obj):
            return obj[name]
        if isinstance(obj, LoopContext) and name in LOOP_ATTRIBUTES:
            return getattr(obj, name)
        return self.undefined(f"{name!r} is not there", name=str(name), exc=SecurityError)


def _environment() -> _Sandbox:
    environment = _Sandbox(
        undefined=StrictUndefined, autoescape=False, optimized=False, trim_blocks=True, lstrip_blocks=True, loader=None
    )
    environment.globals.clear()
    for mapping, wanted in ((environment.filters, FILTERS), (environment.tests, TESTS)):
        for name in [name for name in mapping if name not in wanted]:
            del mapping[name]
    environment.filters["join"] = _join
    return environment


def _join(items: Any, separator: str = "") -> str:
    """The filter `join`, for lists only and with a bounded result: nested joins would grow without limit."""
    if not isinstance(items, list) or type(separator) is not str:
        raise TemplateRuntimeError("join works on lists, with a string between")
    parts = [str(item) for item in items]
    if sum(map(len, parts)) + len(separator) * len(parts) > MAX_OUTPUT:
        raise TemplateRuntimeError(f"join makes more than {MAX_OUTPUT} characters")
    return separator.join(parts)


def _parsed(prompt: Prompt) -> nodes.Template:
    if len(prompt.source) > MAX_SOURCE:
        raise _wrong("the prompt file is too long", str(prompt.file), allowed=f"{MAX_SOURCE} characters")
    try:
        return _environment().parse(prompt.source)
    except TemplateSyntaxError as error:
        raise RecipeError([_problem(prompt, error.lineno, "the prompt does not parse", error.message or "")]) from error
    except (RecursionError, MemoryError) as error:
        raise _wrong("the prompt is nested too deeply", str(prompt.file)) from error


def _forbidden_nodes(tree: nodes.Template) -> Iterable[tuple[int, str, str]]:
    """Line, problem and name of each forbidden construct in `tree`."""
    open_nodes: list[tuple[nodes.Node, int, int]] = [(tree, 0, 0)]
    parts = 0
    while open_nodes:
        node, depth, level = open_nodes.pop()
        parts += 1
        if parts > MAX_PARTS or level > MAX_DEPTH:
            yield node.lineno, f"a prompt may have {MAX_PARTS} parts, nested {MAX_DEPTH} deep", "more"
            return
        kind = type(node).__name__
        if not isinstance(node, _ALLOWED):
            yield node.lineno, "a prompt may not use this", kind.lower()
            continue
        if isinstance(node, nodes.For):
            depth += 1
            if depth > MAX_LOOPS or node.recursive:
                yield node.lineno, f"loops may be nested {MAX_LOOPS} deep", "for"
        if isinstance(node, nodes.Getattr) and node.attr.startswith("_"):
            yield node.lineno, "a prompt may not read names that begin with an underscore", node.attr
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            yield node.lineno, f"a prompt may use the filters {', '.join(FILTERS)} only", node.name
        if isinstance(node, nodes.Test) and node.name not in TESTS:
            yield node.lineno, f"a prompt may use the tests {', '.join(TESTS)} only", node.name
        open_nodes.extend((child, depth, level + 1) for child in node.iter_child_nodes())


def _require_plain(value: Any, location: str) -> None:
    if isinstance(value, Mapping) and type(value) is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise TypeError(f"{location}: a prompt sees dicts with string keys only, not {type(key).__name__}")
            _require_plain(item, f"{location}.{key}")
    elif type(value) is list:
        for number, item in enumerate(value):
            _require_plain(item, f"{location}[{number}]")
    elif type(value) not in (str, int, float, bool):
        raise TypeError(f"{location}: a prompt sees plain dict, list, str, int, float and bool only, not {type(value)}")


def _problem(prompt: Prompt, line: int, message: str, found: str = "", allowed: str = "") -> Problem:
    return Problem(message, key=prompt.name, where=f"{prompt.file}:{line}", actual=found, allowed=allowed)


def _wrong(message: str, location: str, found: str = "", allowed: str = "") -> RecipeError:
    return RecipeError([Problem(message, where=location, actual=found, allowed=allowed)])
