"""The benchmarks that ``benchbuild audit`` looks at: the tasks of a build, or a file from elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchbuilder.config import AuditSpec, LoadedRecipe, display_path, read_kind_spec
from benchbuilder.core import DataError, Item, Kept, Row, SourceUnit, create_from_spec
from benchbuilder.evaluation.audit.auditor import BenchmarkAuditor
from benchbuilder.evaluation.benchmark import BENCHMARK, folder_of_benchmark, require_items, unused_rows
from benchbuilder.exporters import AuditResult, FinishedBuild, entry_step
from benchbuilder.pipeline import (
    AuditKeeper,
    Checksums,
    Plan,
    Store,
    audit_folder,
    committed_manifests,
    finished_build,
    make_plan,
    workers_of,
)
from benchbuilder.sources import Source


@dataclass(frozen=True)
class AuditOfTask:
    """An audit, its recipe, its title, and the folder of its files.

    `rows` are the items, or the candidates while there are no items; those of a build are read when they
    are used. `notes` say what was left out, and what else was found; the `warning` is one
    of them that nobody may miss.
    """

    loaded: LoadedRecipe
    title: str
    folder: Path
    result: AuditResult
    rows: Iterable[Row]
    notes: tuple[str, ...] = ()
    warning: str = ""


def audits_of_build(parts: list[LoadedRecipe], cwd: Path) -> Iterator[AuditOfTask]:
    """The audit of each task of a build.

    Raises:
        DataError: There are neither items nor candidates yet, or they were built with other settings.
    """
    for part in parts:
        store = Store(part.recipe.build_folder(cwd))
        checksums = Checksums(store.checksums)
        plan = make_plan(part.whole, store, checksums.sha256_of)
        checksums.save()
        result, rows = _result(part, plan, store)
        yield AuditOfTask(part, part.recipe.card.title, store.folder / part.task / "audit", result, rows)


def _result(part: LoadedRecipe, plan: Plan, store: Store) -> tuple[AuditResult, Iterable[Row]]:
    own = replace(plan, recipe=part.recipe)
    needed = own.ancestors_of([part.recipe.items]) if part.task else set(plan.nodes)
    manifests = {name: found for name, found in committed_manifests(plan, store).items() if name in needed}
    if not any(name == part.recipe.items or plan.nodes[name].row_name == "candidate" for name in manifests):
        require_items(part, store, "audit")
    auditor = BuildAuditor(part.recipe.audit, part.recipe.seed, workers_of(part.recipe.run))
    finished = finished_build(own, store, manifests, part.yaml)
    result = AuditKeeper(audit_folder(store), auditor).result(part.task, part.recipe, manifests, lambda: finished)
    return result, finished.tables.get(entry_step(finished), ())


def audit_of_file(part: LoadedRecipe, path: str, expected: str | None, cwd: Path) -> AuditOfTask:
    """The audit of a benchmark from elsewhere, of which only the texts are known.

    Raises:
        DataError: The file cannot be read, or has no row that could be used.
    """
    file = cwd / path
    data: dict[str, Any] = {
        "kind": BENCHMARK,
        "path": {"path": path, "resolved_path": str(file)},
        **({"expected": expected} if expected else {}),
    }
    source: Source = create_from_spec("source", read_kind_spec("source", data), BENCHMARK, part.recipe.language)
    source.check()
    units = [unit for unit in source.read() if isinstance(unit, SourceUnit)]
    items = [unit.outcome.row for unit in units if isinstance(unit.outcome, Kept)]
    lost = Counter(unit.outcome.reason for unit in units if not isinstance(unit.outcome, Kept))
    unused, is_much = unused_rows(lost, len(items))
    if not items:
        raise DataError(
            "no row of the benchmark could be used", where=display_path(file), why=unused or "it holds none"
        )
    rows = [row for row in items if isinstance(row, Item)]
    auditor = BenchmarkAuditor(part.recipe.audit, part.recipe.seed, workers_of(part.recipe.run))
    result = auditor.audit_items(rows)
    folder = part.recipe.build_folder(cwd) / part.task / folder_of_benchmark("audit", file)
    notes = (unused,) if unused else ()
    return AuditOfTask(part, file.name, folder, result, tuple(rows), notes, unused if is_much else "")


AUDIT_VERSION = 2
"""Part of what an audit is made of: another version audits again."""


class BuildAuditor:
    """Audits builds as a recipe says, with up to `workers` checks at the same time."""

    version = AUDIT_VERSION

    def __init__(self, spec: AuditSpec, seed: int, workers: int = 1) -> None:
        self.spec, self.seed, self.workers = spec, seed, workers

    def audit_build(self, finished: FinishedBuild, kept: Path) -> AuditResult:
        """The result for a finished build; checks that see what they saw before are as the file `kept` has them."""
        from benchbuilder.evaluation.audit.auditor import BenchmarkAuditor
        from benchbuilder.evaluation.audit.kept_measures import KeptMeasures

        return BenchmarkAuditor(self.spec, self.seed, self.workers).audit_build(
            finished, KeptMeasures(kept, self.version)
        )
