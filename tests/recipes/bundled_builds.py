"""Builds of bundled recipes for tests: offline, without a key, over the bundled samples."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from once import Once

from benchbuilder.config.load import LoadedRecipe, load_recipe
from benchbuilder.evaluation.plan import plan_evaluation
from benchbuilder.pipeline.build import build_benchmark
from benchbuilder.pipeline.check import check_recipe
from benchbuilder.pipeline.inspector import Inspector
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
    loaded: LoadedRecipe
    plan: Plan
    store: Store
    manifests: dict[str, Manifest]

    def rows(self, step: str) -> list[Any]:
        return list(self.store.rows(self.manifests[step]))

    def reasons(self, step: str) -> Counter[str]:
        outcomes = self.store.outcomes(self.manifests[step]).to_pylist()
        return Counter(outcome["reason"] for outcome in outcomes if outcome["outcome"] == "dropped")

    def ends(self, source: str) -> set[str]:
        """How the branches of the units of a source end."""
        inspector, found = Inspector.of_plan(self.plan, self.store), set[str]()
        for unit in self.store.outcomes(self.manifests[source]).to_pylist():
            branches = inspector.branches_of(f"{unit['file']}:{unit['line']}")
            assert branches
            assert all(branch.reason or branch.outcome in ("item", "kept", "used") for branch in branches)
            found |= {branch.outcome for branch in branches}
        return found


def warnings(recipe: str, *words: str) -> list[str]:
    """What `check_recipe` says of a recipe."""
    return list(check_recipe(load_recipe([f"recipe={recipe}", *words], cwd=Path("/nowhere"), environ={})))


def built(recipe: str, folder: Path, *words: str) -> Built:
    """A build of a recipe."""
    loaded = load_recipe([f"recipe={recipe}", f"run.dir={folder / 'builds' / recipe}", *words], cwd=folder, environ={})
    store = Store(loaded.recipe.build_folder(folder))
    plan = make_plan(loaded.recipe, store, Checksums(store.checksums).sha256_of)
    return Built(loaded, plan, store, build_benchmark(plan, store, loaded.yaml, Quiet()).manifests)


def shared(once: Once, recipe: str, folder: Path) -> Built:
    """A copy, in `folder`, of the build of a recipe that several tests begin with."""
    once.copied((f"recipe={recipe}",), folder)
    return built(recipe, folder)


def evaluated(made: Built, folder: Path) -> Built:
    """The evaluation of a build with the bundled baselines."""
    planned = plan_evaluation(made.loaded, folder)
    report = build_benchmark(planned.plan, planned.store, made.loaded.yaml, Quiet())
    return Built(made.loaded, planned.plan, planned.store, report.manifests)
