"""A small recipe over stand-in kinds, built in a folder of its own; ``python engine_bench.py FOLDER`` builds it too."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import engine_kinds

from benchbuilder.config.spec.base import FileRef, KindSpec
from benchbuilder.config.spec.recipe import CardSpec, Recipe, RunSpec, ToleranceSpec
from benchbuilder.core import make_folder, registry
from benchbuilder.pipeline.build import BuildReport, build_benchmark
from benchbuilder.pipeline.inspector import Inspector
from benchbuilder.pipeline.plan import Plan, make_plan
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Store

CARD = CardSpec(
    title="t", summary="t", licence="CC0-1.0", correct_as_of="2024-01-01", intended_use=("tests",), not_for=("use",),
    personal_data="none",
)  # fmt: skip


class Quiet:
    """A watcher that remembers."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []
        self.done: dict[str, int] = {}

    def begin(self, step: str, total: int | None, unit: str) -> None:
        self.done[step] = 0

    def advance(self, step: str, count: int) -> None:
        self.done[step] += count

    def end(self, step: str, summary: str) -> None:
        self.said.append((step, summary))

    def note(self, text: str) -> None:
        self.said.append(("", text))


def register() -> None:
    """Make the stand-in kinds known in this process."""
    for slot, names in engine_kinds.built_in().items():
        registry.BUILT_IN_KINDS[slot].update(names)
    registry.kinds_of_slot.cache_clear()


def unregister() -> None:
    """Forget them."""
    for slot, names in engine_kinds.built_in().items():
        for name in names:
            registry.BUILT_IN_KINDS[slot].pop(name, None)
    registry.kinds_of_slot.cache_clear()


@dataclass
class Bench:
    """A folder with text files, and a recipe: sources by name -> lines, steps by name -> spec as YAML says it."""

    folder: Path
    sources: dict[str, list[str]]
    steps: dict[str, dict[str, Any]]
    items: str
    seed: int = 7
    tolerated: float = 0.0
    source_kind: str = "t_lines"
    run: dict[str, Any] = field(default_factory=dict[str, Any])
    watcher: Quiet = field(default_factory=Quiet)
    exporter: str = "items.txt"

    def write(self) -> None:
        """Write the source files."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, lines in self.sources.items():
            path, text = self.folder / f"{name}.txt", "".join(f"{line}\n" for line in lines)
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")

    @property
    def store(self) -> Store:
        """The store of the build."""
        return Store(self.folder / "out")

    def recipe(self) -> Recipe:
        """The recipe as the loader would make it."""
        sources = {
            name: registry.find_kind("source", self.source_kind).load().spec_class(
                kind=self.source_kind, path=FileRef(path=f"{name}.txt", resolved_path=str(self.folder / f"{name}.txt"))
            )
            for name in self.sources
        }  # fmt: skip
        steps = {
            name: registry.find_kind("step", spec["kind"]).load().spec_class.model_validate(spec)
            for name, spec in self.steps.items()
        }
        outputs = {"texts": engine_kinds.TextsSpec(kind="t_texts", file=self.exporter)}
        return Recipe(
            schema=1, name="bench", language="en", seed=self.seed, sources=sources, steps=steps, items=self.items,
            tokenizer=KindSpec(kind="none"), model=KindSpec(kind="none"), retriever=KindSpec(kind="none"),
            annotation=KindSpec(kind="none"), outputs=outputs, card=CARD, run=RunSpec(**{"workers": 1, **self.run}),
            tolerate=ToleranceSpec(failed_rows=self.tolerated),
        )  # fmt: skip

    def plan(self) -> Plan:
        """The plan over the files as they are."""
        self.write()
        checksums = Checksums(self.store.checksums)
        plan = make_plan(self.recipe(), self.store, checksums.sha256_of)
        checksums.save()
        return plan

    def build(self, refresh: tuple[str, ...] = ()) -> BuildReport:
        """Build it."""
        self.watcher = Quiet()
        make_folder(self.folder / "out" / "annotation")
        return build_benchmark(self.plan(), self.store, "name: bench\n", self.watcher, frozenset(refresh))

    def inspector(self) -> Inspector:
        """Look into what was built."""
        return Inspector.of_plan(self.plan(), self.store)

    def why(self) -> dict[str, str]:
        """State and reason of each node as `plan` tells them."""
        return {
            name: f"{s.state}: {s.why}" if s.why else s.state for name, s in self.plan().statuses(self.store).items()
        }

    def texts(self, step: str) -> list[str]:
        """The texts of a step's rows."""
        manifest = self.inspector().manifests[step]
        return self.store.rows(manifest).column("text")

    def outputs(self) -> dict[str, bytes]:
        """Every file that a build writes for its user, but for the run log."""
        return {
            path.name: path.read_bytes()
            for path in sorted((self.folder / "out").iterdir())
            if path.is_file() and path.name != "run.jsonl"
        }

    def digests(self) -> dict[str, str]:
        """The digest of each step."""
        return {name: manifest.digest for name, manifest in self.inspector().manifests.items()}

    def as_json(self) -> str:
        """Everything that another process needs to build it."""
        fields: Mapping[str, Any] = {
            name: getattr(self, name) for name in ("sources", "steps", "items", "seed", "run", "tolerated")
        }
        return json.dumps({"folder": str(self.folder), **fields})


if __name__ == "__main__":
    register()
    given = json.loads(sys.stdin.read())
    Bench(Path(given.pop("folder")), **given).build()
