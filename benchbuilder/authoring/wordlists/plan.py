"""The plan that makes a word list, and brings the rows up that its words are looked for in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.authoring.wordlists.lists import Settings, free_name, step_specs
from benchbuilder.config.load import Loaded
from benchbuilder.config.spec.recipe import Recipe
from benchbuilder.core.registry import find
from benchbuilder.core.text.languages import same_language
from benchbuilder.pipeline.plan import Plan, make_plan
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.wiring import expand
from benchbuilder.sources.terms import TermsSpec
from benchbuilder.steps.topic import Topic, TopicSpec

FOLDER = "words"
"""Where word lists are made, in the folder of the build."""


@dataclass(frozen=True)
class Searched:
    """A step `topic` of the recipe: its spec, and the nodes whose rows enter it."""

    step: str
    spec: TopicSpec
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Making:
    """A planned word list: `lists` are its sources, `words` the node of its words ("" without lists), `searched` the
    steps whose rows its words are looked for in.
    """

    plan: Plan
    store: Store
    lists: Mapping[str, TermsSpec]
    words: str
    searched: tuple[Searched, ...]


def plan_words(loaded: Loaded, lists: Mapping[str, TermsSpec], settings: Settings | None, cwd: Path) -> Making | None:
    """The plan of making a list of `lists`, in its place beside the build; ``None`` if there would be nothing to do:
    no lists, and no step that looks for words.

    Only what leads to the recipe's `topic` steps is in it. Nothing is run.
    """
    recipe = loaded.recipe
    wired = expand(recipe)
    topics = {name: spec for name, spec in recipe.steps.items() if issubclass(find("stage", spec.kind).load(), Topic)}
    needed = _leading_to(wired, [up for name in topics for up in wired[name].get("each", ())])
    sources = {name: spec for name, spec in recipe.sources.items() if name in needed}
    steps = {name: spec for name, spec in recipe.steps.items() if name in needed}
    words = ""
    if lists and settings is not None:
        own, words = _making(loaded, lists, settings)
        steps |= own
    first = words or next(iter(sources), "")
    if not first:
        return None
    store = Store(recipe.folder(cwd) / FOLDER)
    checksums = Checksums(store.checksums)
    plan = make_plan(_with(recipe, {**sources, **lists}, steps, first), store, checksums.of)
    checksums.save()
    searched = [
        Searched(name, spec, tuple(up for up in wired[name].get("each", ()) if up in plan.nodes))
        for name, spec in topics.items()
    ]
    return Making(plan, store, lists, words, tuple(one for one in searched if one.nodes))


def _with(recipe: Recipe, sources: Mapping[str, Any], steps: Mapping[str, Any], items: str) -> Recipe:
    """The recipe with these sources and steps alone."""
    return recipe.model_copy(update={
        "sources": dict(sources), "steps": dict(steps), "items": items, "tasks": {}, "reviews": {}, "outputs": {},
        "evaluation": None,
    })  # fmt: skip


def _making(loaded: Loaded, lists: Mapping[str, TermsSpec], settings: Settings) -> tuple[dict[str, Any], str]:
    """The steps that make the list, and the last of them."""
    language = loaded.recipe.language
    foreign = [
        f"sources.{name}" for name, spec in lists.items() if not same_language(spec.language or language, language)
    ]
    own = [f"sources.{name}" for name in lists if f"sources.{name}" not in foreign]
    taken = {*loaded.recipe.sources, *loaded.recipe.steps, *lists}
    names = {name: free_name(f"words_{name}", taken) for name in ("translate", "tidy", "merge")}
    entering = [*own, names["translate"]] if foreign else own
    wired: dict[str, Sequence[str]] = {"translate": foreign, "tidy": entering, "merge": [names["tidy"]]}
    made = step_specs(loaded, settings, wired)
    return {names[name]: spec for name, spec in made.items()}, names["merge"]


def _leading_to(wired: Mapping[str, Mapping[str, Sequence[str]]], names: Sequence[str]) -> set[str]:
    needed, todo = set[str](), list(names)
    while todo:
        name = todo.pop()
        if name not in needed:
            needed.add(name)
            todo += [up for ups in wired.get(name, {}).values() for up in ups]
    return needed
