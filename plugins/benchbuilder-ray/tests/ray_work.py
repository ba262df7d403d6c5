"""A small work for tests: lines of numbers, each multiplied by what a shared file says."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchbuilder.core.errors import DataError


@dataclass
class Opened:
    """What a worker has opened, once for all shards that it makes."""

    factor: int
    times: int = 0


@dataclass(frozen=True)
class Doubling:
    """Shard `i` is the file `in/i.txt`; out come its lines times the factor, and a receipt.

    `slow` seconds are spent in each shard; `bad` is a shard with an unreadable line; `deadly` one that ends its
    worker, `deadly_once` one that does so while the file `marks/died` is not there. `together` workers wait for each
    other in their first shards, so that every one has a part, however long it takes to start.
    """

    step: str
    folder: Path
    slow: float = 0
    together: int = 1
    bad: int | None = None
    deadly: int | None = None
    deadly_once: bool = False
    marks: Path | None = None

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def shared(self) -> tuple[Path, ...]:
        return self.folder / "cache" / "index", self.folder / "words.txt"

    def inputs(self, index: int) -> tuple[Path, ...]:
        return (self.folder / "in" / f"{index}.txt",)

    def relocated(self, places: Mapping[Path, Path]) -> Doubling:
        there = places[self.folder / "words.txt"].parent
        assert all(place == there / path.relative_to(self.folder) for path, place in places.items())
        return replace(self, folder=there)

    def make_shard(self, index: int, folder: Path) -> tuple[str, ...]:
        opened = _OPENED.get(str(self.folder))
        if opened is None:
            factor = int((self.folder / "cache" / "index" / "factor.txt").read_text(encoding="utf-8"))
            (self.cache / "own.txt").write_text("workers may write here", encoding="utf-8")
            opened = _OPENED[str(self.folder)] = Opened(factor)
        opened.times += 1
        if self.marks is not None:
            (self.marks / f"{self.step}.{index}.{os.getpid()}.{_node()}.{time.monotonic_ns()}").touch()
            end = time.monotonic() + 600
            while len(made(self)) < self.together and time.monotonic() < end:
                time.sleep(0.05)
        if self.deadly == index and not (self.deadly_once and self.marks and (self.marks / "died").exists()):
            if self.marks:
                (self.marks / "died").touch()
            os._exit(1)
        time.sleep(self.slow)
        lines = self.inputs(index)[0].read_text(encoding="utf-8").splitlines()
        if self.bad == index:
            raise DataError(f"line 1 of shard {index} is no number", where="in/1.txt", next="correct it")
        text = "".join(f"{int(line) * opened.factor}\n" for line in lines)
        names = f"{index}.rows", f"{index}.receipt"
        for name, content in zip(names, (text, "done\n"), strict=True):
            (folder / name).write_text(content, encoding="utf-8")
        return names


def _node() -> str:
    import ray

    return ray.get_runtime_context().get_node_id() if ray.is_initialized() else ""


_OPENED: dict[str, Opened] = {}


def doubling(folder: Path, shards: int, **more: object) -> Doubling:
    """The files of such a work in `folder`, and the work."""
    for name in ("in", "cache/index", "out", "marks"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "cache" / "index" / "factor.txt").write_text("2", encoding="utf-8")
    (folder / "words.txt").write_text("a\nb\n", encoding="utf-8")
    for index in range(shards):
        text = "".join(f"{index * 10 + line}\n" for line in range(5))
        (folder / "in" / f"{index}.txt").write_text(text, encoding="utf-8")
    return Doubling("double", folder, **{"marks": folder / "marks", **more})  # pyright: ignore[reportArgumentType]


def made(work: Doubling) -> dict[str, list[str]]:
    """Which shards were begun, by the process that did."""
    found: dict[str, list[str]] = {}
    for mark in sorted(work.marks.glob(f"{work.step}.*") if work.marks else ()):
        _, index, pid, _, _ = mark.name.split(".")
        found.setdefault(pid, []).append(index)
    return found
