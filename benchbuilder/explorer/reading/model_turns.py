"""The prompts and replies behind a row that a model made, read from the journal of the build."""

from __future__ import annotations

from dataclasses import dataclass

from benchbuilder.config import load_recipe
from benchbuilder.core import BenchbuilderError, Row
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.pipeline import Checksums, PromptSteps, Store, TranscriptTurn, journal_lookup, make_plan


@dataclass(frozen=True)
class TurnsBehind:
    """The turns with a model, and the model; `why_none` says why they cannot be shown."""

    turns: tuple[TranscriptTurn, ...] = ()
    model: str = ""
    why_none: str = ""


def turns_behind(build: BuildFolder, step: str, row: Row) -> TurnsBehind:
    """What the model was asked, and what it replied. The prompts are made again, so the recipe must be as it was."""
    words = build.words
    if not words:
        return TurnsBehind(why_none="unknown_recipe")
    try:
        recipe = load_recipe(words).recipe
        store = Store(build.folder, journal=build.folder / "replies.sqlite")
        plan = make_plan(recipe, store, Checksums(store.checksums).sha256_of)
        manifests = build.manifests()
        if step not in plan.nodes or plan.nodes[step].key != manifests[step].key:
            return TurnsBehind(why_none="changed_recipe")
        steps = PromptSteps(plan, store, manifests)
        with journal_lookup(store) as lookup:
            turns = steps.turns_behind(step, row, lookup)
        spec = steps.open_step(step).model_spec
        return TurnsBehind(turns, getattr(spec, "name", "") or getattr(spec, "kind", ""))
    except BenchbuilderError as error:
        return TurnsBehind(why_none=str(error))
