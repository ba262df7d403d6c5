"""Previews: a few rows through every step, with the requests and replies about each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.authoring.dry_run.run import DryRun, nodes_without_prompts, open_dry_run
from benchbuilder.authoring.dry_run.show_prompt import prompt_request
from benchbuilder.config import Recipe
from benchbuilder.core import Kept, Row, outcome_text, row_text, text_fields_block
from benchbuilder.exporters import render_html
from benchbuilder.models import Receipt, Request
from benchbuilder.pipeline import (
    JournalDriver,
    Manifest,
    Node,
    Plan,
    PromptSteps,
    ReplyLookup,
    Store,
    TranscriptTurn,
    Watcher,
    empty_lookup,
    filter_outcomes,
    open_gateway,
    rows_at_positions,
)
from benchbuilder.sources import Source
from benchbuilder.steps import Map, PromptedMap, Writer


@dataclass(frozen=True, slots=True)
class PreviewedRow:
    """A row in a step: its input, the turns with the model, and the result.

    `outcome` is ``kept``, ``dropped``, ``not applicable`` or ``failed``; `method` is ``rule``, ``model`` or empty.
    `pending_request` is the request that a model would get, where none is set.
    """

    id: str
    input: str
    turns: tuple[TranscriptTurn, ...]
    outcome: str
    method: str
    result: str
    pending_request: Request | None = None


@dataclass(frozen=True, slots=True)
class PreviewedStep:
    """A step: its number of rows, the other outcomes of its branches by reason, and a few rows.

    `is_dry_run` says that it got only the rows of the preview.
    """

    name: str
    kind: str
    rows: int
    losses: dict[str, int]
    is_dry_run: bool
    preview_rows: tuple[PreviewedRow, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """The steps in flow order, why others were skipped, and what the preview cost."""

    steps: tuple[PreviewedStep, ...]
    skipped: dict[str, str]
    has_model: bool
    spent: tuple[Receipt, ...]

    def failures(self) -> dict[str, int]:
        """Why requests failed: the number of each reason."""
        return dict(Counter(row.result for row in self._prompted_rows() if row.outcome == "failed"))

    @property
    def is_unanswered(self) -> bool:
        """Whether requests failed and none was answered."""
        return bool(self.failures()) and not any(turn.reply for row in self._prompted_rows() for turn in row.turns)

    def first_empty_step(self) -> str:
        """The first step that got rows and kept none; empty if there is none."""
        dry = (step.name for step in self.steps if step.is_dry_run and not step.rows and step.preview_rows)
        return next(dry, "")

    def _prompted_rows(self) -> list[PreviewedRow]:
        return [row for step in self.steps for row in step.preview_rows if row.turns]


def preview_plan(plan: Plan, store: Store, rows: int, watcher: Watcher) -> Preview:
    """Run `rows` rows through every step before people decide; replies of models are kept for the build.

    The steps before the first prompt are built. Without a model, the steps that could ask one show the results of
    rules, and the requests that they would send.
    """
    with open_gateway(plan, store, watcher.note) as gateway:
        before = () if gateway is None else gateway.receipts()
        lookup: ReplyLookup = empty_lookup if gateway is None else gateway.lookup
        if gateway is not None:
            gateway.batching = False  # a batch may take a day
        with open_dry_run(plan, store, gateway or JournalDriver(empty_lookup), watcher, rows=rows) as dry_run:
            steps = tuple(_PreviewBuilder(dry_run, lookup, rows).steps())
            skipped = dict(dry_run.skipped)
        after = () if gateway is None else gateway.receipts()
    return Preview(steps, skipped, gateway is not None, tuple(_added_receipts(before, after)))


def _added_receipts(before: Iterable[Receipt], after: Iterable[Receipt]) -> Iterator[Receipt]:
    """What was added to receipts."""
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


class _PreviewBuilder:
    """Describes the steps of a dry run."""

    def __init__(self, dry_run: DryRun, lookup: ReplyLookup, count: int) -> None:
        self.dry_run, self.lookup, self.count = dry_run, lookup, count
        self.prompt_steps = PromptSteps(dry_run.plan, dry_run.store, dry_run.manifests)
        self.unprompted = nodes_without_prompts(dry_run.plan)

    def steps(self) -> Iterator[PreviewedStep]:
        for name, node in self.dry_run.plan.nodes.items():
            manifest = self.dry_run.manifests.get(name)
            if manifest is None:
                continue
            losses = Counter[str]()
            for _, outcome, reason, n in manifest.counts:
                if outcome != "kept":
                    losses[f"{outcome.replace('_', ' ')} {reason}".strip()] += n
            shown = tuple(self._rows(node, manifest))
            yield PreviewedStep(name, node.kind, manifest.rows, dict(losses), name not in self.unprompted, shown)

    def _rows(self, node: Node, manifest: Manifest) -> Iterator[PreviewedRow]:
        if isinstance(node.producer, Source):
            return
        outcomes = filter_outcomes(self.dry_run.store.outcomes(manifest), port="each")
        if isinstance(node.producer, PromptedMap):
            branches = self._choose_branches(outcomes) if node.name in self.unprompted else outcomes.to_pylist()
            for row, own in self._rows_with_branches(node.name, branches):
                yield self._prompted_row(node.name, row, own)
        elif isinstance(node.producer, Map) and node.name not in self.unprompted:
            results = {row.id: row for row in self.dry_run.store.rows(manifest)}
            for row, own in self._rows_with_branches(node.name, outcomes.to_pylist()):
                yield _unprompted_row(row, own, results)

    def _choose_branches(self, outcomes: pa.Table) -> list[dict[str, Any]]:
        """A few branches of a step that was built whole: kept, dropped for lack of a model, and otherwise dropped."""
        compute: Any = pc
        dropped = filter_outcomes(outcomes, outcome="dropped")
        needy = filter_outcomes(dropped, reason="needs_model")
        others = dropped.filter(compute.not_equal(dropped.column("reason"), "needs_model"))
        groups = (filter_outcomes(outcomes, outcome="kept"), needy, others)
        return [branch for group in groups for branch in group.slice(0, self.count).to_pylist()]

    def _rows_with_branches(
        self, step: str, branches: list[dict[str, Any]]
    ) -> Iterator[tuple[Row, list[dict[str, Any]]]]:
        """The rows of branches, each with its branches."""
        by_row: dict[str, list[dict[str, Any]]] = {}
        for branch in branches:
            by_row.setdefault(branch["row"], []).append(branch)
        inputs = self.prompt_steps.input_rows(step)
        positions = {row: position for position, row in enumerate(inputs.ids())}
        for row in rows_at_positions(inputs, [positions[row] for row in by_row]):
            yield row, by_row[row.id]

    def _prompted_row(self, step: str, row: Row, branches: list[dict[str, Any]]) -> PreviewedRow:
        """A row of a step that may ask a model."""
        opened = self.prompt_steps.open_step(step)
        transcript = self.prompt_steps.transcript_of(step, row, self.lookup)
        outcome, result = branches[0]["outcome"].replace("_", " "), "\n".join(branch["detail"] for branch in branches)
        method = "model" if transcript.turns else ""
        if transcript.outcomes is not None:
            result = "\n".join(map(outcome_text, transcript.outcomes))
            method = method or ("rule" if any(isinstance(outcome, Kept) for outcome in transcript.outcomes) else "")
        pending = None
        if opened.model_spec is None and any(branch["reason"] == "needs_model" for branch in branches):
            pending = prompt_request(self.prompt_steps, step, row, empty_lookup).request
        shown = ""
        if (transcript.turns or pending is not None) and isinstance(opened, Writer):
            shown = text_fields_block(opened.prompt_values(row, self.prompt_steps.parent_rows(step, row)))
        return PreviewedRow(row.id, shown or row_text(row), transcript.turns, outcome, method, result, pending)


def _unprompted_row(row: Row, branches: list[dict[str, Any]], rows_by_id: Mapping[str, Row]) -> PreviewedRow:
    """A row of a step that asks no model."""
    results = [row_text(rows_by_id[branch["out"]]) if branch["out"] else _ending(branch) for branch in branches]
    kept = any(branch["out"] for branch in branches)
    outcome = "kept" if kept else branches[0]["outcome"].replace("_", " ")
    return PreviewedRow(row.id, row_text(row), (), outcome, "rule" if kept else "", "\n".join(results))


def _ending(branch: Mapping[str, Any]) -> str:
    """How a branch ended that gave no row."""
    reason = f"{branch['outcome'].replace('_', ' ')} ({branch['reason']})"
    return f"{reason}: {branch['detail']}" if branch["detail"] else reason


def render_preview_page(preview: Preview, recipe: Recipe) -> str:
    """The page; every text in it is escaped."""
    folders = ("benchbuilder.authoring.dry_run",)
    return render_html("preview.html.j2", folders, preview=preview, name=recipe.name, language=recipe.language)
