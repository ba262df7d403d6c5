"""The base classes of judges, which score answers in one aspect, as experts would."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import KindSpec
from benchbuilder.core import Dropped, Item, strip_reasoning
from benchbuilder.models import Reply, Request


@dataclass(frozen=True, slots=True)
class Case:
    """An answer to a question, with paragraphs as evidence.

    `right` and `wrong` are the item's statements, which only judges that compare with references read.
    """

    question: str
    answer: str
    evidence: tuple[str, ...] = ()
    right: str = ""
    wrong: str = ""
    type: str = ""
    """The item's type (``tf``, ``oe``), if its payload has one."""

    def without_evidence(self) -> Case:
        """The same case for a judge that receives no paragraphs."""
        return replace(self, evidence=())


def case_hash(case: Case) -> str:
    """A short hash of question and answer, by which a judge recognises its training answers."""
    return hashlib.blake2b(f"{case.question}\0{case.answer}".encode(), digest_size=8).hexdigest()


def make_case(item: Item[Any], answer: str) -> Case:
    """The case of an `answer` to an `item`, from the payload's texts named context, question, answer and evidence.

    Reasoning before the answer is left out; of an answer that is only reasoning, nothing is left.
    """
    texts: dict[str, tuple[str, ...]] = item.payload.texts()

    def text(name: str) -> str:
        return "".join(texts.get(name, ()))

    return Case(
        question=text("context") + text("question"),
        answer=strip_reasoning(answer) or "",
        evidence=tuple(filter(None, texts.get("evidence", ()))),
        right=text("answer"),
        wrong=text("answer_wrong"),
        type=str(getattr(item.payload, "type", "")),
    )


@dataclass(frozen=True, slots=True)
class Example:
    """A case with its target score.

    `model` is empty for a synthetic example (a true or false statement as the answer). `ratings` holds each rater's
    value if `target` is their mean. `item` is the item's id. `family` is shared by all items of one fact and their near
    duplicates: no split that holds out questions may divide a family. `source` is the item's partition.
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
        """Whether the answer is a statement of the item, not written by a model and not rated."""
        return not self.model


def library_versions(libraries: Iterable[str]) -> dict[str, str]:
    """The version of each of `libraries` that is installed."""
    versions: dict[str, str] = {}
    for name in libraries:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


class JudgeSpec(KindSpec):
    """Settings of every judge: the aspect that it scores, and whether it receives the paragraphs (``evidence``)."""

    aspect: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    evidence: bool = True


class Judge(ABC):
    """Scores answers in one aspect. It is made from its spec; only `open` imports heavy libraries."""

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[JudgeSpec]]
    trains: ClassVar[bool] = False
    """Whether it must be trained before it can score."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def ready(self) -> None:
        """Check, without imports, that all libraries are installed; InstallationError names the extra to install."""

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of everything besides spec and training that affects scores, for keys and cards."""
        return {}

    def reads(self, type: str) -> bool:  # noqa: ARG002
        """Whether it scores answers to items of this type (``tf``, ``oe``)."""
        return True

    def open(self, folder: Path | None) -> None:
        """Prepare for scoring. `folder` contains what `train` wrote; ``None`` for an untrained judge."""


class ScoringJudge(Judge):
    """A judge that scores by itself."""

    @abstractmethod
    def score(self, cases: Sequence[Case]) -> list[float]:
        """A score from 0 to 1 for each case, in order. The score of a case does not depend on the other cases."""


class TrainedJudge(ScoringJudge):
    """A judge that learns from examples."""

    trains: ClassVar[bool] = True
    resumes: ClassVar[bool] = False
    """Whether `train` resumes in a folder where the same training was interrupted."""

    @abstractmethod
    def train(
        self, examples: Sequence[Example], held_out: Sequence[Example], folder: Path, seed: int,
        note: Callable[[str], None],
    ) -> Mapping[str, Any]:  # fmt: skip
        """Train on `examples` and be open afterwards. The same arguments give the same judge.

        Args:
            examples: The training examples. Choices (epoch, penalty) are made on whole families of these.
            held_out: The examples for validation, which must not affect the training; empty in the final training.
            folder: Where the trained judge is written, as arrays and JSON, never as pickle.
            seed: The seed of the recipe.
            note: Receives a few lines about what is done.

        Returns:
            Plain data for the judge's card.
        """

    def apply_choices(self, facts: Mapping[str, Any]) -> None:
        """Use the choices of an earlier training, which returned `facts`, in the final training on all data.

        A kind that chooses by cross-validation, or not at all, need not override this.
        """


class AskingJudge(Judge):
    """A judge that asks a model about each case."""

    @property
    @abstractmethod
    def model_spec(self) -> KindSpec | None:
        """The model; ``None`` if there is none yet (the job of a fine-tuned judge is not finished)."""

    @property
    def lacks_model(self) -> bool:
        """Whether it cannot score for want of a model."""
        return self.model_spec is None

    @abstractmethod
    def converse(self, case: Case) -> Generator[Request, Reply, float | Dropped]:
        """Score one case: returns the score, or why there is none (a reason of `reasons`)."""

    reasons: ClassVar[Mapping[str, str]] = {}
