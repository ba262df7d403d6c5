"""The plan that makes a word list, and brings the rows up that its words are looked for in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.authoring.wordlists.lists import WordListSettings, unused_name, word_list_steps
from benchbuilder.config import LoadedRecipe, Recipe
from benchbuilder.core import find_kind, same_language
from benchbuilder.pipeline import Checksums, Plan, Store, expand_wiring, make_plan
from benchbuilder.sources import TermsSpec
from benchbuilder.steps import Topic, TopicSpec

WORD_LIST_FOLDER = "words"
"""Where word lists are made, in the folder of the build."""


@dataclass(frozen=True)
class TopicStep:
    """A step `topic` of the recipe: its spec, and the nodes whose rows enter it."""

    step: str
    spec: TopicSpec
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class WordListPlan:
    """A planned word list: `lists` are its sources, `words_node` the node of its words ("" without lists),
    `topic_steps` the steps whose rows its words are looked for in.
    """

    plan: Plan
    store: Store
    lists: Mapping[str, TermsSpec]
    words_node: str
    topic_steps: tuple[TopicStep, ...]


def plan_word_list(
    loaded: LoadedRecipe, lists: Mapping[str, TermsSpec], settings: WordListSettings | None, cwd: Path
) -> WordListPlan | None:
    """The plan of making a list of `lists`, in its place beside the build; ``None`` if there would be nothing to do:
    no lists, and no step that looks for words.

    Only what leads to the recipe's `topic` steps is in it. Nothing is run.
    """
    recipe = loaded.recipe
    wired = expand_wiring(recipe)
    topics = {
        name: spec for name, spec in recipe.steps.items() if issubclass(find_kind("step", spec.kind).load(), Topic)
    }
    needed = _leading_to(wired, [up for name in topics for up in wired[name].get("each", ())])
    sources = {name: spec for name, spec in recipe.sources.items() if name in needed}
    steps = {name: spec for name, spec in recipe.steps.items() if name in needed}
    words = ""
    if lists and settings is not None:
        own, words = _list_steps(loaded, lists, settings)
        steps |= own
    first = words or next(iter(sources), "")
    if not first:
        return None
    store = Store(recipe.build_folder(cwd) / WORD_LIST_FOLDER)
    checksums = Checksums(store.checksums)
    plan = make_plan(_reduced_recipe(recipe, {**sources, **lists}, steps, first), store, checksums.sha256_of)
    checksums.save()
    searched = [
        TopicStep(name, spec, tuple(up for up in wired[name].get("each", ()) if up in plan.nodes))
        for name, spec in topics.items()
    ]
    return WordListPlan(plan, store, lists, words, tuple(one for one in searched if one.nodes))


def _reduced_recipe(recipe: Recipe, sources: Mapping[str, Any], steps: Mapping[str, Any], items: str) -> Recipe:
    """The recipe with these sources and steps alone."""
    return recipe.model_copy(update={
        "sources": dict(sources), "steps": dict(steps), "items": items, "tasks": {}, "reviews": {}, "outputs": {},
        "evaluation": None,
    })  # fmt: skip


def _list_steps(
    loaded: LoadedRecipe, lists: Mapping[str, TermsSpec], settings: WordListSettings
) -> tuple[dict[str, Any], str]:
    """The steps that make the list, and the last of them."""
    language = loaded.recipe.language
    foreign = [
        f"sources.{name}" for name, spec in lists.items() if not same_language(spec.language or language, language)
    ]
    own = [f"sources.{name}" for name in lists if f"sources.{name}" not in foreign]
    taken = {*loaded.recipe.sources, *loaded.recipe.steps, *lists}
    names = {name: unused_name(f"words_{name}", taken) for name in ("translate", "tidy", "merge")}
    entering = [*own, names["translate"]] if foreign else own
    wired: dict[str, Sequence[str]] = {"translate": foreign, "tidy": entering, "merge": [names["tidy"]]}
    made = word_list_steps(loaded, settings, wired)
    return {names[name]: spec for name, spec in made.items()}, names["merge"]


def _leading_to(inputs: Mapping[str, Mapping[str, Sequence[str]]], names: Sequence[str]) -> set[str]:
    needed, todo = set[str](), list(names)
    while todo:
        name = todo.pop()
        if name not in needed:
            needed.add(name)
            todo += [up for ups in inputs.get(name, {}).values() for up in ups]
    return needed
