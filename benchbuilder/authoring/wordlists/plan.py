"""Plans a word list and the rows that its words are searched in, and describes how the list was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.authoring.wordlists.lists import WordListSettings, unused_name, word_list_steps
from benchbuilder.config import FileRef, LoadedRecipe, Recipe
from benchbuilder.core import Term, create_from_spec, find_kind, parse_json, public_path, same_language
from benchbuilder.models import Model
from benchbuilder.pipeline import Checksums, Plan, Store, expand_wiring, plan_build, spec_key_inputs
from benchbuilder.sources import Terms, TermsSpec
from benchbuilder.steps import Topic, TopicSpec

WORD_LIST_FOLDER = "words"
"""The folder of word lists in the folder of the build."""


@dataclass(frozen=True)
class TopicStep:
    """A `topic` step of the recipe: its spec and its input nodes."""

    step: str
    spec: TopicSpec
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class WordListPlan:
    """A planned word list.

    `lists` are its sources, `words_node` is the node of its words (empty without lists), and `topic_steps` are the
    steps whose input rows are searched for its words.
    """

    plan: Plan
    store: Store
    lists: Mapping[str, TermsSpec]
    words_node: str
    topic_steps: tuple[TopicStep, ...]


def plan_word_list(
    loaded: LoadedRecipe, lists: Mapping[str, TermsSpec], settings: WordListSettings | None, cwd: Path
) -> WordListPlan | None:
    """Plan a word list in its own folder of the build, with the steps that lead to the `topic` steps. Nothing is run.

    Args:
        loaded: The recipe.
        lists: The sources of words.
        settings: The settings of the list, if there are sources.
        cwd: The current folder.

    Returns:
        The plan; ``None`` without lists and `topic` steps.
    """
    recipe = loaded.recipe
    wired = expand_wiring(recipe)
    kinds = {name: find_kind("step", spec.kind).load() for name, spec in recipe.steps.items()}
    topics = {name: recipe.steps[name] for name, kind in kinds.items() if issubclass(kind, Topic)}
    needed = _ancestors(wired, [up for name in topics for up in wired[name].get("each", ())])
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
    plan = plan_build(_reduced_recipe(recipe, {**sources, **lists}, steps, first), store)
    nodes = {name: tuple(up for up in wired[name].get("each", ()) if up in plan.nodes) for name in topics}
    topic_steps = tuple(TopicStep(name, topics[name], inputs) for name, inputs in nodes.items() if inputs)
    return WordListPlan(plan, store, lists, words, topic_steps)


def _reduced_recipe(recipe: Recipe, sources: Mapping[str, Any], steps: Mapping[str, Any], items: str) -> Recipe:
    """The recipe with only these sources and steps."""
    return recipe.model_copy(update={
        "sources": dict(sources), "steps": dict(steps), "items": items, "tasks": {}, "reviews": {}, "outputs": {},
        "evaluation": None,
    })  # fmt: skip


def _list_steps(
    loaded: LoadedRecipe, lists: Mapping[str, TermsSpec], settings: WordListSettings
) -> tuple[dict[str, Any], str]:
    """The steps that make the list, and the name of the last one."""
    language = loaded.recipe.language
    is_own = {f"sources.{name}": same_language(spec.language or language, language) for name, spec in lists.items()}
    own, foreign = [name for name, own in is_own.items() if own], [name for name, own in is_own.items() if not own]
    taken = {*loaded.recipe.sources, *loaded.recipe.steps, *lists}
    names = {name: unused_name(f"words_{name}", taken) for name in ("translate", "tidy", "merge")}
    entering = [*own, names["translate"]] if foreign else own
    wired: dict[str, Sequence[str]] = {"translate": foreign, "tidy": entering, "merge": [names["tidy"]]}
    steps = word_list_steps(loaded, settings, wired)
    return {names[name]: spec for name, spec in steps.items()}, names["merge"]


def _ancestors(inputs: Mapping[str, Mapping[str, Sequence[str]]], names: Sequence[str]) -> set[str]:
    needed, todo = set[str](), list(names)
    while todo:
        name = todo.pop()
        if name not in needed:
            needed.add(name)
            todo += [up for ups in inputs.get(name, {}).values() for up in ups]
    return needed


# --- provenance


def planned_terms(plan: WordListPlan) -> list[Term]:
    """The words of a built list, in the order of its sources."""
    manifest = plan.store.manifest(plan.words_node, plan.plan.nodes[plan.words_node].key)
    return [] if manifest is None else [row.payload for row in plan.store.rows(manifest)]


def list_provenance(plan: WordListPlan, recipe: Recipe) -> dict[str, Any]:
    """How a list was made, as JSON data: recipe, lists with checksums, translators and settings."""
    checksums = Checksums(plan.store.checksums)
    lists: dict[str, Any] = {}
    for name, spec in plan.lists.items():
        files = {ref.path: checksums.sha256_of(ref.file) for ref in Terms(spec, name, recipe.language).files()}
        described = {key: value for key in ("title", "licence", "url", "citation") if (value := getattr(spec, key))}
        lists[name] = {
            "file": public_path(spec.path.path), "language": spec.language or recipe.language,
            "sha256": checksums.sha256_of(spec.path.file), **({"files": files} if len(files) > 1 else {}), **described,
        }  # fmt: skip
    steps = {name: spec for name, spec in plan.plan.recipe.steps.items()
             if spec.kind in ("translate", "normalise_term", "merge_terms")}  # fmt: skip
    translations = [spec for spec in steps.values() if spec.kind == "translate"]
    translation = [translator for spec in translations for translator in _translators(spec, checksums)]
    settings = {spec.kind: _explicit_settings(spec_key_inputs(spec, checksums.sha256_of)) for spec in steps.values()}
    return {"recipe": recipe.benchmark_name, "language": recipe.language, "lists": lists, "translation": translation,
            "settings": settings}  # fmt: skip


def _explicit_settings(parts: Mapping[str, str]) -> dict[str, Any]:
    """The explicit settings of a step, except files and the model, which are recorded elsewhere."""
    own = {key: part for key, part in parts.items() if not key.startswith(("file ", "model")) and "(order)" not in key}
    return {key: value for key, part in own.items() if (value := parse_json(part)) not in (None, [], "")}


def _translators(spec: Any, checksums: Checksums) -> Iterator[Mapping[str, str]]:
    """The dictionary and the model of a translation, with the hashes of their inputs."""
    if spec.dictionary is not None and spec.strategy != "model":
        yield {"name": public_path(spec.dictionary.path), "sha256": checksums.sha256_of(spec.dictionary.file)}
    if spec.strategy != "rules" and spec.model is not None and spec.model.kind != "none":
        model: Model = create_from_spec("model", spec.model)
        prompt: FileRef | None = spec.prompt
        hashes = {"prompt": prompt.path, "prompt_sha256": checksums.sha256_of(prompt.file)} if prompt else {}
        yield {"name": model.label, **hashes}
