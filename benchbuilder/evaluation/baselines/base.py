"""The base class of baselines, which answer items without a language model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from benchbuilder.config import KindSpec
from benchbuilder.core import AnswerOutcome, Item


class BaselineSpec(KindSpec):
    """Settings of every baseline."""


class Baseline(ABC):
    """Answers items by a rule, or with existing answers: without requests, journal or cost.

    It is made from its spec without I/O; `open` reads what it needs. The same item gets the same answer.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[KindSpec]]

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of everything besides the spec that affects answers, for the key."""
        return {}

    def external_inputs(self, workplace: Path) -> Mapping[str, str]:  # noqa: ARG002
        """Hashes of people's contributions so far, by name; see `Step.external_inputs`.

        The baseline is not opened for it.
        """
        return {}

    def open(self, workplace: Path) -> None:
        """Open files and tokenizers. `workplace` is the folder of people's contributions (votes)."""

    @abstractmethod
    def answer(self, item: Item[Any]) -> tuple[str, AnswerOutcome]:
        """The text of the answer and its outcome (``missing`` if there is none)."""
