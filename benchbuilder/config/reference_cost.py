"""Bounds what the references of a recipe can do: texts that refer to texts can double at every key."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from omegaconf import Container, Node, OmegaConf
from omegaconf.basecontainer import BaseContainer
from omegaconf.errors import InterpolationResolutionError

_DEEPEST = 50
"""Most references that lead to one another."""
_TEXT = 1_000
"""Characters of a found value that count as one lookup more."""
_SELECT = "oc.select"


class EndlessReferencesError(InterpolationResolutionError):
    """The references of a recipe take too many lookups, or too long a chain of them."""


class ReferenceMeter:
    """Counts lookups: `left` are those that a recipe may still make, negative after too many.

    `key` is the key that the last reference of a tree named, without those that it led to.
    """

    def __init__(self, most: int) -> None:
        self.left, self.key, self._depth = most, "", 0

    def counted(self, look_up: Callable[..., Any], key_of: Callable[..., str]) -> Callable[..., Any]:
        """`look_up`, which fails once the references took too many lookups."""

        def count(*args: Any, **more: Any) -> Any:
            if not self._depth and self.left >= 0:
                self.key = key_of(*args, **more)
            self._spend(1)
            self._depth += 1
            try:
                found = look_up(*args, **more)
            finally:
                self._depth -= 1
            leaf = isinstance(found, Node) and not isinstance(found, Container)
            value: Any = found._value() if leaf else found  # pyright: ignore[reportPrivateUsage]
            if isinstance(value, str | Container):
                self._spend(len(str(value)) // _TEXT)
            return found

        return count

    def _spend(self, lookups: int) -> None:
        self.left -= lookups
        if self.left < 0 or self._depth >= _DEEPEST:
            self.left = -1
            raise EndlessReferencesError("references without an end")


def _named_key(_: Any, inter_key: str, memo: Any) -> str:  # noqa: ARG001
    return inter_key


def _selected_key(*arguments: Any) -> str:
    """The first argument of ``oc.select``, which OmegaConf passes after the root, the parent and the node."""
    return "".join(map(str, arguments[3][:1]))


@contextmanager
def bounded_references(most: int) -> Generator[ReferenceMeter]:
    """Let OmegaConf follow at most `most` references meanwhile, in whatever form they are written.

    All references count together, also those that OmegaConf follows while it merges files. Every resolver but
    ``oc.select`` is removed meanwhile, so that a recipe cannot read the environment.
    """
    meter, container, resolvers = ReferenceMeter(most), Container, BaseContainer._resolvers  # pyright: ignore[reportPrivateUsage]
    saved, look_up = dict(resolvers), container._resolve_node_interpolation  # pyright: ignore[reportPrivateUsage]
    for name in saved:
        if name != _SELECT:
            OmegaConf.clear_resolver(name)
    resolvers[_SELECT] = meter.counted(saved[_SELECT], _selected_key)
    container._resolve_node_interpolation = meter.counted(look_up, _named_key)  # pyright: ignore[reportPrivateUsage]
    try:
        yield meter
    finally:
        container._resolve_node_interpolation = look_up  # pyright: ignore[reportPrivateUsage]
        resolvers.clear()
        resolvers.update(saved)
