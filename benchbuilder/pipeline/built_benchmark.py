"""A built benchmark in its folder: its recipe, its tasks, and the committed steps that lead to its items."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from benchbuilder.config import display_path
from benchbuilder.core import DataError, parse_plain_yaml
from benchbuilder.pipeline.accounting.shard import filter_outcomes
from benchbuilder.pipeline.outputs import outputs_match
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest


class BuiltBenchmark:
    """A benchmark that was built into `folder`; DataError if there is none."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, Store(folder)
        try:
            self.recipe_yaml = (folder / "recipe.yaml").read_text(encoding="utf-8")
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

    @cached_property
    def rows(self) -> dict[str, Any]:
        """The items by id."""
        return {row.id: row for row in self.store.rows(self.steps[self.items])}

    def rows_present(self, step: str, ids: pa.Array[Any]) -> set[str]:
        """Which of `ids` are rows of a step; none if there is no such step."""
        if step not in self.steps:
            return set()
        column: Any = self.store.rows(self.steps[step]).arrow.column("id")
        return set(column.filter(pc.is_in(column, ids)).to_pylist())

    def drops(self, step: str) -> dict[str, tuple[str, str]]:
        """The reason and its detail of each row that a step dropped, by id; of a source by ``file:line``."""
        dropped = filter_outcomes(self.store.outcomes(self.steps[step]), outcome="dropped").to_pylist()
        return {line["row"] or f"{line['file']}:{line['line']}": (line["reason"], line["detail"]) for line in dropped}
