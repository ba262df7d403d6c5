"""Steps whose spec has a model and sampling settings: which model it is, and what is known of it before a build."""

from __future__ import annotations

import json
from collections.abc import Mapping

from benchbuilder.config import KindSpec, Sampling
from benchbuilder.core import Row, SpecIssue, create_from_spec
from benchbuilder.models import Model
from benchbuilder.steps.base import PromptedMap


def sampling_issues(model_spec: KindSpec, sampling: Sampling) -> list[SpecIssue]:
    """Issues of sampling settings that a model requires or does not know (unless it may omit them)."""
    model: Model = create_from_spec("model", model_spec)
    chosen, known = sampling.explicit_settings(), tuple(sorted(model.known_settings()))
    message = "this model requires this setting"
    issues = [SpecIssue(f"sampling.{name}", message, "", ()) for name in sorted(model.required - set(chosen))]
    if getattr(model_spec, "unsupported", "omit") == "omit":
        return issues
    message = "the model's backend does not know this setting: leave it out, or set its `unsupported: omit`"
    return issues + [SpecIssue(f"sampling.{name}", message, name, known) for name in chosen if name not in known]


def model_identity(model_spec: KindSpec) -> dict[str, str]:
    """The identity of a model, for keys, as far as it is not in its spec: its address and its files."""
    model: Model = create_from_spec("model", model_spec)
    return {f"model {name}": json.dumps(part, sort_keys=True) for name, part in model.identity().items()}


class ModelMap(PromptedMap):
    """A map whose spec has the keys `model` and `sampling`. The model of the kind ``none`` is no model."""

    @property
    def model_spec(self) -> KindSpec | None:
        """The step's model; ``None`` if it answers nothing."""
        model: KindSpec | None = self.spec.model
        return None if model is None or model.kind == "none" else model

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> list[SpecIssue]:  # noqa: ARG002
        """The issues of the sampling settings."""
        return [] if self.model_spec is None else sampling_issues(self.model_spec, self.spec.sampling)

    def fingerprint(self) -> Mapping[str, str]:
        """The identity of the model, as far as it is not in the spec."""
        return {} if self.model_spec is None else model_identity(self.model_spec)
