"""Steps and audits that builds of a run made, for the stores of other folders that lack them.

The key of a step stands for all that it is made of, and a store compares the inputs and the checksums of what it finds.
So a store takes a step from elsewhere as its own, and a build that differs from others in one setting makes only what
differs.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

POOL = "BENCHBUILDER_TESTS_POOL"
"""The environment variable that holds the folder of the pool, for commands that give to it and take from it."""


def give(folder: Path, pool: Path) -> None:
    """Put the steps and the audits of all builds below a folder into the pool."""
    for store in folder.glob("**/store"):
        for step in store.glob("steps/*/*/"):
            _copy(step, pool / "steps" / step.parent.name / step.name)
        for audit in store.glob("audits/*.json"):
            _copy(audit, pool / "audits" / json.loads(audit.read_text(encoding="utf-8"))["key"])


def arm() -> None:
    """Let builds of this process use the pool that the environment names."""
    if POOL not in os.environ:
        return
    from benchbuilder.pipeline.audits import AuditKeeper
    from benchbuilder.pipeline.run_node import NodeRunner

    pool, run, audit = Path(os.environ[POOL]), NodeRunner.bring_up_to_date, AuditKeeper.result

    def bring_up_to_date(self: NodeRunner, node: Any, *, refresh: bool = False) -> Any:
        own = self.store.step_folder(node.name, node.key)
        pooled = pool / "steps" / node.name / own.name
        _copy(pooled, own)
        result = run(self, node, refresh=refresh)
        if result.manifest is not None and result.manifest.state == "complete":
            _copy(own, pooled)
        return result

    def result(self: AuditKeeper, task: str, recipe: Any, manifests: Any, finished: Any) -> Any:
        own = self.folder / f"{task or 'benchmark'}.json"
        pooled = pool / "audits" / self._key(recipe, manifests)  # pyright: ignore[reportPrivateUsage]
        if pooled.exists():
            own.unlink(missing_ok=True)
            _copy(pooled, own)
        found = audit(self, task, recipe, manifests, finished)
        _copy(own, pooled)
        return found

    NodeRunner.bring_up_to_date, AuditKeeper.result = bring_up_to_date, result


def _copy(source: Path, target: Path) -> None:
    """Copy a file or a folder, if it is there, to where nothing is."""
    if target.exists() or not source.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    begun = target.with_name(f"{target.name}.{os.getpid()}")
    (shutil.copytree if source.is_dir() else shutil.copy2)(source, begun)
    try:
        begun.rename(target)
    except OSError:  # another worker was faster
        shutil.rmtree(begun)
