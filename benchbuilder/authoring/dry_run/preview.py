"""Previews: a few rows through every step, with what was asked and answered about each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.authoring.dry_run.run import Rehearsal, free_nodes, rehearse
from benchbuilder.authoring.dry_run.show_prompt import sending
from benchbuilder.authoring.dry_run.transcripts import Archivist, Desk, Lookup, Turn, rows_at, unanswered
from benchbuilder.config.spec.base import KindSpec
from benchbuilder.config.spec.model import live
from benchbuilder.config.spec.recipe import Recipe
from benchbuilder.core.display import fate_text, fields_text, row_text
from benchbuilder.core.records.outcomes import Fate, Kept
from benchbuilder.core.records.row import Row
from benchbuilder.exporters.render.templates import render_html
from benchbuilder.models.asker import T
from benchbuilder.models.base import Receipt, Request
from benchbuilder.models.conversation import Conversation
from benchbuilder.models.gateway import Gateway
from benchbuilder.pipeline.accounting.shard import matching
from benchbuilder.pipeline.build import open_gateway
from benchbuilder.pipeline.plan import Node, Plan
from benchbuilder.pipeline.progress import Watcher
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest
from benchbuilder.sources.base import Source
from benchbuilder.steps.base import Map, Prompted
from benchbuilder.steps.writer import Writer


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row on its way through a step: what went in, the turns with the model, and what came out.

    `fate` is ``kept``, ``dropped``, ``not applicable`` or ``failed``; `by` is ``rule``, ``model`` or empty. `wanted`
    is the request that a model would get, where none is set.
    """

    id: str
    input: str
    turns: tuple[Turn, ...]
    fate: str
    by: str
    result: str
    wanted: Request | None = None


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step: how many rows it has, the other fates of its tickets by reason, and a few rows.

    `rehearsed` says that it saw only the rows of the preview.
    """

    name: str
    kind: str
    rows: int
    losses: dict[str, int]
    rehearsed: bool
    shown: tuple[ShownRow, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """The steps in the order of the flow, why others were left out, and what the preview was paid for."""

    steps: tuple[ShownStep, ...]
    skipped: dict[str, str]
    asks: bool
    spent: tuple[Receipt, ...]

    def failures(self) -> dict[str, int]:
        """Why requests failed, each reason with how many did."""
        return dict(Counter(row.result for row in self._asked() if row.fate == "failed"))

    @property
    def unheard(self) -> bool:
        """Whether requests failed and none was ever answered."""
        return bool(self.failures()) and not any(turn.reply for row in self._asked() for turn in row.turns)

    def dried_up(self) -> str:
        """The first step that let no row through though it had some; empty if there is none."""
        dry = (step.name for step in self.steps if step.rehearsed and not step.rows and step.shown)
        return next(dry, "")

    def _asked(self) -> list[ShownRow]:
        return [row for step in self.steps for row in step.shown if row.turns]


def preview(plan: Plan, store: Store, rows: int, watcher: Watcher) -> Preview:
    """Run `rows` rows through every step up to people; what models answer is kept for the build.

    The steps before the first prompt are built. Without a model, the steps that could ask one show what rules make,
    and what would be asked.
    """
    with open_gateway(plan, store, watcher.note) as gateway:
        before = () if gateway is None else gateway.receipts()
        lookup: Lookup = unanswered if gateway is None else gateway.lookup
        asker = Archivist(unanswered) if gateway is None else _Live(gateway)
        with rehearse(plan, store, asker, watcher, rows=rows) as done:
            steps = tuple(_Shower(done, lookup, rows).steps())
            skipped = {name: why for name, why in done.skipped.items() if name in plan.nodes}
        after = () if gateway is None else gateway.receipts()
    return Preview(steps, skipped, gateway is not None, tuple(_difference(before, after)))


@dataclass(frozen=True, slots=True)
class _Live:
    """Asks request by request: nobody waits a day for a preview."""

    gateway: Gateway

    def converse(
        self,
        step: str,
        spec: KindSpec,
        starts: Iterable[tuple[T, Conversation]],
        done: Callable[[T, list[Fate] | str], None],
    ) -> None:
        """As the gateway does."""
        self.gateway.converse(step, live(spec), starts, done)


def _difference(before: Iterable[Receipt], after: Iterable[Receipt]) -> Iterator[Receipt]:
    """What was added to the receipts."""
    known = {(receipt.step, receipt.model, receipt.endpoint): receipt for receipt in before}
    for receipt in after:
        old = known.get((receipt.step, receipt.model, receipt.endpoint))
        if old is None:
            yield receipt
        elif (receipt.calls, receipt.unanswered) != (old.calls, old.unanswered):
            numbers = ("calls", "batched", "prompt_tokens", "completion_tokens", "cached_tokens", "uncounted",
                       "unanswered")  # fmt: skip
            yield replace(
                receipt,
                usd=None if receipt.usd is None or old.usd is None else receipt.usd - old.usd,
                outcomes=dict(Counter(receipt.outcomes) - Counter(old.outcomes)),
                **{name: getattr(receipt, name) - getattr(old, name) for name in numbers},
            )


class _Shower:
    """Tells of the steps of a rehearsal."""

    def __init__(self, done: Rehearsal, lookup: Lookup, count: int) -> None:
        self.done, self.lookup, self.count = done, lookup, count
        self.desk = Desk(done.plan, done.store, done.manifests)
        self.free = free_nodes(done.plan)

    def steps(self) -> Iterator[ShownStep]:
        for name, node in self.done.plan.nodes.items():
            manifest = self.done.manifests.get(name)
            if manifest is None:
                continue
            losses = Counter[str]()
            for _, fate, reason, n in manifest.counts:
                if fate != "kept":
                    losses[f"{fate.replace('_', ' ')} {reason}".strip()] += n
            shown = tuple(self._rows(node, manifest))
            yield ShownStep(name, node.kind, manifest.rows, dict(losses), name not in self.free, shown)

    def _rows(self, node: Node, manifest: Manifest) -> Iterator[ShownRow]:
        if isinstance(node.maker, Source):
            return
        fates = matching(self.done.store.fates(manifest), port="each")
        if isinstance(node.maker, Prompted):
            tickets = self._chosen(fates) if node.name in self.free else fates.to_pylist()
            for row, mine in self._joined(node.name, tickets):
                yield self._spoken(node.name, row, mine)
        elif isinstance(node.maker, Map) and node.name not in self.free:
            made = {row.id: row for row in self.done.store.rows(manifest)}
            for row, mine in self._joined(node.name, fates.to_pylist()):
                yield _plain(row, mine, made)

    def _chosen(self, fates: pa.Table) -> list[dict[str, Any]]:
        """A few tickets of a step that was built as a whole: kept, dropped for want of a model, and else dropped."""
        compute: Any = pc
        dropped = matching(fates, fate="dropped")
        needy = matching(dropped, reason="needs_model")
        others = dropped.filter(compute.not_equal(dropped.column("reason"), "needs_model"))
        groups = (matching(fates, fate="kept"), needy, others)
        return [ticket for group in groups for ticket in group.slice(0, self.count).to_pylist()]

    def _joined(self, step: str, tickets: list[dict[str, Any]]) -> Iterator[tuple[Row, list[dict[str, Any]]]]:
        """The rows of tickets, each with its tickets."""
        mine: dict[str, list[dict[str, Any]]] = {}
        for ticket in tickets:
            mine.setdefault(ticket["row"], []).append(ticket)
        each = self.desk.each(step)
        places = {row: place for place, row in enumerate(each.ids())}
        for row in rows_at(each, [places[row] for row in mine]):
            yield row, mine[row.id]

    def _spoken(self, step: str, row: Row, tickets: list[dict[str, Any]]) -> ShownRow:
        """A row of a step that may ask a model."""
        stage = self.desk.stage(step)
        transcript = self.desk.transcript(step, row, self.lookup)
        fate, result = tickets[0]["fate"].replace("_", " "), "\n".join(ticket["detail"] for ticket in tickets)
        kept: list[str] = []
        if transcript.fates is not None:
            result = "\n".join(map(fate_text, transcript.fates))
            kept = [fate.row.made_by.rule for fate in transcript.fates if isinstance(fate, Kept)]
        wanted = None
        if stage.asks is None and any(ticket["reason"] == "needs_model" for ticket in tickets):
            wanted = sending(self.desk, step, row, unanswered).request
        spoken = bool(transcript.turns) or wanted is not None
        given = stage.values(row, self.desk.parents(step, row)) if spoken and isinstance(stage, Writer) else {}
        by = "model" if transcript.turns else "rule" if kept else ""
        return ShownRow(row.id, fields_text(given) or row_text(row), transcript.turns, fate, by, result, wanted)


def _plain(row: Row, tickets: list[dict[str, Any]], made: Mapping[str, Row]) -> ShownRow:
    """A row of a step without prompts."""
    results = [row_text(made[ticket["out"]]) if ticket["out"] else _ended(ticket) for ticket in tickets]
    kept = any(ticket["out"] for ticket in tickets)
    fate = "kept" if kept else tickets[0]["fate"].replace("_", " ")
    return ShownRow(row.id, row_text(row), (), fate, "rule" if kept else "", "\n".join(results))


def _ended(ticket: Mapping[str, Any]) -> str:
    """How a ticket ended that became no row."""
    reason = f"{ticket['fate'].replace('_', ' ')} ({ticket['reason']})"
    return f"{reason}: {ticket['detail']}" if ticket["detail"] else reason


def preview_page(preview: Preview, recipe: Recipe) -> str:
    """The page; every text in it is escaped."""
    return render_html(
        "preview.html.j2",
        ("benchbuilder.authoring.dry_run",),
        preview=preview,
        name=recipe.name,
        language=recipe.language,
    )
