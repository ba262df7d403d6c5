"""The base class of annotation backends, what they exchange (tasks, votes), and the backend that asks nobody."""

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
    """What one judgement is about: `key` hashes what was shown, `wording` hashes the guiding question.

    `text` is the text shown, empty if unknown. Subjects that differ only in `text` are equal.
    """

    key: str
    wording: str
    text: str = field(default="", compare=False)

    def __reduce__(self) -> tuple[type[Subject], tuple[str, str, str]]:
        """Pickle it as a call; how a frozen data class with slots pickles itself takes several times as long."""
        return Subject, (self.key, self.wording, self.text)


@dataclass(frozen=True)
class ShownParagraph:
    """A paragraph as annotators see it; `key` hashes its text and the key of its task."""

    key: str
    base: str
    title: str
    text: str


@dataclass(frozen=True)
class Task:
    """One task as people see it: named texts, and paragraphs.

    `key` hashes all `fields`; the first field is the main text. `about` is metadata that annotators never see, such as
    the source or the model. `expected` maps guiding questions to the right answers of a gold task. Gold tasks measure
    how well people judge, and decide nothing.
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
    """A remark of an annotator about the task or paragraph with the key `key`."""

    annotator: str
    key: str
    text: str


@dataclass
class Votes:
    """Votes of annotators by subject and person, and decisions of adjudicators.

    `stale` counts votes about subjects that are not shown now, by location (a file, the app). Contradictory votes of
    one person are an error, so they never occur here.
    """

    by_subject: dict[Subject, dict[str, Value]] = field(default_factory=dict[Subject, dict[str, Value]])
    decisions: dict[Subject, tuple[str, Value]] = field(default_factory=dict[Subject, tuple[str, Value]])
    stale: dict[str, int] = field(default_factory=dict[str, int])
    comments: list[Comment] = field(default_factory=list[Comment])


@dataclass(frozen=True)
class MissingJudgements:
    """Judgements that are missing, in the order of the requests.

    `votes` maps subjects with too few votes to the number of votes missing. `decisions` are disputed subjects without a
    decision. `subject_kinds` maps every requested subject to ``claim`` or ``evidence``.
    """

    votes: Mapping[Subject, int]
    decisions: tuple[Subject, ...]
    subject_kinds: Mapping[Subject, str]

    def __bool__(self) -> bool:
        return bool(self.votes or self.decisions)


@dataclass(frozen=True)
class AnnotatorInstructions:
    """Instructions for people: `where` the work is, what to do `next`, and a `warning` if there is one.

    `missing` counts missing judgements by ``WHO: claim`` and ``WHO: evidence``.
    """

    missing: Mapping[str, int]
    where: str
    next: str
    warning: str = ""


class AnnotationBackend(ABC):
    """Asks people for judgements and collects their votes.

    `workplace` is the folder of the build for annotators' work. `project` separates the work of one step from other
    steps in the same workplace; it is empty for the candidates of a benchmark.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[KindSpec]]

    def __init__(self, spec: Any, project: str = "") -> None:
        self.spec = spec
        self.project = project

    @property
    def annotation_spec(self) -> AnnotationSpec | None:
        """What people are asked. ``None`` if nobody is asked; then no other method is called."""
        return self.spec if isinstance(self.spec, AnnotationSpec) else None

    @abstractmethod
    def external_inputs(self, workplace: Path) -> Mapping[str, str]:
        """Content hashes of all votes so far, by the name of their source."""

    @abstractmethod
    def collect(self, subjects: Collection[Subject], workplace: Path) -> Votes:
        """Collect every vote on `subjects`.

        Raises:
            DataError: votes are malformed or contradictory; it lists all of them with their locations.
        """

    @abstractmethod
    def ask(
        self, tasks: Sequence[Task], votes: Votes, missing_judgements: MissingJudgements, context: StepContext
    ) -> AnnotatorInstructions:
        """Ask people for `missing_judgements`; if nothing is missing, leave them nothing to do."""


class NoBackendSpec(KindSpec):
    """It has no settings."""


class NoBackend(AnnotationBackend):
    """Asks nobody: turns every candidate into an item that is marked as unreviewed."""

    kind: ClassVar[str] = "none"
    spec_class: ClassVar[type[KindSpec]] = NoBackendSpec

    def external_inputs(self, workplace: Path) -> Mapping[str, str]:  # noqa: ARG002
        """No votes."""
        return {}

    def collect(self, subjects: Collection[Subject], workplace: Path) -> Votes:  # noqa: ARG002
        """No votes."""
        return Votes()

    def ask(
        self, tasks: Sequence[Task], votes: Votes, missing_judgements: MissingJudgements, context: StepContext  # noqa: ARG002
    ) -> AnnotatorInstructions:  # fmt: skip
        """Nobody to ask."""
        return AnnotatorInstructions(missing={}, where="", next="")
