"""The models that wrote texts of a benchmark, for its card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchbuilder.config import KindSpec
from benchbuilder.core import find_kind
from benchbuilder.exporters.base import FinishedBuild
from benchbuilder.models import Model

_PROMPTS = ("system", "prompt", "pairs", "repair")


@dataclass(frozen=True)
class PromptingStep:
    """A step that puts prompts to a model, and its settings.

    `settings` are sent; `omitted` names those that the backend does not accept. The model wrote `rows` of `total`
    rows. `recorded_in` names the file of recorded replies that replaced the model, if any.
    """

    step: str
    model: str
    backend: str
    recorded_in: str
    strategy: str
    settings: Mapping[str, Any]
    omitted: tuple[str, ...]
    prompts: tuple[str, ...]
    rows: int
    total: int


def prompting_steps(finished: FinishedBuild) -> list[PromptingStep]:
    """The steps whose rows a model may have written, in the order of the flow."""
    return [author for account in finished.step_counts for author in _prompting_step(finished, account.step)]


def _prompting_step(finished: FinishedBuild, step: str) -> Iterator[PromptingStep]:
    spec_data: Mapping[str, Any] = (finished.recipe.get("steps") or {}).get(step) or {}
    node: Any = spec_data.get("model")
    if not isinstance(node, Mapping) or node.get("kind", "none") == "none" or spec_data.get("strategy") == "rules":
        return
    kind: type[Model] = find_kind("model", node["kind"]).load()
    spec: KindSpec = kind.spec_class.model_validate(node)
    model = kind(spec)
    chosen = {name: value for name, value in (spec_data.get("sampling") or {}).items() if value is not None}
    sent = model.sent_settings(chosen)
    rows = [mark["rule"] for mark in finished.tables[step].column("produced_by")] if step in finished.tables else []
    yield PromptingStep(
        step=step,
        model=model.label,
        backend=node["kind"],
        recorded_in=model.replies_file,
        strategy=str(spec_data.get("strategy", "model")),
        settings=sent,
        omitted=tuple(name for name in chosen if name not in sent),
        prompts=tuple(spec_data[name]["path"] for name in _PROMPTS if spec_data.get(name)),
        rows=sum(rule.startswith(f"{spec_data['kind']}/model") for rule in rows),
        total=len(rows),
    )
