"""Training on several devices: torch launches a process per device, and each computes a part of every step."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from benchbuilder.core import ServiceError, end_with_parent

if TYPE_CHECKING:
    from benchbuilder.evaluation.judges.base import TrainedJudge


def launched() -> bool:
    """Whether this process is one of several that train together."""
    return "LOCAL_RANK" in os.environ


def is_main() -> bool:
    """Whether this process writes files and notes: the only process, or the first of several."""
    return os.environ.get("RANK", "0") == "0"


def train_together(judge: TrainedJudge, arguments: tuple[Any, ...], count: int) -> None:
    """Train `judge`, which is not open, in `count` processes; ServiceError if one fails.

    `arguments` are those of `TrainedJudge.train` except `note`. The first process writes the judge, and its notes to
    standard error.
    """
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=count, start_method="spawn", max_restarts=0,
        rdzv_backend="c10d", rdzv_endpoint="localhost:0", run_id="judge",
    )  # fmt: skip
    try:
        elastic_launch(config, _train)(judge, arguments)
    except ChildFailedError as error:
        raise ServiceError(
            f"the training on {count} devices broke off",
            why=str(error.get_first_failure()[1].message),
            next="correct the cause; the same command then resumes after the last complete epoch",
        ) from error


def _train(judge: TrainedJudge, arguments: tuple[Any, ...]) -> None:
    from torch.distributed.elastic.multiprocessing.errors import record

    def note(line: str) -> None:
        if is_main():
            print(line, file=sys.stderr, flush=True)

    end_with_parent()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # else accelerate sets it, with a warning
    examples, held_out, folder, seed = arguments
    record(judge.train)(examples, held_out, folder, seed, note)  # the launching process reads the error
