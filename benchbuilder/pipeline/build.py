"""Builds a plan: brings its nodes up to date one after the other, then writes the outputs."""

from __future__ import annotations

import contextlib
import json
import platform
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchbuilder.core import (
    ServiceError,
    TooManyFailures,
    Waiting,
    create_from_spec,
    end_worker_without_work,
    name_file_in_errors,
)
from benchbuilder.exporters import AuditResult
from benchbuilder.models import Receipt
from benchbuilder.pipeline.audits import Auditor
from benchbuilder.pipeline.foreign_files import RUN_LOG
from benchbuilder.pipeline.last_command import save_last_command
from benchbuilder.pipeline.ledger import write_ledger
from benchbuilder.pipeline.memory import share_heaps
from benchbuilder.pipeline.outputs import OutputFiles, OutputWriter
from benchbuilder.pipeline.plan import NodeStatus, Plan
from benchbuilder.pipeline.progress import Watcher
from benchbuilder.pipeline.run_node import NodeRunner, ShardLimits, create_executor
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest

if TYPE_CHECKING:
    from benchbuilder.models import Gateway


@dataclass
class BuildReport:
    """What a build did.

    `waiting` says, by step, what people still have to do or which batches are to come. `removed_files` are outdated
    outputs of an earlier build. `receipts` say what models were asked and what it cost, over all runs. `audits` are the
    results of the auditor by task. `logged` is what the run log says of this run.
    """

    folder: Path
    built_steps: list[str] = field(default_factory=list[str])
    reused_steps: list[str] = field(default_factory=list[str])
    blocked_steps: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    waiting: dict[str, Waiting] = field(default_factory=dict[str, Waiting])
    written_files: list[Path] = field(default_factory=list[Path])
    removed_files: list[Path] = field(default_factory=list[Path])
    manifests: dict[str, Manifest] = field(default_factory=dict[str, Manifest])
    receipts: tuple[Receipt, ...] = ()
    audits: Mapping[str, AuditResult] = field(default_factory=dict[str, AuditResult])
    logged: dict[str, Any] = field(default_factory=dict[str, Any])

    def record_outputs(self, files: OutputFiles) -> None:
        """Record what became of the outputs."""
        self.notes += files.notes
        self.written_files, self.removed_files, self.audits = files.written, files.removed, files.audits


def build_benchmark(
    plan: Plan, store: Store, recipe_yaml: str, watcher: Watcher, refresh: frozenset[str] = frozenset(),
    overrides: Sequence[str] = (), write_outputs: bool = True, keep_outputs: bool = False,
    auditor: Auditor | None = None,
) -> BuildReport:  # fmt: skip
    """Bring every step of a plan up to date and write the outputs.

    A step that waits for people stops only the steps after it; outputs that do not need them are written. Committed
    steps stay after every error. A step that is damaged in the store is made again, and all outputs are written
    again. After TooManyFailures and ServiceError the ledger holds all committed steps, and outputs that do not fit them
    are removed.

    Args:
        plan: The plan.
        store: Where the build keeps its steps; one build at a time holds it.
        recipe_yaml: The resolved recipe.
        watcher: Follows the progress.
        refresh: Steps to run even if the store has them.
        overrides: The overrides of the command line, which the store keeps.
        write_outputs: Whether to write outputs; otherwise those of an earlier build stay as they are.
        keep_outputs: Whether the outputs of an earlier build stay if this build stops early.
        auditor: Audits what was built, before the outputs are written.

    Raises:
        InstallationError: A library of a model is missing; raised before any step.
        StoreError: The folder has a file of somebody else where the build would write; raised before any step.
        DataError: A file cannot be used.
        TooManyFailures: More branches of a step failed than the recipe tolerates.
        ServiceError: A model or a worker cannot be reached.
    """
    share_heaps()
    report = BuildReport(store.folder)
    outputs = OutputWriter(plan, store, recipe_yaml, auditor)
    names = outputs.planned_names() if write_outputs else [RUN_LOG]
    with _own_folder(outputs, names, watcher):
        statuses = plan.statuses(store, refresh)
        if write_outputs and any(status.damage for status in statuses.values()):
            outputs.distrust()
        if write_outputs:
            save_last_command(store, overrides)
        try:
            with _logged_runner(plan, store, watcher, report, outputs=write_outputs) as runner:
                _check_models(plan, statuses)
                _run_nodes(runner, statuses, refresh, report)
        except (ServiceError, TooManyFailures):
            _finish_stopped_build(outputs, report, watcher, keep_outputs=keep_outputs)
            raise
        if write_outputs:
            report.record_outputs(outputs.write(report.manifests, report.waiting, report.receipts))
        return report


@contextlib.contextmanager
def _own_folder(outputs: OutputWriter, names: Sequence[str], watcher: Watcher) -> Generator[None]:
    """Hold the folder, marked as that of a build; StoreError if the build would write over files of somebody else."""
    end_worker_without_work()
    outputs.check_folder(names)
    with outputs.store.lock():
        for note in (outputs.claim_folder(names), outputs.store.former_layout_note()):
            if note:
                watcher.note(note)
        yield


@contextlib.contextmanager
def _logged_runner(
    plan: Plan, store: Store, watcher: Watcher, report: BuildReport, *, outputs: bool
) -> Generator[NodeRunner]:
    """The runner of a build; its receipts and its entry in the run log are written however the build ends."""
    started = datetime.now(UTC)
    executor = create_executor(plan.recipe.run)
    limits = ShardLimits.of_recipe(plan.recipe)
    with open_gateway(plan, store, watcher.note) as gateway, contextlib.closing(executor):
        runner = NodeRunner(store, executor, limits, watcher, gateway, manifests=report.manifests)
        try:
            yield runner
        finally:
            report.receipts = () if gateway is None else gateway.receipts()
            _write_run_log(store, report, started, runner.times, outputs=outputs)


@contextlib.contextmanager
def open_gateway(plan: Plan, store: Store, notice: Callable[[str], None]) -> Generator[Gateway | None]:
    """The gateway to the models of a plan, over the journal of its store and under the recipe's budget.

    ``None`` if no step asks a model.
    """
    if not any(node.model_spec for node in plan.nodes.values()):
        yield None
        return
    from benchbuilder.models import Gateway  # most builds do without it

    budget = plan.recipe.budget
    with Gateway(store.journal, usd=budget.usd, tokens=budget.tokens, notice=notice) as gateway:
        yield gateway


def _check_models(plan: Plan, statuses: Mapping[str, NodeStatus]) -> None:
    """InstallationError if the model of a step that would run cannot be used."""
    for name, status in statuses.items():
        spec = plan.nodes[name].model_spec
        if spec is not None and status.state != "reused":
            create_from_spec("model", spec).ready()


def _run_nodes(
    runner: NodeRunner, statuses: Mapping[str, NodeStatus], refresh: frozenset[str], report: BuildReport
) -> None:
    """Bring the nodes up to date in their order; a node behind a waiting one is blocked."""
    for name, status in statuses.items():
        if blocking := [up for up in status.node.upstream() if up not in runner.manifests]:
            report.blocked_steps.append(name)
            runner.watcher.end(name, f"waits for {', '.join(blocking)}")
            continue
        result = runner.bring_up_to_date(status.node, refresh=name in refresh)
        if result.waiting is not None:
            report.waiting[name] = result.waiting
        elif result.state == "built":
            report.built_steps.append(name)
        else:
            report.reused_steps.append(name)
            report.notes += [status.note] if status.note else []


def _finish_stopped_build(outputs: OutputWriter, report: BuildReport, watcher: Watcher, *, keep_outputs: bool) -> None:
    """Write the ledger of the committed steps; remove outdated outputs unless they are to stay."""
    store = outputs.store
    committed: dict[str, Manifest] = {}  # by this run, or by an earlier one if its inputs are still the same
    for name, node in outputs.plan.nodes.items():
        if all(up in committed for up in node.upstream()):
            manifest = report.manifests.get(name) or store.whole_manifest(name, node.key)
            if manifest is not None and manifest.inputs == {up: committed[up].digest for up in node.upstream()}:
                committed[name] = manifest
    if keep_outputs:
        write_ledger(committed, store, store.folder / "ledger.tsv")
    elif (files := outputs.write_partial(committed)) is not None and files.removed:
        report.removed_files = files.removed
        names = ", ".join(file.relative_to(report.folder).as_posix() for file in files.removed)
        watcher.note(f"removed outdated outputs: {names} (the earlier command writes them again)")


def _write_run_log(
    store: Store, report: BuildReport, started: datetime, times: Mapping[str, Mapping[str, float]], *, outputs: bool
) -> None:
    """Append times, machine and memory to the run log, and whether outputs follow; no output holds any of them."""
    report.logged = {
        "started": started.isoformat(timespec="seconds"),
        "seconds": round((datetime.now(UTC) - started).total_seconds(), 3),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "steps": times,
        "reused": report.reused_steps,
        "receipts": [asdict(receipt) for receipt in report.receipts],
        "outputs": outputs,
        "waiting": {name: waiting.missing for name, waiting in report.waiting.items()},
    }
    path = store.folder / RUN_LOG
    with name_file_in_errors(path), path.open("a", encoding="utf-8", newline="\n") as stream:
        stream.write(json.dumps(report.logged, ensure_ascii=False) + "\n")
