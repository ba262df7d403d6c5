"""The models behind a benchmark, as its card names them."""

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
    """A step that puts prompts to a model: what it may write, and by which settings.

    `settings` are those that are sent, `omitted` the names of those that the model's backend does not know. `rows` are
    what the model wrote, of `total`. `replies_file` names the file of replies that stood in for the model, if any.
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
    said: Mapping[str, Any] = (finished.recipe.get("steps") or {}).get(step) or {}
    node: Any = said.get("model")
    if not isinstance(node, Mapping) or node.get("kind", "none") == "none" or said.get("strategy") == "rules":
        return
    kind: type[Model] = find_kind("model", node["kind"]).load()
    spec: KindSpec = kind.spec_class.model_validate(node)
    model = kind(spec)
    chosen = {name: value for name, value in (said.get("sampling") or {}).items() if value is not None}
    sent = model.sent_settings(chosen)
    rows = [made["rule"] for made in finished.tables[step].column("produced_by")] if step in finished.tables else []
    yield PromptingStep(
        step=step,
        model=model.label,
        backend=node["kind"],
        recorded_in=model.replies_file,
        strategy=str(said.get("strategy", "model")),
        settings=sent,
        omitted=tuple(name for name in chosen if name not in sent),
        prompts=tuple(said[name]["path"] for name in _PROMPTS if said.get(name)),
        rows=sum(rule.startswith(f"{said['kind']}/model") for rule in rows),
        total=len(rows),
    )
