"""The step `one_of_family`: an evaluation asks one question of each item family."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from benchbuilder.config import StepSpec
from benchbuilder.core import FilterResult, Item, Table, cells_of
from benchbuilder.steps import Gather, Port

_Stratum = tuple[str, str, str]
"""The source, the type and the expected verdict of an item."""


class OneOfFamilySpec(StepSpec):
    """It has no settings: the recipe's seed draws the items."""


class OneOfFamily(Gather):
    """Keeps one item of each family, drawn by the recipe's seed.

    The draw is flat: types, and the verdicts of each type, become as equal in every source as the families allow. The
    order of the items does not matter.
    """

    kind: ClassVar[str] = "one_of_family"
    spec_class: ClassVar[type[StepSpec]] = OneOfFamilySpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Item)}
    reasons: ClassVar[Mapping[str, str]] = {"family_is_asked": "Another question of its family is asked."}

    def gather(self, tables: Mapping[str, Table[Any]]) -> FilterResult:
        """Every item, kept or dropped, in the order of the input; a dropped one names the item that is asked."""
        names: list[str] = []
        families: list[str] = []

        def read() -> Iterator[Item[Any]]:
            for item in tables["each"]:
                names.append(item.id)
                families.append(item.family_name)
                yield item

        drawn = draw_one_of_family(read(), self.context.seed)
        asked = [drawn[family] for family in families]
        return FilterResult(
            [None if one == name else "family_is_asked" for name, one in zip(names, asked, strict=True)],
            ["" if one == name else one for name, one in zip(names, asked, strict=True)],
        )


def draw_one_of_family(items: Iterable[Item[Any]], seed: int) -> dict[str, str]:
    """The id of the drawn item, by the name of the family.

    Families are taken in random order, those with the fewest sorts of items first. Each gives an item of the type, and
    then of the verdict, that its source has fewest of so far.
    """
    families: defaultdict[str, dict[str, _Stratum]] = defaultdict(dict)
    for item in items:
        families[item.family_name][item.id] = _stratum(item)
    freedom = {family: len(set(strata.values())) for family, strata in families.items()}
    counts: Counter[tuple[str, ...]] = Counter()
    drawn: dict[str, str] = {}
    for family in sorted(families, key=lambda family: (freedom[family], _random_key(seed, family))):
        strata = families[family]

        def rank(name: str, strata: Mapping[str, _Stratum] = strata) -> tuple[int, int, bytes]:
            return counts[strata[name][:2]], counts[strata[name]], _random_key(seed, name)

        name = drawn[family] = min(strata, key=rank)
        counts.update((strata[name][:2], strata[name]))
    return drawn


def _stratum(item: Item[Any]) -> _Stratum:
    cells = cells_of(item)
    return item.partition, cells.get("q-type", ""), cells.get("expected", "")


def _random_key(seed: int, name: str) -> bytes:
    return hashlib.blake2b(f"one_of_family:{seed}:{name}".encode(), digest_size=16).digest()
