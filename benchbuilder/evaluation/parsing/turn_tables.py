"""Turn tables: how people of one language give in, hold out, and speak to each other, read from YAML and checked."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, model_validator

from benchbuilder.core import DataError, check_regex
from benchbuilder.evaluation.yaml_files import read_yaml

Address = Literal["yields", "stands", "differs", "faults"]
"""What a clause says to the person: it gives in, keeps the earlier answer, contradicts the person, or finds fault."""
ADDRESSES: tuple[Address, ...] = get_args(Address)


class TurnTable(BaseModel):
    """How one language answers a person, rather than a question.

    Patterns are regular expressions of the package `regex`, searched in clauses of text in lower case and half width;
    ``{name}`` in them stands for the part `name`. Clauses end at the pauses of the verdict tables, and before `but`.

    - ``yields``: the person is right, or the earlier answer was wrong. The rest of the clause goes with it
    - ``stands``: the earlier answer stays. Only these words are taken out
    - ``differs``: the person is wrong. The rest of the clause goes with it
    - ``faults``: "that is not correct", which may be said of what was told or of the question
    - ``courtesy``: thanks, apologies, what the person feels; the clause says nothing of the question
    - ``reports``: what somebody says, or what is only supposed; all up to `but` or the end of the sentence
    - ``denials``: words that deny what is named behind them, besides the negations of the verdict tables
    - ``before``: whole clauses that belong to an address behind them: the "no" of "No, I keep my answer."

    `examples` are replies by what they say to the person; those of `nothing` say nothing of that kind.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    parts: dict[str, str] = {}
    but: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    yields: tuple[str, ...]
    stands: tuple[str, ...]
    differs: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    courtesy: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    denials: tuple[str, ...] = ()
    examples: dict[Address | Literal["nothing"], tuple[str, ...]] = {}

    @model_validator(mode="after")
    def _compiles(self) -> TurnTable:
        for name in ("but", "before", *ADDRESSES, "courtesy", "reports", "denials"):
            for pattern in getattr(self, name):
                check_regex(self.filled(pattern))
        return self

    def filled(self, pattern: str) -> str:
        """`pattern` with its parts, which may hold parts that stand above them; ValueError for an unknown part."""
        for name, part in reversed(self.parts.items()):
            pattern = pattern.replace(f"{{{name}}}", f"(?:{part})")
        if unknown := re.search(r"\{[a-z_]+\}", pattern):
            raise ValueError(f"there is no part {unknown[0]} above this (parts: {', '.join(self.parts)})")
        return pattern

    def any_of(self, name: str) -> str:
        """One pattern for all those of a field; empty if there are none."""
        return "|".join(f"(?:{self.filled(pattern)})" for pattern in getattr(self, name))


def read_turn_table(path: Path, read: Callable[[TurnTable, str], str]) -> TurnTable:
    """Read a table; DataError if it is missing or invalid, or if `read` misreads an example by it."""
    table = read_yaml(path, TurnTable, "turn table")
    wrong = [
        f"{example!r} reads as {found or 'nothing'}, not as {wanted}"
        for wanted, examples in table.examples.items()
        for example in examples
        if (found := read(table, example)) != wanted.replace("nothing", "")
    ]
    if wrong:
        raise DataError(
            "the turn table does not read its own examples",
            where=str(path),
            why="; ".join(wrong[:5]),
            next="correct the patterns or the examples",
        )
    return table
