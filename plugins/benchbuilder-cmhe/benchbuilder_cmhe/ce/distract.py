"""Finds the concepts that a concept may be mistaken for: some that are near in the tree, some that are far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Annotated, Any, ClassVar, Literal

from benchbuilder.config import StepSpec
from benchbuilder.core import Dropped, Fact, Kept, Outcome, Problem, RecipeError, Row, Table
from benchbuilder.steps import Map, Port
from pydantic import Field

from benchbuilder_cmhe.ce.concept import Concept, NearbyConcept
from benchbuilder_cmhe.ce.tree import TermTree, categories, steps_between, tree_path


class DistractSpec(StepSpec):
    """How many concepts stand beside each, and which may."""

    similar: Annotated[int, Field(ge=0)]
    """So many of the shortest path in the tree; of equally near ones, which is drawn by seed."""
    distant: Annotated[int, Field(ge=0)]
    """So many that share no category with the concept, drawn by seed."""
    category: Annotated[int, Field(ge=1)] | dict[str, Annotated[int, Field(ge=1)]]
    """What a category is: the level below the root, 1 for ``C``, 2 for ``C01``; one for all classes, or each class."""
    same_class: Literal["none", "similar", "all"]
    """Which options are of the concept's own class alone: the mask names it, so one of another class is no choice."""
    kin: Literal["keep", "drop"]
    """Whether options may stand above or below the concept or each other: what is said of one can be true of both."""


class Distract(Map):
    """Gives each concept its wrong options, out of the port `pool`.

    The similarity of two concepts is 1 / the shortest path between any of their tree numbers, where categories meet in
    one root. A concept that shares a name with another, in any case of letters, is never an option beside it.
    """

    kind: ClassVar[str] = "distract"
    version = 2
    spec_class: ClassVar[type[StepSpec]] = DistractSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Fact[Concept]),
        "pool": Port(Fact[Concept], mode="lookup"),
    }
    output: ClassVar[type[Row] | None] = Fact[Concept]
    reasons: ClassVar[Mapping[str, str]] = {
        "too_few_similar": "The pool has too few concepts that may stand beside this one as similar.",
        "too_few_distant": "The pool has too few concepts of another category.",
        "not_in_pool": "The concept itself is not in the pool.",
    }

    spec: DistractSpec

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Build the tree of the pool."""
        pool = lookups["pool"]
        codes, names, self._classes = (pool.column(f"payload.{name}") for name in ("code", "name", "concept_class"))
        self._pool: list[tuple[str, str]] = list(zip(codes, names, strict=True))
        self._number = {code: number for number, code in enumerate(codes)}
        self._names = [frozenset(map(str.casefold, every)) for every in pool.column("payload.names")]
        places: list[list[str]] = pool.column("payload.tree_numbers")
        self._tree = TermTree(places)
        levels = self.spec.category
        if isinstance(levels, int):
            levels = dict.fromkeys(self._classes, levels)
        elif unnamed := sorted(set(self._classes) - set(levels)):
            found = f"concepts of {', '.join(unnamed)}, while it names {', '.join(sorted(levels))}"
            message, hint = "a class of the pool has no level", "name each class, or give one level for all"
            raise RecipeError([Problem(message, key=f"steps.{self.context.step}.category", actual=found, hint=hint)])
        self._categories = [
            categories(numbers, levels[concept_class])
            for numbers, concept_class in zip(places, self._classes, strict=True)
        ]

    def map(self, row: Fact[Concept], parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The concept with its wrong options, the similar ones first."""
        number = self._number.get(row.payload.code)
        if number is None:
            return [Dropped("not_in_pool", row.payload.code)]
        chance = Random(f"{self.context.seed}:{row.id}")
        taken = set(self._names[number])
        similar = self._similar(number, taken, chance)
        if len(similar) < self.spec.similar:
            return [Dropped("too_few_similar", f"{len(similar)} of {self.spec.similar}")]
        distant = self._distant(number, taken, chance)
        if len(distant) < self.spec.distant:
            return [Dropped("too_few_distant", f"{len(distant)} of {self.spec.distant}")]
        payload = row.payload.model_copy(
            update={"options": tuple(self._nearby_concept(*pair) for pair in (*similar, *distant))}
        )
        return [Kept(Fact[Concept].child(row, produced_by=self.produced_by(), payload=payload))]

    def _nearby_concept(self, number: int, steps: int) -> NearbyConcept:
        code, name = self._pool[number]
        return NearbyConcept(code=code, name=name, steps=steps)

    def _similar(self, number: int, used_names: set[str], chance: Random) -> list[tuple[int, int]]:
        if not self.spec.similar:
            return []
        chosen = [tree_path(place) for place in self._tree.numbers[number]]

        def fits(other: int) -> bool:
            if self.spec.same_class != "none" and self._classes[other] != self._classes[number]:
                return False
            places = [tree_path(place) for place in self._tree.numbers[other]]
            if self.spec.kin == "drop" and any(_are_in_line(place, one) for place in places for one in chosen):
                return False
            if not self._claim_names(other, used_names):
                return False
            chosen.extend(places)
            return True

        return self._tree.nearest(number, self.spec.similar, fits, lambda ring: chance.sample(ring, len(ring)))

    def _distant(self, number: int, used_names: set[str], chance: Random) -> list[tuple[int, int]]:
        """Drawn until enough fit; then, where hardly any does, among all that do."""
        size, own, found = len(self._pool), self._categories[number], list[int]()

        def fits(other: int) -> bool:
            if self.spec.same_class == "all" and self._classes[other] != self._classes[number]:
                return False
            return self._categories[other].isdisjoint(own) and self._claim_names(other, used_names)

        for other in _draw_numbers(size, 50 * self.spec.distant, chance):
            if len(found) == self.spec.distant:
                break
            if fits(other):
                found.append(other)
        numbers = self._tree.numbers
        return [(other, steps_between(numbers[number], numbers[other])) for other in found]

    def _claim_names(self, candidate: int, used_names: set[str]) -> bool:
        """Whether it shares no name with what stands there already; its names are taken from now on."""
        if not used_names.isdisjoint(self._names[candidate]):
            return False
        used_names |= self._names[candidate]
        return True


def _draw_numbers(size: int, quick: int, chance: Random) -> Iterator[int]:
    """Numbers below `size` by chance, `quick` of them with repetitions, and then each once."""
    for _ in range(quick):
        yield chance.randrange(size)
    yield from chance.sample(range(size), size)


def _are_in_line(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Whether one of two places stands above the other."""
    return first[: len(second)] == second or second[: len(first)] == first
