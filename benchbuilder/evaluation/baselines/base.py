"""Baselines: what answers an item without being a language model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from benchbuilder.config import KindSpec
from benchbuilder.core import AnswerOutcome, Item


class BaselineSpec(KindSpec):
    """What every baseline has."""


class Baseline(ABC):
    """Answers items by a rule, or with what somebody wrote before: no request, no journal, no cost.

    Made from its spec without I/O; `open` reads what it needs. The same item gets the same answer.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[KindSpec]]

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of what shapes the answers besides the spec, for the key."""
        return {}

    def external_inputs(self) -> Mapping[str, str]:
        """Hashes of what people contributed so far, by name."""
        return {}

    def open(self, workplace: Path) -> None:
        """Get ready: open files, tokenizers. `workplace` is the folder that belongs to people (votes)."""

    @abstractmethod
    def answer(self, item: Item[Any]) -> tuple[str, AnswerOutcome]:
        """The text of the answer and its outcome (``missing`` where there is none)."""
