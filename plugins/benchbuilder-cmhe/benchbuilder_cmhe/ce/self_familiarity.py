"""The solver kind `self_familiarity`: a model explains a concept, and has to recognise it in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from benchbuilder.config import KindSpec, PromptRef
from benchbuilder.evaluation import ANSWER, ITEM, EvaluatedModel, Solver

EXPLAIN, MASK = "explain", "mask"


class SelfFamiliaritySpec(KindSpec):
    """By what prompts a model is asked."""

    choose: PromptRef
    """Shows the masked explanation (`earlier`) and the `options`; the prompt of the recipe's `evaluation` asks for the
    explanation."""
    endings: tuple[str, ...]
    """Endings of names that do not matter in scripts with spaces between words, see the step `mask`."""


class SelfFamiliarity(Solver):
    """Explain, mask, choose: the same model in both of the phases that ask one, under the same settings."""

    kind: ClassVar[str] = "self_familiarity"
    spec_class: ClassVar[type[KindSpec]] = SelfFamiliaritySpec
    phases: ClassVar[tuple[str, ...]] = (EXPLAIN, MASK, ANSWER)

    spec: SelfFamiliaritySpec

    def steps(self, evaluated_model: EvaluatedModel) -> Mapping[str, Mapping[str, Any]]:
        """The three steps."""
        model = {
            "name": evaluated_model.name,
            "model": evaluated_model.model,
            "system": evaluated_model.system,
            "sampling": evaluated_model.sampling,
        }
        return {
            EXPLAIN: {"kind": "answer", "from": ITEM, "prompt": evaluated_model.prompt, **model},
            MASK: {"kind": "mask", "from": {"each": EXPLAIN, "item": ITEM}, "endings": self.spec.endings},
            ANSWER: {"kind": "follow_up", "from": {"each": MASK, "item": ITEM}, "prompt": self.spec.choose, **model},
        }
