"""Shows what the stores of a build and its evaluations hold, and removes what no recipe in use needs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.api.opened_recipe import OpenedRecipe, open_recipe, words_of
from benchbuilder.config import trusting
from benchbuilder.core import DataError, Problem, RecipeError
from benchbuilder.evaluation import Evaluation, chooses_model, plan_evaluation
from benchbuilder.pipeline import Plan, Store, StoreContents, StoredStep, read_contents, remove_older, size_of


@dataclass(frozen=True)
class OpenedStore:
    """A store, the plans of the recipes that are in use by their words, and what it holds."""

    store: Store
    present: Mapping[str, Plan]
    contents: StoreContents

    def clean(self, *, indices: bool = False) -> int:
        """Remove what no recipe in use needs, and with `indices` every index; the number of bytes that were freed.

        Raises:
            StoreError: A build is at work.
        """
        return remove_older(self.store, self.contents, self.present, indices=indices)


@dataclass(frozen=True)
class Removable:
    """What a cleaning would remove from all stores.

    Attributes:
        steps: The steps that no recipe in use needs.
        indices: The number of files and folders of indices.
        remains: The bytes that killed commands left.
        size: The bytes of all of it.
    """

    steps: tuple[StoredStep, ...]
    indices: int
    remains: int
    size: int

    @property
    def counted_people(self) -> int:
        """How many of the steps counted votes or ratings: made again, they count those that there are then."""
        return sum(step.counted_people for step in self.steps)


@dataclass(frozen=True)
class OpenedStores:
    """The stores of a build and of its evaluations.

    Attributes:
        stores: Each with the states that it holds.
        notes: Which stores were left alone, and why.
        lasting: The bytes of what is never removed, by what it is.
    """

    stores: tuple[OpenedStore, ...]
    notes: tuple[str, ...]
    lasting: Mapping[str, int]

    def removable(self, *, indices: bool = False) -> Removable:
        """What `clean` would remove."""
        held = [each.contents for each in self.stores]
        steps = tuple(step for contents in held for step in contents.older)
        made = [size for contents in held for size in contents.indices.values() if indices]
        remains = sum(contents.remains for contents in held)
        return Removable(steps, len(made), remains, sum(step.size for step in steps) + sum(made) + remains)

    def clean(self, *, indices: bool = False) -> int:
        """Remove what no recipe in use needs, and with `indices` every index; the number of bytes that were freed.

        Raises:
            StoreError: A build is at work.
        """
        return sum(each.clean(indices=indices) for each in self.stores)


@dataclass(frozen=True)
class CleanedStores:
    """What a cleaning found, and what it did.

    Attributes:
        found: The stores as they were before.
        removable: What no recipe in use needs of them.
        freed: The bytes that were freed; 0 if nothing was to be removed.
    """

    found: OpenedStores
    removable: Removable
    freed: int


def clean(
    recipe: str, overrides: Sequence[str] = (), *, keep: Sequence[str] = (), indices: bool = False,
    remove: bool = False, recipes: Sequence[str] | None = None, trust: Sequence[str] = (),
) -> CleanedStores:  # fmt: skip
    """Look at what a build's store holds, as ``benchbuild clean`` does, and remove what no recipe in use needs.

    Paid replies, people's work and judges are never removed.

    Args:
        recipe: The name of the recipe that is in use.
        overrides: Overrides as on the command line.
        keep: Further recipes in use, each in one text: ``"recipe=NAME key=value"``.
        indices: Count the indices of retrievers among what is removed.
        remove: Remove it; without, nothing is changed.
        recipes: Further folders of recipes, searched first.
        trust: Folders whose recipes are trusted for this call.

    Raises:
        RecipeError: A recipe is wrong, or builds elsewhere.
        DataError: There is no build, or a file that a recipe names cannot be read.
        StoreError: A build is at work.
    """
    with trusting(trust):
        found = open_stores(words_of(recipe, overrides), keep, recipes)
    removable = found.removable(indices=indices)
    return CleanedStores(found, removable, found.clean(indices=indices) if remove and removable.size else 0)


def open_stores(overrides: Sequence[str], keep: Sequence[str], recipes: Sequence[str] | None) -> OpenedStores:
    """The stores of the build that `overrides` choose; `keep` has the words of further recipes in use.

    Raises:
        RecipeError: A recipe is wrong, or builds elsewhere.
        DataError: There is no build, or a file that a recipe names cannot be read.
    """
    used = {shlex.join(words): open_recipe(words, recipes) for words in (list(overrides), *map(shlex.split, keep))}
    first = next(iter(used.values()))
    folder = first.store.folder
    if not first.store.steps.is_dir():
        raise DataError(f"{folder} holds no build", next="build it first, or give the arguments of its build")
    if wrong := [words for words, opened in used.items() if opened.store.folder != folder]:
        raise RecipeError([
            Problem("this recipe builds into another folder", where=f"command line: --keep {shlex.quote(words)}",
                    hint="clean each build by itself")
            for words in wrong
        ])  # fmt: skip
    plans: dict[Path, dict[str, Plan]] = {folder: {words: opened.plan for words, opened in used.items()}}
    stores = {folder: first.store}
    notes: list[str] = []
    for task in [part.task for part in first.loaded.by_task()]:
        try:
            evaluations = [(words, _planned_evaluation(opened, task)) for words, opened in used.items()]
        except (DataError, RecipeError) as error:
            why = str(error).partition("\n")[0]
            notes.append(f"the evaluation{f' of {task}' if task else ''} stays as it is: {why}")
            continue
        for words, evaluation in evaluations:
            if evaluation is not None and evaluation.store.steps.is_dir():
                stores[evaluation.store.folder] = evaluation.store
                plans.setdefault(evaluation.store.folder, {})[words] = evaluation.plan
    read = (OpenedStore(stores[path], plans[path], read_contents(stores[path], plans[path])) for path in plans)
    return OpenedStores(tuple(read), tuple(notes), _lasting(list(stores.values())))


def _planned_evaluation(opened: OpenedRecipe, task: str) -> Evaluation | None:
    """The evaluation of a recipe, or of one of its tasks, if one was run."""
    part = opened.loaded.for_task(task) if task else opened.loaded
    spec, place = part.recipe.evaluation, opened.store.folder / task
    if spec is None or (spec.dir is None and not any(place.glob("evaluation*/store/steps"))):
        return None
    return plan_evaluation(part, Path.cwd(), with_model=chooses_model(part.overrides))


def _lasting(stores: Sequence[Store]) -> dict[str, int]:
    """The bytes of what cannot be made again, or only at a price."""
    folders = [store.folder for store in stores]
    journals = {path for folder in folders for path in folder.glob("*.sqlite*")} | {store.journal for store in stores}
    sizes = {
        "replies of models": sum(map(size_of, journals)),
        "people's work": sum(map(size_of, {store.workplace for store in stores})),
        "judges": sum(size_of(folder / "judges") for folder in folders),
    }
    return {what: size for what, size in sizes.items() if size}
