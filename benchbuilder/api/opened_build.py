"""Opens the folder of a build: its items, its candidates, the rows of every step and the ledger as tables."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import csv

from benchbuilder.config import display_path
from benchbuilder.core import DataError, InstallationError, Table, flat_record_schema, flat_records, read_given_file
from benchbuilder.pipeline import BuiltBenchmark, Store

if TYPE_CHECKING:
    from pandas import DataFrame


class ColumnTable:
    """Named columns, which become a table of the library that you work with."""

    def __init__(self, columns: pa.Table) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return self.arrow().num_rows

    def __repr__(self) -> str:
        return f"<{len(self)} rows: {', '.join(self.arrow().column_names)}>"

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self._columns

    def pandas(self) -> DataFrame:
        """The rows as a data frame of pandas; InstallationError if it is not installed."""
        _library("pandas")
        return self.arrow().to_pandas()

    def polars(self) -> Any:
        """The rows as a data frame of Polars; InstallationError if it is not installed."""
        return _library("polars").from_arrow(self.arrow())

    def datasets(self) -> Any:
        """The rows as a `datasets.Dataset`; InstallationError if the library is not installed."""
        return _library("datasets").Dataset(self.arrow())


class RowTable(ColumnTable):
    """Rows of one class, in the order of the build.

    A loop over it gives typed rows. The conversions give one column for each field, as the files of a build do.
    """

    def __init__(self, rows: Table[Any]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)

    def __repr__(self) -> str:
        return f"<{len(self)} rows of {self.rows.row.__name__}>"

    @cached_property
    def _columns(self) -> pa.Table:  # pyright: ignore[reportIncompatibleVariableOverride]
        return pa.Table.from_pylist(list(flat_records(self.rows)), schema=flat_record_schema(self.rows.row))


class OpenedBenchmark:
    """A built benchmark in a folder; `open` makes it."""

    def __init__(self, folder: Path) -> None:
        self._built = BuiltBenchmark(folder)
        self.folder = folder

    def __repr__(self) -> str:
        return f"<benchmark in {display_path(self.folder)}: {', '.join(self.steps)}>"

    @property
    def recipe_yaml(self) -> str:
        """The resolved recipe of the build."""
        return self._built.recipe_yaml

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks; one empty name in a recipe without tasks."""
        return tuple(self._built.items)

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """The sources and steps that the last build reached, by name."""
        names = sorted(path.name for path in self._built.store.steps.glob("*") if path.is_dir())
        return tuple(name for name in names if self._built.has_step(name))

    def rows(self, step: str) -> RowTable:
        """The rows of a source or a step; DataError if the last build did not reach it."""
        manifest = self._built.store.latest(step) if step in self.steps else None
        if manifest is None:
            raise DataError(
                f"{display_path(self.folder)} has no rows of {step!r}", where=display_path(self._built.store.steps),
                why=f"the last build has {', '.join(self.steps) or 'none'}", next="name one of these, or build again",
            )  # fmt: skip
        return RowTable(self._built.store.rows(manifest))

    def items_of(self, task: str = "") -> RowTable:
        """The items of a task; of a recipe without tasks, all."""
        if task not in self._built.items:
            raise DataError(f"there is no task {task!r}", where=display_path(self.folder),
                            next=f"name one of {', '.join(self.tasks)}")  # fmt: skip
        return self.rows(self._built.items[task])

    @property
    def items(self) -> RowTable:
        """The items of a recipe without tasks, or with one."""
        return self.items_of(self.tasks[0] if len(self.tasks) == 1 else "")

    @property
    def candidates(self) -> RowTable:
        """The candidates that people are asked about: from the step `corrected`, or else from `candidates`."""
        return self.rows("corrected" if "corrected" in self.steps else "candidates")

    def answers(self, task: str = "") -> RowTable:
        """Every answer to the items of a task; DataError if nobody was asked."""
        return self._evaluated("answer", task)

    def scores(self, task: str = "") -> RowTable:
        """Every score of every answer to the items of a task; DataError if nothing was scored."""
        return self._evaluated("score", task)

    def _evaluated(self, row: str, task: str) -> RowTable:
        """The rows of one class from every step of the evaluation that made them last, one step after the other."""
        folder = self.folder / task / "evaluation"
        store = Store(folder)
        steps = sorted(path.name for path in store.steps.iterdir() if path.is_dir()) if store.steps.is_dir() else []
        latest = [manifest for step in steps if (manifest := store.latest(step)) is not None and manifest.row == row]
        if not latest:
            raise DataError(
                f"{display_path(self.folder)} has no {row}s", where=display_path(folder), why="nobody was asked yet",
                next="evaluate first: benchbuild evaluate recipe=NAME",
            )  # fmt: skip
        tables = [store.rows(manifest) for manifest in latest]
        return RowTable(Table(pa.concat_tables([table.arrow for table in tables]), tables[0].row))

    def ledger(self) -> ColumnTable:
        """Every branch that was not kept, with its reason: columns of texts."""
        path = self.folder / "ledger.tsv"
        if not path.is_file():
            raise DataError(f"{display_path(path)} is missing", next="build the benchmark again")
        data = read_given_file(path)
        names = data.partition(b"\n")[0].decode().split("\t")
        return ColumnTable(csv.read_csv(
            io.BytesIO(data), parse_options=csv.ParseOptions(delimiter="\t"),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        ))  # fmt: skip


def open(folder: str | Path) -> OpenedBenchmark:
    """Open the folder of a build, for instance ``builds/care_mi``; nothing is run.

    Raises:
        DataError: There is no build in the folder.
    """
    return OpenedBenchmark(Path(folder))


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InstallationError(
            f"{name} is not installed",
            why="it is optional, and this table was asked for in its form",
            next=f"pip install {name}",
        ) from error
