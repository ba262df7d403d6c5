"""Tables: rows of one class as Arrow, with an exact schema."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Generic, Literal, TypeVar, Union, cast, get_args, get_origin

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel

from benchbuilder.core.records.row import Row

R = TypeVar("R", bound=Row)
_BATCH_ROWS = 65_536
_SCALARS: dict[Any, pa.DataType] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def _type_of(annotation: Any) -> tuple[pa.DataType, bool]:
    """Arrow type of an annotation and whether it may be null."""
    if annotation in _SCALARS:
        return _SCALARS[annotation], False
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return _type_of(type(args[0]))
    if origin is tuple:
        return pa.list_(_type_of(args[0])[0]), False
    if origin in (Union, types.UnionType):
        inner = [arg for arg in args if arg is not type(None)]
        if len(inner) == 1:
            return _type_of(inner[0])[0], True
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return pa.struct(_fields(annotation)), False
    raise TypeError(f"a record field cannot be {annotation!r}: use str, int, float, bool, tuple or a frozen model")


def _fields(cls: type[BaseModel]) -> list[pa.Field[Any]]:
    fields: list[pa.Field[Any]] = []
    for name, info in cls.model_fields.items():
        arrow, nullable = _type_of(info.annotation)
        fields.append(pa.field(name, arrow, nullable))
    return fields


@cache
def schema_of(cls: type[Row]) -> pa.Schema:
    """The exact Arrow schema of a row class."""
    return pa.schema(_fields(cls))


class Table(Generic[R]):
    """Rows of class `row` held as Arrow; iterating makes rows one at a time.

    A window has about `window_bytes` at most; a build sets it by the memory that it may use.
    """

    window_bytes = 32_000_000

    def __init__(self, arrow: pa.Table, row: type[R]) -> None:
        self.arrow = arrow
        self.row = row

    @classmethod
    def of(cls, rows: Iterable[R], row: type[R]) -> Table[R]:
        """A table of `rows`; an empty one has the exact schema too."""
        data = [item.model_dump() for item in rows]
        return cls(pa.Table.from_pylist(data, schema=schema_of(row)), row)

    @classmethod
    def concat(cls, tables: Iterable[Table[R]], row: type[R]) -> Table[R]:
        """The union of `tables`, in order."""
        return cls(pa.concat_tables([schema_of(row).empty_table(), *(t.arrow for t in tables)]), row)

    def __reduce__(self) -> tuple[object, ...]:
        """Tables are sent between processes: a generic row class is made again there, as it has no name."""
        meta: Any = self.row.__pydantic_generic_metadata__
        return _rebuild, (self.arrow, meta["origin"] or self.row, meta["args"])

    def __len__(self) -> int:
        return self.arrow.num_rows

    def __iter__(self) -> Iterator[R]:
        for piece in self.batches():
            for batch in piece.to_batches(max_chunksize=4096):
                for data in batch.to_pylist():
                    yield self.row.model_validate(data)

    def batches(self, names: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The rows, or some columns, piece by piece; a dotted name into a struct gives the whole struct."""
        chosen = self.arrow if names is None else self.arrow.select(list(dict.fromkeys(n.split(".")[0] for n in names)))
        for start in range(0, len(self), _BATCH_ROWS):
            yield chosen.slice(start, _BATCH_ROWS)

    def windows(self, rows: int = _BATCH_ROWS) -> Iterator[tuple[int, Table[R]]]:
        """The rows in pieces of up to `rows` and `window_bytes`, each with the position of its first row."""
        rows = max(1, min(rows, self.window_bytes * len(self) // max(self.nbytes, 1)))
        first = 0
        for piece in self.batches():
            for start in range(0, piece.num_rows, rows):
                yield first + start, Table(piece.slice(start, rows), self.row)
            first += piece.num_rows

    @property
    def nbytes(self) -> int:
        """About how many bytes the rows take."""
        return self.arrow.nbytes

    def release(self) -> None:
        """Give back memory that only holds what can be read again."""

    def find(self, ids: Collection[str], name: str = "id") -> Table[R]:
        """The rows of these ids, or of these values of another column, in their order here."""
        wanted = pa.array(sorted(ids), pa.string())
        return Table(self.arrow.filter(pc.is_in(self.arrow.column(name), value_set=wanted)), self.row)

    def column(self, name: str) -> list[Any]:
        """One column as a list; `name` may go into structs by dots (``payload.head``)."""
        head, *rest = name.split(".")
        values, compute = list[Any](), cast("Any", pc)
        for piece in self.batches([name]):
            column: Any = piece.column(head)
            for part in rest:
                column = compute.struct_field(column, part)
            values += column.to_pylist()
        return values

    def ids(self) -> list[str]:
        """The ids, in row order."""
        return self.column("id")


def _rebuild(arrow: pa.Table, row: Any, arguments: tuple[Any, ...]) -> Table[Any]:
    return Table(arrow, row[arguments] if arguments else row)
