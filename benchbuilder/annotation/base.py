"""Votes: how people are asked for judgements, and how their judgements come back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from benchbuilder.config import AnnotationSpec, KindSpec
from benchbuilder.core import StepContext

Value = int | float | str
"""0 or 1, an option of a scale, a scalar from 0 to 1, or a text."""


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
class Task:
    """One thing to be judged as people see it: named texts, and paragraphs.

    `key` hashes all `fields`; the first of them is what it is about. `subject_kinds` is never shown to annotators: where it
    comes from, which model wrote it. `expected` maps guiding questions to the right answers if the task is gold: it
    is planted to see how well people judge, and decides nothing.
    """

    key: str
    fields: tuple[tuple[str, str], ...]
    paragraphs: tuple[ShownParagraph, ...] = ()
    about: tuple[tuple[str, str], ...] = ()
    expected: tuple[tuple[str, Value], ...] = ()

    @property
    def text(self) -> str:
        """The first field."""
        return self.fields[0][1]


class Comment(NamedTuple):
    """A remark that somebody wrote beside what `key` stands for."""

    annotator: str
    key: str
    text: str


@dataclass
class Votes:
    """What came back: votes of annotators by subject and person, and decisions of adjudicators.

    `stale` counts votes about nothing that is shown now, by where they stand (a file, the app). A ballot holds no
    contradictions: they are errors.
    """

    by_subject: dict[Subject, dict[str, Value]] = field(default_factory=dict[Subject, dict[str, Value]])
    decisions: dict[Subject, tuple[str, Value]] = field(default_factory=dict[Subject, tuple[str, Value]])
    stale: dict[str, int] = field(default_factory=dict[str, int])
    comments: list[Comment] = field(default_factory=list[Comment])


@dataclass(frozen=True)
class MissingJudgements:
    """Judgements that are missing, in the order asked.

    `by_subject` maps subjects that too few annotators judged to how many more it takes; `decisions` are those in dispute
    that no adjudicator decided. `subject_kinds` says of every subject asked whether it is about a claim or about evidence.
    """

    votes: Mapping[Subject, int]
    decisions: tuple[Subject, ...]
    subject_kinds: Mapping[Subject, str]

    def __bool__(self) -> bool:
        return bool(self.votes or self.decisions)


@dataclass(frozen=True)
class AnnotatorInstructions:
    """What people are told: where the work lies, what to do with it, and what stands in the way (if anything).

    `missing` counts the judgements that are missing by ``WHO: claim`` and ``WHO: evidence``.
    """

    missing: Mapping[str, int]
    where: str
    next: str
    warning: str = ""


class AnnotationBackend(ABC):
    """Asks people and collects what they decided. `workplace` is the folder of the build that belongs to people.

    `project` tells the work of one step from that of others in the same workplace; it is empty for the candidates of
    a benchmark.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[KindSpec]]

    def __init__(self, spec: Any, project: str = "") -> None:
        self.spec = spec
        self.project = project

    @property
    @abstractmethod
    def annotation_spec(self) -> AnnotationSpec | None:
        """What people are asked; ``None`` if nobody is asked, and nothing below is called."""

    @abstractmethod
    def external_inputs(self, workplace: Path) -> Mapping[str, str]:
        """Content hashes of all votes so far, by name."""

    @abstractmethod
    def collect(self, subjects: Collection[Subject], workplace: Path) -> Votes:
        """Every vote on `subjects`; DataError lists all malformed ones with where they stand."""

    @abstractmethod
    def ask(
        self, tasks: Sequence[Task], votes: Votes, missing_judgements: MissingJudgements, context: StepContext
    ) -> AnnotatorInstructions:
        """Put the `missing_judgements` judgements before people; with none wanted, nothing is left for them to do."""
