"""The days on which the facts behind items were checked and are due again, and the items on rows that changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from filelock import FileLock
from pydantic import ValidationError

from benchbuilder.config import Day, Recipe, display_path
from benchbuilder.core import (
    FrozenModel,
    Kept,
    Passage,
    SourceUnit,
    raise_row_errors,
    read_given_file,
    read_row_file,
    write_atomically,
)
from benchbuilder.pipeline.built_benchmark import BuiltBenchmark, Lineage
from benchbuilder.pipeline.plan import Plan
from benchbuilder.pipeline.step_tables import stored_table
from benchbuilder.pipeline.store.manifest import Manifest
from benchbuilder.sources import FactDays, Source, UpdatingSpec, days_of_units


class CheckedFact(FrozenModel):
    """A line of the log of checks: an expert said on the day `checked_on` that a fact still holds.

    `fact` is its id, a hash of its content: a fact that changed has another one, and the check does not count for it.
    `by` is never published.
    """

    fact: str
    checked_on: Day
    recheck_by: Day = ""
    by: str = ""


@dataclass(frozen=True)
class ItemDays:
    """An item, the unit of the source that its fact comes from (``file:line``), and the days of that fact.

    `changed` names the units under it that the sources do not hold any more as they were when the item was built.
    """

    item: str
    task: str
    source: str
    unit: str
    fact: str
    text: str
    answer: str
    days: FactDays
    changed: tuple[str, ...] = ()

    def is_due(self, on: str) -> bool:
        """Whether people must look at it on the day `on`: its time has come, or a row under it changed."""
        return bool(self.changed) or bool(self.days.recheck_by and self.days.recheck_by <= on)


def read_checks(log: Path | None) -> dict[str, CheckedFact]:
    """The last check of each fact by the facts' ids; none without a log. DataError if lines of it are no checks."""
    found: dict[str, CheckedFact] = {}
    problems: list[str] = []
    if log is None or not log.exists():
        return found
    for line, row in read_row_file(log):
        try:
            check = CheckedFact.model_validate(row)
        except ValidationError as error:
            fault = error.errors()[0]
            problems.append(f"{display_path(log)}:{line}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}")
            continue
        if check.fact not in found or found[check.fact].checked_on <= check.checked_on:
            found[check.fact] = check
    raise_row_errors(
        problems,
        "the log of checks has lines that cannot be used",
        "correct them, or take them back from version control",
    )
    return found


def append_checks(log: Path, checks: Sequence[CheckedFact]) -> None:
    """Append checks to the log, which begins with the first of them; its former bytes stay as they are."""
    log = log.resolve()
    with FileLock(log.with_name(f".{log.name}.lock")):
        read_checks(log)
        before = read_given_file(log) if log.exists() else b""
        gap = b"" if not before or before.endswith(b"\n") else b"\n"
        lines = "".join(json.dumps(check.model_dump(), ensure_ascii=False) + "\n" for check in checks)
        write_atomically(log, before + gap + lines.encode())


def days_of_build(
    recipe: Recipe, plan: Plan, built: BuiltBenchmark, checks: Mapping[str, CheckedFact]
) -> Iterator[ItemDays]:
    """The days of the items that were built last, of every task, by the files of the sources as they are now.

    A check by an expert counts before a column, and a column before the recipe; of an expert and a column, the later
    check. Sources whose key is that of the build are not read again to find changed rows.

    Raises:
        DataError: Files cannot be read, or hold no days where the recipe names columns.
    """
    producers: dict[str, Source] = {
        name: producer
        for name in recipe.sources
        if name in plan.nodes and isinstance(producer := plan.nodes[name].producer, Source)
    }
    calendars = {name: _Calendar(source) for name, source in producers.items()}
    for task in built.items:
        lineage = built.lineage(task)
        anew = {
            name: _units_now(producers[name]) if name in producers else {}
            for name, manifest in lineage.steps.items()
            if not manifest.inputs and (name not in plan.nodes or plan.nodes[name].key != manifest.key)
        }
        changed = _changed_rows(lineage, anew)
        for item in stored_table(lineage.store, lineage.steps[lineage.items]):
            evidence = [support.passage for support in getattr(item.payload, "evidence", ())]
            places = dict.fromkeys(changed[row] for row in (*item.parents, *evidence) if row in changed)
            now = anew.get(item.partition, {})
            unit = next((now[row] for row in item.parents if row in now), (item.origin.file, item.origin.line))
            days = calendars[item.partition].days(unit, checks.get(item.fact)) if item.partition in calendars else None
            cells = item.payload.flat_cells()
            yield ItemDays(
                item.id,
                task,
                item.partition,
                f"{unit[0]}:{unit[1]}",
                item.fact,
                cells.get("full-question") or next(iter(cells.values()), ""),
                cells.get("answer", ""),
                days or FactDays(),
                tuple(places),
            )


class _Calendar:
    """The days of a source: what its recipe says of all facts, and its columns of each."""

    def __init__(self, source: Source) -> None:
        self._spec = source.spec.updating or UpdatingSpec()
        self._units = days_of_units(source)

    def days(self, unit: tuple[str, int], check: CheckedFact | None) -> FactDays:
        """The days of the fact of a unit, of which an expert may have made a check."""
        said = FactDays(self._spec.checked_on, self._spec.recheck_by, "recipe")
        if (column := self._units.get(unit)) is not None:
            said = FactDays(column.checked_on or said.checked_on, column.recheck_by or said.recheck_by, "column")
        if check is not None and check.checked_on >= said.checked_on:
            said = FactDays(check.checked_on, check.recheck_by, "expert")
        return said.with_due(self._spec.recheck_after)


def _changed_rows(lineage: Lineage, anew: Mapping[str, Mapping[str, tuple[str, int]]]) -> dict[str, str]:
    """The rows under the items that the sources do not hold any more, and passages made of them, with their units."""
    gone: dict[str, str] = {}
    for name, now in anew.items():
        gone.update(_places(lineage, lineage.steps[name], lambda row, _, now=now: row not in now))
    passages = [manifest for manifest in lineage.steps.values() if manifest.row == Passage.name and manifest.inputs]
    for manifest in passages if gone else ():
        gone.update(_places(lineage, manifest, lambda _, parents: not gone.keys().isdisjoint(parents)))
    return gone


def _units_now(source: Source) -> dict[str, tuple[str, int]]:
    """The units of a source as it is now, by the ids of their rows."""
    return {
        unit.outcome.row.id: (unit.file, unit.line)
        for unit in source.read()
        if isinstance(unit, SourceUnit) and isinstance(unit.outcome, Kept)
    }


def _places(lineage: Lineage, manifest: Manifest, chosen: Callable[[str, Sequence[str]], bool]) -> dict[str, str]:
    """The rows of a step that `chosen` names by id and parents, each with the unit that it comes from."""
    found: dict[str, str] = {}
    for batch in stored_table(lineage.store, manifest).batches(["id", "parents", "origin"]):
        rows: list[dict[str, Any]] = pa.Table.to_pylist(batch)
        for row in rows:
            if chosen(row["id"], row["parents"]):
                found[row["id"]] = f"{row['origin']['file']}:{row['origin']['line']}"
    return found
