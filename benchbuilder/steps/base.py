"""Stages: the three shapes of work on rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from benchbuilder.config import KindSpec, StepSpec
from benchbuilder.core import (
    FilterResult,
    GatherResult,
    Outcome,
    OutcomeBatch,
    ProducedBy,
    Row,
    SpecIssue,
    StepContext,
    Table,
)
from benchbuilder.models import Conversation


@dataclass(frozen=True)
class Port:
    """Where rows enter a stage.

    `row` is the role, with its payload where that matters (``Fact[Triple]``). `mode` is ``each`` (every row is a
    branch), ``parent`` (the ancestor of the row at hand, joined by id), ``lookup`` (the whole table, read-only, no
    branches) or ``whole`` (a gather's further input: every row is used or named as unused).
    """

    row: type[Row]
    mode: Literal["each", "parent", "lookup", "whole"] = "each"
    optional: bool = False


class Step(ABC):
    """One verb. A stage is made from its spec, opened in the process that runs it, and must be picklable before.

    `version` is bumped by hand whenever the output for the same input changes. `reasons` is the closed list of drop
    (and not-applicable) reasons with a sentence for each. `output` is the class of the rows it makes; ``None`` means
    that it emits rows of the class of its `each` port.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[StepSpec]]
    ports: ClassVar[Mapping[str, Port]]
    output: ClassVar[type[Row] | None] = None
    reasons: ClassVar[Mapping[str, str]] = {}
    divides: ClassVar[bool] = False
    """Whether the rows that it makes count under partitions of its own (classes, say), not under their parent's."""
    translates: ClassVar[bool] = False
    """Whether the rows that it makes are of another language than their parent, and say so."""

    def __init__(self, spec: Any, context: StepContext) -> None:
        self.spec = spec
        self.context = context

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of what shapes the output besides the spec (distributions, dictionaries), for the key."""
        return {}

    def external_inputs(self) -> Mapping[str, str]:
        """Hashes of what people or models contributed so far (vote files), by name.

        A step that observes something is never run again once sealed, unless asked; a difference between these
        hashes and those of the seal is reported. Exact steps observe nothing.
        """
        return {}

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:  # noqa: ARG002
        """What in the spec does not fit the rows of the ports, known before any row: field and column names.

        RecipeError for faults in the files that the spec names.
        """
        return ()

    def prepare(self, lookups: Mapping[str, Table[Any]]) -> tuple[Path, ...]:  # noqa: ARG002
        """Make, once and before any worker opens, what all workers share (an index in `context.cache`).

        Which files and folders that is: they must be there when `open` is called, on this machine or another one.
        """
        return ()

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Get ready to run in this process: open files, models, tokenizers. `lookups` holds the lookup ports."""

    def produced_by(self, rule: str = "") -> ProducedBy:
        """The mark for rows of this stage, made by `rule`."""
        return ProducedBy(rule=f"{self.kind}/{rule}" if rule else self.kind, version=str(self.version))


class Filter(Step):
    """Keeps or drops rows as they are; works on a whole Arrow batch at a time."""

    @abstractmethod
    def screen(self, table: Table[Any]) -> FilterResult:
        """For each row, ``None`` or the reason why it is dropped."""


class Map(Step):
    """Turns each row into rows of its own, one row at a time, in any order, anywhere."""

    slots: ClassVar[tuple[str, ...] | Literal["many"]] = ("",)
    """The branches of a row: declared slots, or ``many`` (n >= 1 outcomes, with distinct slots)."""

    @abstractmethod
    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """The outcomes of the row's branches: exactly one for each slot. `parents` holds the parent ports' rows."""

    def map_columns(self, table: Table[Any]) -> OutcomeBatch | None:  # noqa: ARG002
        """The branches of a table of rows, made by the column: the same that `map` makes of each row.

        ``None`` where rows must be looked at one by one. Asked only of a stage without parent ports.
        """
        return None


class PromptedMap(Map):
    """A map that may put prompts to a model.

    The work on a row is a conversation without any input or output of its own: whoever drives it sends its requests,
    looks replies up, counts tokens for a quote or hands requests in by the batch.
    """

    @property
    @abstractmethod
    def model_spec(self) -> KindSpec | None:
        """The model that it puts prompts to; ``None`` if it works by rules alone."""

    @abstractmethod
    def converse(self, row: Any, parents: Mapping[str, Any]) -> Conversation:
        """The work on one row. Equal replies lead to equal requests and outcomes."""

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """The outcomes of a row that needs no model; TypeError if it asks one."""
        try:
            next(self.converse(row, parents))
        except StopIteration as end:
            outcomes: list[Outcome] = end.value
            return outcomes
        raise TypeError(f"step {self.context.step!r} asks a model: it is driven by conversations")


class Gather(Step):
    """Needs all rows at once and runs once."""

    @abstractmethod
    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult | OutcomeBatch:
        """The outcomes of every row of the `each` port, and what was unused of the `whole` ports.

        A gather without `whole` ports and notes may give its branches by the column, in the order of the rows.
        """
