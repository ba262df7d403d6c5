"""Audits of a build: made by an auditor from above, and kept until something that they were made of changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from benchbuilder import __version__
from benchbuilder.config import Recipe
from benchbuilder.core import read_sealed_json, seal_json, write_atomically
from benchbuilder.exporters import AuditResult, FinishedBuild
from benchbuilder.pipeline.plan import Plan
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest


class Auditor(Protocol):
    """Audits a finished build. Another `version` may find something else in the same build."""

    @property
    def version(self) -> int:
        """Its version."""
        ...

    def audit_build(self, finished: FinishedBuild, kept: Path) -> AuditResult:
        """What it finds; what it measures it may keep in the file `kept`, for its next audit of the same build."""
        ...


def committed_manifests(plan: Plan, store: Store) -> dict[str, Manifest]:
    """The steps that are up to date in the store, by name; those behind a missing one are left out."""
    committed: dict[str, Manifest] = {}
    for name, node in plan.nodes.items():
        if all(up in committed for up in node.upstream()):
            manifest = store.manifest(name, node.key)
            if manifest is not None and manifest.inputs == {up: committed[up].digest for up in node.upstream()}:
                committed[name] = manifest
    return committed


@dataclass(frozen=True)
class AuditKeeper:
    """Makes audits of the tasks of a build, each once as long as its rows and settings stay the same."""

    folder: Path
    auditor: Auditor

    def result(
        self, task: str, recipe: Recipe, manifests: Mapping[str, Manifest], finished: Callable[[], FinishedBuild]
    ) -> AuditResult:
        """The result for a task, from an earlier audit if that is still true; `finished` is called only if not."""
        key, path = self._key(recipe, manifests), self.folder / f"{task or 'benchmark'}.json"
        if (kept := _kept_result(path, key)) is not None:
            return kept
        result = self.auditor.audit_build(finished(), path.with_suffix(".parquet"))
        self.folder.mkdir(parents=True, exist_ok=True)
        data = {"key": key, "result": result.model_dump(mode="json")}
        write_atomically(path, seal_json(data), sync=False)
        return result

    def _key(self, recipe: Recipe, manifests: Mapping[str, Manifest]) -> str:
        data = {
            "settings": recipe.audit.model_dump(mode="json", serialize_as_any=True),
            "seed": recipe.seed,
            "items": recipe.items,
            "auditor": self.auditor.version,
            "version": __version__,
            "rows": {name: manifest.digest for name, manifest in manifests.items()},
        }
        return hashlib.sha256(json.dumps(data, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def audit_folder(store: Store) -> Path:
    """Where the audits of a build are kept."""
    return store.folder / "store" / "audits"


def _kept_result(path: Path, key: str) -> AuditResult | None:
    """The result in a file, if it was made under this key and is not damaged."""
    try:
        data = read_sealed_json(path)
        return AuditResult.model_validate(data["result"]) if data["key"] == key else None
    except (FileNotFoundError, ValueError, KeyError, TypeError, ValidationError):
        return None
