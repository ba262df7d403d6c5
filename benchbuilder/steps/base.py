"""The base classes of steps: filters, maps and gathers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from benchbuilder.config import KindSpec, StepSpec
from benchbuilder.core import (
    DataError,
    FilterResult,
    GatherResult,
    GatherStream,
    Outcome,
    OutcomeBatch,
    Passage,
    Payload,
    ProducedBy,
    Row,
    SpecIssue,
    StepContext,
    Table,
)
from benchbuilder.models import Conversation


def text_names(row: type[Row]) -> tuple[str, ...]:
    """Names of the natural-language texts of a row class; empty if the payload is not known."""
    if issubclass(row, Passage):
        return ("title", "text")
    payload: Any = row.model_fields["payload"].annotation if "payload" in row.model_fields else None
    if not isinstance(payload, type) or not issubclass(payload, Payload):
        return ()
    return tuple(payload.examples()[0].texts())


@dataclass(frozen=True)
class Port:
    """An input of a step.

    Attributes:
        row: The role of the rows, with its payload if that matters (``Fact[Triple]``).
        mode: ``each`` (every row has branches), ``parent`` (the ancestor of the current row, joined by id), ``lookup``
            (the complete table, read-only, without branches) or ``whole`` (a further input of a gather: every row is
            used or listed as unused).
        optional: Whether a recipe may leave the port out.
    """

    row: type[Row]
    mode: Literal["each", "parent", "lookup", "whole"] = "each"
    optional: bool = False


class Step(ABC):
    """One operation on rows. It is made from its spec and opened in the process that runs it.

    It must be picklable until it is opened. Increase `version` whenever the output for the same input changes.
    `reasons` is the complete list of drop (and not-applicable) reasons, with a sentence for each. `output` is the
    class of its rows; ``None`` means the class of its `each` port.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[StepSpec]]
    ports: ClassVar[Mapping[str, Port]]
    output: ClassVar[type[Row] | None] = None
    reasons: ClassVar[Mapping[str, str]] = {}
    divides: ClassVar[bool] = False
    """Whether its rows are counted under partitions of their own (for instance classes), not under their parent's."""
    translates: ClassVar[bool] = False
    """Whether its rows have another language than their parents, and state it."""

    def __init__(self, spec: Any, context: StepContext) -> None:
        self.spec = spec
        self.context = context

    def fingerprint(self) -> Mapping[str, str]:
        """Further inputs that shape the output (versions of distributions, dictionaries), for the key."""
        return {}

    def external_inputs(self) -> Mapping[str, str]:
        """Hashes of what people or models have contributed so far (vote files), by name.

        A complete external step runs again only on request; a difference between these hashes and those in its
        manifest is reported. Deterministic steps have none.
        """
        return {}

    def needs_people(self) -> bool:
        """Whether contributions of people shape its rows."""
        return type(self).external_inputs is not Step.external_inputs

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:  # noqa: ARG002
        """Issues of the spec that are known before any row, such as fields and columns that the rows do not have.

        Args:
            rows: The row class of each port.

        Raises:
            RecipeError: A file that the spec names has faults.
        """
        return ()

    def remarks(self) -> Iterable[SpecIssue]:
        """What a user should know before a build and what stops nothing; ``check`` and ``plan`` print it."""
        return ()

    def remarks_on(self, rows: Sequence[Any]) -> Iterable[SpecIssue]:  # noqa: ARG002
        """What a user should know of the first rows of the sources above; only ``check`` asks, before a build.

        An issue's `allowed` is what to do about it.
        """
        return ()

    def prepare(self, lookups: Mapping[str, Table[Any]]) -> tuple[Path, ...]:  # noqa: ARG002
        """Make what all workers share (an index in `context.cache`), once and before any worker opens.

        Returns:
            The files and folders that must exist when `open` is called, on this machine or another one.
        """
        return ()

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Prepare to run in this process: open files, models, tokenizers. `lookups` has the tables of lookup ports."""

    def produced_by(self, rule: str = "") -> ProducedBy:
        """The `produced_by` of rows that this step makes by `rule`."""
        return ProducedBy(rule=f"{self.kind}/{rule}" if rule else self.kind, version=str(self.version))


def texts_of(texts: Mapping[str, tuple[str, ...]], field: str, key: str) -> tuple[str, ...]:
    """The texts of a row under `field`; DataError if the row has none, with the `key` of the spec."""
    if field not in texts:
        raise DataError(f"the rows have no text {field!r}", where=field, why=f"their texts are {', '.join(texts)}",
                        next=f"name one of them in {key}")  # fmt: skip
    return texts[field]


def unknown_texts(rows: type[Row], fields: Mapping[str, Iterable[str]]) -> Iterator[SpecIssue]:
    """Issues of fields, by their keys in the spec, that the rows have no text for."""
    known = text_names(rows)
    for key, names in fields.items():
        yield from (
            SpecIssue(key, "the rows have no such text", name, known) for name in names if name not in known and known
        )


class Filter(Step):
    """Keeps or drops rows as they are, one Arrow batch at a time."""

    @abstractmethod
    def screen(self, table: Table[Any]) -> FilterResult:
        """For each row, ``None`` or the reason why it is dropped."""


class Map(Step):
    """Turns each row into other rows, one row at a time, in any order and in any process."""

    slots: ClassVar[tuple[str, ...] | Literal["many"]] = ("",)
    """The branches of a row: declared slots, or ``many`` (n >= 1 outcomes, with distinct slots)."""

    @abstractmethod
    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """The outcomes of the row's branches: exactly one for each slot. `parents` has the rows of the parent ports."""

    def map_columns(self, table: Table[Any]) -> OutcomeBatch | None:  # noqa: ARG002
        """The branches of a table of rows, made by column; equal to those that `map` makes of each row.

        ``None`` if rows must be processed one by one. It is called only for steps without parent ports.
        """
        return None


class PromptedMap(Map):
    """A map that may prompt a model.

    The work on a row is a conversation without input or output of its own. Its driver sends the requests, looks replies
    up, counts tokens for a quote, or submits requests in batches.
    """

    @property
    @abstractmethod
    def model_spec(self) -> KindSpec | None:
        """The model that it prompts; ``None`` if it uses only rules."""

    @abstractmethod
    def converse(self, row: Any, parents: Mapping[str, Any]) -> Conversation:
        """The work on one row. Equal replies lead to equal requests and outcomes."""

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """The outcomes of a row that needs no model; TypeError if it needs one."""
        try:
            next(self.converse(row, parents))
        except StopIteration as end:
            outcomes: list[Outcome] = end.value
            return outcomes
        raise TypeError(f"step {self.context.step!r} asks a model: it is driven by conversations")


class Gather(Step):
    """Needs all rows at once and runs once."""

    @abstractmethod
    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult | FilterResult | GatherStream:
        """The outcomes of every row of the `each` port, and the unused rows of the `whole` ports.

        A `GatherResult` holds all rows. A gather of many rows returns pieces instead, which are made one by one, or,
        if it keeps rows as they are or drops them, and has no `whole` ports, what a filter returns.
        """
