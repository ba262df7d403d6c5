"""A tree of terms by their tree numbers: how far concepts are from each other, and which are nearest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

TreePath = tuple[str, ...]
"""The way from the root to a place, the category first: ``C01.252`` is ``("C", "C01", "C01.252")``."""


def tree_path(number: str) -> TreePath:
    """The way from the root down to `number`; the letters that it begins with are its category.

    >>> tree_path("C01.252"), tree_path("D")
    (('C', 'C01', 'C01.252'), ('D',))
    """
    letters = number[: next((at for at, mark in enumerate(number) if not mark.isalpha()), len(number))]
    parts = number.split(".")
    whole = tuple(".".join(parts[: depth + 1]) for depth in range(len(parts)))
    return whole if not letters or letters == whole[0] else (letters, *whole)


def steps_between(first: Iterable[str], second: Iterable[str]) -> int:
    """The shortest path between two concepts, over all pairs of their tree numbers; categories meet in one root.

    >>> steps_between(["C01.252"], ["C01.100"]), steps_between(["C01"], ["D02"]), steps_between(["C01"], ["C01.5"])
    (2, 4, 1)
    """
    others = [tree_path(number) for number in second]
    return min(_distance(path, far) for path in map(tree_path, first) for far in others)


def _distance(first: TreePath, second: TreePath) -> int:
    shared = 0
    for mine, theirs in zip(first, second, strict=False):
        if mine != theirs:
            break
        shared += 1
    return len(first) + len(second) - 2 * shared


@dataclass(slots=True)
class _TreePlace:
    parent: _TreePlace | None
    children: list[_TreePlace] = field(default_factory=list["_TreePlace"])
    concepts: list[int] = field(default_factory=list[int])


class TermTree:
    """Concepts, numbered from 0, at their places; places that no concept has are there too."""

    def __init__(self, numbers: Sequence[Sequence[str]]) -> None:
        self.numbers = numbers
        self._root = _TreePlace(None)
        self._places: dict[str, _TreePlace] = {}
        self._places_of_concept: list[list[_TreePlace]] = []
        for concept, places in enumerate(numbers):
            found = [self._place(tree_path(number)) for number in dict.fromkeys(places)]
            for place in found:
                place.concepts.append(concept)
            self._places_of_concept.append(found)

    def _place(self, path: TreePath) -> _TreePlace:
        place = self._root
        for name in path:
            child = self._places.get(name)
            if child is None:
                child = self._places[name] = _TreePlace(place)
                place.children.append(child)
            place = child
        return place

    def rings(self, concept: int) -> Iterator[tuple[int, list[int]]]:
        """Other concepts by their distance from `concept`, the nearest first: each once, numbers in order.

        The search goes out from all its places at once, so the first ring that a concept stands in is the shortest
        path to any of its places; whoever stops early pays for the rings that were looked at alone.
        """
        edge: list[_TreePlace] = self._places_of_concept[concept]
        seen, met, steps = {id(place) for place in edge}, {concept}, 0
        while edge:
            ring: set[int] = {other for place in edge for other in place.concepts} - met
            if ring:
                met |= ring
                yield steps, sorted(ring)
            edge, steps = _adjacent_places(edge, seen), steps + 1

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


def _adjacent_places(edge: Sequence[_TreePlace], visited: set[int]) -> list[_TreePlace]:
    """The places next to those of `edge` that were not seen yet; they are now."""
    found: list[_TreePlace] = []
    for place in edge:
        for near in (*place.children, *((place.parent,) if place.parent is not None else ())):
            if id(near) not in visited:
                visited.add(id(near))
                found.append(near)
    return found


def is_within(number: str, root: str) -> bool:
    """Whether `number` stands at `root` or below it.

    >>> is_within("E01.370", "E01"), is_within("E010", "E01"), is_within("C04", "C")
    (True, False, True)
    """
    return root in tree_path(number)


def categories(numbers: Iterable[str], level: int) -> frozenset[str]:
    """Where the tree numbers stand at `level` below the root: 1 the category (``C``), 2 the branch (``C01``).

    >>> sorted(categories(["C01.252", "D12"], 1)), sorted(categories(["C01.252", "D"], 2))
    (['C', 'D'], ['C01', 'D'])
    """
    return frozenset(path[min(level, len(path)) - 1] for path in map(tree_path, numbers))


def classes_of(numbers: Iterable[str], roots: Mapping[str, Sequence[str]]) -> list[str]:
    """The classes of `roots` (names to tree numbers) that any of `numbers` stands in, in their order."""
    paths = [set(tree_path(number)) for number in numbers]
    return [sort for sort, tops in roots.items() if any(not path.isdisjoint(tops) for path in paths)]
