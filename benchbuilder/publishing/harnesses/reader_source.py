"""Takes definitions out of this package's own modules, with all that they need, as one module that needs little."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

_PACKAGE = "benchbuilder"
_LIGHT = frozenset({"regex", *sys.stdlib_module_names})
"""The libraries that a copy may import."""


@dataclass(frozen=True)
class _Definition:
    """A statement of a module that defines names; of a class, `methods` are taken alone if there are any."""

    module: str
    node: ast.stmt
    methods: tuple[ast.stmt, ...] = ()

    def used_names(self) -> set[str]:
        """All names that it mentions."""
        parts = self.methods or (self.node,)
        return {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)}


@dataclass
class _Source:
    """A module that definitions are taken from."""

    name: str
    taken: dict[int, _Definition] = field(default_factory=dict[int, "_Definition"])

    @cached_property
    def text(self) -> str:
        spec = find_spec(self.name)
        assert spec is not None
        assert spec.origin is not None
        return Path(spec.origin).read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def definitions(self) -> Mapping[str, ast.stmt]:
        """The statements that define the names of the module."""
        found: dict[str, ast.stmt] = {}
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found[node.name] = node
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {
                    part.id: node for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)
                }
        return found

    @cached_property
    def imports(self) -> Mapping[str, tuple[str, str]]:
        """What the names that it imports are: a module, and a name in it (empty: the module itself)."""
        found: dict[str, tuple[str, str]] = {}
        for node in self.tree.body:
            if isinstance(node, ast.Import):
                found |= {alias.asname or alias.name: (alias.name, "") for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
        return found

    def segment(self, definition: _Definition) -> str:
        """The text of a definition, with its comments."""
        lines = self.text.splitlines()

        def text_of(node: ast.stmt) -> str:
            first = min([node.lineno, *(mark.lineno for mark in getattr(node, "decorator_list", []))])
            return "\n".join(lines[first - 1 : node.end_lineno])

        if not definition.methods:
            return text_of(definition.node)
        return "\n\n".join(text_of(method) for method in definition.methods)


class SourceBundle:
    """Collects definitions; `given` are names that the writer of the copy defines.

    `methods_only` are classes of which a copy has these methods alone; it defines the class itself as a subclass of
    ``GivenNAME``.
    """

    def __init__(self, given: Collection[str], methods_only: Mapping[str, Collection[str]]) -> None:
        self._given, self._methods_only = given, methods_only
        self._sources: dict[str, _Source] = {}
        self._order: list[str] = []
        self._libraries: set[tuple[str, str, str]] = set()

    def take(self, module: str, names: Iterable[str]) -> None:
        """Take the definitions of `names` in `module`, and of everything that they use.

        Raises:
            ValueError: One of them needs a library that a copy may not need.
        """
        source = self._sources.setdefault(module, _Source(module))
        for name in sorted(names):
            self._take_one(source, name)
        if module not in self._order:
            self._order.append(module)

    def _take_one(self, source: _Source, name: str) -> None:
        if name in self._given:
            return
        if name in source.imports:
            self._take_imported(name, *source.imports[name])
            return
        node = source.definitions.get(name)
        if node is None or node.lineno in source.taken:
            return
        wanted = self._methods_only.get(name, ())
        members = node.body if isinstance(node, ast.ClassDef) else []
        methods = tuple(part for part in members if isinstance(part, ast.FunctionDef) and part.name in wanted)
        definition = source.taken[node.lineno] = _Definition(source.name, node, methods)
        for used in sorted(definition.used_names()):
            self._take_one(source, used)

    def _take_imported(self, alias: str, module: str, name: str) -> None:
        if module == _PACKAGE or module.startswith(f"{_PACKAGE}."):
            self.take(_defining_module(module, name), [name])
        elif module.partition(".")[0] in _LIGHT:
            if module != "__future__":
                self._libraries.add((module, name, alias))
        else:
            raise ValueError(f"a copy of {name} would need {module}")

    def imports(self) -> str:
        """The import statements."""
        froms: defaultdict[str, set[str]] = defaultdict(set)
        for module, name, alias in self._libraries:
            if name:
                froms[module].add(name if name == alias else f"{name} as {alias}")
        plain = [f"import {module}" for module in sorted({module for module, name, _ in self._libraries if not name})]
        return "\n".join(
            [*plain, *(f"from {module} import {', '.join(sorted(froms[module]))}" for module in sorted(froms))]
        )

    def text(self) -> str:
        """All definitions; private names that several modules have get the name of the module behind them."""
        names = Counter(
            name for source in self._sources.values() for name, node in source.definitions.items()
            if node.lineno in source.taken
        )  # fmt: skip
        parts: list[str] = []
        for module in self._order:
            source = self._sources[module]
            own = {name for name, node in source.definitions.items() if node.lineno in source.taken}
            suffix = module.rpartition(".")[2]
            for line in sorted(source.taken):
                definition = source.taken[line]
                text = source.segment(definition)
                if definition.methods and isinstance(definition.node, ast.ClassDef):
                    text = f"class {definition.node.name}(Given{definition.node.name}):\n{text}"
                for name in own:
                    if names[name] > 1:
                        text = re.sub(rf"(?<![\w.]){name}(?!\w)", f"{name}_{suffix}", text)
                parts.append(text)
        return "\n\n\n".join(parts) + "\n"


def _defining_module(module: str, name: str) -> str:
    """The module behind the face of a room that offers `name`, or `module` itself."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    face = Path(spec.origin).with_suffix(".pyi")
    if not face.is_file():
        return module
    for node in ast.parse(face.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module and any(alias.asname == name for alias in node.names):
            return f"{module}.{node.module}"
    raise ValueError(f"{module} offers no {name}")
