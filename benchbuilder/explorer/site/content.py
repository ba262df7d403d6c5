"""What a static site may show: these fields and no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class SitePassage:
    """A paragraph that supports an item, as the release publishes it."""

    title: str
    document: str
    base: str
    text: str


@dataclass(frozen=True)
class SiteItem:
    """An item whose label is public. `texts` are further texts of it by name, such as its options.

    `origin` is a file name with a line, without folders. `replaces` is the id that it had before it was fixed.
    """

    id: str
    task: str
    type: str
    source: str
    form: str
    language: str
    split: str
    expected: str
    context: str
    question: str
    answer: str
    answer_wrong: str
    texts: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()
    reviewed: bool = False
    family: str = ""
    origin: str = ""
    licence: str = ""
    evidence: tuple[SitePassage, ...] = ()

    @property
    def asked(self) -> str:
        """What is asked, with its context; of items without a question, their first text."""
        first = self.texts[0][1] if self.texts else ""
        return f"{self.context}{self.question}" or self.answer or first

    @property
    def searched(self) -> tuple[str, ...]:
        """The texts that a search looks at."""
        texts = (self.asked, self.answer, self.answer_wrong, *(text for _, text in self.texts))
        return tuple(dict.fromkeys(filter(None, texts)))


@dataclass(frozen=True)
class FormerItem:
    """An item of an earlier release: the id that it has now (empty: it is gone since `version`), and why."""

    id: str
    now: str
    version: str
    reason: str


@dataclass(frozen=True)
class SiteRelease:
    """A release as a static site shows it.

    `contact` is a web address or an address of electronic mail for reports of errors; `kinds` are the kinds of errors.
    `card` is the card of the release as Markdown, without its front matter.
    """

    name: str
    title: str
    version: str
    date: str
    licence: str
    language: str
    items: Sequence[SiteItem]
    former: Sequence[FormerItem] = ()
    kinds: Sequence[str] = ()
    contact: str = ""
    card: str = ""

    @cached_property
    def families(self) -> dict[str, list[SiteItem]]:
        """The items of each family, in their order."""
        found: dict[str, list[SiteItem]] = {}
        for item in self.items:
            if item.family:
                found.setdefault(item.family, []).append(item)
        return found
