"""Recording: the replies that the steps of a recipe use, for others to rebuild it with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from benchbuilder.authoring.dry_run.run import before_prompts, rehearse
from benchbuilder.authoring.dry_run.transcripts import Archivist, Lookup, Turn
from benchbuilder.config.spec.base import KindSpec
from benchbuilder.core.registry import create
from benchbuilder.models.base import Model
from benchbuilder.models.providers.replay import Recorded
from benchbuilder.pipeline.plan import Plan
from benchbuilder.pipeline.progress import Watcher
from benchbuilder.pipeline.store.folder import Store


@dataclass
class Recording:
    """The replies that were found; how many of them each step uses, and how many requests of it have none yet.

    `skipped` says of steps why it is not known what they ask.
    """

    replies: list[Recorded] = field(default_factory=list[Recorded])
    used: Counter[str] = field(default_factory=Counter[str])
    missing: Counter[str] = field(default_factory=Counter[str])
    skipped: dict[str, str] = field(default_factory=dict[str, str])


def record(plan: Plan, store: Store, lookup: Lookup, watcher: Watcher) -> Recording:
    """Go through every conversation of `plan` again with the replies that are kept; nobody is asked.

    The free steps that lead to prompts are built for that.
    """
    found = Recording()
    models: dict[int, Model] = {}

    def seen(step: str, spec: KindSpec, turn: Turn) -> None:
        if turn.reply is None:
            found.missing[step] += 1
            return
        model = models.setdefault(id(spec), create("model", spec))
        found.used[step] += 1
        found.replies.append(Recorded.of(turn.request, turn.reply, model=model.label))

    asking = frozenset(name for name, node in plan.nodes.items() if node.asks is not None)
    if asking:
        archivist = Archivist(lookup, seen)
        with rehearse(plan, store, archivist, watcher, only=before_prompts(plan), refresh=asking) as done:
            found.skipped = {name: done.skipped[name] for name in sorted(asking) if name in done.skipped}
    return found
