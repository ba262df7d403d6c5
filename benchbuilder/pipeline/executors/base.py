"""Executors: who makes the shards of a step, and where."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

from benchbuilder.config import KindSpec


class StepWork(Protocol):
    """The shards of one step. Picklable; what it opens is opened once in a process, whichever shards are made there."""

    @property
    def step(self) -> str:
        """The step's name."""
        ...

    @property
    def cache(self) -> Path:
        """The folder below which lies what the stage prepared for its workers; workers put their own things there."""
        ...

    @property
    def shared(self) -> tuple[Path, ...]:
        """The files and folders that every shard needs."""
        ...

    def inputs(self, index: int) -> tuple[Path, ...]:
        """The files that hold the rows of shard `index`."""
        ...

    def relocated(self, places: Mapping[Path, Path]) -> StepWork:
        """The same work on another machine, where files and folders lie elsewhere: `places` maps those of `shared`, of
        `inputs`, and `cache`, from here to there. What lies below `cache` keeps its name below it."""
        ...

    def make_shard(self, index: int, folder: Path) -> tuple[str, ...]:
        """Make shard `index` and put its files into `folder`, each under its name at once when it is whole.

        Their names; the last one is the receipt that makes the others count.
        """
        ...


class Executor(ABC):
    """Has shards made by workers.

    Equal work gives equal files, wherever it is done: nothing that an executor decides may shape them.
    """

    kind: ClassVar[str]
    spec_class: ClassVar[type[KindSpec]]

    def __init__(self, spec: Any, workers: int) -> None:
        """`workers`: how many shards may be made at the same time."""
        self.spec = spec
        self.workers = workers

    @abstractmethod
    def map(self, work: StepWork, indices: Sequence[int], folder: Path) -> Iterator[int]:
        """Have the shards `indices` made and their files put into `folder`; each index when its files are all there.

        In any order. What a worker raises is raised here; ServiceError if workers die for good.
        """

    def processes(self) -> tuple[int, ...]:
        """The worker processes on this machine, for whoever wants to know how much memory a build takes."""
        return ()

    def close(self) -> None:
        """Let the workers go; a build is over."""
