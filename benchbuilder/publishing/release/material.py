"""Gathers what a release is made of: the build, its audits, its sources and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchbuilder.config import LoadedRecipe, display_path
from benchbuilder.core import DataError
from benchbuilder.evaluation import AuditOfTask, TextChecks, audits_of_build, check_texts
from benchbuilder.exporters import FinishedBuild
from benchbuilder.models import Receipt
from benchbuilder.pipeline import Checksums, Plan, Store, committed_manifests, finished_build, make_plan, open_gateway
from benchbuilder.publishing.release.licences import LicenceTerms, licence_terms


@dataclass(frozen=True)
class ReleasedSource:
    """A source that the benchmark is made of, with what its recipe says of it."""

    name: str
    title: str
    url: str
    citation: str
    terms: LicenceTerms


@dataclass(frozen=True)
class TaskMaterial:
    """One task of a build: its recipe, its rows, its audit, and what a comparison of its own texts found."""

    loaded: LoadedRecipe
    finished: FinishedBuild
    audit: AuditOfTask
    texts: TextChecks


@dataclass(frozen=True)
class ReleaseMaterial:
    """A whole build. `receipts` say what models were asked and what it cost."""

    loaded: LoadedRecipe
    plan: Plan
    store: Store
    tasks: tuple[TaskMaterial, ...]
    sources: tuple[ReleasedSource, ...]
    receipts: tuple[Receipt, ...]


def gather_material(loaded: LoadedRecipe, cwd: Path) -> ReleaseMaterial:
    """Read the build of a recipe and audit it; DataError if it is not finished with these settings."""
    store = Store(loaded.whole.build_folder(cwd))
    checksums = Checksums(store.checksums)
    plan = make_plan(loaded.whole, store, checksums.sha256_of)
    checksums.save()
    manifests = committed_manifests(plan, store)
    parts = loaded.by_task()
    for part in parts:
        manifest = manifests.get(part.recipe.items)
        if manifest is None or not manifest.rows:
            raise DataError(
                f"there is nothing to release: {display_path(store.folder)} has no {part.recipe.items} of this recipe",
                where=f"the step {part.recipe.items!r}",
                why="it is not built, it was built with other settings, or it waits for people"
                if manifest is None
                else "each candidate was dropped: the ledger says why",
                next="build the benchmark first: the same command without `release` and `version`"
                if manifest is None
                else "see the drops of the step in the report, and change the setting that they name",
            )
    with open_gateway(plan, store, lambda _: None) as gateway:
        receipts = () if gateway is None else gateway.receipts()
    tasks: list[TaskMaterial] = []
    needed = set[str]()
    for part, audit in zip(parts, audits_of_build(parts, cwd), strict=True):
        own = replace(plan, recipe=part.recipe)
        ancestors = own.ancestors_of([part.recipe.items])
        needed |= ancestors
        kept = {name: manifest for name, manifest in manifests.items() if name in ancestors}
        finished = finished_build(own, store, kept, part.yaml, receipts=receipts)
        tasks.append(TaskMaterial(part, finished, audit, check_texts(audit, [], cwd)))
    described: Mapping[str, Any] = tasks[0].finished.recipe["sources"]
    sources = tuple(_source(name, described[name]) for name in described if name in needed)
    return ReleaseMaterial(loaded, plan, store, tuple(tasks), sources, tuple(receipts))


def _source(name: str, spec: Mapping[str, Any]) -> ReleasedSource:
    said = {key: str(spec.get(key) or "") for key in ("title", "url", "citation", "licence")}
    return ReleasedSource(name, said["title"], said["url"], said["citation"], licence_terms(said["licence"]))
