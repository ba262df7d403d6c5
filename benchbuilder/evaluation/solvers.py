"""Solvers define the steps by which a model arrives at its answer: the base class, and the kind `direct`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from benchbuilder.config import KindSpec, PromptRef, Sampling

ITEM = "item"
"""The name of the items in the `from` of a solver's step."""
ANSWER = "answer"
"""The last phase, whose rows are the scored answers."""


@dataclass(frozen=True)
class EvaluatedModel:
    """A model under evaluation: its name, its spec, and how the recipe asks it."""

    name: str
    model: KindSpec
    prompt: PromptRef | None
    system: PromptRef | None
    sampling: Sampling


class Solver(ABC):
    """Defines the steps by which a model answers items: a fragment of a plan, the same for every model.

    Each phase is a separate step, so journal, quote, budget, batches and resuming work for each.
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
        """The step of each of `phases`, as in YAML (``kind``, ``from`` and the settings of the kind).

        In `from`, ``item`` is the items, and the name of an earlier phase its rows. The rows of every phase are
        answers (`benchbuilder.core.Answer`) under the name `evaluated_model.name`.
        """


class DirectSolver(Solver):
    """One question, one answer."""

    kind: ClassVar[str] = "direct"
    spec_class: ClassVar[type[KindSpec]] = KindSpec

    def steps(self, evaluated_model: EvaluatedModel) -> Mapping[str, Mapping[str, Any]]:
        """The one step."""
        return {
            ANSWER: {
                "kind": "answer",
                "from": ITEM,
                "name": evaluated_model.name,
                "model": evaluated_model.model,
                "prompt": evaluated_model.prompt,
                "system": evaluated_model.system,
                "sampling": evaluated_model.sampling,
            }
        }
