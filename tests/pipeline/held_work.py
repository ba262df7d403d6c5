"""A small work for the tests of executors: each shard notes what its process holds open."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.pipeline.executors import local


@dataclass(frozen=True)
class Held:
    """Shard `i` is a file of its number with the process that made it and the numbers of the works open there.

    `slow` seconds are spent in each shard; shard `bad` raises.
    """

    step: str
    slow: float = 0
    bad: int | None = None
    cache: Path = Path()
    shared: tuple[Path, ...] = ()

    def inputs(self, index: int) -> tuple[Path, ...]:
        return ()

    def relocated(self, places: Mapping[Path, Path]) -> Held:
        return self

    def make_shard(self, index: int, folder: Path) -> tuple[str, ...]:
        if index == self.bad:
            raise LookupError(f"no shard {index}")
        (folder / f"begun-{index}").touch()
        time.sleep(self.slow)
        opened = sorted(getattr(local, "_opened_work"))  # noqa: B009
        (folder / str(index)).write_text(f"{os.getpid()} {opened}", encoding="utf-8")
        return (str(index),)


def opened(_: int) -> tuple[int, list[int]]:
    """The process, and the works that it holds open."""
    time.sleep(0.2)
    return os.getpid(), sorted(getattr(local, "_opened_work"))  # noqa: B009
