"""The hierarchy of ICD-10: chapters, blocks inside blocks, three-character categories, and where a code belongs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from benchbuilder.core import to_half_width

LEVELS = ("chapter", "block", "category")
"""What is compared at level 0, 1 and 2."""
_CATEGORY = re.compile(r"[A-Z][0-9][0-9A-Z](?![0-9]+/|-[A-Z][0-9])")
"""What may not follow would make it a code of morphology (``M8140/3``), or a range."""
_RANGE = re.compile(r"([A-Z][0-9][0-9A-Z])-([A-Z][0-9][0-9A-Z])")


@dataclass(frozen=True, slots=True)
class HierarchyNode:
    """A chapter, block, category or subcategory; `parent` is the code of what it stands in, "" for a chapter."""

    code: str
    level: str
    title: str = ""
    parent: str = ""


@dataclass(frozen=True, slots=True)
class CodePlace:
    """Where a code belongs: its chapter, the innermost block that holds its category, and that category."""

    chapter: str
    block: str
    category: str

    def code_at(self, level: int) -> str:
        """What counts at `level` (0, 1 or 2)."""
        return (self.chapter, self.block, self.category)[level]


def category_of(code: str) -> str:
    """The three-character category of a code, "" if it is none.

    Of a pair of dagger and asterisk the part before ``+`` counts; case, width and the marks themselves do not.

    >>> category_of("A01.002+G01*"), category_of("j30.1"), category_of("K77.0*")
    ('A01', 'J30', 'K77')
    >>> category_of("M8140/3"), category_of("J30-J39")
    ('', '')
    """
    first = to_half_width(code).strip().upper().partition("+")[0]
    match = _CATEGORY.match(first)
    return match.group() if match is not None else ""


def is_manifestation(code: str) -> bool:
    """Whether a code stands for a manifestation alone, which is never coded without its cause.

    >>> is_manifestation("G01*"), is_manifestation("A01.002+G01*")
    (True, False)
    """
    return to_half_width(code).strip().partition("+")[0].endswith("*")


@dataclass(frozen=True)
class Hierarchy:
    """The nodes of a classification by code. Blocks may stand in blocks, as deep as it has them.

    `moved` says by which category one counts that this edition does not have any more.
    """

    nodes: Mapping[str, HierarchyNode] = field(default_factory=dict[str, HierarchyNode])
    moved: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def from_nodes(cls, nodes: Iterable[HierarchyNode]) -> Hierarchy:
        """The hierarchy of `nodes`, in any order; ValueError for a parent that is not there, or a code twice."""
        known: dict[str, HierarchyNode] = {}
        for node in nodes:
            if node.code in known:
                raise ValueError(f"the code {node.code!r} stands there twice")
            known[node.code] = node
        for node in known.values():
            if node.parent and node.parent not in known:
                raise ValueError(f"{node.code!r} stands in {node.parent!r}, which is not there")
        return cls(known)

    def chapters(self) -> list[HierarchyNode]:
        """The chapters, in their order."""
        return [node for node in self.nodes.values() if node.level == "chapter"]

    def place(self, code: str) -> CodePlace | None:
        """Where `code` belongs, by its category; ``None`` if it is no code, or of no chapter.

        A category that the hierarchy does not list belongs to the smallest block whose range holds it, or to the
        chapter that reaches from before to behind it; one that stands in no block is a block of its own.
        """
        category = category_of(code)
        category = self.moved.get(category, category)
        if not category:
            return None
        node = self.nodes.get(category)
        block = node.parent if node is not None else self._by_range(category)
        chapter = self._chapter(block) or self._innermost_block(category)
        if not chapter:
            return None
        return CodePlace(chapter, block if block not in ("", chapter) else category, category)

    def title(self, code: str) -> str:
        """What a node is called, "" if it is not known."""
        node = self.nodes.get(code)
        return node.title if node is not None else ""

    def span(self, chapter: str) -> str:
        """The range of a chapter's blocks, for instance ``J00-J99``; "" if it has none."""
        ends = self._spans.get(chapter)
        return "-".join(ends) if ends is not None else ""

    def _chapter(self, code: str) -> str:
        """The chapter that a block stands in; itself, if it is one."""
        while (node := self.nodes.get(code)) is not None:
            if node.level == "chapter":
                return node.code
            code = node.parent
        return ""

    @cached_property
    def _ranges(self) -> list[tuple[tuple[str, str], str]]:
        """The ends of every block's range, with its code."""
        found = ((_RANGE.fullmatch(node.code), node) for node in self.nodes.values() if node.level == "block")
        return [((match[1], match[2]), node.code) for match, node in found if match is not None]

    @cached_property
    def _spans(self) -> dict[str, tuple[str, str]]:
        """The lowest and the highest category of the blocks of each chapter."""
        found: dict[str, tuple[str, str]] = {}
        for (low, high), block in self._ranges:
            chapter = self._chapter(block)
            before = found.get(chapter, (low, high))
            found[chapter] = (min(low, before[0]), max(high, before[1]))
        return found

    def _innermost_block(self, category: str) -> str:
        return next((chapter for chapter, (low, high) in self._spans.items() if low <= category <= high), "")

    def _by_range(self, category: str) -> str:
        """The smallest block whose range holds `category`: none that holds it too stands inside it."""
        holding = [(ends, block) for ends, block in self._ranges if ends[0] <= category <= ends[1]]
        return max(holding, key=lambda found: (found[0][0], _descending_key(found[0][1])))[1] if holding else ""


def _descending_key(code: str) -> tuple[int, ...]:
    """A key by which lower codes come last."""
    return tuple(-ord(mark) for mark in code)
