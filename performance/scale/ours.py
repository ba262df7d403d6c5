"""Our ways, by the kinds that the bundled recipe names: tokens, BM25, topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa

from benchbuilder.config.load import load_recipe
from benchbuilder.core import registry
from benchbuilder.core.records.arrow.batches import SourceBatch
from benchbuilder.core.records.arrow.table import Table, schema_of
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import Row
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA, Shard
from benchbuilder.pipeline.plan import Plan, make_plan, workers_of
from benchbuilder.pipeline.shards.files import read_columns, write_shard
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.retrieval.base import Retriever, TokenColumns, Tokenizer
from benchbuilder.sources.base import Source
from benchbuilder.steps.base import Filter
from scale.builds import RECIPE, edges

RECIPES = str(Path(__file__).parents[2] / "recipes")


class Texts(Sequence[str]):
    """Texts in an Arrow file, mapped into memory: read when they are asked for, as the engine gives them."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._column: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {"file": self.file, "_column": None}

    @classmethod
    def write(cls, file: Path, arrays: Iterator[Any]) -> Texts:
        """Put the texts of `arrays` into `file`."""
        schema = pa.schema({"text": pa.string()})
        with pa.ipc.new_file(str(file), schema) as writer:
            for array in arrays:
                writer.write_batch(pa.record_batch([array], schema=schema))
        return cls(file)

    @classmethod
    def of_tokens(cls, file: Path, documents: Sequence[Sequence[str]]) -> Texts:
        """Texts that are cut already, with a space between tokens."""
        return cls.write(file, iter([pa.array([" ".join(tokens) for tokens in documents], pa.string())]))

    @property
    def column(self) -> Any:
        """All of them."""
        if self._column is None:
            self._column = pa.ipc.open_file(pa.memory_map(str(self.file))).read_all().column("text")
        return self._column

    def __len__(self) -> int:
        return len(self.column)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, int):
            return str(self.column[index].as_py())
        start, stop, _ = index.indices(len(self))
        return [str(text) for text in self.column.slice(start, max(stop - start, 0)).to_pylist()]


def workers() -> int:
    """As many as the bundled recipe uses here."""
    return workers_of(load_recipe(RECIPE).recipe.run)


def retriever() -> Retriever:
    """BM25 as the bundled recipe has it."""
    return registry.create_from_spec("retriever", load_recipe(RECIPE).recipe.retriever)


def over_spaces() -> Retriever:
    """The same for texts that are cut already, and whose stop words are gone."""
    words = ["tokenizer=whitespace", "tokenizer.punctuation=attached", "retriever.stop_words=null"]
    return registry.create_from_spec("retriever", load_recipe([*RECIPE, *words]).recipe.retriever)


def tokenizer() -> Tokenizer:
    """The tokenizer of the bundled recipe."""
    return registry.create_from_spec("tokenizer", load_recipe(RECIPE).recipe.tokenizer)


def tokens_of(columns: TokenColumns) -> list[list[str]]:
    """The tokens of each text."""
    parts = np.split(columns.tokens, np.cumsum(columns.lengths)[:-1])
    return [[columns.terms[number] for number in part.tolist()] for part in parts]


def plan(words: Sequence[str], folder: Path) -> Plan:
    """The plan of a build into `folder`."""
    return make_plan(load_recipe(words).recipe, Store(folder), lambda _: "")


def store_edges(table: Path, folder: Path, rows: int = 50_000) -> Plan:
    """Read a plain table of triples into the Parquet files of a step, as a build does; the plan that goes on there."""
    made = plan(edges(table), folder)
    source: Any = made.nodes["edges"].producer
    assert isinstance(source, Source)
    folder.mkdir(parents=True, exist_ok=True)
    held: list[pa.Table] = []
    index = 0
    for units in source.read_batches():
        if isinstance(units, SourceBatch):
            held.append(units.rows.arrow)
            if sum(table.num_rows for table in held) >= rows:
                index, held = index + 1, _part(held, folder, index, source.output)
    if held:
        _part(held, folder, index, source.output)
    return made


def _part(held: list[pa.Table], folder: Path, index: int, row: type[Row]) -> list[pa.Table]:
    write_shard(folder, index, Shard(Table(pa.concat_tables(held), row), OUTCOME_SCHEMA.empty_table()))
    return []


COLUMNS = ("payload.head", "payload.tail", "partition")
"""What the filter looks at: both ends, as the plain way does, and the source, by which it counts the words."""


def on_topic(made: Plan, folder: Path) -> int:
    """How many rows of the files of a step the stage `topic` keeps, file by file, on all cores."""
    node = made.nodes["triples_on_topic"]
    stage: Any = node.producer
    stage.open({})

    def kept(part: Path) -> int:
        return kept_by(stage, Table(read_columns(part, COLUMNS, by_dictionary=True), node.row))

    with ThreadPoolExecutor(workers_of(made.recipe.run)) as pool:
        return sum(pool.map(kept, sorted(folder.glob("part-*.parquet"))))


def kept_by(stage: Filter, table: Table[Any]) -> int:
    """How many rows of `table` a filter keeps."""
    reasons = stage.screen(table).reasons
    return reasons.null_count if isinstance(reasons, pa.Array | pa.ChunkedArray) else list(reasons).count(None)


def questions(texts: Any, folder: Path) -> tuple[Filter, Table[Any]]:
    """The recipe's filter of questions, for rows that have one text, and such rows."""
    node = plan([*RECIPE, "source=[medqa,textbook]"], folder).nodes["choices_on_topic"]
    made: Any = node.producer
    spec = made.spec.model_copy(update={"groups": {"anywhere": ("text",)}})
    stage: Filter = registry.create_from_spec("step", spec, made.context)
    stage.open({})
    schema = schema_of(Passage)
    columns = {field.name: pa.nulls(len(texts), field.type) for field in schema}
    blank = {field.name: pa.array([""] * len(texts)) for field in schema if pa.types.is_string(field.type)}
    return stage, Table(pa.table({**columns, **blank, "text": texts}), Passage)
