"""The loop: reuse what the store has, make what it lacks, wait for people, write the outputs."""

from __future__ import annotations

import contextlib
import json
import platform
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchbuilder import __version__
from benchbuilder.core import ServiceError, Table, TooManyFailures, Waiting, count_phrase, create_from_spec
from benchbuilder.exporters import Exporter, FinishedBuild
from benchbuilder.models import Receipt
from benchbuilder.pipeline.cache_key import kind_key_inputs, spec_key_inputs
from benchbuilder.pipeline.last_command import save_last_command
from benchbuilder.pipeline.ledger import step_counts_of, write_ledger
from benchbuilder.pipeline.memory import peak_memory_mb, release_free_memory, reset_peak_memory
from benchbuilder.pipeline.plan import Node, NodeStatus, Plan
from benchbuilder.pipeline.progress import Watcher
from benchbuilder.pipeline.run_node import NodeRunner, ShardLimits, create_executor
from benchbuilder.pipeline.shards.worker import TableFiles
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Store, mark_latest
from benchbuilder.pipeline.store.manifest import Manifest
from benchbuilder.pipeline.store.outputs import manifest_hashes, outputs_mark_path
from benchbuilder.pipeline.store.outputs import read_outputs_mark as written_before

if TYPE_CHECKING:
    from benchbuilder.models import Gateway


@dataclass
class BuildReport:
    """What a build did. `waiting` holds what people still have to do, or batches to come, by step."""

    folder: Path
    built_steps: list[str] = field(default_factory=list[str])
    reused_steps: list[str] = field(default_factory=list[str])
    blocked_steps: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    waiting: dict[str, Waiting] = field(default_factory=dict[str, Waiting])
    written_files: list[Path] = field(default_factory=list[Path])
    removed_files: list[Path] = field(default_factory=list[Path])
    """Outputs of a former build of this folder that no longer hold, and were taken away."""
    manifests: dict[str, Manifest] = field(default_factory=dict[str, Manifest])
    receipts: tuple[Receipt, ...] = ()
    """What models were asked and what it cost, over all runs."""


def build_benchmark(
    plan: Plan,
    store: Store,
    recipe_yaml: str,
    watcher: Watcher,
    refresh: frozenset[str] = frozenset(),
    overrides: Sequence[str] = (),
    write_outputs: bool = True,
    keep_outputs: bool = False,
) -> BuildReport:
    """Bring every step of `plan` up to date and write the outputs.

    What does not depend on missing votes is built; then the outputs that can be written are, and `waiting` of the
    report says what is missing. The store keeps `overrides`. Without `write_outputs` the steps alone are brought up to date, and
    the outputs of a former build stay as they are. If `keep_outputs`, they stay too where this build stops in the middle.
    Raises DataError, TooManyFailures and the like; everything committed stays. After TooManyFailures and ServiceError
    the ledger holds all that is sealed, and outputs that do not fit that are taken away.
    InstallationError, before any step, if a library is missing that a model needs which would be asked.
    """
    with store.lock(), open_gateway(plan, store, watcher.note) as gateway:
        run = _BuildRun(plan, store, watcher, refresh, gateway)
        try:
            run.check_models()
            run.run_steps()
        except (ServiceError, TooManyFailures):
            if keep_outputs:
                write_ledger(run.current_manifests(), store, store.folder / "ledger.tsv")
            else:
                run.write_partial_ledger(recipe_yaml)
            raise
        finally:
            run.runner.executor.close()
            run.report.receipts = () if gateway is None else gateway.receipts()
            run.write_run_log()
            if write_outputs:
                save_last_command(store, overrides)
        if write_outputs:
            run.write_outputs(recipe_yaml)
        return run.report


@contextlib.contextmanager
def open_gateway(plan: Plan, store: Store, notice: Callable[[str], None]) -> Generator[Gateway | None]:
    """The gateway of a build, over the journal of its store and under the recipe's budget; none if no step asks."""
    if not any(node.model_spec for node in plan.nodes.values()):
        yield None
        return
    from benchbuilder.models import Gateway  # which most builds do without

    budget = plan.recipe.budget
    with Gateway(store.journal, usd=budget.usd, tokens=budget.tokens, notice=notice) as gateway:
        yield gateway


class _BuildRun:
    def __init__(
        self, plan: Plan, store: Store, watcher: Watcher, refresh: frozenset[str], gateway: Gateway | None
    ) -> None:
        self.plan, self.store, self.watcher = plan, store, watcher
        self.runner = NodeRunner(
            store, create_executor(plan.recipe.run), ShardLimits.of_recipe(plan.recipe), watcher, gateway
        )
        self.statuses = plan.statuses(store, refresh)
        self.refresh = refresh
        self.report = BuildReport(store.folder, manifests=self.runner.manifests)
        self.times: dict[str, dict[str, float]] = {}
        self.started = datetime.now(UTC)

    def check_models(self) -> None:
        """InstallationError if a model of a step that would run cannot be had."""
        for name, status in self.statuses.items():
            spec = self.plan.nodes[name].model_spec
            if spec is not None and status.state != "reused":
                create_from_spec("model", spec).ready()

    def run_steps(self) -> None:
        for name, node in self.plan.nodes.items():
            if blocked := [up for up in node.upstream() if up not in self.runner.manifests]:
                self.report.blocked_steps.append(name)
                self.watcher.end(name, f"waits for {', '.join(blocked)}")
                continue
            self._step(node, self.statuses[name])

    def _step(self, node: Node, status: NodeStatus) -> None:
        sealed = self.store.manifest(node.name, node.key)
        fits = sealed is not None and sealed.inputs == self.runner.input_digests(node) and node.name not in self.refresh
        if sealed is not None and fits and sealed.state == "complete":
            self.runner.manifests[node.name] = sealed
            mark_latest(self.store.step_folder(node.name, node.key))
            self.report.reused_steps.append(node.name)
            if status.note:
                self.report.notes.append(status.note)
            self.watcher.end(node.name, f"reused   {_summary(sealed)}")
            return
        with self._timed(node.name):
            try:
                manifest = (
                    self.runner.retry_failed(node, sealed) if sealed is not None and fits else self.runner.run(node)
                )
            except Waiting as waiting:
                self.report.waiting[node.name] = waiting
                self.watcher.end(node.name, f"waits: {waiting.what}")
                return
        self.runner.manifests[node.name] = manifest
        self.report.built_steps.append(node.name)
        self.watcher.end(node.name, f"built    {_summary(manifest)}{_time_note(self.times[node.name])}")

    @contextlib.contextmanager
    def _timed(self, name: str) -> Generator[None]:
        begin = time.perf_counter()
        reset_peak_memory(self.runner.executor.processes())
        try:
            yield
        finally:
            self.times[name] = {
                "seconds": round(time.perf_counter() - begin, 4),
                "peak_memory_mb": peak_memory_mb(self.runner.executor.processes()),
            }
            release_free_memory()

    def write_outputs(self, recipe_yaml: str) -> None:
        """Write what can be written, unless it was written for just these results."""
        folder, recipe = self.store.folder, self.plan.recipe
        state = {
            "steps": manifest_hashes(self.runner.manifests),
            "recipe": recipe_yaml,
            "exporters": {
                f"{task}/{name}" if task else name: kind_key_inputs("exporter", spec)
                | spec_key_inputs(spec, Checksums(self.store.checksums).sha256_of)
                for task, part in recipe.by_task().items()
                for name, spec in part.outputs.items()
            },
            "version": __version__,
            "waiting": {name: str(waiting) for name, waiting in self.report.waiting.items()},
            "receipts": [asdict(receipt) for receipt in self.report.receipts],
        }
        mark = outputs_mark_path(self.store.folder)
        text = json.dumps(state, ensure_ascii=False, sort_keys=True)
        known = written_before(mark)
        if known["state"] == text and _sizes(folder, known["files"]) == known["files"]:
            self.report.written_files = [folder / name for name in known["files"]]
            return
        # from here to the end the mark fits no state, but still names what may lie there
        _write_outputs_mark(mark, "", known["files"])
        ledger = folder / "ledger.tsv"
        write_ledger(self.runner.manifests, self.store, ledger)
        waiting = "\n".join(str(waiting) for waiting in self.report.waiting.values())
        (folder / "recipe.yaml").write_text(recipe_yaml, encoding="utf-8")
        written = [folder / "recipe.yaml", ledger]
        for task, part in recipe.by_task().items():
            if task:
                (folder / task).mkdir(exist_ok=True)
            plan = replace(self.plan, recipe=part)
            manifests = _manifests_of_task(plan, self.runner.manifests) if task else self.runner.manifests
            finished = finished_build(plan, self.store, manifests, recipe_yaml, waiting, self.report.receipts)
            for spec in part.outputs.values():
                exporter: Exporter = create_from_spec("exporter", spec)
                if exporter.can_write(finished):
                    written += exporter.write(finished, folder / task)
        self.report.written_files = written
        names = self._remove_outdated(known["files"], written)
        _write_outputs_mark(mark, text, _sizes(folder, names))

    def _remove_outdated(self, before: Iterable[str], written: Iterable[Path]) -> list[str]:
        """Remove those of the files from before that were not written now; the names of those that were."""
        folder = self.store.folder
        names = [file.relative_to(folder).as_posix() for file in written]
        for stale in sorted(set(before) - set(names)):
            (folder / stale).unlink(missing_ok=True)
            self.report.removed_files.append(folder / stale)
        return names

    def write_partial_ledger(self, recipe_yaml: str) -> None:
        """Write the ledger of what is sealed, the step with too many failures included.

        Outputs that fit what is sealed stay; others are taken away, as the ledger and the recipe would belie them.
        """
        sealed = self.current_manifests()
        folder, mark = self.store.folder, outputs_mark_path(self.store.folder)
        known = written_before(mark)
        former: Any = json.loads(known["state"]) if known["state"] else {}
        if former.get("recipe") == recipe_yaml and former.get("steps") == manifest_hashes(sealed):
            return
        _write_outputs_mark(mark, "", known["files"])
        write_ledger(sealed, self.store, folder / "ledger.tsv")
        (folder / "recipe.yaml").write_text(recipe_yaml, encoding="utf-8")
        names = self._remove_outdated(known["files"], [folder / "recipe.yaml", folder / "ledger.tsv"])
        _write_outputs_mark(mark, "", _sizes(folder, names))
        if self.report.removed_files:
            removed = ", ".join(file.relative_to(folder).as_posix() for file in self.report.removed_files)
            self.watcher.note(f"taken away, as they no longer hold: {removed} (the former command brings them back)")

    def current_manifests(self) -> dict[str, Manifest]:
        """The manifests that fit the plan as far as it got, and those beyond that still fit."""
        found: dict[str, Manifest] = {}
        for name, node in self.plan.nodes.items():
            if any(up not in found for up in node.upstream()):
                continue
            manifest = self.runner.manifests.get(name) or self.store.manifest(name, node.key)
            if manifest is not None and manifest.inputs == {up: found[up].digest for up in node.upstream()}:
                found[name] = manifest
        return found

    def write_run_log(self) -> None:
        """Append times, machine and memory to the run log: nothing of it is in any output."""
        run = {
            "started": self.started.isoformat(timespec="seconds"),
            "seconds": round((datetime.now(UTC) - self.started).total_seconds(), 3),
            "python": platform.python_version(),
            "machine": platform.platform(),
            "steps": self.times,
            "reused": self.report.reused_steps,
            "receipts": [asdict(receipt) for receipt in self.report.receipts],
            "waiting": {name: waiting.missing for name, waiting in self.report.waiting.items()},
        }
        with (self.store.folder / "run.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(run, ensure_ascii=False) + "\n")


def _manifests_of_task(plan: Plan, manifests: Mapping[str, Manifest]) -> dict[str, Manifest]:
    """What leads to the items of one task."""
    needed = plan.ancestors_of([plan.recipe.items])
    return {name: manifest for name, manifest in manifests.items() if name in needed}


def _sizes(folder: Path, names: Iterable[str]) -> dict[str, int]:
    """The sizes of those files that are there: a file that was cut or removed is written again."""
    return {name: (folder / name).stat().st_size for name in names if (folder / name).exists()}


def _write_outputs_mark(mark: Path, state: str, files: Mapping[str, int]) -> None:
    draft = mark.with_suffix(".tmp")
    draft.write_text(json.dumps({"state": state, "files": dict(files)}, ensure_ascii=False), encoding="utf-8")
    draft.replace(mark)


def finished_build(
    plan: Plan,
    store: Store,
    manifests: Mapping[str, Manifest],
    recipe_yaml: str,
    waiting: str = "",
    receipts: tuple[Receipt, ...] = (),
) -> FinishedBuild:
    """What exporters get of a build whose ledger is written; `waiting` says what people still have to do."""
    return FinishedBuild(
        tables=StepTables(store, manifests),
        step_counts=tuple(step_counts_of(manifest, plan.nodes[name].inputs) for name, manifest in manifests.items()),
        recipe=plan.recipe.model_dump(mode="json", by_alias=True, exclude={"run"}, serialize_as_any=True),
        recipe_yaml=recipe_yaml,
        ledger=store.folder / "ledger.tsv",
        items=plan.recipe.items,
        state="waiting" if waiting else "done",
        waiting=waiting,
        receipts=receipts,
    )


class StepTables(Mapping[str, Table[Any]]):
    """Tables of sealed steps by name, read when asked for."""

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
        return name in self._manifests  # without reading it

    def __iter__(self) -> Iterator[str]:
        return iter(self._manifests)

    def __len__(self) -> int:
        return len(self._manifests)


_CACHED_ROWS = 50_000
"""Rows of a table that are kept for the next output."""


class _CachedTable(Table[Any]):
    """A table that one output after the other goes through: its rows are made once."""

    def __init__(self, table: Table[Any]) -> None:
        self.row = table.row
        self._table = table
        self._rows: list[Any] | None = None

    @property
    def arrow(self) -> pa.Table:  # pyright: ignore[reportIncompatibleVariableOverride]
        """As the table has it."""
        return self._table.arrow

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[Any]:
        if self._rows is None:
            self._rows = list(self._table)
        return iter(self._rows)

    def batches(self, names: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """As the table gives them."""
        return self._table.batches(names)

    def find(self, ids: Collection[str]) -> Table[Any]:
        """As the table finds them."""
        return self._table.find(ids)


_REPORTED_SECONDS = 5.0
"""Steps that take so long say how long, and how much memory they took."""


def _time_note(times: Mapping[str, float]) -> str:
    if times["seconds"] < _REPORTED_SECONDS:
        return ""
    return f" ({times['seconds']:.0f} s, {times['peak_memory_mb']:.0f} MB)"


def _summary(manifest: Manifest) -> str:
    outcomes = Counter[str]()
    for _, outcome, _, n in manifest.counts:
        outcomes[outcome] += n
    parts = [count_phrase(manifest.rows, "row")]
    parts += [f"{outcomes[outcome]} {outcome.replace('_', ' ')}" for outcome in ("dropped", "not_applicable", "failed")
              if outcomes[outcome]]  # fmt: skip
    return ", ".join(parts)
