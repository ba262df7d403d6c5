"""What would be sent to a model: which prompts a recipe has, and the request about one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any

import pyarrow.compute as pc

from benchbuilder.authoring.dry_run.transcripts import PromptSteps, ReplyLookup, empty_lookup, rows_at_positions
from benchbuilder.config import KindSpec, PairsRef, PromptRef, Recipe
from benchbuilder.core import DataError, Outcome, Problem, RecipeError, Row, create_from_spec
from benchbuilder.models import Model, Reply, Request, request_key
from benchbuilder.pipeline import Plan, Store
from benchbuilder.steps import Writer


@dataclass(frozen=True, slots=True)
class PromptUse:
    """A prompt file that a step uses: `field` of the step's spec names it."""

    step: str
    field: str
    path: str
    spec: Any

    @property
    def model(self) -> KindSpec | None:
        """The model of the step."""
        return getattr(self.spec, "model", None)

    def matches(self, name: str) -> bool:
        """Whether `name` means it: the step, or the file, with or without its folder and ending."""
        path = PurePosixPath(self.path)
        bare = path.with_suffix("")
        return name in (self.step, str(path), path.name, str(bare), bare.name)


def prompt_uses(recipe: Recipe) -> list[PromptUse]:
    """Every prompt file that a step of `recipe` names."""
    return [
        PromptUse(step, field, value.path, spec)
        for step, spec in recipe.steps.items()
        for field in type(spec).model_fields
        if isinstance(value := getattr(spec, field), PromptRef) and not isinstance(value, PairsRef)
    ]


def steps_named(recipe: Recipe, name: str) -> list[str]:
    """The steps that `name` means: a step that has prompts, or those that use the prompt file of this name.

    RecipeError if there is none.
    """
    found = prompt_uses(recipe)
    steps = [use.step for use in found if use.step == name] or [use.step for use in found if use.matches(name)]
    if steps:
        return list(dict.fromkeys(steps))
    known = sorted({PurePosixPath(use.path).stem for use in found} | {use.step for use in found})
    close = get_close_matches(name, known, n=1)
    message = "no step has this prompt" if name not in recipe.steps else "this step has no prompt"
    raise RecipeError(
        [
            Problem(message, where=f"command line: {name}", allowed=", ".join(known) or "none: no step has prompts",
                    hint=f"did you mean {close[0]!r}?" if close else "benchbuild prompt ls shows them with their steps")
        ]
    )  # fmt: skip


@dataclass(frozen=True)
class PromptRequest:
    """The request about a row, with the model that would get it.

    `outcomes` are what the row became without any model, ``None`` if a model is asked about it. `request` is ``None``
    where the step cannot ask about a row that needs no model. `model` is ``None`` if none is set; then there is no
    `key`. `reply` is what the journal holds for the request.
    """

    step: str
    row: Row
    outcomes: tuple[Outcome, ...] | None
    request: Request | None
    model: Model | None
    key: str = ""
    reply: Reply | None = None


def prompt_request(prompt_steps: PromptSteps, step: str, row: Row, lookup: ReplyLookup) -> PromptRequest:
    """What would be sent about `row`, which is one that `step` works on."""
    stage = prompt_steps.open_step(step)
    transcript = prompt_steps.transcript_of(step, row, empty_lookup)
    request = transcript.turns[0].request if transcript.turns else None
    spec: Any = getattr(stage.spec, "model", None) if stage.model_spec is None else stage.model_spec
    model: Model | None = None if spec is None or spec.kind == "none" else create_from_spec("model", spec)
    if request is None and isinstance(stage, Writer) and stage.spec.prompt is not None:
        asked = stage.ask(row, prompt_steps.parent_rows(step, row))
        request = next(asked)
        asked.close()
    if request is None or model is None:
        return PromptRequest(step, row, transcript.outcomes, request, model)
    return PromptRequest(
        step, row, transcript.outcomes, request, model, request_key(model, request), lookup(model.spec, request)
    )


def input_rows_named(prompt_steps: PromptSteps, step: str, name: str, store: Store) -> list[Row]:
    """The rows of a step's input that `name` means: a row's id, that of an ancestor or a descendant, or FILE:LINE.

    Descendants are looked for in what was `store`. The first row if `name` is empty. DataError if there is none.
    """
    table = prompt_steps.input_rows(step)
    if not name:
        return rows_at_positions(table, range(min(1, len(table))))
    file, _, line = name.rpartition(":")
    if file and line.isdigit():
        units = zip(table.column("origin.file"), table.column("origin.line"), strict=True)
        places = [place for place, unit in enumerate(units) if unit == (file, int(line))]
    else:
        ids = table.ids()
        lineages = zip(ids, table.column("parents"), strict=True)
        places = [place for place, row in enumerate(ids) if row == name] or [
            place for place, (_, parents) in enumerate(lineages) if name in parents
        ]
        if not places:
            above = set(_ancestors(prompt_steps.plan, store, name))
            places = [place for place, row in enumerate(ids) if row in above]
    if not places:
        raise _unknown_row(prompt_steps, step, name, table.ids())
    return rows_at_positions(table, places)


def _ancestors(plan: Plan, store: Store, name: str) -> list[str]:
    """The ancestors of the row with this id, in whichever step it stands."""
    for node in plan.nodes.values():
        manifest = store.manifest(node.name, node.key)
        if manifest is None:
            continue
        table = store.rows(manifest)
        place = pc.index(table.arrow.column("id"), name).as_py()
        if place >= 0:
            return list(table.arrow.column("parents")[place].as_py())
    return []


def _unknown_row(prompt_steps: PromptSteps, step: str, name: str, ids: Sequence[str]) -> DataError:
    inputs = ", ".join(prompt_steps.plan.nodes[step].inputs["each"])
    return DataError(
        f"{name!r} is no row that step {step!r} works on",
        why=f"it works on {len(ids)} rows of {inputs}" + (f", the first is {ids[0]}" if ids else ""),
        next="--row takes the id of such a row, of one that it comes from or that came of it, or FILE:LINE of the "
        f"source; `benchbuild peek {inputs.split(', ')[0]}` with the same arguments shows ids, and `benchbuild why` "
        "of the row what became of it",
    )
