"""What the outputs that lie in the folder of a build were made of."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchbuilder.pipeline.store.manifest import Manifest


def outputs_mark_path(folder: Path) -> Path:
    """The file that says so."""
    return folder / "store" / "outputs.json"


def manifest_hashes(manifests: Mapping[str, Manifest]) -> dict[str, str]:
    """What tells the manifests of steps apart from others."""
    return {
        name: hashlib.sha256(manifest.model_dump_json().encode()).hexdigest() for name, manifest in manifests.items()
    }


def read_outputs_mark(mark: Path) -> dict[str, Any]:
    """The `state` that the outputs were made of (JSON; empty while they are written) and their names with sizes."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        known: Any = json.loads(mark.read_text(encoding="utf-8"))
        if isinstance(known, dict) and set(known) == {"state", "files"} and isinstance(known["files"], dict):  # pyright: ignore[reportUnknownArgumentType]
            return known  # pyright: ignore[reportUnknownVariableType]
    return {"state": "", "files": {}}


def outputs_match(folder: Path, manifest: Manifest) -> bool:
    """Whether what lies in `folder` was made with this step as it is sealed: a store keeps steps of earlier words."""
    state: str = read_outputs_mark(outputs_mark_path(folder))["state"]
    steps: Any = json.loads(state).get("steps", {}) if state else {}
    return steps.get(manifest.step) == manifest_hashes({manifest.step: manifest})[manifest.step]
