"""Votes: how people are asked for judgements, and how their judgements come back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from benchbuilder.spec.base import KindSpec
from benchbuilder.spec.judging import JudgingSpec


@dataclass(frozen=True, slots=True)
class Subject:
    """What one judgement is about: `key` hashes what was shown, `wording` the guiding question's text.

    `text` is the text shown, empty where it is not known; subjects that differ just in it are equal.
    """

    key: str
    wording: str
    text: str = field(default="", compare=False)


@dataclass(frozen=True)
class ShownParagraph:
    """A paragraph as annotators see it; `key` hashes its text and all that is shown of its claim."""

    key: str
    base: str
    title: str
    text: str


@dataclass(frozen=True)
class ShownClaim:
    """A candidate as annotators see it: `text` is context and question, `key` hashes it with both answers."""

    key: str
    text: str
    answer: str
    answer_wrong: str
    paragraphs: tuple[ShownParagraph, ...] = ()


class Comment(NamedTuple):
    """A remark that somebody wrote beside what `key` stands for."""

    annotator: str
    key: str
    text: str


@dataclass
class Ballot:
    """What came back: 0 or 1 by subject and person, and how many votes were about nothing that is shown now.

    `stale` counts those by where they stand (a file). A ballot holds no contradictions: they are errors.
    """

    votes: dict[Subject, dict[str, int]] = field(default_factory=dict[Subject, dict[str, int]])
    stale: dict[str, int] = field(default_factory=dict[str, int])
    comments: list[Comment] = field(default_factory=list[Comment])


@dataclass(frozen=True)
class Instructions:
    """What people are told: where the work lies, what to do with it, and what stands in the way (if anything)."""

    where: str
    next: str
    warning: str = ""


class Votes(ABC):
    """Asks people and collects what they decided. `workplace` is the folder of the build that belongs to people."""

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[KindSpec]]

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    @property
    @abstractmethod
    def judging(self) -> JudgingSpec | None:
        """What people are asked; ``None`` if nobody is asked, and nothing below is called."""

    @abstractmethod
    def observes(self, workplace: Path) -> Mapping[str, str]:
        """Content hashes of all votes so far, by name."""

    @abstractmethod
    def collect(self, subjects: Collection[Subject], workplace: Path) -> Ballot:
        """Every vote on `subjects`; DataError lists all malformed ones with where they stand."""

    @abstractmethod
    def ask(
        self, claims: Sequence[ShownClaim], missing: Mapping[str, Collection[Subject]], workplace: Path, seed: int
    ) -> Instructions:
        """Put just the `missing` judgements before each person; with none missing, take back what was asked."""
