"""What a build at work has made so far: rows of each step, requests on their way, money spent and expected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchbuilder.config import load_recipe
from benchbuilder.core import BenchbuilderError, read_json
from benchbuilder.explorer.reading.build_folders import BuildFolder, file_stamp
from benchbuilder.explorer.reading.build_summaries import is_at_work
from benchbuilder.models import Gateway, Receipt
from benchbuilder.pipeline import Store, count_rows, make_plan

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
    spent before. `budget` is the recipe's cap in US dollars. `planned` is 0 if the recipe is not known.
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
    planned, budget = _planned(build.words, build.folder, file_stamp(build.folder / "store" / "lock"))
    return BuildProgress(
        is_at_work(build.folder), len(build.manifests()), planned, steps,
        sum(receipt.calls for receipt in receipts), sum(in_flight.values()), usd,
        _expected(steps, receipts, usd), budget,
    )  # fmt: skip


@lru_cache(maxsize=16)
def _planned(words: tuple[str, ...], folder: Path, _stamp: tuple[int, ...]) -> tuple[int, float | None]:
    """How many steps a build has, and its budget in US dollars; 0 and none if its recipe is not known."""
    if words:
        with suppress(BenchbuilderError):
            recipe = load_recipe(words).recipe
            return len(make_plan(recipe, Store(folder), lambda _: "").nodes), recipe.budget.usd
    return 0, None


def _drafts(folder: Path) -> Iterator[StepProgress]:
    """The steps of which shards are written, and that are not committed yet."""
    for draft in (folder / "store" / "steps").glob(f"*/*{_DRAFT}"):
        made, shards, receipts = 0, 0, list[Path]()
        with suppress(OSError):  # a step that is committed meanwhile takes its draft away
            receipts += draft.glob("shard-*.json")
        for receipt in receipts:
            with suppress(OSError, BenchbuilderError):
                made += count_rows(draft / receipt.name.replace("shard-", "outcomes-").replace(".json", ".parquet"))
                shards += 1
        total: Any = None
        with suppress(OSError, ValueError):
            total = read_json(draft / "draft.json").get("rows")
        yield StepProgress(draft.parent.name, made, shards, total if isinstance(total, int) else None)


def _journal(build: BuildFolder) -> tuple[tuple[Receipt, ...], dict[str, int]]:
    """What the journal says was paid, and what is on its way; it is opened to read."""
    journal = build.store.journal
    if journal.is_file():
        with suppress(BenchbuilderError), Gateway(journal) as gateway:
            return gateway.receipts(), gateway.in_flight()
    return (), {}


def _expected(steps: tuple[StepProgress, ...], receipts: tuple[Receipt, ...], usd: float | None) -> float | None:
    """What the build will have spent when the steps that ask models now are done, if each row costs the same.

    Rows of a shard that is not written yet are known by their replies alone: a reply counts as a row.
    """
    if usd is None:
        return None
    rest: float | None = None
    for step in steps:
        own = [receipt for receipt in receipts if receipt.step == step.step]
        spent, calls = sum(receipt.usd or 0.0 for receipt in own), sum(receipt.calls for receipt in own)
        if not spent:
            continue
        if step.total is None or not (done := max(step.made, min(calls, step.total))):
            return None
        rest = (rest or 0.0) + spent * max(0, step.total - done) / done
    return None if rest is None else usd + rest
