"""The contract of every kind in any slot, that of payloads, and the processes in which kinds are checked."""

from __future__ import annotations

import atexit
import inspect
import multiprocessing
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import Any, TypeVar

from pydantic import ValidationError

from benchbuilder.config import KindSpec
from benchbuilder.core import (
    Fact,
    Origin,
    Payload,
    ProducedBy,
    Row,
    Table,
    begin_worker_process,
    cell_texts,
    combined_column,
    convert_texts,
    holds_text,
    is_by_field,
    schema_of,
)


class ContractError(AssertionError):
    """A kind breaks a promise of its slot."""


def require(holds: bool, message: str) -> None:
    """Raise ContractError with `message` unless the condition `holds`."""
    if not holds:
        raise ContractError(message)


def check_kind(slot: str, name: str, cls: type[Any]) -> None:
    """Check that a kind describes itself: a name, a docstring, a version, a frozen spec, a sentence for each reason.

    Args:
        slot: The slot that the kind fills, such as ``step`` or ``payload``.
        name: The name under which it is registered.
        cls: Its class.

    Raises:
        ContractError: The kind breaks a promise.
    """
    require(cls.kind == name, f"{cls.__name__}.kind is {cls.kind!r}, and it is registered as {name!r}")
    require(bool(inspect.getdoc(cls)), f"{cls.__name__} has no docstring")
    version = getattr(cls, "version", 1)
    require(isinstance(version, int) and version >= 1, f"{cls.__name__}.version is {version!r}, not an integer from 1")
    if slot == "payload":
        require(issubclass(cls, Payload), f"{cls.__name__} is not a Payload")
        return
    spec = cls.spec_class
    require(issubclass(spec, KindSpec), f"the spec class of {cls.__name__} is not a KindSpec")
    require(bool(spec.model_config.get("frozen")), f"{spec.__name__} is not frozen")
    require(spec.model_config.get("extra") == "forbid", f"{spec.__name__} accepts unknown keys")
    check_reasons(cls.__name__, getattr(cls, "reasons", {}))


def check_reasons(who: str, reasons: Mapping[str, str]) -> None:
    """Check that each reason is an identifier, for programs, and has a sentence, for people."""
    for reason, sentence in reasons.items():
        require(reason.isidentifier(), f"the reason {reason!r} of {who} is not an identifier")
        require(bool(sentence.strip()), f"the reason {reason!r} of {who} has no sentence")


def check_ids(who: str, rows: Iterable[Row]) -> None:
    """Check that ids are unique, and that each follows from the identity fields of its row."""
    seen = set[str]()
    for row in rows:
        require(row.id not in seen, f"{who} makes two rows with the id {row.id}")
        seen.add(row.id)
        fields = {name: getattr(row, name) for name in type(row).model_fields if name != "id"}
        ident = type(row).build(**fields).id
        require(row.id == ident, f"{who} makes {row.id}, but its fields give {ident}: make rows with build or child")


def check_table(who: str, table: Table[Any], row: type[Row]) -> None:
    """Check that a table has the exact schema of its row class, no forbidden null, and rows that survive Arrow."""
    require(table.row is row, f"{who} makes rows of {table.row.__name__}, not of {row.__name__}")
    schema = schema_of(row)
    same = table.arrow.schema.equals(schema)
    require(same, f"{who} makes a table with another schema:\n{table.arrow.schema}\n{schema}")
    for field in schema:
        nulls = table.arrow.column(field.name).null_count
        require(field.nullable or nulls == 0, f"{who} leaves {nulls} nulls in {field.name}")
    rows = list(table)
    require(list(Table.of(rows, row)) == rows, f"rows of {who} change on the way through Arrow")


T = TypeVar("T")


@cache
def _pool() -> ProcessPoolExecutor:
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"), initializer=begin_worker_process)
    atexit.register(pool.shutdown)
    return pool


def in_worker_process(function: Callable[..., T], *args: Any) -> T:
    """Run a function in a worker process, which is used again; the function and its arguments must be picklable."""
    try:
        return _pool().submit(function, *args).result()
    except BrokenProcessPool:
        _pool.cache_clear()
        raise


def in_new_process(function: Callable[..., T], *args: Any) -> T:
    """Run a function in a new process; the function and its arguments must be picklable."""
    with ProcessPoolExecutor(
        1, mp_context=multiprocessing.get_context("spawn"), initializer=begin_worker_process
    ) as pool:
        return pool.submit(function, *args).result()


def check_payload(cls: type[Payload]) -> None:
    """Check a payload: its examples survive Arrow, and its texts, their conversion and its cells agree.

    Args:
        cls: The payload class; its `examples` are checked.

    Raises:
        ContractError: The payload breaks a promise.
    """
    check_kind("payload", cls.kind, cls)
    who = f"the payload {cls.kind!r}"
    examples = cls.examples()
    require(len(examples) >= 2, f"{who} has fewer than two examples")
    generic = Fact[cls]  # pyright: ignore[reportInvalidTypeArguments]
    facts = [
        generic.build(origin=Origin(file="examples", line=line), produced_by=ProducedBy(rule="examples"), language="en",
                      partition="examples", payload=payload)
        for line, payload in enumerate(examples, 1)
    ]  # fmt: skip
    require(len({fact.id for fact in facts}) == len(facts), f"two examples of {who} are equal")
    table = Table.of(facts, generic)
    check_table(who, table, generic)
    require([fact.payload for fact in table] == list(examples), f"examples of {who} change on the way through Arrow")
    if is_by_field(cls):
        _check_columns(who, cls, combined_column(table.arrow, "payload"), examples)
    names = set(examples[0].texts())
    for payload in examples:
        require(set(payload.texts()) == names, f"{who} names other texts for each example")
        _check_texts(who, payload)
        _check_frozen(who, payload)
    cells = [tuple(payload.flat_cells()) for payload in examples]
    require(len(set(cells)) == 1 and bool(cells[0]), f"{who} has other columns for each example")
    values: list[object] = [cell for payload in examples for cell in payload.flat_cells().values()]
    require(all(isinstance(value, str) for value in values), f"{who} has a cell that is not a string")


def _check_texts(who: str, payload: Payload) -> None:
    texts = payload.texts()
    require(any(any(values) for values in texts.values()), f"{who} has no text")
    require(payload.map_texts(lambda text: text) == payload, f"{who} is changed by a conversion that changes nothing")
    marked = payload.map_texts(lambda text: f"<{text}>").texts()
    for name, values in texts.items():
        expected = tuple(f"<{value}>" for value in values)
        require(marked[name] == expected, f"{who} does not convert its text {name!r}: {marked[name]}")


def _check_columns(who: str, cls: Any, column: Any, examples: Sequence[Payload]) -> None:
    for field in (*cls.text_fields, *cls.cell_fields.values()):
        require(holds_text(column.type, field), f"{who} names the field {field!r}, which is no text")
    converted, _ = convert_texts(cls, column, lambda texts: [f"<{text}>" for text in texts])
    expected = [payload.map_texts(lambda text: f"<{text}>") for payload in examples]
    require([cls.model_validate(data) for data in converted.to_pylist()] == expected,
            f"{who} converts its texts by column otherwise than by row")  # fmt: skip
    joined = ["\t".join(payload.flat_cells().values()) for payload in examples]
    require(cell_texts(cls, column, "\t").to_pylist() == joined, f"{who} has other cells by column than by row")


def _check_frozen(who: str, payload: Payload) -> None:
    name = next(iter(type(payload).model_fields))
    try:
        setattr(payload, name, getattr(payload, name))
    except ValidationError:
        return
    raise ContractError(f"{who} is not frozen")
