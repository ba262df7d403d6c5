"""Builds of bundled recipes for tests: offline, without a key, over the bundled samples."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.authoring.trace import Inspector
from benchbuilder.config.load import Loaded, load_recipe
from benchbuilder.evaluation.plan import plan_evaluation
from benchbuilder.pipeline.build import build
from benchbuilder.pipeline.check import check
from benchbuilder.pipeline.plan import Plan, make_plan
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest

ENDS = {"item", "dropped", "not applicable", "unused", "used", "kept"}


class Quiet:
    def begin(self, step: str, total: int | None, unit: str) -> None: ...

    def advance(self, step: str, count: int) -> None: ...

    def end(self, step: str, summary: str) -> None: ...

    def note(self, text: str) -> None: ...


@dataclass(frozen=True)
class Built:
    loaded: Loaded
    plan: Plan
    store: Store
    manifests: dict[str, Manifest]

    def rows(self, step: str) -> list[Any]:
        return list(self.store.rows(self.manifests[step]))

    def reasons(self, step: str) -> Counter[str]:
        fates = self.store.fates(self.manifests[step]).to_pylist()
        return Counter(fate["reason"] for fate in fates if fate["fate"] == "dropped")

    def ends(self, source: str) -> set[str]:
        """How the branches of the units of a source end."""
        inspector, found = Inspector(self.plan, self.store), set[str]()
        for unit in self.store.fates(self.manifests[source]).to_pylist():
            branches = inspector.why(f"{unit['file']}:{unit['line']}")
            assert branches
            assert all(branch.reason or branch.fate in ("item", "kept", "used") for branch in branches)
            found |= {branch.fate for branch in branches}
        return found


def warnings(recipe: str, *words: str) -> list[str]:
    """What `check` says of a recipe."""
    return list(check(load_recipe([f"recipe={recipe}", *words], cwd=Path("/nowhere"), environ={})))


def built(recipe: str, folder: Path, *words: str) -> Built:
    """A build of a recipe."""
    loaded = load_recipe([f"recipe={recipe}", f"run.dir={folder / 'build'}", *words], cwd=folder, environ={})
    store = Store(loaded.recipe.folder(folder))
    plan = make_plan(loaded.recipe, store, Checksums(store.checksums).of)
    return Built(loaded, plan, store, build(plan, store, loaded.yaml, Quiet()).manifests)


def evaluated(made: Built, folder: Path) -> Built:
    """The evaluation of a build with the bundled baselines."""
    planned = plan_evaluation(made.loaded, folder)
    report = build(planned.plan, planned.store, made.loaded.yaml, Quiet())
    return Built(made.loaded, planned.plan, planned.store, report.manifests)
