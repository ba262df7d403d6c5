"""Transcripts: what a model was asked about a row and what it answered, read from the journal; nobody is asked."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from benchbuilder.config import KindSpec
from benchbuilder.core import Outcome, Row, Table, row_class
from benchbuilder.models import Conversation, Gateway, Reply, Request
from benchbuilder.pipeline import Manifest, Plan, ShardWorker, Store, step_job_of
from benchbuilder.steps import PromptedMap

T = TypeVar("T")
ReplyLookup = Callable[[KindSpec, Request], Reply | None]
"""What the journal holds for a request to a model."""
UNANSWERED = "no reply yet"
"""Why a row fails whose request was never answered."""


def empty_lookup(spec: KindSpec, request: Request) -> Reply | None:  # noqa: ARG001
    """The lookup of an empty journal."""
    return None


@contextmanager
def journal_lookup(store: Store) -> Generator[ReplyLookup]:
    """What the journal of a build holds."""
    with Gateway(store.journal) as gateway:
        yield gateway.lookup


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """A request and its reply; ``None`` while it has none."""

    request: Request
    reply: Reply | None


@dataclass(frozen=True, slots=True)
class Transcript:
    """The turns about a row, and the row's outcomes; ``None`` while a reply is missing, which is that of the last
    turn.
    """

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


class JournalDriver:
    """An asker that answers from the journal alone; a row whose request has no reply there fails.

    `on_turn` is told of every turn: the step, its model, and the turn.
    """

    def __init__(
        self, lookup: ReplyLookup, on_turn: Callable[[str, KindSpec, TranscriptTurn], None] | None = None
    ) -> None:
        self._lookup, self._seen = lookup, on_turn

    def converse(
        self,
        step: str,
        spec: KindSpec,
        conversations: Iterable[tuple[T, Conversation]],
        on_end: Callable[[T, list[Outcome] | str], None],
    ) -> None:
        """Drive each conversation as far as the journal goes."""
        for item, conversation in conversations:
            transcript = replay_conversation(conversation, lambda request: self._lookup(spec, request))
            if self._seen is not None:
                for turn in transcript.turns:
                    self._seen(step, spec, turn)
            on_end(item, UNANSWERED if transcript.outcomes is None else list(transcript.outcomes))


def rows_at_positions(table: Table[Any], positions: Sequence[int]) -> list[Row]:
    """The rows at some places of a table, in that order."""
    return list(Table(table.arrow.take(pa.array(positions, pa.int64())), table.row))


class PromptSteps:
    """The steps of a plan that put prompts, with their rows, over steps that are sealed in `store`."""

    def __init__(self, plan: Plan, store: Store, manifests: Mapping[str, Manifest]) -> None:
        self.plan, self.store, self.manifests = plan, store, manifests
        self._workers: dict[str, ShardWorker] = {}

    def open_step(self, step: str) -> PromptedMap:
        """The stage of a step, open."""
        stage = self.worker(step).job.stage
        if not isinstance(stage, PromptedMap):
            raise TypeError(f"step {step!r} puts no prompts")
        return stage

    def worker(self, step: str) -> ShardWorker:
        """The worker of a step whose inputs are all sealed."""
        if step not in self._workers:
            self._workers[step] = ShardWorker(step_job_of(self.plan.nodes[step], self.store, self.manifests))
        return self._workers[step]

    def is_ready(self, step: str) -> bool:
        """Whether every input of a step is sealed."""
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
        """What was said about `row`."""
        stage = self.open_step(step)
        spec = stage.model_spec
        conversation = stage.converse(row, self.parent_rows(step, row))
        return replay_conversation(conversation, lambda request: None if spec is None else lookup(spec, request))

    def turns_behind(self, step: str, output_row: Row, lookup: ReplyLookup) -> tuple[TranscriptTurn, ...]:
        """What was said about the row that `output_row` was made of, if a model made it."""
        node = self.plan.nodes[step]
        if node.model_spec is None or not self.is_ready(step) or "/model" not in output_row.produced_by.rule:
            return ()
        each = self.input_rows(step)
        ids = each.ids()
        return (
            self.transcript_of(step, rows_at_positions(each, [ids.index(output_row.of)])[0], lookup).turns
            if output_row.of in ids
            else ()
        )
