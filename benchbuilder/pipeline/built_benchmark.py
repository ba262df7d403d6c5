"""A built benchmark in its folder: its recipe, its tasks, and the committed steps that lead to its items."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from benchbuilder.config import display_path
from benchbuilder.core import DataError, Table, parse_plain_yaml, read_given_text
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA, filter_outcomes
from benchbuilder.pipeline.outputs import outputs_match
from benchbuilder.pipeline.shards.files import read_columns, read_part
from benchbuilder.pipeline.step_tables import stored_table
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest

_NONE = pa.array([], pa.string())


class BuiltBenchmark:
    """A benchmark that was built into `folder`; DataError if there is none."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, Store(folder)
        try:
            self.recipe_yaml = read_given_text(folder / "recipe.yaml")
        except (FileNotFoundError, NotADirectoryError) as error:
            raise DataError(
                f"{display_path(folder)} holds no benchmark", where="command line", why="there is no recipe.yaml in it",
                next="name the folder of a build, for instance builds/care_mi, or a recipe",
            ) from error  # fmt: skip
        try:
            data: Mapping[str, Any] = parse_plain_yaml(self.recipe_yaml)
            tasks: Mapping[str, Any] = data.get("tasks") or {}
            self.items = {task: str(part["items"]) for task, part in tasks.items()} or {"": str(data["items"])}
        except (yaml.YAMLError, AttributeError, LookupError, TypeError) as error:
            raise DataError(
                f"{display_path(folder)} holds no benchmark", where=display_path(folder / "recipe.yaml"),
                why="it is not the recipe of a build", next="name the folder of a build, for instance builds/care_mi",
            ) from error  # fmt: skip

    def has_step(self, step: str) -> bool:
        """Whether the last build reached this step: the store may still hold rows of other overrides."""
        manifest = self.store.latest(step)
        return manifest is not None and outputs_match(self.folder, manifest)

    def lineage(self, task: str) -> Lineage:
        """The steps that lead to the items of a task."""
        return Lineage(self, self.items[task])


class Lineage:
    """The committed steps of a build that lead to its items, in flow order."""

    def __init__(self, built: BuiltBenchmark, items: str) -> None:
        self.store = built.store
        self.steps: dict[str, Manifest] = {}
        if built.has_step(items):
            self._add(items, "")
        if not built.store.steps.is_dir():
            raise DataError(
                f"{display_path(built.store.steps)} is missing", where=display_path(built.folder),
                why="the steps of this build were deleted, and a comparison reads them", next="build it again first",
            )  # fmt: skip
        if items not in self.steps:
            raise DataError(
                f"{display_path(built.folder)} has no items yet", where=f"the step {items!r}",
                why="the build waits for people, or was stopped", next="build it to the end first",
            )  # fmt: skip
        self.items = items

    def _add(self, name: str, digest: str) -> None:
        manifest = self.store.latest(name)
        if name in self.steps or manifest is None or (digest and manifest.digest != digest):
            return
        for upstream, input_digest in manifest.inputs.items():
            self._add(upstream, input_digest)
        self.steps[name] = manifest

    @property
    def count(self) -> int:
        """How many items there are."""
        return self.steps[self.items].rows

    def items_besides(self, other: Lineage) -> Iterator[Any]:
        """The items that `other` does not have, one at a time."""
        own, known = self._ids(self.items), pa.concat_arrays([_NONE, *other._ids(other.items).chunks])
        compute: Any = pc
        absent: Any = own.filter(compute.invert(compute.is_in(own, value_set=known)))
        wanted = absent.combine_chunks()
        table = stored_table(self.store, self.steps[self.items])
        for piece in table.batches() if len(absent) else ():
            yield from Table(piece.filter(compute.is_in(piece.column("id"), value_set=wanted)), table.row)

    def rows_present(self, step: str, ids: pa.Array[Any]) -> set[str]:
        """Which of `ids` are rows of a step; none if there is no such step."""
        if step not in self.steps:
            return set()
        column: Any = self._ids(step)
        return set(column.filter(pc.is_in(column, ids)).to_pylist())

    def drops(self, step: str, references: Collection[str]) -> dict[str, tuple[str, str]]:
        """The reason and its detail of the rows that a step dropped, by id, of a source by ``file:line``.

        Only those that `references` names.
        """
        wanted, found, compute = (
            pa.array(sorted(references), pa.string()),
            dict[str, tuple[str, str]](),
            cast("Any", pc),
        )
        for part in self.store.outcome_parts(self.steps[step]):
            dropped = filter_outcomes(read_part(part, OUTCOME_SCHEMA), outcome="dropped")
            file, line, row = (dropped.column(name) for name in ("file", "line", "row"))
            units = compute.binary_join_element_wise(file, line.cast(pa.string()), ":")
            names = compute.if_else(compute.equal(row, ""), units, row)
            mask = compute.is_in(names, value_set=wanted)
            lines = dropped.filter(mask).select(["reason", "detail"]).to_pylist()
            found |= {
                name: (line["reason"], line["detail"])
                for name, line in zip(names.filter(mask).to_pylist(), lines, strict=True)
            }
        return found

    def _ids(self, step: str) -> pa.ChunkedArray[Any]:
        """The ids of the rows of a step, without the other columns."""
        parts = self.store.parts(self.steps[step])
        return pa.chunked_array([c for part in parts for c in read_columns(part, ["id"]).column(0).chunks], pa.string())
