"""Passages: pages and paragraphs of a knowledge base."""

from __future__ import annotations

from typing import ClassVar

from benchbuilder.records.envelope import Row


class Passage(Row):
    """A page or paragraph of knowledge base `base` (which is also its partition)."""

    name: ClassVar[str] = "passage"
    identity: ClassVar[tuple[str, ...]] = ("base", "document", "title", "text")

    base: str
    document: str
    title: str = ""
    text: str
