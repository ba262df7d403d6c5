"""A network as training and scoring see it, and the examples that it reads or that choose its epoch."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from random import Random
from typing import Any

from benchbuilder.core import ServiceError
from benchbuilder.evaluation.judges.base import Case, Example
from benchbuilder.evaluation.judges.neural.inputs import TokenRow
from benchbuilder.evaluation.judges.neural.libraries import ComputePlace


@dataclass(frozen=True)
class EncodedExamples:
    """Examples as tokens, with their targets (0 to 1) and weights (above 0)."""

    rows: Sequence[TokenRow]
    targets: Sequence[float]
    weights: Sequence[float]

    def mean(self) -> float:
        """The weighted mean of the targets."""
        return sum(map(mul, self.targets, self.weights)) / sum(self.weights)

    def every(self, step: int) -> EncodedExamples:
        """Each `step`-th example."""
        return EncodedExamples(self.rows[::step], self.targets[::step], self.weights[::step])


class Learner(ABC):
    """A loaded network with its tokenizer.

    `model` is on the device of `place`, and reads at most `max_length` tokens per row. `centre` is the mean target of
    the training; a network may start from there.
    """

    model: Any
    place: ComputePlace
    max_length: int
    centre: float = 0.0

    @abstractmethod
    def row(self, case: Case) -> TokenRow:
        """The tokens of a case."""

    def training_target(self, target: float, chance: Random) -> float:  # noqa: ARG002
        """The value to learn for `target` in this epoch."""
        return target

    @abstractmethod
    def losses(self, model: Any, rows: Sequence[TokenRow], goals: Sequence[float]) -> Any:
        """The loss of each row, as a float32 tensor on the device.

        `model` is the learner's own, or the wrapper that Trainer puts around it for several devices. `goals` are the
        `training_target` of each example.
        """

    @abstractmethod
    def values(self, rows: Sequence[TokenRow], width: int) -> list[float]:
        """The score of each row, in order, with rows padded to `width` tokens."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write what was learned into an empty folder, as safetensors and JSON."""

    def trainable_parameters(self) -> dict[str, Any]:
        """The parameters that training changes, by name."""
        return {name: value for name, value in self.model.named_parameters() if value.requires_grad}


def padded_matrix(torch: Any, lists: Sequence[Sequence[int]], fill: int, width: int, device: Any) -> Any:
    """Lists of at most `width` integers as an int64 matrix on `device`; `fill` pads each list on the right."""
    padded = [[*row, *[fill] * (width - len(row))] for row in lists]
    return torch.tensor(padded, dtype=torch.long, device=device)


def score_rows(learner: Learner, rows: Sequence[TokenRow], batch_size: int) -> list[float]:
    """The score (0 to 1) of each row, in order. It does not depend on the other rows.

    The shape of a product decides how it is rounded. So on the processor each row is scored alone. Elsewhere all
    batches have one shape: always `batch_size` rows, and a width that depends on the row's own length only.
    """
    alone = learner.place.device.type == "cpu"
    return score_rows_in_batches(learner, rows, 1 if alone else batch_size, 1 if alone else 64)


def score_rows_in_batches(learner: Learner, rows: Sequence[TokenRow], batch_size: int, step: int) -> list[float]:
    """The score of each row, in batches of `batch_size` rows with the same multiple of `step` tokens.

    ServiceError if a score is not a number.
    """
    torch = learner.place.torch
    groups: dict[int, list[int]] = {}
    for index, row in enumerate(rows):
        groups.setdefault(min(-(-len(row.ids) // step) * step, learner.max_length), []).append(index)
    scores = [0.0] * len(rows)
    learner.model.eval()
    with torch.no_grad():
        for width, indices in sorted(groups.items()):
            for start in range(0, len(indices), batch_size):
                batch = indices[start : start + batch_size]
                full = [rows[index] for index in batch] + [rows[batch[-1]]] * (batch_size - len(batch))
                for index, value in zip(batch, learner.values(full, width), strict=False):
                    if math.isnan(value):
                        raise ServiceError(
                            "a score of the judge is not a number", next="set dtype: float32, or train it again"
                        )
                    scores[index] = min(1.0, max(0.0, value))
    return scores


MIN_CHOOSING = 10
"""Fewer examples choose nothing: their correlation is luck."""


def split_off_choosing(
    examples: Sequence[Example], proportion: float, seed: int
) -> tuple[list[Example], list[Example]]:
    """Split the training side into examples to learn from, and examples that choose the epoch.

    About a `proportion` of the rated examples choose; the seed decides which families. Statements of the families that
    choose are in neither part. If nobody rated anything, statements choose. The second part is empty if it would be
    too small, or nothing would be left to learn from.
    """
    rated = [example for example in examples if not example.synthetic] or list(examples)
    sizes = Counter(example.family for example in rated)
    chosen: set[str] = set()
    taken, wanted = 0, proportion * len(rated)
    for family in sorted(sizes, key=lambda name: _rank(name, seed)):
        if taken + sizes[family] / 2 > wanted:
            break
        chosen.add(family)
        taken += sizes[family]
    rest = [example for example in examples if example.family not in chosen]
    if taken < MIN_CHOOSING or sum(example.weight for example in rest) <= 0:
        return list(examples), []
    return rest, [example for example in rated if example.family in chosen]


def _rank(family: str, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed}:epoch:{family}".encode(), digest_size=8).digest()
