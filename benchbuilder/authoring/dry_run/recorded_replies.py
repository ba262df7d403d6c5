"""The replies that a recipe uses, collected from the journal; no model is asked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from benchbuilder.authoring.dry_run.run import open_dry_run
from benchbuilder.config import KindSpec
from benchbuilder.core import create_from_spec
from benchbuilder.models import Model, RecordedReply
from benchbuilder.pipeline import JournalDriver, Plan, ReplyLookup, Store, TranscriptTurn, Watcher


@dataclass
class RecordedReplies:
    """The stored replies, how many each step uses, and how many of its requests have none yet.

    `skipped` says why the requests of other steps are unknown.
    """

    replies: list[RecordedReply] = field(default_factory=list[RecordedReply])
    used_by_step: Counter[str] = field(default_factory=Counter[str])
    missing_by_step: Counter[str] = field(default_factory=Counter[str])
    skipped: dict[str, str] = field(default_factory=dict[str, str])


def collect_replies(plan: Plan, store: Store, lookup: ReplyLookup, watcher: Watcher) -> RecordedReplies:
    """Go through every conversation of `plan` with the stored replies; no model is asked.

    The free steps that lead to prompts are built for it.
    """
    recorded = RecordedReplies()
    models: dict[int, Model] = {}

    def record(step: str, spec: KindSpec, turn: TranscriptTurn) -> None:
        if turn.reply is None:
            recorded.missing_by_step[step] += 1
            return
        model = models.setdefault(id(spec), create_from_spec("model", spec))
        recorded.used_by_step[step] += 1
        recorded.replies.append(RecordedReply.from_reply(turn.request, turn.reply, model=model.label))

    asking = frozenset(name for name, node in plan.nodes.items() if node.model_spec is not None)
    if asking:
        driver = JournalDriver(lookup, record)
        with open_dry_run(plan, store, driver, watcher, only=plan.ancestors_of(asking), refresh=asking) as dry_run:
            recorded.skipped = {name: dry_run.skipped[name] for name in sorted(asking) if name in dry_run.skipped}
    return recorded
