"""Transcripts: what a model was asked about a row and what it answered, read from the journal; nobody is asked."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from benchbuilder.config.spec.base import KindSpec
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Fate
from benchbuilder.core.records.row import Row
from benchbuilder.core.registry import row_class
from benchbuilder.models.base import Reply, Request
from benchbuilder.models.conversation import Conversation
from benchbuilder.models.gateway import Gateway
from benchbuilder.pipeline.plan import Plan
from benchbuilder.pipeline.run_node import job_of
from benchbuilder.pipeline.shards.worker import Worker
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest
from benchbuilder.steps.base import Prompted

T = TypeVar("T")
Lookup = Callable[[KindSpec, Request], Reply | None]
"""What the journal holds for a request to a model."""
UNANSWERED = "no reply yet"
"""Why a row fails whose request was never answered."""


def unanswered(spec: KindSpec, request: Request) -> Reply | None:  # noqa: ARG001
    """The lookup of an empty journal."""
    return None


@contextmanager
def looking(store: Store) -> Generator[Lookup]:
    """What the journal of a build holds."""
    with Gateway(store.journal) as gateway:
        yield gateway.lookup


@dataclass(frozen=True, slots=True)
class Turn:
    """A request and its reply; ``None`` while it has none."""

    request: Request
    reply: Reply | None


@dataclass(frozen=True, slots=True)
class Transcript:
    """The turns about a row, and the row's fates; ``None`` while a reply is missing, which is that of the last turn."""

    turns: tuple[Turn, ...]
    fates: tuple[Fate, ...] | None


def redrive(conversation: Conversation, answer: Callable[[Request], Reply | None]) -> Transcript:
    """Drive `conversation` as far as `answer` has replies."""
    turns: list[Turn] = []
    try:
        request = next(conversation)
        while True:
            reply = answer(request)
            turns.append(Turn(request, reply))
            if reply is None:
                conversation.close()
                return Transcript(tuple(turns), None)
            request = conversation.send(reply)
    except StopIteration as end:
        return Transcript(tuple(turns), tuple(end.value))


class Archivist:
    """An asker that answers from the journal alone; a row whose request has no reply there fails.

    `seen` is told of every turn: the step, its model, and the turn.
    """

    def __init__(self, lookup: Lookup, seen: Callable[[str, KindSpec, Turn], None] | None = None) -> None:
        self._lookup, self._seen = lookup, seen

    def converse(
        self,
        step: str,
        spec: KindSpec,
        starts: Iterable[tuple[T, Conversation]],
        done: Callable[[T, list[Fate] | str], None],
    ) -> None:
        """Drive each conversation as far as the journal goes."""
        for item, conversation in starts:
            transcript = redrive(conversation, lambda request: self._lookup(spec, request))
            if self._seen is not None:
                for turn in transcript.turns:
                    self._seen(step, spec, turn)
            done(item, UNANSWERED if transcript.fates is None else list(transcript.fates))


def rows_at(table: Table[Any], places: Sequence[int]) -> list[Row]:
    """The rows at some places of a table, in that order."""
    return list(Table(table.arrow.take(pa.array(places, pa.int64())), table.row))


class Desk:
    """The steps of a plan that put prompts, with their rows, over steps that are sealed in `store`."""

    def __init__(self, plan: Plan, store: Store, manifests: Mapping[str, Manifest]) -> None:
        self.plan, self.store, self.manifests = plan, store, manifests
        self._workers: dict[str, Worker] = {}

    def stage(self, step: str) -> Prompted:
        """The stage of a step, open."""
        stage = self.worker(step).job.stage
        if not isinstance(stage, Prompted):
            raise TypeError(f"step {step!r} puts no prompts")
        return stage

    def worker(self, step: str) -> Worker:
        """The worker of a step whose inputs are all sealed."""
        if step not in self._workers:
            self._workers[step] = Worker(job_of(self.plan.nodes[step], self.store, self.manifests))
        return self._workers[step]

    def ready(self, step: str) -> bool:
        """Whether every input of a step is sealed."""
        return all(name in self.manifests for name in self.plan.nodes[step].upstream())

    def each(self, step: str) -> Table[Any]:
        """The rows that a step works on."""
        names = self.plan.nodes[step].inputs["each"]
        row = row_class(self.manifests[names[0]].row)
        return Table.concat((self.store.rows(self.manifests[name]) for name in names), row)

    def parents(self, step: str, row: Row) -> dict[str, Row]:
        """The ancestors of a row by parent port."""
        return self.worker(step).joined([row])[0]

    def transcript(self, step: str, row: Row, lookup: Lookup) -> Transcript:
        """What was said about `row`."""
        stage = self.stage(step)
        spec = stage.asks
        conversation = stage.converse(row, self.parents(step, row))
        return redrive(conversation, lambda request: None if spec is None else lookup(spec, request))

    def turns(self, step: str, made: Row, lookup: Lookup) -> tuple[Turn, ...]:
        """What was said about the row that `made` was made of, if a model made it."""
        node = self.plan.nodes[step]
        if node.asks is None or not self.ready(step) or "/model" not in made.made_by.rule:
            return ()
        each = self.each(step)
        ids = each.ids()
        return self.transcript(step, rows_at(each, [ids.index(made.of)])[0], lookup).turns if made.of in ids else ()
