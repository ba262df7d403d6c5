"""Solvers: in what phases a model under evaluation comes to its answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from benchbuilder.config import KindSpec, PromptRef, Sampling

ITEM = "item"
"""What a step of a solver calls the items, in its `from`."""
ANSWER = "answer"
"""The phase whose rows are the answers that are scored; the last one."""


@dataclass(frozen=True)
class EvaluatedModel:
    """A model that is evaluated: its name, its spec, and how the recipe says that it is asked."""

    name: str
    model: KindSpec
    prompt: PromptRef | None
    system: PromptRef | None
    sampling: Sampling


class Solver(ABC):
    """Says by what steps a model answers items: a fragment of a plan, the same for every model.

    Each phase is a step of its own, so that journal, quote, budget, batches and resume hold for each.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[KindSpec]]
    phases: ClassVar[tuple[str, ...]] = (ANSWER,)
    """The names of the steps, in order; ``answer`` is the last."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    @abstractmethod
    def steps(self, evaluated_model: EvaluatedModel) -> Mapping[str, Mapping[str, Any]]:
        """For each of `phases` the step, as YAML would say it (``kind``, ``from`` and what the stage wants).

        In `from`, ``item`` stands for the items and the name of an earlier phase for its rows. The rows of every phase
        are answers (`records.answer.Answer`) under the name `evaluated_model.name`.
        """
