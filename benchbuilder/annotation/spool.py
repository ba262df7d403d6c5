"""Sequences whose items are in a temporary file, so that a million of them need little memory."""

from __future__ import annotations

import pickle
import tempfile
import weakref
from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, overload

from benchbuilder.core import name_file_in_errors

T = TypeVar("T")
S = TypeVar("S")

_HELD_BYTES = 2**20
"""A sequence of fewer bytes needs no file."""
_HELD_ITEMS = 1024
"""Items that are held of those that were read out of order."""


class _ReadSequence(Sequence[T]):
    """A sequence that makes an item when somebody asks for it."""

    @abstractmethod
    def _read(self, place: int) -> T: ...

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        places = range(len(self))
        return [self._read(place) for place in places[index]] if isinstance(index, slice) else self._read(places[index])


class Spool(_ReadSequence[T]):
    """A sequence that grows at its end; blocks of its items are pickled in a file that nobody else sees.

    `block` items are read at once: few if they are large and read out of order, many if they are small.
    """

    def __init__(self, items: Iterable[T] = (), block: int = 32) -> None:
        self._block = block
        self._file: Any = tempfile.SpooledTemporaryFile(max_size=_HELD_BYTES)  # noqa: SIM115 - it lives as long as this
        weakref.finalize(self, self._file.close)
        self._ends = array("q", [0])
        self._tail: list[T] = []
        self._held: dict[int, list[T]] = {}
        for item in items:
            self.append(item)

    def append(self, item: T) -> None:
        """Add an item."""
        self._tail.append(item)
        if len(self._tail) == self._block:
            data = pickle.dumps(self._tail, pickle.HIGHEST_PROTOCOL)
            with name_file_in_errors(Path(tempfile.gettempdir())):
                self._file.seek(self._ends[-1])
                self._ends.append(self._ends[-1] + self._file.write(data))
            self._tail = []

    def __len__(self) -> int:
        return self._blocks * self._block + len(self._tail)

    def __iter__(self) -> Iterator[T]:
        blocks, tail = self._blocks, list(self._tail)
        for number in range(blocks):
            yield from self._load(number)
        yield from tail

    @property
    def _blocks(self) -> int:
        return len(self._ends) - 1

    def _read(self, place: int) -> T:
        number, at = divmod(place, self._block)
        if number == self._blocks:
            return self._tail[at]
        if number not in self._held:
            if len(self._held) == _HELD_ITEMS // self._block:
                del self._held[next(iter(self._held))]
            self._held[number] = self._load(number)
        return self._held[number][at]

    def _load(self, number: int) -> list[T]:
        start, end = self._ends[number : number + 2]
        with name_file_in_errors(Path(tempfile.gettempdir())):  # what was appended may only be written now
            self._file.seek(start)
            return pickle.loads(self._file.read(end - start))


class MappedSequence(_ReadSequence[T]):
    """What `make` makes of each of `items`, when somebody asks for it."""

    def __init__(self, items: Sequence[S], make: Callable[[S], T]) -> None:
        self._items: Sequence[Any] = items
        self._make = make

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return map(self._make, self._items)

    def _read(self, place: int) -> T:
        return self._make(self._items[place])
