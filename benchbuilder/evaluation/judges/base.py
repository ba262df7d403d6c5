"""Judges: what scores the answer to a question in one aspect, as experts would."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import KindSpec
from benchbuilder.core import Dropped, Item
from benchbuilder.models import Reply, Request


@dataclass(frozen=True, slots=True)
class Case:
    """What is judged: an answer to a question, with the paragraphs that are known about it.

    `right` and `wrong` are the item's own statements. Only judges that compare with references read them.
    """

    question: str
    answer: str
    evidence: tuple[str, ...] = ()
    right: str = ""
    wrong: str = ""
    type: str = ""
    """The item's type (``tf``, ``oe``), where its payload has one."""

    def without_evidence(self) -> Case:
        """The same case for a judge that is given no paragraphs."""
        return replace(self, evidence=())


def case_hash(case: Case) -> str:
    """A short hash of question and answer, by which a judge knows what it has learned from."""
    return hashlib.blake2b(f"{case.question}\0{case.answer}".encode(), digest_size=8).hexdigest()


def make_case(item: Item[Any], answer: str) -> Case:
    """The case of an `answer` to an `item`: what the item's payload calls context, question, answers and evidence."""
    texts: dict[str, tuple[str, ...]] = item.payload.texts()

    def text(name: str) -> str:
        return "".join(texts.get(name, ()))

    return Case(
        question=text("context") + text("question"),
        answer=answer,
        evidence=tuple(filter(None, texts.get("evidence", ()))),
        right=text("answer"),
        wrong=text("answer_wrong"),
        type=str(getattr(item.payload, "type", "")),
    )


@dataclass(frozen=True, slots=True)
class Example:
    """A case with the score that it should get.

    `model` is empty for a synthetic example (a true or a false statement as the answer), `ratings` holds each person's
    value where `target` is their mean. `item` is the item's id; `family` is shared by all items of one fact and their
    near duplicates: no split may divide a family where questions are held out. `source` is the item's partition.
    """

    case: Case
    target: float
    weight: float
    item: str
    family: str
    model: str
    source: str
    ratings: tuple[tuple[str, float], ...] = ()

    @property
    def synthetic(self) -> bool:
        """Whether no model wrote the answer and nobody rated it."""
        return not self.model


class JudgeSpec(KindSpec):
    """What every judge has: the aspect that it scores, and whether it is given the paragraphs (``evidence``)."""

    aspect: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    evidence: bool = True


class Judge(ABC):
    """Scores answers in one aspect. Made from its spec without importing anything heavy; `open` does that."""

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[JudgeSpec]]
    trains: ClassVar[bool] = False
    """Whether it must be trained before it can score."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def ready(self) -> None:
        """InstallationError (with the extra to install) if a library is missing that it needs; imports none of them."""

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of what shapes its scores besides spec and training, for keys and cards."""
        return {}

    def open(self, folder: Path | None) -> None:
        """Get ready to score. `folder` holds what `train` wrote; ``None`` for a judge that is not trained."""


class ScoringJudge(Judge):
    """A judge that scores by itself."""

    @abstractmethod
    def score(self, cases: Sequence[Case]) -> list[float]:
        """A score from 0 to 1 for each case, in order. A case scores the same in whatever company."""


class TrainedJudge(ScoringJudge):
    """A judge that learns from examples."""

    trains: ClassVar[bool] = True
    resumes: ClassVar[bool] = False
    """Whether `train` goes on in a folder where the same training was interrupted."""

    @abstractmethod
    def train(
        self, examples: Sequence[Example], held_out: Sequence[Example], folder: Path, seed: int,
        note: Callable[[str], None],
    ) -> Mapping[str, Any]:  # fmt: skip
        """Learn from `examples`, write what was learned into `folder` (arrays and JSON, never pickle), and be open.

        `held_out` is what the judge will be held to account on: nothing is learned from it, and nothing (no epoch, no
        penalty) is chosen by it; that is done on a part of `examples` of whole families. It may be told of by `note`,
        and is empty in the final training on everything. What is returned (plain data) goes into the judge's card. The
        same arguments, the same judge.
        """

    def apply_choices(self, facts: Mapping[str, Any]) -> None:
        """Go by what another training chose, which returned `facts`, when this judge is trained: on everything.

        A kind whose training leaves nothing aside to choose by (or chooses by folds) has nothing to do here.
        """


class AskingJudge(Judge):
    """A judge that asks a model about each case."""

    @property
    @abstractmethod
    def model_spec(self) -> KindSpec | None:
        """The model; ``None`` if there is none yet (a fine-tuned one whose job is not through)."""

    @abstractmethod
    def converse(self, case: Case) -> Generator[Request, Reply, float | Dropped]:
        """The work on one case: the score, or why there is none (a reason of `reasons`)."""

    reasons: ClassVar[Mapping[str, str]] = {}
