"""The training of neural judges: steps of weighted examples, a cosine schedule, the best epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from benchbuilder.core import ServiceError, check_constant_predictor, pearson
from benchbuilder.evaluation.judges.neural.inputs import TokenRow
from benchbuilder.evaluation.judges.neural.learner import Learner, score_rows
from benchbuilder.evaluation.judges.neural.spec import LearningSpec

POOL = 8
"""At most so many steps share out examples that are sorted by length, so that little is filled up."""


@dataclass(frozen=True)
class EncodedExamples:
    """Tokens with their targets and weights."""

    rows: Sequence[TokenRow]
    targets: Sequence[float]
    weights: Sequence[float]


@dataclass
class TrainingResult:
    """What came of training: per epoch the mean loss and Pearson on what chooses, and what the best one scored.

    `tokens` counts what the model was shown while it learned, without what fills up rows.
    """

    losses: list[float] = field(default_factory=list[float])
    pearsons: list[float | None] = field(default_factory=list[float | None])
    best_epoch: int = 0
    steps: int = 0
    tokens: int = 0
    predicted: list[float] = field(default_factory=list[float])


class TrainingLoop:
    """One training of a network."""

    def __init__(self, learner: Learner, spec: LearningSpec, seed: int, note: Callable[[str], None]) -> None:
        self._learner, self._spec, self._seed, self._note = learner, spec, seed, note
        self._torch = learner.place.torch
        self._learned = learner.trainable_parameters()

    def run(self, examples: EncodedExamples, choosing: EncodedExamples, epochs: int | None = None) -> TrainingResult:
        """Learn from `examples`; `choosing` (may be empty) chooses the epoch and is not learned from.

        `epochs` ends training after so many epochs, while the learning rate goes as if all were to come.
        """
        spec, fitted = self._spec, TrainingResult()
        weighted = zip(examples.targets, examples.weights, strict=True)
        self._learner.centre = sum(target * weight for target, weight in weighted) / sum(examples.weights)
        steps = spec.epochs * -(-len(examples.rows) // spec.batch_size)
        optimizer = self._optimizer()
        schedule = self._torch.optim.lr_scheduler.LambdaLR(
            optimizer, partial(_learning_rate_factor, spec.warm_up, steps)
        )
        best: dict[str, Any] = {}
        best_rank = (False, -2.0)  # nearly constant scores may correlate, and are worse than any that vary
        for epoch in range(1, (epochs or spec.epochs) + 1):
            fitted.losses.append(self._epoch(epoch, examples, optimizer, schedule, fitted))
            if not choosing.rows:
                fitted.best_epoch = epoch
                self._note(f"epoch {epoch} of {epochs or spec.epochs}: loss {fitted.losses[-1]:.4f}")
                continue
            predicted = score_rows(self._learner, choosing.rows, spec.device_batch_size)
            correlation = pearson(predicted, choosing.targets)
            fitted.pearsons.append(None if math.isnan(correlation) else correlation)
            constant = check_constant_predictor(predicted, choosing.targets) is not None
            rank = (not constant, -1.0 if math.isnan(correlation) else correlation)
            better = rank > best_rank
            best_rank = max(rank, best_rank)
            if better:
                fitted.best_epoch, fitted.predicted = epoch, predicted
                best = {name: one.detach().to("cpu", copy=True) for name, one in self._learned.items()}
            self._note_epoch(epoch, fitted, better=better, constant=constant)
            if spec.patience is not None and epoch - fitted.best_epoch >= spec.patience:
                break
        with self._torch.no_grad():
            for name, one in best.items():
                self._learned[name].copy_(one)
        self._learner.model.eval()
        return fitted

    def _epoch(
        self, epoch: int, examples: EncodedExamples, optimizer: Any, schedule: Any, fitted: TrainingResult
    ) -> float:
        """All examples once; the mean loss, by weight."""
        model, torch = self._learner.model, self._torch
        chance = Random(f"{self._seed}:{epoch}")
        goals = [self._learner.training_target(target, chance) for target in examples.targets]
        total = torch.zeros((), dtype=torch.float32, device=self._learner.place.device)  # read once: no waiting
        model.train()
        for batch in self._batches(examples, chance):
            weight = sum(examples.weights[at] for at in batch)
            if weight <= 0:
                continue
            for start in range(0, len(batch), self._spec.device_batch_size):
                part = batch[start : start + self._spec.device_batch_size]
                weights = torch.tensor([examples.weights[at] for at in part], device=self._learner.place.device)
                losses = self._learner.losses([examples.rows[at] for at in part], [goals[at] for at in part])
                loss = (losses * weights).sum()
                (loss / weight).backward()
                total += loss.detach()
                fitted.tokens += sum(len(examples.rows[at].ids) for at in part)
            torch.nn.utils.clip_grad_norm_(self._learned.values(), self._spec.max_grad_norm)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
            fitted.steps += 1
        mean = float(total) / sum(examples.weights)
        if not math.isfinite(mean):
            raise ServiceError(
                f"the training broke off in epoch {epoch}", why="the loss is no number any more",
                next="set a lower learning_rate, a longer warm_up, or dtype: float32",
            )  # fmt: skip
        return mean

    def _batches(self, examples: EncodedExamples, chance: Random) -> Iterator[list[int]]:
        """Positions of the examples of each step: by chance, those of a step about equally long."""
        size = self._spec.batch_size
        order = list(range(len(examples.rows)))
        chance.shuffle(order)
        steps: list[list[int]] = []
        sharing = size * max(1, min(POOL, len(order) // size // POOL))  # few examples: else always the same steps
        for start in range(0, len(order), sharing):
            pool = sorted(order[start : start + sharing], key=lambda at: len(examples.rows[at].ids), reverse=True)
            steps += [pool[one : one + size] for one in range(0, len(pool), size)]
        chance.shuffle(steps)
        yield from steps

    def _optimizer(self) -> Any:
        """AdamW; what has one dimension (biases, norms) does not decay."""
        groups = [
            {
                "params": [one for one in self._learned.values() if one.ndim > 1],
                "weight_decay": self._spec.weight_decay,
            },
            {"params": [one for one in self._learned.values() if one.ndim <= 1], "weight_decay": 0.0},
        ]
        on_gpu = self._learner.place.device.type == "cuda"
        return self._torch.optim.AdamW(
            [group for group in groups if group["params"]], lr=self._spec.learning_rate, fused=on_gpu
        )

    def _note_epoch(self, epoch: int, fitted: TrainingResult, *, better: bool, constant: bool) -> None:
        correlation = fitted.pearsons[-1]
        said = "undefined" if correlation is None else f"{correlation:.3f}"
        said += " (it scores nearly all alike)" if constant else ""
        best = ", the best so far" if better and epoch > 1 else ""
        self._note(
            f"epoch {epoch} of {self._spec.epochs}: loss {fitted.losses[-1]:.4f}, Pearson on what chooses {said}{best}"
        )


def _learning_rate_factor(warm_up: float, steps: int, step: int) -> float:
    """The share of the learning rate at a step: up along a line, down along a cosine."""
    warm = round(warm_up * steps)
    if step < warm:
        return (step + 1) / (warm + 1)
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warm) / max(1, steps - warm))))
