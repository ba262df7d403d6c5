"""The table in which people translate the facts of a recipe: which facts it has, and what the checks say of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchbuilder.authoring.dry_run.run import rows_before
from benchbuilder.config import FileRef, LoadedRecipe
from benchbuilder.core import Problem, RecipeError, Row
from benchbuilder.pipeline import Plan, Store, Watcher
from benchbuilder.steps import (
    CheckedTranslations,
    TranslatedPart,
    TranslateSpec,
    drafted_parts,
    payload_parts,
    read_translations,
    render_translations,
    with_drafts,
)


def translate_step(loaded: LoadedRecipe) -> tuple[str, TranslateSpec]:
    """The step of a recipe that translates facts, with its spec; RecipeError if there is none."""
    for name, spec in loaded.recipe.steps.items():
        if isinstance(spec, TranslateSpec) and spec.original is not None:
            return name, spec
    hint = "the how-to “Bring a benchmark into another language” shows a recipe with one"
    raise RecipeError(
        [
            Problem(
                "no step of this recipe translates facts (kind translate, with `original`)",
                where=f"recipe={loaded.recipe.name}",
                hint=hint,
            )
        ]
    )


def check_table(
    loaded: LoadedRecipe, path: Path | None = None, lines: Sequence[TranslatedPart] = ()
) -> CheckedTranslations:
    """The table at `path`, or that of the recipe, checked as the recipe's step checks it.

    `lines` are those of facts that the table does not translate.
    """
    _, spec = translate_step(loaded)
    if path is not None:
        spec = spec.model_copy(update={"translations": FileRef(path=str(path), resolved_path=str(path))})
    files = [None if ref is None else ref.file for ref in (spec.translations, spec.glossary)]
    languages = (spec.original or "", loaded.recipe.language)
    drafts: dict[str, dict[str, TranslatedPart]] = {}
    for line in lines:
        drafts.setdefault(line.id, {})[line.part] = line
    return CheckedTranslations.read(files[0], spec.checks, languages, files[1], drafts)


def lines_to_translate(
    loaded: LoadedRecipe, plan: Plan, store: Store, watcher: Watcher, path: Path
) -> tuple[list[TranslatedPart], int]:
    """A line for each part of each fact, with what the table at `path` or a draft has of it, and the number of facts.

    Drafts are those of the last build. Lines of the table that no fact has any more come last, so that nothing is lost.
    """
    name, _ = translate_step(loaded)
    rows = rows_before(plan, store, name, watcher)
    drafts = drafted_parts(rows, *(_finished_rows(plan, store, name, port) for port in ("drafts", "back")))
    known = with_drafts(read_translations(path) if path.exists() else {}, drafts)
    lines, taken, count = list[TranslatedPart](), set[tuple[str, str]](), 0
    for row in rows:
        fact: Any = row
        count += 1
        for part, text in payload_parts(fact.payload).items():
            earlier = known.get(row.id, {}).get(part)
            if earlier is not None and earlier.original.split() == text.split():
                lines.append(earlier)
                taken.add((row.id, part))
            else:
                lines.append(TranslatedPart(0, row.id, part, text, ""))
    left = [line for parts in known.values() for line in parts.values() if (line.id, line.part) not in taken]
    return [*lines, *(line for line in left if line.translation)], count


def _finished_rows(plan: Plan, store: Store, step: str, port: str) -> list[Row]:
    """The rows at a port that the last build has made; none if it has not, or there is no such port."""
    manifests = [store.latest(name) for name in plan.nodes[step].inputs.get(port, ())]
    return [row for manifest in manifests if manifest is not None for row in store.rows(manifest)]


def render_table(lines: Sequence[TranslatedPart], checked: CheckedTranslations) -> str:
    """The table, with the faults of each line in its last column."""
    faults: dict[tuple[str, str], list[str]] = {}
    for line, fault in located_faults(lines, checked):
        faults.setdefault((line.id, line.part), []).append(fault)
    return render_translations(lines, faults)


def located_faults(
    lines: Sequence[TranslatedPart], checked: CheckedTranslations
) -> Iterator[tuple[TranslatedPart, str]]:
    """Each fault with its line; one about a whole fact stands at its first line."""
    first: dict[str, TranslatedPart] = {}
    by_name: Mapping[tuple[str, str], TranslatedPart] = {(line.id, line.part): line for line in lines}
    for line in lines:
        first.setdefault(line.id, line)
    for id, faults in checked.faults.items():
        for fault in faults:
            line = by_name.get((id, fault.part)) or first.get(id)
            if line is not None:
                yield line, f"{fault.check}: {fault.detail}"
