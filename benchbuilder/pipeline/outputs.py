"""Writes the outputs of a build, the mark of the results they were made of, and what exporters read of a build.

Outputs are written into a temporary folder and put into their places when all of them are complete: a build that fails
leaves those of the build before. The mark holds the checksum of each. An output that was damaged or changed since is
written again, with a note; so are all outputs if the mark is damaged, or a step had to be repaired.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchbuilder import __version__
from benchbuilder.config import Recipe, display_path
from benchbuilder.core import (
    Waiting,
    create_from_spec,
    file_checksum,
    parse_json,
    read_sealed_json,
    seal_json,
    sync_paths,
    write_atomically,
)
from benchbuilder.exporters import AuditResult, Exporter, FinishedBuild, StepCounts
from benchbuilder.models import Receipt
from benchbuilder.pipeline.audits import AuditKeeper, Auditor, audit_folder
from benchbuilder.pipeline.cache_key import kind_key_inputs, spec_key_inputs
from benchbuilder.pipeline.foreign_files import (
    PROGRAM_FILES,
    RUN_LOG,
    check_folder,
    check_names,
    check_owner,
    holds_build,
    removable,
)
from benchbuilder.pipeline.ledger import write_ledger
from benchbuilder.pipeline.memory import release_free_memory
from benchbuilder.pipeline.plan import Plan
from benchbuilder.pipeline.rechecks import read_recheck, recheck_checksums
from benchbuilder.pipeline.step_tables import StepTables
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest

_LEDGER = "ledger.tsv"


@dataclass(frozen=True)
class OutputFiles:
    """The outputs that are in the folder now, and those of an earlier build that were removed as outdated.

    `audits` are the results of the auditor by task, if there is an auditor. `notes` say which outputs were damaged.
    """

    written: list[Path]
    removed: list[Path]
    audits: Mapping[str, AuditResult] = field(default_factory=dict[str, AuditResult])
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class OutputWriter:
    """Writes the outputs of `plan` into the folder of `store`; an `auditor` looks at the build first."""

    plan: Plan
    store: Store
    recipe_yaml: str
    auditor: Auditor | None = None

    def planned_names(self) -> list[str]:
        """The files and folders that it writes into the folder of the build, as far as settings tell."""
        names: list[str] = [*PROGRAM_FILES]
        for task, part in self.plan.recipe.by_task().items():
            exporters: list[Exporter] = [create_from_spec("exporter", spec) for spec in part.outputs.values()]
            own = [name for exporter in exporters for name in exporter.output_names()]
            names += [f"{task}/{name}" if task else name for name in own]
        return names

    def check_folder(self, names: Sequence[str]) -> None:
        """StoreError if the folder has files under `names` that no build wrote, or is that of another recipe."""
        folder, recipe = self.store.folder, self.plan.recipe
        builds = folder.absolute() == recipe.build_folder(Path.cwd()).absolute()
        check_owner(folder, recipe.name, builds=builds)
        check_folder(self.store.folder, names, self._written_names())

    def claim_folder(self, names: Sequence[str]) -> str:
        """Mark the folder as that of a build, so that later builds know its files; what to tell the user, if anything.

        In a folder of builds that lost its mark, or never had one, the files `names` count as written by a build.
        """
        folder, mark = self.store.folder, _OutputsMark(self.store.folder)
        if mark.is_there:
            return ""
        known = names if self._written_names() is None else ()
        found = [name for name in known if name != RUN_LOG and (folder / name).is_file()]
        mark.write("", {name: file_checksum(folder / name) for name in found})
        if not found:
            return ""
        return f"{display_path(folder)} has no list of what builds wrote: {', '.join(found)} count as written by one"

    def _written_names(self) -> frozenset[str] | None:
        """The files that builds wrote into the folder; ``None`` if that is a folder of builds without a list."""
        mark = _OutputsMark(self.store.folder)
        if mark.is_damaged or (not mark.is_there and holds_build(self.store.folder)):
            return None
        return frozenset((*mark.files, *PROGRAM_FILES)) if mark.is_there else frozenset()

    def distrust(self) -> None:
        """Have the outputs of earlier builds written again: a step that they were made of is damaged."""
        mark = _OutputsMark(self.store.folder)
        mark.write("", mark.files)

    def write(
        self, manifests: Mapping[str, Manifest], waiting: Mapping[str, Waiting], receipts: Sequence[Receipt]
    ) -> OutputFiles:
        """Write the outputs that can be written, unless the folder has those of just these results.

        `manifests` are the steps that are up to date, `waiting` is what people or batches still owe, both by step.
        """
        folder, mark = self.store.folder, _OutputsMark(self.store.folder)
        state = self._state(manifests, waiting, receipts)
        text = "\n".join(str(wait) for wait in waiting.values())

        def tasks(ledger: Path) -> list[_TaskBuild]:
            build = partial(
                self._task_build, manifests=manifests, waiting=text, receipts=tuple(receipts), ledger=ledger
            )
            return [build(task, part) for task, part in self.plan.recipe.by_task().items()]

        notes = mark.notes()
        if mark.state == state and not notes:
            return OutputFiles([folder / name for name in mark.files], [], self._audits(tasks(folder / _LEDGER)))
        with self.store.open_scratch() as scratch:
            written = self._write_recipe_and_ledger(manifests, scratch.folder)
            chosen = tasks(scratch.folder / _LEDGER)
            audits = self._audits(chosen)
            release_free_memory()
            for task in chosen:
                written += _export(replace(task.finished(), audit=audits.get(task.name)), task, scratch.folder)
            names = [file.relative_to(scratch.folder).as_posix() for file in written]
            return replace(self._place(mark, state, scratch.folder, names), audits=audits, notes=notes)

    def _task_build(
        self, task: str, recipe: Recipe, manifests: Mapping[str, Manifest], waiting: str, receipts: tuple[Receipt, ...],
        ledger: Path,
    ) -> _TaskBuild:  # fmt: skip
        """One task with the steps that it needs."""
        plan = replace(self.plan, recipe=recipe)
        needed = plan.ancestors_of([recipe.items]) if task else set(manifests)
        chosen = {name: manifest for name, manifest in manifests.items() if name in needed}
        finished = partial(finished_build, plan, self.store, chosen, self.recipe_yaml, waiting, receipts, ledger)
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
        former: Any = parse_json(mark.state) if mark.state else {}
        hashes = _manifest_hashes(manifests)
        if former.get("recipe") == self.recipe_yaml and former.get("steps") == hashes and not mark.notes():
            return None
        with self.store.open_scratch() as scratch:
            written = self._write_recipe_and_ledger(manifests, scratch.folder)
            return self._place(mark, "", scratch.folder, [file.name for file in written])

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
            "rechecks": recheck_checksums(self.store),
            "waiting": {name: str(wait) for name, wait in waiting.items()},
            "receipts": [asdict(receipt) for receipt in receipts],
        }
        return json.dumps(state, ensure_ascii=False, sort_keys=True)

    def _write_recipe_and_ledger(self, manifests: Mapping[str, Manifest], folder: Path) -> list[Path]:
        recipe, ledger = folder / "recipe.yaml", folder / _LEDGER
        write_ledger(manifests, self.store, ledger)
        write_atomically(recipe, self.recipe_yaml, sync=False)
        return [recipe, ledger]

    def _place(self, mark: _OutputsMark, state: str, source: Path, names: Sequence[str]) -> OutputFiles:
        """Put the files `names` of the folder `source` into their places, and remove what was not written again.

        What is there is marked as made of `state`.
        """
        folder = self.store.folder
        check_names(folder, names)
        check_folder(folder, names, self._written_names())
        checksums = {name: file_checksum(source / name) for name in names}
        sync_paths(source / name for name in names)
        mark.write("", {**mark.files, **checksums})  # until all is there, the mark fits no state but names what may be
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            (source / name).replace(folder / name)
        removed = [folder / name for name in removable(set(mark.files) - set(names))]
        for file in removed:
            file.unlink(missing_ok=True)
        sync_paths({folder, *((folder / name).parent for name in names), *(file.parent for file in removed)})
        mark.write(state, checksums)
        return OutputFiles([folder / name for name in names], removed)


def _export(finished: FinishedBuild, task: _TaskBuild, folder: Path) -> list[Path]:
    """Write the outputs of a task into its folder below `folder`."""
    place, written = folder / task.name, list[Path]()
    place.mkdir(exist_ok=True)
    for spec in task.recipe.outputs.values():
        exporter: Exporter = create_from_spec("exporter", spec)
        if exporter.can_write(finished):
            written += exporter.write(finished, place)
    return written


@dataclass(frozen=True)
class _TaskBuild:
    """A task of the benchmark, and how to read its build."""

    name: str
    recipe: Recipe
    manifests: Mapping[str, Manifest]
    finished: Callable[[], FinishedBuild]


class _OutputsMark:
    """The file that says which results the outputs in a build's folder were made of.

    `state` is that as JSON, empty while outputs are written; `files` holds the names of the outputs with their
    checksums. Both are empty if the file is missing or damaged. Every folder of a build has it from the beginning.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / "store" / "outputs.json"
        self.state: str = ""
        self.files: dict[str, str] = {}
        self.is_damaged = False
        self.is_there = self._path.exists()
        try:
            mark = read_sealed_json(self._path)
            self.state, self.files = mark["state"], mark["files"]
        except (FileNotFoundError, NotADirectoryError):
            pass
        except (ValueError, KeyError):
            self.is_damaged = True

    def notes(self) -> tuple[str, ...]:
        """What is damaged of the outputs, for the user."""
        if self.is_damaged:
            return (f"{display_path(self._path)} cannot be used: the outputs are written again",)
        altered = damaged_outputs(self._folder, self.files) if self.state else []
        return tuple(f"{display_path(file)} is not as it was written: it is written again" for file in altered)

    def write(self, state: str, files: Mapping[str, str]) -> None:
        write_atomically(self._path, seal_json({"state": state, "files": dict(files)}))


def damaged_outputs(folder: Path, checksums: Mapping[str, str]) -> list[Path]:
    """The files of a folder, given by name, that are missing or do not have their checksums."""
    files = {folder / name: checksum for name, checksum in checksums.items()}
    return [file for file, checksum in files.items() if not file.is_file() or file_checksum(file) != checksum]


def is_as_written(file: Path) -> bool | None:
    """Whether an output has the checksum in the mark of its folder; ``None`` if no mark there knows it."""
    checksum = _OutputsMark(file.parent).files.get(file.name)
    return None if checksum is None else file_checksum(file) == checksum


def check_build_folder(plan: Plan, store: Store) -> None:
    """StoreError if a build of `plan` would write over files that no build wrote."""
    outputs = OutputWriter(plan, store, "")
    outputs.check_folder(outputs.planned_names())


def recorded_steps(folder: Path) -> set[str]:
    """The steps that the outputs in a build's folder were made of; none while a build writes them."""
    state = _OutputsMark(folder).state
    return set(parse_json(state).get("steps", {})) if state else set()


def outputs_match(folder: Path, manifest: Manifest) -> bool:
    """Whether the outputs in a build's folder were made of this manifest: its store keeps earlier builds' steps too."""
    state = _OutputsMark(folder).state
    steps: Any = parse_json(state).get("steps", {}) if state else {}
    return steps.get(manifest.step) == _manifest_hashes({manifest.step: manifest})[manifest.step]


def _manifest_hashes(manifests: Mapping[str, Manifest]) -> dict[str, str]:
    return {
        name: hashlib.sha256(manifest.model_dump_json().encode()).hexdigest() for name, manifest in manifests.items()
    }


def finished_build(
    plan: Plan,
    store: Store,
    manifests: Mapping[str, Manifest],
    recipe_yaml: str,
    waiting: str = "",
    receipts: tuple[Receipt, ...] = (),
    ledger: Path | None = None,
) -> FinishedBuild:
    """The view of a build for exporters. `waiting` says what people still have to do.

    `ledger` is the file of the ledger, which must be written; without it, the one in the folder of the build.
    """
    return FinishedBuild(
        tables=StepTables(store, manifests),
        step_counts=tuple(_step_counts(manifest, plan.nodes[name].inputs) for name, manifest in manifests.items()),
        recipe=plan.recipe.model_dump(mode="json", by_alias=True, exclude={"run"}, serialize_as_any=True),
        recipe_yaml=recipe_yaml,
        ledger=ledger or store.folder / _LEDGER,
        items=plan.recipe.items,
        state="waiting" if waiting else "done",
        waiting=waiting,
        receipts=receipts,
        recheck=read_recheck(store, manifests.get(plan.recipe.items)),
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
