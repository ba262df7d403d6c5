"""Recording: the replies that the steps of a recipe use, for others to rebuild it with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from benchbuilder.authoring.dry_run.run import nodes_up_to_prompts, open_dry_run
from benchbuilder.authoring.dry_run.transcripts import JournalDriver, ReplyLookup, TranscriptTurn
from benchbuilder.config import KindSpec
from benchbuilder.core import create_from_spec
from benchbuilder.models import Model, RecordedReply
from benchbuilder.pipeline import Plan, Store, Watcher


@dataclass
class RecordedReplies:
    """The replies that were found; how many of them each step uses, and how many requests of it have none yet.

    `skipped` says of steps why it is not known what they ask.
    """

    replies: list[RecordedReply] = field(default_factory=list[RecordedReply])
    used_by_step: Counter[str] = field(default_factory=Counter[str])
    missing_by_step: Counter[str] = field(default_factory=Counter[str])
    skipped: dict[str, str] = field(default_factory=dict[str, str])


def collect_replies(plan: Plan, store: Store, lookup: ReplyLookup, watcher: Watcher) -> RecordedReplies:
    """Go through every conversation of `plan` again with the replies that are kept; nobody is asked.

    The free steps that lead to prompts are built for that.
    """
    found = RecordedReplies()
    models: dict[int, Model] = {}

    def seen(step: str, spec: KindSpec, turn: TranscriptTurn) -> None:
        if turn.reply is None:
            found.missing_by_step[step] += 1
            return
        model = models.setdefault(id(spec), create_from_spec("model", spec))
        found.used_by_step[step] += 1
        found.replies.append(RecordedReply.from_reply(turn.request, turn.reply, model=model.label))

    asking = frozenset(name for name, node in plan.nodes.items() if node.model_spec is not None)
    if asking:
        archivist = JournalDriver(lookup, seen)
        with open_dry_run(plan, store, archivist, watcher, only=nodes_up_to_prompts(plan), refresh=asking) as done:
            found.skipped = {name: done.skipped[name] for name in sorted(asking) if name in done.skipped}
    return found
