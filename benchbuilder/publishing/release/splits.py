"""Divides a benchmark by item family: questions with private labels, examples for prompts, and the test."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchbuilder.config import ReleaseSpec
from benchbuilder.core import Problem, RecipeError, join_groups
from benchbuilder.publishing.release.items import SharedItem, config_name
from benchbuilder.publishing.release.private_folder import PrivateFolder, Use


@dataclass(frozen=True, slots=True)
class ItemKey:
    """What is held of every item while a release is made: no text and no paragraph."""

    id: str
    task: str
    type: str
    family: str
    asked_as: str

    @classmethod
    def of(cls, item: SharedItem) -> ItemKey:
        """That of an item."""
        return cls(item.id, *map(sys.intern, (item.task, item.type, item.family, item.asked_as)))

    @property
    def config(self) -> str:
        """The name of its configuration."""
        return config_name(self.task, self.type)


def question_names(items: Iterable[SharedItem], private: PrivateFolder) -> dict[str, str]:
    """A secret name for each item, by its id.

    It depends on the question alone. So the name of a private question says nothing about its label, and stays the same
    when its label is corrected. Items that ask the same get names by their place among the sorted ids.
    """
    first: dict[str, str] = {}
    repeated: dict[str, tuple[tuple[str, ...], list[str]]] = {}
    for item in items:
        asked = (item.task, item.type, *((item.context, item.question) if item.question else (item.id,)))
        name = _question_name(private, asked, 0)
        if (former := first.setdefault(name, item.id)) != item.id:
            repeated.setdefault(name, (asked, [former]))[1].append(item.id)
    names = {item: name for name, item in first.items()}
    for asked, ids in repeated.values():
        names.update((item, _question_name(private, asked, place)) for place, item in enumerate(sorted(ids)))
    return names


def _question_name(private: PrivateFolder, asked: tuple[str, ...], place: int) -> str:
    return "question-" + private.digest("question", *asked, str(place))[:20]


def divide(
    items: Sequence[SharedItem | ItemKey],
    names: Mapping[str, str],
    spec: ReleaseSpec,
    private: PrivateFolder,
    pairs: Iterable[tuple[str, str]] = (),
) -> dict[str, Use]:
    """What each item is used for, by its id; RecipeError if nothing is left to ask.

    `pairs` are ids of items that say nearly the same, or contradict each other: one would tell the label of the other,
    so their families stay together. Families are taken whole, in an order that only the secret tells. A family keeps
    its use from one release to the next: labels that were published are never private later. A family that was private
    stays private, unless another item of it was published before, or `private` is 0 now.
    """
    families: defaultdict[str, list[SharedItem | ItemKey]] = defaultdict(list)
    places = {item.id: place for place, item in enumerate(items)}
    joined = join_groups([item.family or item.id for item in items], [(places[a], places[b]) for a, b in pairs])
    for item, family in zip(items, joined, strict=True):
        families[family].append(item)
    use_of: dict[str, Use] = {}
    for family, members in families.items():
        former = {private.uses[name] for item in members if (name := names[item.id]) in private.uses}
        if former:
            published: Use = "dev" if "dev" in former else "test"
            use_of[family] = "private" if former == {"private"} and spec.private else published
    free = sorted((f for f in families if f not in use_of), key=lambda family: private.digest("family", family))
    wanted = spec.private * len(items) - sum(len(families[f]) for f, use in use_of.items() if use == "private")
    for family in free if spec.private else ():
        if len(families[family]) <= wanted:
            use_of[family] = "private"
            wanted -= len(families[family])
    _choose_examples(families, [f for f in free if f not in use_of], use_of, spec.dev)
    uses: dict[str, Use] = {
        item.id: use_of.get(family, "test") for family, members in families.items() for item in members
    }
    empty = {item.config for item in items} - {item.config for item in items if uses[item.id] == "test"}
    if empty:
        raise RecipeError([Problem(
            f"no item of {', '.join(sorted(empty))} is left in the split test", key="release",
            actual=f"private {spec.private:g}, dev {spec.dev}", hint="set release.private or release.dev lower",
        )])  # fmt: skip
    return uses


def _choose_examples(
    families: Mapping[str, Sequence[SharedItem | ItemKey]], free: Sequence[str], use_of: dict[str, Use], least: int
) -> None:
    """Give families to the split dev until each configuration has `least` items there; questions for sets are apart."""
    missing = Counter({item.asked_as: least for members in families.values() for item in members})
    missing.subtract(item.asked_as for f, use in use_of.items() if use == "dev" for item in families[f])
    for family in free:
        if any(missing[item.asked_as] > 0 for item in families[family]):
            use_of[family] = "dev"
            missing.subtract(item.asked_as for item in families[family])
