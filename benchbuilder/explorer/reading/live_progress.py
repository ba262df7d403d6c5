"""What a build at work has made so far: rows of each step, requests on their way, money spent and expected."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.core import BenchbuilderError
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.explorer.reading.build_summaries import is_at_work
from benchbuilder.models import Gateway, Receipt
from benchbuilder.pipeline import count_rows

_DRAFT = ".draft"


@dataclass(frozen=True)
class StepProgress:
    """A step in the making: `made` outcomes are on disk, in `shards` shards; `total` rows went in, if that is known."""

    step: str
    made: int
    shards: int
    total: int | None


@dataclass(frozen=True)
class BuildProgress:
    """A build at work. `usd` is ``None`` if a price is unknown; `expected_usd` if nothing can be expected yet.

    `expected_usd` is what the step that asks models now will have cost if its other rows cost as much, with what was
    spent before. `budget` is the recipe's cap in US dollars.
    """

    is_at_work: bool
    finished: int
    planned: int
    steps: tuple[StepProgress, ...]
    calls: int
    in_flight: int
    usd: float | None
    expected_usd: float | None
    budget: float | None


def read_progress(build: BuildFolder) -> BuildProgress:
    """Look at the folder of a build; nothing of it is locked or changed."""
    steps = tuple(sorted(_drafts(build.folder), key=lambda step: step.step))
    receipts, in_flight = _journal(build)
    prices = [receipt.usd for receipt in receipts]
    usd = None if None in prices else sum(price for price in prices if price is not None)
    recipe = build.recipe
    return BuildProgress(
        is_at_work(build.folder), len(build.manifests()),
        sum(len(recipe.get(part) or {}) for part in ("sources", "steps")), steps,
        sum(receipt.calls for receipt in receipts), sum(in_flight.values()), usd,
        _expected(steps, receipts, usd), (recipe.get("budget") or {}).get("usd"),
    )  # fmt: skip


def _drafts(folder: Path) -> Iterator[StepProgress]:
    """The steps of which shards are written, and that are not committed yet."""
    for draft in (folder / "store" / "steps").glob(f"*/*{_DRAFT}"):
        made, shards = 0, 0
        for receipt in draft.glob("shard-*.json"):
            with suppress(OSError, BenchbuilderError):
                made += count_rows(draft / receipt.name.replace("shard-", "outcomes-").replace(".json", ".parquet"))
                shards += 1
        total: Any = None
        with suppress(OSError, ValueError):
            total = json.loads((draft / "draft.json").read_bytes()).get("rows")
        yield StepProgress(draft.parent.name, made, shards, total if isinstance(total, int) else None)


def _journal(build: BuildFolder) -> tuple[tuple[Receipt, ...], dict[str, int]]:
    """What the journal says was paid, and what is on its way; it is opened to read."""
    journal = build.store.journal
    if journal.is_file():
        with suppress(BenchbuilderError), Gateway(journal) as gateway:
            return gateway.receipts(), gateway.in_flight()
    return (), {}


def _expected(steps: tuple[StepProgress, ...], receipts: tuple[Receipt, ...], usd: float | None) -> float | None:
    """What the build will have spent when the steps that ask models now are done, if each row costs the same."""
    if usd is None:
        return None
    rest = 0.0
    for step in steps:
        spent = sum(receipt.usd or 0.0 for receipt in receipts if receipt.step == step.step)
        if step.total is None or (spent and not step.made):
            return None
        if spent:
            rest += spent * max(0, step.total - step.made) / step.made
    return usd + rest if rest else None
