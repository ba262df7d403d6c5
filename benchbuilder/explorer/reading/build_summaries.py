"""What one line says of a build: recipe, time, items, cost, audit, and whether it is complete, at work or waiting."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from benchbuilder.core import open_given_file, parse_json, read_sealed_json
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.exporters import AuditResult
from benchbuilder.pipeline import Manifest, recorded_steps

BuildState = Literal["complete", "building", "waiting", "stopped"]
_QUIET_SECONDS = 300.0
"""A build that wrote nothing for so long counts as stopped, where the system lists no locks."""
_UNLISTED_SECONDS = 10.0
"""The same where it lists locks, but not that of the build: it ended, or is at work on another machine."""
_LAST_RUN_BYTES = 1 << 20


@dataclass(frozen=True)
class BuildSummary:
    """One build on the page of all builds.

    `words` are those of its command. `usd` is ``None`` if a price is unknown; `calls` counts paid replies. `leaks` are
    the checks and words that close the gate of an audit, ``None`` without one; `unclear` are the checks that have too
    few items to tell. `waiting` maps steps to what people or batches still owe, counted by sort.
    """

    build: BuildFolder
    recipe: str
    words: str
    title: str
    built_at: datetime | None
    steps: int
    items: int
    calls: int
    usd: float | None
    checks: int
    leaks: int | None
    unclear: int
    state: BuildState
    waiting: Mapping[str, Mapping[str, int]]


def summarise_build(build: BuildFolder) -> BuildSummary:
    """Read the summary of a build."""
    recipe, manifests, run = build.recipe, build.manifests(), _last_run(build.folder)
    receipts: list[Mapping[str, Any]] = run.get("receipts") or []
    prices = [receipt.get("usd") for receipt in receipts]
    audits = list(_audits(build.folder))
    card: Mapping[str, Any] = recipe.get("card") or {}
    owed: Mapping[str, Any] = run.get("waiting") or {}
    waiting = {step: missing for step, missing in owed.items() if isinstance(missing, dict)}
    return BuildSummary(
        build=build,
        recipe=str(recipe.get("name") or build.folder.name),
        words=shlex.join(build.words),
        title=str(card.get("title") or ""),
        built_at=build.built_at,
        steps=len(manifests),
        items=sum(manifests[name].rows for name in items_steps(recipe) if name in manifests),
        calls=sum(int(receipt.get("calls") or 0) for receipt in receipts),
        usd=None if None in prices else float(sum(price for price in prices if price is not None)),
        checks=sum(audit.check_count() for audit in audits),
        leaks=sum(audit.leak_count() + audit.leaking_word_count() for audit in audits) if audits else None,
        unclear=sum(audit.unclear_count() for audit in audits),
        state=build_state(build, manifests, waiting),
        waiting=waiting,
    )


def items_steps(recipe: Mapping[str, Any]) -> list[str]:
    """The steps whose rows are the items of a recipe, of each task one."""
    tasks: Mapping[str, Any] = recipe.get("tasks") or {}
    return [str(task["items"]) for task in tasks.values() if task and task.get("items")] or (
        [str(recipe["items"])] if recipe.get("items") else []
    )


def build_state(build: BuildFolder, manifests: Mapping[str, Manifest], waiting: Mapping[str, Any]) -> BuildState:
    """Whether a build is complete, at work now, waiting for people or a batch, or stopped before its end."""
    if is_at_work(build.folder):
        return "building"
    if waiting:
        return "waiting"
    return "complete" if manifests and recorded_steps(build.folder) else "stopped"


def is_at_work(folder: Path) -> bool:
    """Whether a build runs in this folder: its lock is held, or it began after the last one ended and writes.

    The lock is not tried. Where locks are not listed, or not those of all builds, what was written lately counts.
    """
    held = is_held(folder / "store" / "lock")
    if held:
        return True
    began, ended = _changed(folder / "store" / "lock"), _changed(folder / "run.jsonl")
    quiet = _QUIET_SECONDS if held is None else _UNLISTED_SECONDS
    return began > ended and time.time() - max(began, last_change(folder)) < quiet


def last_change(folder: Path) -> float:
    """When a step, a shard or a reply of a build was last written, in seconds since the epoch."""
    steps = folder / "store" / "steps"
    places = [steps, *steps.glob("*"), *steps.glob("*/*.draft")]
    places += [folder / f"replies.sqlite{end}" for end in ("", "-wal")]
    return max(map(_changed, places), default=0.0)


def _changed(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _last_run(folder: Path) -> Mapping[str, Any]:
    """The line of the run log of the last build; empty if there is none.

    What only looked at the build, as the review app does, is no build: it is taken only where there is no other.
    """
    with (
        suppress(OSError, ValueError, AttributeError),
        open_given_file(folder / "run.jsonl", most_bytes=None) as stream,
    ):
        stream.seek(0, 2)
        stream.seek(max(0, stream.tell() - _LAST_RUN_BYTES))
        data: Any = {}
        for line in reversed(stream.read().splitlines()):
            found: Any = parse_json(line)
            data = data or found
            if found.get("outputs", True):
                return found
        return data
    return {}


def _audits(folder: Path) -> Iterator[AuditResult]:
    """The audits that the last build kept."""
    for path in sorted((folder / "store" / "audits").glob("*.json")):
        with suppress(OSError, ValueError, KeyError, TypeError, ValidationError):
            yield AuditResult.model_validate(read_sealed_json(path)["result"])


_LOCKS = Path("/proc/locks")


def is_held(lock: Path) -> bool | None:
    """Whether a process of this machine holds the lock of a file; ``None`` if this system lists no locks.

    What holds it on another machine, or in a container beside this one, is not in the list.
    """
    with suppress(OSError):
        lines = _LOCKS.read_text("utf-8").splitlines()
        mark = lock.stat()
        file = f"{os.major(mark.st_dev):02x}:{os.minor(mark.st_dev):02x}:{mark.st_ino}"
        return any(file in line.split() for line in lines)
    return None
