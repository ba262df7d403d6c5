"""The contract of payloads."""

from __future__ import annotations

import pyarrow as pa
from pydantic import ValidationError

from benchbuilder.core import Fact, Origin, Payload, ProducedBy, Table, text_leaves
from benchbuilder.testing.contract import ContractError, check_kind, check_table, require


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
    names = set(examples[0].texts())
    for payload in examples:
        require(set(payload.texts()) == names, f"{who} names other texts for each example")
        _check_texts(who, payload)
        _check_frozen(who, payload)
    cells = [tuple(payload.flat_cells()) for payload in examples]
    require(len(set(cells)) == 1 and bool(cells[0]), f"{who} has other columns for each example")
    strings = all(isinstance(cell, str) for payload in examples for cell in _objects(payload.flat_cells()))
    require(strings, f"{who} has a cell that is not a string")


def _objects(cells: dict[str, str]) -> list[object]:
    return list(cells.values())


def _check_texts(who: str, payload: Payload) -> None:
    texts = payload.texts()
    require(any(any(values) for values in texts.values()), f"{who} has no text")
    require(payload.map_texts(lambda text: text) == payload, f"{who} is changed by a conversion that changes nothing")
    if payload.by_field:
        _check_fields(who, payload)
    marked = payload.map_texts(lambda text: f"<{text}>").texts()
    for name, values in texts.items():
        expected = tuple(f"<{value}>" for value in values)
        require(marked[name] == expected, f"{who} does not convert its text {name!r}: {marked[name]}")


def _check_fields(who: str, payload: Payload) -> None:
    converted: list[str] = []
    payload.map_texts(lambda text: (converted.append(text), text)[1])
    fields = [data for _, column in text_leaves(pa.array([payload.model_dump()])) for data in column.to_pylist()]
    unknown = sorted(set(converted) - set(fields))
    require(not unknown, f"{who} declares that it converts by field, but converts {unknown}, which no field contains")


def _check_frozen(who: str, payload: Payload) -> None:
    name = next(iter(type(payload).model_fields))
    try:
        setattr(payload, name, getattr(payload, name))
    except ValidationError:
        return
    raise ContractError(f"{who} is not frozen")
