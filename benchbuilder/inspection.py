"""Looking into a build: what became of a row, where an item comes from, what a step holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.accounts import matching
from benchbuilder.errors import DataError
from benchbuilder.plan import Plan
from benchbuilder.ports.stage import Stage
from benchbuilder.records.envelope import Row
from benchbuilder.records.table import Table
from benchbuilder.retelling import row_text
from benchbuilder.store.folder import Store
from benchbuilder.store.manifest import Manifest


@dataclass(frozen=True)
class Branch:
    """One branch of a row's life: the steps it went through and how it ended."""

    path: tuple[str, ...]
    fate: str
    reason: str = ""
    detail: str = ""
    sentence: str = ""

    def end(self) -> str:
        """How it ended, in words."""
        told = self.fate + (f" ({self.reason})" if self.reason else "")
        why = ": ".join(part for part in (self.sentence, self.detail) if part)
        return told + (f" - {why}" if why else "")

    def __str__(self) -> str:
        return f"{' > '.join(self.path)}: {self.end()}"


class Inspector:
    """Reads the sealed steps of a plan; what was not built is simply not there."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self.plan, self.store = plan, store
        found = {name: store.manifest(name, node.key) for name, node in plan.nodes.items()}
        self.manifests: dict[str, Manifest] = {name: seal for name, seal in found.items() if seal is not None}
        if not self.manifests:
            raise DataError(
                f"nothing is built in {store.folder}",
                why="the store has no step of this recipe as it stands now",
                next="build it first, with the same arguments: benchbuild recipe=... key=value ...",
            )
        self._fates: dict[str, pa.Table] = {}
        self._tables: dict[str, Table[Any]] = {}

    def why(self, what: str) -> list[Branch]:
        """Every branch of a row (by id), or of a source unit (``file:line``), to its end. DataError if unknown."""
        file, _, line = what.rpartition(":")
        if file and line.isdigit():
            return self._unit(file, int(line))
        for name in self.manifests:
            if self._has(name, what):
                return list(self._branches(name, what, (name,)))
        raise self._unknown(what)

    def _unit(self, file: str, line: int) -> list[Branch]:
        branches: list[Branch] = []
        for name in self.plan.recipe.sources:
            if name not in self.manifests:
                continue
            fates = self._fates_of(name)
            for ticket in matching(fates, line=line, file=file).to_pylist():
                if ticket["out"]:
                    branches += self._branches(name, ticket["out"], (name,))
                else:
                    branches.append(self._end(name, ticket, (name,)))
        if branches:
            return branches
        files = sorted({str(file) for name in self.plan.recipe.sources if name in self.manifests
                        for file in self._fates_of(name).column("file").unique().to_pylist()})  # fmt: skip
        raise DataError(
            f"no source of this build has a unit {file}:{line}",
            why=f"its files: {', '.join(files)}",
            next="name the file as the ledger does",
        )

    def read_at(self, what: str) -> list[str]:
        """The texts of the rows that were read at ``file:line``; none for a row's id."""
        file, _, line = what.rpartition(":")
        names = [name for name in self.plan.recipe.sources if name in self.manifests and file and line.isdigit()]
        tickets = (t for name in names for t in matching(self._fates_of(name), line=int(line), file=file).to_pylist())
        rows = (self._find(ticket["out"]) for ticket in tickets if ticket["out"])
        return [row_text(found[1]) for found in rows if found is not None]

    def _branches(self, node: str, row: str, path: tuple[str, ...]) -> Iterator[Branch]:
        if node in {part.items for part in self.plan.recipe.by_task().values()}:
            yield Branch(path, "item", detail=row)
            return
        ended, readers = True, list[str]()
        for name, step in self.plan.nodes.items():
            for port, names in step.inputs.items():
                if node not in names or not isinstance(step.maker, Stage):
                    continue
                mode = step.maker.ports[port].mode
                if mode in ("parent", "lookup"):
                    readers.append(name)
                    continue
                ended = False
                if name not in self.manifests:
                    yield Branch((*path, name), "not built yet")
                elif mode == "each":
                    yield from self._tickets(name, row, (*path, name))
                else:
                    yield from self._use(name, port, row, (*path, name))
        if ended:
            end = f"{', '.join(readers)} look{'s' if len(readers) == 1 else ''} it up" if readers else ""
            yield Branch(path, "kept", detail=f"{row}; {end or 'no step takes it further'}")

    def _tickets(self, name: str, row: str, path: tuple[str, ...]) -> Iterator[Branch]:
        for ticket in matching(self._fates_of(name), row=row, port="each").to_pylist():
            if ticket["fate"] == "kept":
                yield from self._branches(name, ticket["out"], path)
            else:
                yield self._end(name, ticket, path)

    def _use(self, name: str, port: str, row: str, path: tuple[str, ...]) -> Iterator[Branch]:
        tickets = matching(self._fates_of(name), row=row, port=port).to_pylist()
        if tickets:
            yield self._end(name, tickets[0], path)
            return
        table = self._rows(name)
        pairs = zip(table.ids(), table.column("parents"), strict=True)
        children = [child for child, parents in pairs if row in parents]
        yield Branch(path, "used", detail=f"{port} of {', '.join(children)}")

    def _end(self, name: str, ticket: Mapping[str, Any], path: tuple[str, ...]) -> Branch:
        sentence = self.manifests[name].reasons.get(ticket["reason"], "")
        return Branch(path, ticket["fate"].replace("_", " "), ticket["reason"], ticket["detail"], sentence)

    def trace(self, item: str) -> list[tuple[str, Row]]:
        """An item and all rows that it comes from, against the flow, each with the step that made it: sources last."""
        row = self._find(item)
        if row is None:
            raise self._unknown(item)
        found = [made for parent in row[1].parents if (made := self._find(parent)) is not None]
        flow = {name: position for position, name in enumerate(self.plan.nodes)}
        return [row, *sorted(found, key=lambda made: -flow[made[0]])]

    def peek(self, step: str, count: int) -> tuple[Manifest, list[Row]]:
        """The manifest and the first rows of a step."""
        if step not in self.plan.nodes:
            close = get_close_matches(step, self.plan.nodes, n=1)
            raise DataError(
                f"there is no step or source {step!r}",
                why=f"this recipe has: {', '.join(self.plan.nodes)}",
                next=f"did you mean {close[0]!r}?" if close else "name one of these",
            )
        if step not in self.manifests:
            raise DataError(f"step {step!r} is not built yet", next="build first, with the same arguments")
        table = self._rows(step)
        rows = [table.row.model_validate(data) for data in table.arrow.slice(0, count).to_pylist()]
        return self.manifests[step], rows

    def _find(self, row: str) -> tuple[str, Row] | None:
        for name in self.manifests:
            table = self._rows(name)
            position = pc.index(table.arrow.column("id"), row).as_py()
            if position >= 0:
                return name, table.row.model_validate(table.arrow.slice(position, 1).to_pylist()[0])
        return None

    def _has(self, name: str, row: str) -> bool:
        return pc.index(self._rows(name).arrow.column("id"), row).as_py() >= 0

    def _rows(self, name: str) -> Table[Any]:
        if name not in self._tables:
            self._tables[name] = self.store.rows(self.manifests[name])
        return self._tables[name]

    def _fates_of(self, name: str) -> pa.Table:
        if name not in self._fates:
            self._fates[name] = self.store.fates(self.manifests[name])
        return self._fates[name]

    def _unknown(self, row: str) -> DataError:
        return DataError(
            f"no row of this build has the id {row!r}",
            why=f"looked in {len(self.manifests)} steps of {self.store.folder}",
            next="ids stand in items.jsonl, candidates.jsonl and ledger.tsv; a source unit is named FILE:LINE",
        )
