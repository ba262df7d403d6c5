"""What a network brings to the common training and scoring of neural judges."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from random import Random
from typing import Any

from benchbuilder.core import ServiceError
from benchbuilder.evaluation.judges.base import Case
from benchbuilder.evaluation.judges.neural.inputs import TokenRow


@dataclass(frozen=True)
class ComputePlace:
    """Where and in what a network computes."""

    torch: Any
    device: Any
    dtype: Any

    def mixed_precision(self) -> Any:
        """The context in which products are computed in `dtype` while weights stay as they are."""
        if self.dtype == self.torch.float32:
            return nullcontext()
        return self.torch.autocast(self.device.type, dtype=self.dtype)


@dataclass(frozen=True)
class EncodedExamples:
    """Tokens with their targets (0 to 1) and weights (above 0)."""

    rows: Sequence[TokenRow]
    targets: Sequence[float]
    weights: Sequence[float]

    def mean(self) -> float:
        """The mean target, by weight."""
        return sum(map(mul, self.targets, self.weights)) / sum(self.weights)

    def every(self, step: int) -> EncodedExamples:
        """Each `step`-th example."""
        return EncodedExamples(self.rows[::step], self.targets[::step], self.weights[::step])


class Learner(ABC):
    """A network with its tokenizer, loaded: `model` on the device of `place`, `max_length` tokens a row.

    `centre` is the mean target of its training: a network may begin from there.
    """

    model: Any
    place: ComputePlace
    max_length: int
    centre: float = 0.0

    @abstractmethod
    def row(self, case: Case) -> TokenRow:
        """The tokens of a case."""

    def training_target(self, target: float, chance: Random) -> float:  # noqa: ARG002
        """What is learned for `target` this time."""
        return target

    @abstractmethod
    def losses(self, model: Any, rows: Sequence[TokenRow], goals: Sequence[float]) -> Any:
        """The loss of each row, on the device, in float32.

        Args:
            model: `model`, or what Trainer has wrapped it in for several devices.
            rows: The tokens of each example.
            goals: For each row, what `training_target` gave for its target.

        Returns:
            A tensor of shape (rows,).
        """

    @abstractmethod
    def values(self, rows: Sequence[TokenRow], width: int) -> list[float]:
        """The score of each row, in order, with rows filled up to `width` tokens."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write what was learned, as safetensors and JSON, into a folder that is there and empty."""

    def trainable_parameters(self) -> dict[str, Any]:
        """The parameters that training changes, by name."""
        return {name: one for name, one in self.model.named_parameters() if one.requires_grad}


def padded_matrix(torch: Any, lists: Sequence[Sequence[int]], fill: int, width: int, device: Any) -> Any:
    """Lists of whole numbers as a matrix, filled up on the right."""
    return torch.tensor([[*one, *[fill] * (width - len(one))] for one in lists], dtype=torch.long, device=device)


def score_rows(learner: Learner, rows: Sequence[TokenRow], batch_size: int) -> list[float]:
    """The score of each row, in order, the same in whatever company.

    How a product is rounded depends on its shape. So on the processor each row is scored alone, and elsewhere in
    batches of one shape: always `batch_size` rows, and a width that depends on the row's own length only.
    """
    alone = learner.place.device.type == "cpu"
    return score_rows_in_batches(learner, rows, 1 if alone else batch_size, 1 if alone else 64)


def score_rows_in_batches(learner: Learner, rows: Sequence[TokenRow], batch_size: int, step: int) -> list[float]:
    """The score of each row, in batches of `batch_size` rows of the same multiple of `step` tokens."""
    torch = learner.place.torch
    groups: dict[int, list[int]] = {}
    for at, row in enumerate(rows):
        groups.setdefault(min(-(-len(row.ids) // step) * step, learner.max_length), []).append(at)
    found = [0.0] * len(rows)
    learner.model.eval()
    with torch.no_grad():
        for width, places in sorted(groups.items()):
            for start in range(0, len(places), batch_size):
                part = places[start : start + batch_size]
                full = [rows[at] for at in part] + [rows[part[-1]]] * (batch_size - len(part))
                for at, value in zip(part, learner.values(full, width), strict=False):
                    if math.isnan(value):
                        raise ServiceError(
                            "the judge gives a score that is no number", next="set dtype: float32, or train it again"
                        )
                    found[at] = min(1.0, max(0.0, value))
    return found
