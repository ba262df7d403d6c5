"""The prompts of a recipe, and the request that a model would get about one row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import pyarrow.compute as pc

from benchbuilder.config import KindSpec, PairsRef, PromptRef, Recipe, did_you_mean
from benchbuilder.core import DataError, Outcome, Problem, RecipeError, Row, create_from_spec
from benchbuilder.models import Model, Reply, Request, request_key
from benchbuilder.pipeline import Plan, PromptSteps, ReplyLookup, Store, empty_lookup, rows_at_positions
from benchbuilder.steps import Writer


@dataclass(frozen=True, slots=True)
class PromptUse:
    """A prompt file that a step uses, or an evaluation: `field` of its spec names it."""

    step: str
    field: str
    path: str
    spec: Any

    @property
    def model(self) -> KindSpec | None:
        """The model of the step."""
        return getattr(self.spec, "model", None)

    def matches(self, name: str) -> bool:
        """Whether `name` is its step or its file, with or without folder and suffix."""
        path = PurePosixPath(self.path)
        bare = path.with_suffix("")
        return name in (self.step, str(path), path.name, str(bare), bare.name)


def prompt_uses(recipe: Recipe) -> list[PromptUse]:
    """Every prompt file that a step of `recipe` names, and after them those of its evaluations."""
    return [*_named_in(recipe.steps), *_named_in(_evaluated(recipe))]


def _named_in(specs: Mapping[str, Any]) -> Iterator[PromptUse]:
    for name, spec in specs.items():
        for field in type(spec).model_fields:
            value = getattr(spec, field)
            if isinstance(value, PromptRef) and not isinstance(value, PairsRef):
                yield PromptUse(name, field, value.path, spec)


def _evaluated(recipe: Recipe) -> dict[str, Any]:
    """The evaluation of each task, with all that may have prompts in it, by their keys in the recipe."""
    found: dict[str, Any] = {}
    for task, part in recipe.by_task().items():
        if (spec := part.evaluation) is not None:
            key = f"tasks.{task}.evaluation" if task else "evaluation"
            found |= {key: spec, f"{key}.solver": spec.solver, f"{key}.answer_claims": spec.answer_claims}
            found |= {f"{key}.scorers.{name}": scorer for name, scorer in spec.scorers.items()}
            found |= {f"{key}.judges.{name}": judge for name, judge in spec.judges.items()}
            verifiers = {name: getattr(judge, "verifier", None) for name, judge in spec.judges.items()}
            found |= {f"{key}.judges.{name}.verifier": verifier for name, verifier in verifiers.items()}
    return {key: spec for key, spec in found.items() if spec is not None}


def steps_named(recipe: Recipe, name: str) -> list[str]:
    """The step of this name if it has prompts, or the steps that use the prompt file of this name.

    Raises:
        RecipeError: There is no such step.
    """
    every = prompt_uses(recipe)
    uses = [use for use in every if use.step in recipe.steps]
    steps = [use.step for use in uses if use.step == name] or [use.step for use in uses if use.matches(name)]
    if steps:
        return list(dict.fromkeys(steps))
    if asked := next((use for use in every if use.matches(name)), None):
        raise RecipeError([Problem(
            f"{asked.path} is put to no row of a step: `evaluate` and `judge` use it", where=f"command line: {name}",
            hint=f"benchbuild show {asked.step}.{asked.field} names the file",
        )])  # fmt: skip
    known = sorted({PurePosixPath(use.path).stem for use in uses} | {use.step for use in uses})
    message = "no step has this prompt" if name not in recipe.steps else "this step has no prompt"
    hint = did_you_mean(name, known) or "benchbuild prompt ls shows them with their steps"
    allowed = ", ".join(known) or "none: no step has prompts"
    raise RecipeError([Problem(message, where=f"command line: {name}", allowed=allowed, hint=hint)])


@dataclass(frozen=True)
class PromptRequest:
    """The request about a row, with the model that would get it.

    Attributes:
        outcomes: The outcomes of the row without any model; ``None`` if a model is asked about it.
        request: The request; ``None`` if the step cannot ask about a row that needs no model.
        model: The model; ``None`` if none is set, and then there is no `key`.
        reply: The stored reply to the request.
    """

    step: str
    row: Row
    outcomes: tuple[Outcome, ...] | None
    request: Request | None
    model: Model | None
    key: str = ""
    reply: Reply | None = None


def prompt_request(prompt_steps: PromptSteps, step: str, row: Row, lookup: ReplyLookup) -> PromptRequest:
    """The request about `row`, an input row of `step`."""
    opened = prompt_steps.open_step(step)
    transcript = prompt_steps.transcript_of(step, row, empty_lookup)
    request = transcript.turns[0].request if transcript.turns else None
    spec: Any = getattr(opened.spec, "model", None) if opened.model_spec is None else opened.model_spec
    model: Model | None = None if spec is None or spec.kind == "none" else create_from_spec("model", spec)
    if request is None and isinstance(opened, Writer) and opened.spec.prompt is not None:
        conversation = opened.ask(row, prompt_steps.parent_rows(step, row))
        request = next(conversation)
        conversation.close()
    if request is None or model is None:
        return PromptRequest(step, row, transcript.outcomes, request, model)
    key, reply = request_key(model, request), lookup(model.spec, request)
    return PromptRequest(step, row, transcript.outcomes, request, model, key, reply)


def input_rows_named(prompt_steps: PromptSteps, step: str, name: str, store: Store) -> list[Row]:
    """The input rows of a step that `name` means.

    Args:
        prompt_steps: The steps of the plan.
        step: The step.
        name: The id of a row, of its ancestor or of its descendant, or FILE:LINE; the first row if it is empty.
        store: Where descendants are searched.

    Raises:
        DataError: There is no such row.
    """
    table = prompt_steps.input_rows(step)
    if not name:
        return rows_at_positions(table, range(min(1, len(table))))
    file, _, line = name.rpartition(":")
    if file and line.isdigit():
        units = zip(table.column("origin.file"), table.column("origin.line"), strict=True)
        positions = [position for position, unit in enumerate(units) if unit == (file, int(line))]
    else:
        ids = table.ids()
        lineages = zip(ids, table.column("parents"), strict=True)
        positions = [position for position, row in enumerate(ids) if row == name] or [
            position for position, (_, parents) in enumerate(lineages) if name in parents
        ]
        if not positions:
            ancestors = set(_ancestors(prompt_steps.plan, store, name))
            positions = [position for position, row in enumerate(ids) if row in ancestors]
    if not positions:
        raise _unknown_row(prompt_steps, step, name, table.ids())
    return rows_at_positions(table, positions)


def _ancestors(plan: Plan, store: Store, name: str) -> list[str]:
    """The ancestors of the row with this id in any step."""
    for node in plan.nodes.values():
        manifest = store.manifest(node.name, node.key)
        if manifest is None:
            continue
        table = store.rows(manifest)
        position = pc.index(table.arrow.column("id"), name).as_py()
        if position >= 0:
            return list(table.arrow.column("parents")[position].as_py())
    return []


def _unknown_row(prompt_steps: PromptSteps, step: str, name: str, ids: Sequence[str]) -> DataError:
    inputs = ", ".join(prompt_steps.plan.nodes[step].inputs["each"])
    return DataError(
        f"{name!r} is not an input row of step {step!r}",
        why=f"it has {len(ids)} input of {inputs}" + (f", the first is {ids[0]}" if ids else ""),
        next="--row takes the id of such a row, of its ancestor or descendant, or FILE:LINE of the source; "
        f"`benchbuild peek {inputs.split(', ')[0]}` with the same arguments shows ids, and `benchbuild why ROW` shows "
        "what became of a row",
    )
