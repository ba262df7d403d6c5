"""Families of items with equal facts or near texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchbuilder.core import join_groups, near_texts


@dataclass(frozen=True, slots=True)
class GroupMember:
    """An item: its id, its fact (empty if it has none), and every text by which a judge could recognise it."""

    id: str
    fact: str
    texts: tuple[str, ...]


def item_families(members: Iterable[GroupMember], threshold: float) -> dict[str, str]:
    """The family of each member by id, named by the first fact (or id) in it; the order of members does not matter.

    Two members belong to one family if they share a fact, or if a text of one and a text of the other have equal
    character trigrams, or trigrams whose Jaccard index exceeds `threshold`. Punctuation, white space, width and case
    are ignored. Families are transitive: members related to the same member belong together.
    """
    ordered = sorted(members, key=lambda member: member.id)
    owners = [place for place, member in enumerate(ordered) for _ in member.texts]
    near = near_texts((text for member in ordered for text in member.texts), threshold)
    pairs = ((owners[left], owners[right]) for left, right in near)
    names = join_groups([member.fact or member.id for member in ordered], pairs)
    return dict(zip((member.id for member in ordered), names, strict=True))
