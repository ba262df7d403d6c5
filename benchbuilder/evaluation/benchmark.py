"""The benchmark that an evaluation is about: the items of the recipe's build, or those of another benchmark."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from benchbuilder.config import (
    CardSpec,
    EvaluationSpec,
    FileRef,
    KindSpec,
    LoadedRecipe,
    Recipe,
    RecipeRoot,
    display_path,
    read_kind_spec,
)
from benchbuilder.core import DataError
from benchbuilder.pipeline import (
    Checksums,
    Manifest,
    Store,
    last_command_hint,
    last_overrides,
    make_plan,
    outputs_match,
    recorded_changes,
    recorded_steps,
)

BENCHMARK = "benchmark"
"""The source of the items in the plan of an evaluation."""
_LISTED_CHANGES = 3
"""How many changed settings an error names."""


def benchmark_source(loaded: LoadedRecipe, spec: EvaluationSpec, built: Store) -> tuple[KindSpec, tuple[str, ...]]:
    """The source of the items: the benchmark that the evaluation names, else the recipe's build in the store `built`.

    With it comes a note where the files of that build hold other items.

    Raises:
        DataError: There are no items yet, or they were built with other settings than the recipe has now.
    """
    if spec.benchmark is not None:
        return spec.benchmark, ()
    items = loaded.recipe.items
    manifest = require_items(loaded, built, "evaluate")
    note = other_files_note(built, manifest)
    parts = [FileRef(path=f"{items}/{part.name}", resolved_path=str(part.absolute())) for part in built.parts(manifest)]
    source = read_kind_spec("source", {"kind": "built_items", "parts": parts, "row": manifest.row})
    return source, (note,) if note else ()


def other_files_note(built: Store, manifest: Manifest, verb: str = "evaluate") -> str:
    """That the files in the folder of a build hold the items of other overrides than those that are meant; or empty.

    `verb` says what is done with the items.
    """
    if not recorded_steps(built.folder) or outputs_match(built.folder, manifest):
        return ""
    overrides, latest = shlex.join(last_overrides(built) or ()), built.latest(manifest.step)
    has_items = latest is not None and latest.rows > 0 and outputs_match(built.folder, latest)
    advice = f"give its overrides to {verb} it" if has_items else "it has no items yet"
    return (
        f"the files in {display_path(built.folder)} are of another build{f' ({overrides})' if overrides else ''}: "
        f"{advice}. These are {manifest.rows:,} items of the overrides given now"
    )


def require_items(loaded: LoadedRecipe, built: Store, verb: Literal["evaluate", "audit"]) -> Manifest:
    """The items of the recipe's build, for the command `verb`.

    Raises:
        DataError: There are no items yet, or they were built with other settings than the recipe has now.
    """
    items, manifest = loaded.recipe.items, _items_manifest(loaded, built)
    if manifest is not None and manifest.rows:
        return manifest
    state = "holds no items" if manifest is not None else "is not built yet"
    if manifest is None and (built.folder / "recipe.yaml").exists():
        state = f"has no {items} yet: the build waits, or was stopped"
    what = {"evaluate": "evaluate on", "audit": "audit"}[verb]
    raise DataError(
        f"there is nothing to {what}: {display_path(built.folder)} {state}",
        where=f"the step {items!r}",
        why=built.former_layout_note(),
        next=f"build the benchmark first (the same command without `{verb}`), or give --benchmark FILE"
        if manifest is None
        else "each candidate was dropped: the report and ledger.tsv of the build say why",
    )


def _items_manifest(loaded: LoadedRecipe, built: Store) -> Manifest | None:
    """The items that the build made with the recipe's settings; DataError if it has only those of other settings.

    The model that is evaluated is not the one that builds: with ``model=...`` among the overrides, the items of any
    model count.
    """
    recipe = loaded.recipe
    try:
        plan = make_plan(recipe, built, Checksums(built.checksums).sha256_of)
    except (DataError, OSError):
        return built.latest(recipe.items)  # the sources are gone: nobody can say what they would make
    exact = built.manifest(recipe.items, plan.nodes[recipe.items].key)
    recorded = built.manifests(recipe.items)
    if exact is not None or not recorded:
        return exact
    any_model = any(override.startswith(("model=", "model.")) for override in loaded.overrides)
    changes = [recorded_changes(plan, recipe.items, built, manifest, any_model=any_model) for manifest in recorded]
    for manifest, changed in zip(recorded, changes, strict=True):
        if not changed:
            return manifest
    former = last_command_hint(built, loaded.overrides, "")
    raise DataError(
        f"the items in {display_path(built.folder)} were built with other settings than the recipe has now",
        where=f"the step {recipe.items!r}",
        why="; ".join(changes[0][:_LISTED_CHANGES]) + (f" ({former})" if former else ""),
        next="build first, with the arguments of this command (without `evaluate`), or give those of that build",
    )


def folder_of_benchmark(what: str, file: Path) -> str:
    """The name of the folder for `what` (evaluation, audit) of a benchmark from elsewhere, by its file."""
    path = file.absolute()
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", path.stem).strip("_") or BENCHMARK
    return f"{what}-{stem}-{hashlib.blake2b(str(path).encode(), digest_size=3).hexdigest()}"


def benchmark_card(recipe: Recipe, spec: EvaluationSpec) -> CardSpec:
    """The card of the benchmark; that of another benchmark repeats nothing that is true of the recipe's own alone."""
    if spec.benchmark is None:
        return recipe.card
    title = spec.benchmark.title or Path(spec.benchmark.path.path).name
    licence = spec.benchmark.licence or "not stated"
    return recipe.card.model_copy(update={"title": title, "summary": "", "licence": licence, "illustrative": False})


def unused_rows(lost: Mapping[str, int], used: int) -> tuple[str, bool]:
    """How many rows of a benchmark were dropped, with the reasons, and whether they are more than a tenth.

    >>> unused_rows({"duplicate": 1}, 19)
    ('1 of 20 rows of the benchmark were not used: duplicate 1', False)
    """
    count, reasons = sum(lost.values()), ", ".join(f"{reason} {n}" for reason, n in lost.items())
    rows = count + used
    return f"{count} of {rows} rows of the benchmark were not used: {reasons}" if count else "", 10 * count > rows


def has_sample_ratings(recipe: Recipe, spec: EvaluationSpec, roots: Sequence[RecipeRoot]) -> bool:
    """Whether people's ratings are sample data: the recipe says that its data are, and a file of ratings is its own."""
    files: Iterator[FileRef | None] = (getattr(scorer, "file", None) for scorer in spec.scorers.values())
    return recipe.card.illustrative and any(_is_below(ref, roots) for ref in files)


def _is_below(ref: FileRef | None, roots: Sequence[RecipeRoot]) -> bool:
    return ref is not None and any(ref.file.is_relative_to(root.path) for root in roots)


def without_recipe_files(spec: EvaluationSpec, roots: Sequence[RecipeRoot]) -> EvaluationSpec:
    """The evaluation without the files that came with the recipe: answers and ratings of its own items.

    Published figures stay: the results show them if the benchmark has as many rows as they are of.
    """

    def others(specs: Mapping[str, Any]) -> dict[str, Any]:
        return {name: kind for name, kind in specs.items() if not _is_below(getattr(kind, "file", None), roots)}

    changes: dict[str, Any] = {"baselines": others(spec.baselines), "scorers": others(spec.scorers)}
    if _is_below(spec.answers, roots):
        changes["answers"] = None
    return spec.model_copy(update=changes)
