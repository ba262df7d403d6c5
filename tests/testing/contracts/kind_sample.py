"""The bundled recipe, built and evaluated over its sample data: the input of the contract checks."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from benchbuilder.config.load import LoadedRecipe, load_recipe
from benchbuilder.core import registry
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.evaluation.plan import plan_evaluation
from benchbuilder.exporters.base import FinishedBuild
from benchbuilder.pipeline.build import build_benchmark
from benchbuilder.pipeline.outputs import finished_build
from benchbuilder.pipeline.plan import Node, Plan, make_plan
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest
from benchbuilder.sources.base import Source
from benchbuilder.steps.base import Step

NEURAL = ("decoder", "dense", "encoder", "huggingface", "hybrid", "transformers")
"""Kinds that use PyTorch: judges, retrievers, a tokenizer and a model."""


class Quiet:
    """Reports no progress."""

    def begin(self, step: str, total: int | None, unit: str) -> None: ...

    def advance(self, step: str, count: int) -> None: ...

    def end(self, step: str, summary: str) -> None: ...

    def note(self, text: str) -> None: ...


@dataclass(frozen=True)
class Sample:
    """The bundled recipe, built over its sample data without people."""

    loaded: LoadedRecipe
    plan: Plan
    store: Store
    manifests: dict[str, Manifest]
    evaluation: Sample | None = None

    def rows(self, step: str) -> list[Any]:
        """The rows of a step."""
        return list(self.store.rows(self.manifests[step]))

    def finished(self) -> FinishedBuild:
        """The input of its exporters."""
        return finished_build(self.plan, self.store, self.manifests, self.loaded.yaml)

    def of(self, slot: str, kind: str) -> Sample:
        """This sample, or its evaluation if only that has such a source or step."""
        return self.evaluation if self.evaluation is not None and self.node(slot, kind) is None else self

    def node(self, slot: str, kind: str) -> Node | None:
        """A source or step of a kind; one with rows, if there is one."""
        wanted = Source if slot == "source" else Step
        nodes = [node for node in self.plan.nodes.values() if node.kind == kind and isinstance(node.producer, wanted)]
        return max(nodes, key=lambda node: self.manifests[node.name].rows, default=None)

    def tables(self, node: Node, rows: int) -> dict[str, Table[Any]]:
        """The input rows of a step, with about `rows` rows for its port `each`."""
        found: dict[str, Table[Any]] = {}
        assert isinstance(node.producer, Step)
        for port, names in node.inputs.items():
            tables = [self.store.rows(self.manifests[name]) for name in names]
            found[port] = Table.concat(tables, tables[0].row)
        each = found["each"].arrow
        step = max(1, len(each) // rows)
        found["each"] = Table(each.take(pa.array(range(0, len(each), step))), found["each"].row)
        return found


def built_sample(folder: Path) -> Sample:
    """The sample, built below `folder`, where a build with people may be."""
    words = ["recipe=care_mi", "annotation=none", "evaluation=[zh_claims,zh_answer_claims]"]
    loaded = load_recipe(words, cwd=folder, environ={})
    store = Store(loaded.recipe.build_folder(folder))
    plan = make_plan(loaded.recipe, store, Checksums(store.checksums).sha256_of)
    report = build_benchmark(plan, store, loaded.yaml, Quiet())
    planned = plan_evaluation(loaded, folder)
    made = build_benchmark(planned.plan, planned.store, loaded.yaml, Quiet(), write_outputs=False)
    evaluation = Sample(loaded, planned.plan, planned.store, made.manifests)
    return Sample(loaded, plan, store, report.manifests, evaluation)


def every(slot: str) -> list[str]:
    """The names of the built-in kinds of a slot."""
    return sorted(registry.BUILT_IN_KINDS[slot])


def in_tiers(kinds: Iterable[str], dear: Collection[str] = NEURAL) -> list[Any]:
    """Kinds as parameters of a test: in `full` the dear ones, in `push` the others."""
    return [pytest.param(kind, marks=pytest.mark.full if kind in dear else pytest.mark.push) for kind in kinds]


def load(slot: str, kind: str) -> type[Any]:
    """The class of a built-in kind."""
    return registry.Kind(slot, kind, registry.BUILT_IN_KINDS[slot][kind], "benchbuilder", "").load()
