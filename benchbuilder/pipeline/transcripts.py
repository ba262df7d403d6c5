"""Transcripts: what a model was asked about a row and what it replied, read from the journal; no model is asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from benchbuilder.config import KindSpec
from benchbuilder.core import Outcome, Row, Table, row_class
from benchbuilder.models import Conversation, Gateway, Reply, Request, T
from benchbuilder.pipeline.node_inputs import step_job_of
from benchbuilder.pipeline.plan import Plan
from benchbuilder.pipeline.shards.worker import ShardWorker
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest
from benchbuilder.steps import PromptedMap

ReplyLookup = Callable[[KindSpec, Request], Reply | None]
"""What the journal holds for a request to a model."""
UNANSWERED = "no reply yet"
"""Why a row fails if its request has no reply."""


def empty_lookup(spec: KindSpec, request: Request) -> Reply | None:  # noqa: ARG001
    """The lookup of an empty journal."""
    return None


@contextmanager
def journal_lookup(store: Store) -> Generator[ReplyLookup]:
    """The lookup in the journal of a build."""
    with Gateway(store.journal) as gateway:
        yield gateway.lookup


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """A request and its reply; ``None`` while it has none."""

    request: Request
    reply: Reply | None


@dataclass(frozen=True, slots=True)
class Transcript:
    """The turns about a row, and the row's outcomes; ``None`` if the reply of the last turn is missing."""

    turns: tuple[TranscriptTurn, ...]
    outcomes: tuple[Outcome, ...] | None


def replay_conversation(conversation: Conversation, reply_to: Callable[[Request], Reply | None]) -> Transcript:
    """Drive `conversation` as far as `reply_to` has replies."""
    turns: list[TranscriptTurn] = []
    try:
        request = next(conversation)
        while True:
            reply = reply_to(request)
            turns.append(TranscriptTurn(request, reply))
            if reply is None:
                conversation.close()
                return Transcript(tuple(turns), None)
            request = conversation.send(reply)
    except StopIteration as end:
        return Transcript(tuple(turns), tuple(end.value))


class SerialDriver(ABC):
    """A driver without a service: it brings each conversation to its end before the next begins."""

    @abstractmethod
    def drive(self, step: str, spec: KindSpec, conversation: Conversation) -> list[Outcome] | str:
        """The outcomes of one conversation with the model of a step, or why it failed."""

    def converse(
        self, step: str, spec: KindSpec, conversations: Iterable[tuple[T, Conversation]],
        on_end: Callable[[T, list[Outcome] | str], None],
    ) -> None:  # fmt: skip
        """Drive the conversations; see `ConversationDriver`."""
        for item, conversation in conversations:
            on_end(item, self.drive(step, spec, conversation))


@dataclass(frozen=True)
class JournalDriver(SerialDriver):
    """Answers from the journal alone; a row whose request has no reply there fails.

    `on_turn` receives every turn, with the step and its model.
    """

    lookup: ReplyLookup
    on_turn: Callable[[str, KindSpec, TranscriptTurn], None] | None = None

    def drive(self, step: str, spec: KindSpec, conversation: Conversation) -> list[Outcome] | str:
        """The outcomes, if the journal has every reply."""
        transcript = replay_conversation(conversation, lambda request: self.lookup(spec, request))
        if self.on_turn is not None:
            for turn in transcript.turns:
                self.on_turn(step, spec, turn)
        return UNANSWERED if transcript.outcomes is None else list(transcript.outcomes)


def rows_at_positions(table: Table[Any], positions: Sequence[int]) -> list[Row]:
    """The rows at these positions of a table, in this order."""
    return list(Table(table.arrow.take(pa.array(positions, pa.int64())), table.row))


class PromptSteps:
    """The steps of a plan that ask models, with their rows; the steps before them are committed in `store`."""

    def __init__(self, plan: Plan, store: Store, manifests: Mapping[str, Manifest]) -> None:
        self.plan, self.store, self.manifests = plan, store, manifests
        self._workers: dict[str, ShardWorker] = {}

    def open_step(self, step: str) -> PromptedMap:
        """A step, open."""
        opened = self.worker(step).job.step
        if not isinstance(opened, PromptedMap):
            raise TypeError(f"step {step!r} asks no model")
        return opened

    def worker(self, step: str) -> ShardWorker:
        """The worker of a step whose inputs are all committed."""
        if step not in self._workers:
            self._workers[step] = ShardWorker(step_job_of(self.plan.nodes[step], self.store, self.manifests))
        return self._workers[step]

    def is_ready(self, step: str) -> bool:
        """Whether every input of a step is committed."""
        return all(name in self.manifests for name in self.plan.nodes[step].upstream())

    def input_rows(self, step: str) -> Table[Any]:
        """The rows that a step works on."""
        names = self.plan.nodes[step].inputs["each"]
        row = row_class(self.manifests[names[0]].row)
        return Table.concat((self.store.rows(self.manifests[name]) for name in names), row)

    def parent_rows(self, step: str, row: Row) -> dict[str, Row]:
        """The ancestors of a row by parent port."""
        return self.worker(step).ancestors_by_port([row])[0]

    def transcript_of(self, step: str, row: Row, lookup: ReplyLookup) -> Transcript:
        """The transcript about `row`."""
        opened = self.open_step(step)
        spec = opened.model_spec
        conversation = opened.converse(row, self.parent_rows(step, row))
        return replay_conversation(conversation, lambda request: None if spec is None else lookup(spec, request))

    def turns_behind(self, step: str, output_row: Row, lookup: ReplyLookup) -> tuple[TranscriptTurn, ...]:
        """The turns about the row from which a model made `output_row`; none if no model made it."""
        node = self.plan.nodes[step]
        if node.model_spec is None or not self.is_ready(step) or "/model" not in output_row.produced_by.rule:
            return ()
        inputs = self.input_rows(step).find([output_row.of])
        return self.transcript_of(step, next(iter(inputs)), lookup).turns if len(inputs) else ()
