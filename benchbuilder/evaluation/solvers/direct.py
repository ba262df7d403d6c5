"""The solver kind `direct`: an item is put to the model once, and what it says is its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from benchbuilder.config.spec.base import KindSpec
from benchbuilder.evaluation.solvers.base import ANSWER, ITEM, Asked, Solver


class Direct(Solver):
    """One question, one answer."""

    kind: ClassVar[str] = "direct"
    spec_class: ClassVar[type[KindSpec]] = KindSpec

    def steps(self, asked: Asked) -> Mapping[str, Mapping[str, Any]]:
        """The one step."""
        return {
            ANSWER: {
                "kind": "answer", "from": ITEM, "name": asked.name, "model": asked.model, "prompt": asked.prompt,
                "system": asked.system, "sampling": asked.sampling,
            }
        }  # fmt: skip
