"""Executors: they make the shards of a step, in this process or elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

from benchbuilder.config import KindSpec


class StepWork(Protocol):
    """The shards of one step. Picklable; it opens files and models once per process."""

    @property
    def step(self) -> str:
        """The step's name."""
        ...

    @property
    def cache(self) -> Path:
        """The folder of the files that the step prepared for its workers; workers may write there too."""
        ...

    @property
    def shared(self) -> tuple[Path, ...]:
        """The files and folders that every shard needs."""
        ...

    def inputs(self, index: int) -> tuple[Path, ...]:
        """The files that hold the rows of shard `index`."""
        ...

    def relocated(self, places: Mapping[Path, Path]) -> StepWork:
        """The same work on another machine.

        Args:
            places: Where the paths of `shared`, `inputs` and `cache` are there; paths below `cache` keep their names.
        """
        ...

    def make_shard(self, index: int, folder: Path) -> tuple[str, ...]:
        """Make shard `index` and put its files into `folder`; a file has its name only once it is complete.

        Returns:
            The names of the files; the last one is the receipt that makes the others count.
        """
        ...


class Executor(ABC):
    """Makes shards with workers.

    Equal work gives equal files, wherever it runs: no decision of an executor may shape them.
    """

    kind: ClassVar[str]
    spec_class: ClassVar[type[KindSpec]]

    def __init__(self, spec: Any, workers: int) -> None:
        """`workers` is how many shards may be made at the same time."""
        self.spec = spec
        self.workers = workers

    @abstractmethod
    def map(self, work: StepWork, indices: Sequence[int], folder: Path) -> Iterator[int]:
        """Make shards and put their files into `folder`.

        Yields:
            The index of each shard once all of its files are there, in any order.

        Raises:
            ServiceError: Workers died and could not be replaced. Errors of a worker are raised here too.
        """

    def processes(self) -> tuple[int, ...]:
        """The worker processes on this machine, so that their memory can be measured."""
        return ()

    def close(self) -> None:
        """End the workers at the end of a build."""
