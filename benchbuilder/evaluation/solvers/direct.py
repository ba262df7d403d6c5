"""The solver kind `direct`: the model is asked once about each item, and its reply is the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from benchbuilder.config import KindSpec
from benchbuilder.evaluation.solvers.base import ANSWER, ITEM, EvaluatedModel, Solver


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
