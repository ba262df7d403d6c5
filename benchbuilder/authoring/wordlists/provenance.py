"""What is known of how a word list was made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from benchbuilder.authoring.wordlists.plan import WordListPlan
from benchbuilder.config import FileRef, Recipe
from benchbuilder.core import Term, create_from_spec, public_path
from benchbuilder.models import Model
from benchbuilder.pipeline import Checksums, spec_key_inputs
from benchbuilder.sources import Terms


def planned_terms(plan: WordListPlan) -> list[Term]:
    """The words that were made, in the order of the lists."""
    manifest = plan.store.manifest(plan.words_node, plan.plan.nodes[plan.words_node].key)
    return [] if manifest is None else [row.payload for row in plan.store.rows(manifest)]


def list_provenance(plan: WordListPlan, recipe: Recipe) -> dict[str, Any]:
    """The recipe, the lists with their checksums, who translated, and the settings: plain JSON data."""
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
    translation = [
        part for spec in steps.values() if spec.kind == "translate" for part in _translation(spec, checksums)
    ]
    settings = {spec.kind: _explicit_settings(spec_key_inputs(spec, checksums.sha256_of)) for spec in steps.values()}
    return {"recipe": recipe.benchmark_name, "language": recipe.language, "lists": lists, "translation": translation,
            "settings": settings}  # fmt: skip


def _explicit_settings(parts: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a step that are set, but for files and the model, which are told elsewhere."""
    read = {key: json.loads(part) for key, part in parts.items() if not key.startswith(("file ", "model"))}
    return {key: value for key, value in read.items() if value not in (None, [], "") and not key.endswith(" (order)")}


def _translation(spec: Any, checksums: Checksums) -> list[Mapping[str, str]]:
    """The dictionary and the model of a translation, with the hashes of what they were given."""
    found: list[Mapping[str, str]] = []
    if spec.dictionary is not None and spec.strategy != "model":
        found.append({"name": _file_name(spec.dictionary), "sha256": checksums.sha256_of(spec.dictionary.file)})
    if spec.strategy != "rules" and spec.model is not None and spec.model.kind != "none":
        model: Model = create_from_spec("model", spec.model)
        prompt = (
            {"prompt": spec.prompt.path, "prompt_sha256": checksums.sha256_of(spec.prompt.file)} if spec.prompt else {}
        )
        found.append({"name": model.label, **prompt})
    return found


def _file_name(ref: FileRef) -> str:
    return public_path(ref.path)
