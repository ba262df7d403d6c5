"""Writes the outputs of a build, the mark of the results they were made of, and what exporters read of a build."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchbuilder import __version__
from benchbuilder.config import Recipe
from benchbuilder.core import Table, Waiting, create_from_spec, write_atomically
from benchbuilder.exporters import AuditResult, Exporter, FinishedBuild, StepCounts
from benchbuilder.models import Receipt
from benchbuilder.pipeline.audits import AuditKeeper, Auditor, audit_folder
from benchbuilder.pipeline.cache_key import kind_key_inputs, spec_key_inputs
from benchbuilder.pipeline.ledger import write_ledger
from benchbuilder.pipeline.plan import Plan
from benchbuilder.pipeline.shards.worker import TableFiles
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest


@dataclass(frozen=True)
class OutputFiles:
    """The outputs that are in the folder now, and those of an earlier build that were removed as outdated.

    `audits` are the results of the auditor by task, if there is an auditor.
    """

    written: list[Path]
    removed: list[Path]
    audits: Mapping[str, AuditResult] = field(default_factory=dict[str, AuditResult])


@dataclass(frozen=True)
class OutputWriter:
    """Writes the outputs of `plan` into the folder of `store`; an `auditor` looks at the build first."""

    plan: Plan
    store: Store
    recipe_yaml: str
    auditor: Auditor | None = None

    def write(
        self, manifests: Mapping[str, Manifest], waiting: Mapping[str, Waiting], receipts: Sequence[Receipt]
    ) -> OutputFiles:
        """Write the outputs that can be written, unless the folder has those of just these results.

        `manifests` are the steps that are up to date, `waiting` is what people or batches still owe, both by step.
        """
        folder = self.store.folder
        mark = _OutputsMark(folder)
        state = self._state(manifests, waiting, receipts)
        text = "\n".join(str(wait) for wait in waiting.values())
        tasks = [self._task_build(task, part, manifests, text, tuple(receipts))
                 for task, part in self.plan.recipe.by_task().items()]  # fmt: skip
        if mark.state == state and _sizes(folder, mark.files) == mark.files:
            return OutputFiles([folder / name for name in mark.files], [], self._audits(tasks))
        mark.write("", mark.files)  # until all is written, the mark fits no state but names what may be there
        written = self._write_recipe_and_ledger(manifests)
        audits = self._audits(tasks)
        for task in tasks:
            (folder / task.name).mkdir(exist_ok=True)
            finished = replace(task.finished(), audit=audits.get(task.name))
            for spec in task.recipe.outputs.values():
                exporter: Exporter = create_from_spec("exporter", spec)
                if exporter.can_write(finished):
                    written += exporter.write(finished, folder / task.name)
        return replace(self._finish(mark, state, written), audits=audits)

    def _task_build(
        self, task: str, recipe: Recipe, manifests: Mapping[str, Manifest], waiting: str, receipts: tuple[Receipt, ...]
    ) -> _TaskBuild:
        """One task with the steps that it needs."""
        plan = replace(self.plan, recipe=recipe)
        needed = plan.ancestors_of([recipe.items]) if task else set(manifests)
        chosen = {name: manifest for name, manifest in manifests.items() if name in needed}
        finished = partial(finished_build, plan, self.store, chosen, self.recipe_yaml, waiting, receipts)
        return _TaskBuild(task, recipe, chosen, cache(finished))

    def _audits(self, tasks: Sequence[_TaskBuild]) -> dict[str, AuditResult]:
        """What the auditor finds in each task."""
        if self.auditor is None:
            return {}
        keeper = AuditKeeper(audit_folder(self.store), self.auditor)
        return {task.name: keeper.result(task.name, task.recipe, task.manifests, task.finished) for task in tasks}

    def write_partial(self, manifests: Mapping[str, Manifest]) -> OutputFiles | None:
        """Write the ledger of a build that stopped; ``None`` if the outputs fit its steps and may stay.

        Other outputs are removed: the ledger and the recipe would contradict them.
        """
        mark = _OutputsMark(self.store.folder)
        former: Any = json.loads(mark.state) if mark.state else {}
        if former.get("recipe") == self.recipe_yaml and former.get("steps") == _manifest_hashes(manifests):
            return None
        mark.write("", mark.files)
        return self._finish(mark, "", self._write_recipe_and_ledger(manifests))

    def _state(
        self, manifests: Mapping[str, Manifest], waiting: Mapping[str, Waiting], receipts: Sequence[Receipt]
    ) -> str:
        """What outputs are made of, as JSON."""
        sha256_of = Checksums(self.store.checksums).sha256_of
        exporters = {
            f"{task}/{name}" if task else name: kind_key_inputs("exporter", spec) | spec_key_inputs(spec, sha256_of)
            for task, part in self.plan.recipe.by_task().items()
            for name, spec in part.outputs.items()
        }
        state = {
            "steps": _manifest_hashes(manifests),
            "recipe": self.recipe_yaml,
            "exporters": exporters,
            "version": __version__,
            "auditor": None if self.auditor is None else self.auditor.version,
            "waiting": {name: str(wait) for name, wait in waiting.items()},
            "receipts": [asdict(receipt) for receipt in receipts],
        }
        return json.dumps(state, ensure_ascii=False, sort_keys=True)

    def _write_recipe_and_ledger(self, manifests: Mapping[str, Manifest]) -> list[Path]:
        recipe, ledger = self.store.folder / "recipe.yaml", self.store.folder / "ledger.tsv"
        write_ledger(manifests, self.store, ledger)
        recipe.write_text(self.recipe_yaml, encoding="utf-8")
        return [recipe, ledger]

    def _finish(self, mark: _OutputsMark, state: str, written: list[Path]) -> OutputFiles:
        """Remove what was not written again, and mark what is there as made of `state`."""
        folder = self.store.folder
        names = [file.relative_to(folder).as_posix() for file in written]
        removed = [folder / name for name in sorted(set(mark.files) - set(names))]
        for file in removed:
            file.unlink(missing_ok=True)
        mark.write(state, _sizes(folder, names))
        return OutputFiles(written, removed)


@dataclass(frozen=True)
class _TaskBuild:
    """A task of the benchmark, and how to read its build."""

    name: str
    recipe: Recipe
    manifests: Mapping[str, Manifest]
    finished: Callable[[], FinishedBuild]


class _OutputsMark:
    """The file that says which results the outputs in a build's folder were made of.

    `state` is that as JSON, empty while outputs are written; `files` holds the names of the outputs with their sizes.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "store" / "outputs.json"
        self.state: str = ""
        self.files: dict[str, int] = {}
        with contextlib.suppress(FileNotFoundError, ValueError):
            mark: Any = json.loads(self._path.read_text(encoding="utf-8"))
            if isinstance(mark, dict) and set(mark) == {"state", "files"} and isinstance(mark["files"], dict):  # pyright: ignore[reportUnknownArgumentType]
                self.state, self.files = mark["state"], mark["files"]

    def write(self, state: str, files: Mapping[str, int]) -> None:
        write_atomically(self._path, json.dumps({"state": state, "files": dict(files)}, ensure_ascii=False))


def outputs_match(folder: Path, manifest: Manifest) -> bool:
    """Whether the outputs in a build's folder were made of this manifest: its store keeps earlier builds' steps too."""
    state = _OutputsMark(folder).state
    steps: Any = json.loads(state).get("steps", {}) if state else {}
    return steps.get(manifest.step) == _manifest_hashes({manifest.step: manifest})[manifest.step]


def _manifest_hashes(manifests: Mapping[str, Manifest]) -> dict[str, str]:
    return {
        name: hashlib.sha256(manifest.model_dump_json().encode()).hexdigest() for name, manifest in manifests.items()
    }


def _sizes(folder: Path, names: Iterable[str]) -> dict[str, int]:
    """The sizes of the files that are there: a file that was cut or removed is written again."""
    return {name: (folder / name).stat().st_size for name in names if (folder / name).exists()}


_CACHED_ROWS = 50_000
"""The largest table whose rows are kept in memory for the next exporter."""


def finished_build(
    plan: Plan,
    store: Store,
    manifests: Mapping[str, Manifest],
    recipe_yaml: str,
    waiting: str = "",
    receipts: tuple[Receipt, ...] = (),
) -> FinishedBuild:
    """The view of a build for exporters; its ledger must be written. `waiting` says what people still have to do."""
    return FinishedBuild(
        tables=StepTables(store, manifests),
        step_counts=tuple(_step_counts(manifest, plan.nodes[name].inputs) for name, manifest in manifests.items()),
        recipe=plan.recipe.model_dump(mode="json", by_alias=True, exclude={"run"}, serialize_as_any=True),
        recipe_yaml=recipe_yaml,
        ledger=store.folder / "ledger.tsv",
        items=plan.recipe.items,
        state="waiting" if waiting else "done",
        waiting=waiting,
        receipts=receipts,
    )


def _step_counts(manifest: Manifest, inputs: Mapping[str, tuple[str, ...]]) -> StepCounts:
    return StepCounts(
        step=manifest.step,
        kind=manifest.kind,
        role=manifest.row.partition("[")[0],
        rows=manifest.rows,
        inputs=inputs,
        counts={(partition, outcome, reason): n for partition, outcome, reason, n in manifest.counts},
        units={(file, outcome, reason): n for file, outcome, reason, n in (*manifest.units, *manifest.auxiliary)},
        tallies={(tally, partition, key): n for tally, partition, key, n in manifest.tallies},
        notes=manifest.notes,
        reasons=manifest.reasons,
    )


class StepTables(Mapping[str, Table[Any]]):
    """The tables of committed steps by name, each read when it is first used."""

    def __init__(self, store: Store, manifests: Mapping[str, Manifest]) -> None:
        self._store, self._manifests = store, manifests
        self._cached: dict[str, Table[Any]] = {}

    def __getitem__(self, name: str) -> Table[Any]:
        if name not in self._cached:
            manifest = self._manifests[name]
            table = TableFiles(manifest.row, self._store.parts(manifest), self._store.cache).load()
            self._cached[name] = _CachedTable(table) if len(table) <= _CACHED_ROWS else table
        return self._cached[name]

    def __contains__(self, name: object) -> bool:
        return name in self._manifests  # without reading the table

    def __iter__(self) -> Iterator[str]:
        return iter(self._manifests)

    def __len__(self) -> int:
        return len(self._manifests)


class _CachedTable(Table[Any]):
    """A table that several exporters read: its rows are made once."""

    def __init__(self, table: Table[Any]) -> None:
        super().__init__(table.arrow, table.row)
        self._rows: list[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        if self._rows is None:
            self._rows = list(super().__iter__())
        return iter(self._rows)
