"""Fills the folder of a release with rows: items by configuration and split, private questions, evidence and votes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchbuilder.core import Claim, Problem, RecipeError, Table, flat_record_schema, flat_records
from benchbuilder.exporters import random_order_key
from benchbuilder.publishing.release.items import TEST, SharedItem, shared_item
from benchbuilder.publishing.release.material import ReleaseMaterial, TaskMaterial
from benchbuilder.publishing.release.private_folder import PrivateFolder, Use, make_private
from benchbuilder.publishing.release.record import ReleasedConfig
from benchbuilder.publishing.release.records import (
    CANARY,
    plain_name,
    private_record,
    private_schema,
    public_record,
    public_schema,
    released_columns,
)
from benchbuilder.publishing.release.splits import divide, question_names
from benchbuilder.publishing.release.votes import VOTES_SCHEMA, released_votes

PRIVATE, EVIDENCE, VOTES = "private", "evidence", "votes"
REPLACES = "replaces"
"""The column with the id that a fixed item had before; there is none before an item was fixed."""
_EVIDENCE_SCHEMA = pa.schema([
    *(pa.field(name, pa.string()) for name in ("item", CANARY, "passage", "base", "document", "title", "text")),
    pa.field("score", pa.float64()), pa.field("rank", pa.int64()), pa.field("licence", pa.string()),
])  # fmt: skip


@dataclass(frozen=True)
class Filled:
    """What was written: the configurations and their columns, what each question is used for, and what stays here.

    `columns` are those of the items, spelled as in the build. `public` are the items whose labels are published.
    `withheld` maps each task to its private rows and their published names.
    """

    configs: tuple[ReleasedConfig, ...]
    schemas: Mapping[str, pa.Schema]
    columns: tuple[str, ...]
    uses: Mapping[str, Use]
    public: tuple[SharedItem, ...]
    withheld: Mapping[str, tuple[Table[Any], tuple[str, ...]]]

    def save_private(self, folder: Path) -> None:
        """Write the private items with all that is known of them: for scoring, and for people to read."""
        if not self.withheld:
            return
        make_private(folder.parent)
        make_private(folder)
        names = {task: dict(zip(table.ids(), published, strict=True))
                 for task, (table, published) in self.withheld.items()}  # fmt: skip
        (folder / "names.json").write_text(json.dumps(names, indent=1), encoding="utf-8", newline="\n")
        for task, (table, _) in self.withheld.items():
            pq.write_table(table.arrow, folder / f"{task or 'items'}.parquet")
            lines = [{"name": names[task][record["id"]], **record} for record in flat_records(table)]
            _write_rows(folder / f"{task or 'items'}.jsonl", lines)


def fill_release(
    material: ReleaseMaterial, private: PrivateFolder, version: str, canary: str, folder: Path,
    replaced: Mapping[str, str],
) -> Filled:  # fmt: skip
    """Divide the items and write their files into `folder`; RecipeError if nothing would be left to ask.

    `replaced` has the ids that fixed items replace, by their own.
    """
    recipe = material.loaded.whole
    items = items_of_material(material)
    if replaced:
        items = [replace(item, columns={**item.columns, REPLACES: replaced.get(item.id, "")}) for item in items]
    names = question_names(items, private)
    _check_payloads(material)
    pairs = [(pair.first, pair.second) for task in material.tasks for pair in task.texts.duplicates]
    used = divide(items, names, recipe.release, private, pairs)
    public = [item for item in items if used[item.id] != "private"]
    public.sort(key=lambda item: random_order_key(recipe.seed, item.id))
    writer = _Writer(folder, _Licences(material), canary)
    for task in material.tasks:
        schema = public_schema(flat_record_schema(task.finished.tables[task.finished.items].row))
        schema = schema.append(pa.field(REPLACES, pa.string())) if replaced else schema
        writer.write_items([item for item in public if item.task == task.loaded.task], schema, used)
    withheld = [item for item in items if used[item.id] == "private"]
    if withheld:
        schema = private_schema(with_task=len(material.tasks) > 1)
        withheld.sort(key=lambda item: private.digest("order", names[item.id]))
        rows = [private_record(item, names[item.id], canary, version, schema, private) for item in withheld]
        writer.write(PRIVATE, TEST, rows, schema, private=True)
    writer.write_evidence(public)
    shown = {item.id for item in public}
    votes = [
        vote
        for task in material.tasks
        for vote in released_votes(material.plan, material.store, task.finished, shown, private, canary)
    ]
    if votes:
        writer.write(VOTES, VOTES, votes, VOTES_SCHEMA)
    schema = flat_record_schema(material.tasks[0].finished.tables[material.tasks[0].finished.items].row)
    return Filled(
        configs=tuple(writer.configs.values()), schemas=writer.schemas,
        columns=(*released_columns(schema), CANARY, "licence", *([REPLACES] if replaced else [])),
        uses={names[item.id]: used[item.id] for item in items},
        public=tuple(public),
        withheld={task.loaded.task: _withheld(task, names, used) for task in material.tasks} if withheld else {},
    )  # fmt: skip


def items_of_material(material: ReleaseMaterial) -> list[SharedItem]:
    """Every item of a build, task by task."""
    return [
        shared_item({plain_name(name): value for name, value in record.items()}, task.loaded.task, TEST)
        for task in material.tasks
        for record in flat_records(task.finished.tables[task.finished.items])
    ]


def _check_payloads(material: ReleaseMaterial) -> None:
    """RecipeError if labels are to be held back of items of which nobody knows which columns are labels."""
    if not material.loaded.whole.release.private:
        return
    for task in material.tasks:
        row: Any = task.finished.tables[task.finished.items].row
        if not issubclass(row.model_fields["payload"].annotation, Claim):
            raise RecipeError([Problem(
                "only questions with a right and a wrong answer can have private labels", key="release.private",
                actual=str(material.loaded.whole.release.private), hint="set release.private=0",
            )])  # fmt: skip


def _withheld(
    task: TaskMaterial, names: Mapping[str, str], used: Mapping[str, Use]
) -> tuple[Table[Any], tuple[str, ...]]:
    table = task.finished.tables[task.finished.items]
    ids = table.ids()
    places = [place for place, name in enumerate(ids) if used[name] == "private"]
    own: Table[Any] = Table(table.arrow.take(pa.array(places, pa.int64())).combine_chunks(), table.row)
    return own, tuple(names[ids[place]] for place in places)


class _Licences:
    """The licence of each source; of groups that steps made, the one that all sources share."""

    def __init__(self, material: ReleaseMaterial) -> None:
        self._of = {source.name: source.terms.declared for source in material.sources}
        shared = set(self._of.values())
        self._shared = shared.pop() if len(shared) == 1 else ""

    def of(self, source: str) -> str:
        """The licence as the recipe states it; empty if it is not stated or not known which source it is."""
        return self._of.get(source, self._shared)


class _Writer:
    """Writes rows as JSON lines, and remembers configurations and columns."""

    def __init__(self, folder: Path, licences: _Licences, canary: str) -> None:
        self.configs: dict[str, ReleasedConfig] = {}
        self.schemas: dict[str, pa.Schema] = {}
        self._folder, self._licences, self._canary = folder, licences, canary

    def write_items(self, items: Iterable[SharedItem], schema: pa.Schema, used: Mapping[str, Use]) -> None:
        """Write public items, one file for each configuration and split, true/false questions first."""
        groups: dict[tuple[str, str], list[SharedItem]] = {}
        for item in items:
            groups.setdefault((item.config, used[item.id]), []).append(item)
        for config, split in sorted(groups, key=lambda key: (key[0] != "tf", key[0], key[1] != TEST)):
            found = groups[config, split]
            rows = [public_record(item, schema, self._canary, self._licences.of(item.source)) for item in found]
            self.write(config, split, rows, schema, task=found[0].task, item_type=found[0].type)

    def write_evidence(self, items: Iterable[SharedItem]) -> None:
        """Write every paragraph of public items as a row of its own."""
        rows = [
            {**support, "item": item.id, CANARY: self._canary, "licence": self._licences.of(support["base"])}
            for item in items for support in item.columns.get("evidence") or ()
        ]  # fmt: skip
        if rows:
            chosen = [{name: row[name] for name in _EVIDENCE_SCHEMA.names} for row in rows]
            self.write(EVIDENCE, EVIDENCE, chosen, _EVIDENCE_SCHEMA)

    def write(
        self, config: str, split: str, rows: list[Any], schema: pa.Schema, *, task: str = "", item_type: str = "",
        private: bool = False,
    ) -> None:  # fmt: skip
        """Write the rows of a split."""
        file = f"{config}/{split}.jsonl"
        before = self.configs.get(config)
        files, counts = ({}, {}) if before is None else (before.files, before.items)
        self.configs[config] = ReleasedConfig(
            name=config, task=task, type=item_type, private=private, files={**files, split: file},
            items={**counts, split: len(rows)},
        )  # fmt: skip
        self.schemas[config] = schema
        _write_rows(self._folder / file, rows)


def _write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8", newline="\n")
