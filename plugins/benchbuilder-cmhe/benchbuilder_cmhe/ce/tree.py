"""A tree of terms by their tree numbers: how far concepts are from each other, and which are nearest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Path = tuple[str, ...]
"""The way from the root to a place, the category first: ``C01.252`` is ``("C", "C01", "C01.252")``."""


def path_of(number: str) -> Path:
    """The way from the root down to `number`; the letters that it begins with are its category.

    >>> path_of("C01.252"), path_of("D")
    (('C', 'C01', 'C01.252'), ('D',))
    """
    letters = number[: next((at for at, mark in enumerate(number) if not mark.isalpha()), len(number))]
    parts = number.split(".")
    whole = tuple(".".join(parts[: depth + 1]) for depth in range(len(parts)))
    return whole if not letters or letters == whole[0] else (letters, *whole)


def steps_between(one: Iterable[str], other: Iterable[str]) -> int:
    """The shortest path between two concepts, over all pairs of their tree numbers; categories meet in one root.

    >>> steps_between(["C01.252"], ["C01.100"]), steps_between(["C01"], ["D02"]), steps_between(["C01"], ["C01.5"])
    (2, 4, 1)
    """
    others = [path_of(number) for number in other]
    return min(_apart(path, far) for path in map(path_of, one) for far in others)


def _apart(one: Path, other: Path) -> int:
    shared = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        shared += 1
    return len(one) + len(other) - 2 * shared


@dataclass(slots=True)
class _Place:
    parent: _Place | None
    children: list[_Place] = field(default_factory=list["_Place"])
    concepts: list[int] = field(default_factory=list[int])


class Tree:
    """Concepts, numbered from 0, at their places; places that no concept has are there too."""

    def __init__(self, numbers: Sequence[Sequence[str]]) -> None:
        self.numbers = numbers
        self._root = _Place(None)
        self._places: dict[str, _Place] = {}
        self._at: list[list[_Place]] = []
        for concept, places in enumerate(numbers):
            found = [self._place(path_of(number)) for number in dict.fromkeys(places)]
            for place in found:
                place.concepts.append(concept)
            self._at.append(found)

    def _place(self, path: Path) -> _Place:
        place = self._root
        for name in path:
            child = self._places.get(name)
            if child is None:
                child = self._places[name] = _Place(place)
                place.children.append(child)
            place = child
        return place

    def rings(self, concept: int) -> Iterator[tuple[int, list[int]]]:
        """Other concepts by their distance from `concept`, the nearest first: each once, numbers in order.

        The search goes out from all its places at once, so the first ring that a concept stands in is the shortest
        path to any of its places; whoever stops early pays for the rings that were looked at alone.
        """
        edge: list[_Place] = self._at[concept]
        seen, met, steps = {id(place) for place in edge}, {concept}, 0
        while edge:
            ring: set[int] = {other for place in edge for other in place.concepts} - met
            if ring:
                met |= ring
                yield steps, sorted(ring)
            edge, steps = _beyond(edge, seen), steps + 1

    def nearest(
        self, concept: int, count: int, fits: Callable[[int], bool], order: Callable[[list[int]], Sequence[int]]
    ) -> list[tuple[int, int]]:
        """Up to `count` pairs (concept, distance), the nearest that `fits`; it is asked once a concept, in turn.

        Where several are equally near, `order` says which come first.
        """
        chosen: list[tuple[int, int]] = []
        for steps, ring in self.rings(concept):
            for other in order(ring) if len(ring) > 1 else ring:
                if fits(other):
                    chosen.append((other, steps))
                    if len(chosen) == count:
                        return chosen
        return chosen


def _beyond(edge: Sequence[_Place], seen: set[int]) -> list[_Place]:
    """The places next to those of `edge` that were not seen yet; they are now."""
    found: list[_Place] = []
    for place in edge:
        for near in (*place.children, *((place.parent,) if place.parent is not None else ())):
            if id(near) not in seen:
                seen.add(id(near))
                found.append(near)
    return found


def within(number: str, root: str) -> bool:
    """Whether `number` stands at `root` or below it.

    >>> within("E01.370", "E01"), within("E010", "E01"), within("C04", "C")
    (True, False, True)
    """
    return root in path_of(number)


def categories(numbers: Iterable[str], level: int) -> frozenset[str]:
    """Where the tree numbers stand at `level` below the root: 1 the category (``C``), 2 the branch (``C01``).

    >>> sorted(categories(["C01.252", "D12"], 1)), sorted(categories(["C01.252", "D"], 2))
    (['C', 'D'], ['C01', 'D'])
    """
    return frozenset(path[min(level, len(path)) - 1] for path in map(path_of, numbers))


def sorts_of(numbers: Iterable[str], roots: Mapping[str, Sequence[str]]) -> list[str]:
    """The classes of `roots` (names to tree numbers) that any of `numbers` stands in, in their order."""
    paths = [set(path_of(number)) for number in numbers]
    return [sort for sort, tops in roots.items() if any(not path.isdisjoint(tops) for path in paths)]
