"""Training with `transformers.Trainer`: weighted examples, checkpoints after every epoch, the best epoch.

This module imports torch, transformers and accelerate: import it where training begins.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from accelerate.utils import broadcast_object_list
from safetensors.torch import load_file, save_file
from transformers import EarlyStoppingCallback, PrinterCallback, Trainer, TrainerState, TrainingArguments
from transformers.trainer_pt_utils import get_length_grouped_indices

from benchbuilder.core import ServiceError, read_given_text, sync_tree, write_atomically
from benchbuilder.evaluation.judges.neural.inputs import TokenRow
from benchbuilder.evaluation.judges.neural.learner import EncodedExamples, Learner, score_rows
from benchbuilder.evaluation.judges.neural.libraries import ignore_future_warnings, name_folder_in_write_errors
from benchbuilder.evaluation.judges.neural.spec import LearningSpec
from benchbuilder.evaluation.stats.agreement import check_constant_predictor, pearson

CONSTANT_PENALTY = 3.0
"""Subtracted from the correlation of nearly constant scores (-1 to 1), so that any other epoch ranks higher."""
_KEY, _STATE, _WEIGHTS, _WHOLE = "training.key", "trainer_state.json", "model.safetensors", "whole"


@dataclass(frozen=True)
class TrainingResult:
    """The outcome of a training.

    `losses` and `pearsons` have one entry per epoch: the mean loss of its steps, and the correlation on the examples
    that choose the epoch (`None` if undefined; no entries if nothing chooses). The network has the weights of
    `best_epoch` (from 1). `tokens` is how many tokens it has read in training, without padding.
    """

    losses: list[float]
    pearsons: list[float | None]
    best_epoch: int
    steps: int
    tokens: int


def train_network(
    learner: Learner, spec: LearningSpec, examples: EncodedExamples, choosing: EncodedExamples, folder: Path,
    *, key: str, seed: int, note: Callable[[str], None], stop: int | None = None,
) -> TrainingResult:  # fmt: skip
    """Train the network of `learner`, or resume where a training with the same `key` was interrupted.

    Afterwards the network has the weights of the best epoch, or of the last one if nothing chooses.

    Args:
        choosing: The examples that choose the epoch; the network does not learn from them. May be empty.
        folder: Takes the checkpoints. The caller removes it when the network is stored.
        key: The digest of this training (`training_key`).
        seed: Orders the examples, and draws what `Learner.training_target` draws.
        note: Takes a line per epoch.
        stop: Training ends after so many epochs, while the learning rate falls as if all epochs followed.

    Raises:
        ServiceError: If the loss is no longer a number.
    """
    trainer = _Trainer(learner, spec, examples, choosing, folder, epochs=stop or spec.epochs, seed=seed, note=note)
    checkpoint = trainer.last_checkpoint(key)
    if checkpoint is not None:
        state = TrainerState.load_from_json(str(checkpoint / _STATE))
        note(f"resumed after epoch {round(state.epoch or 0)} of {stop or spec.epochs}")
        stored: Any = state.stateful_callbacks
        stopping = stored.get(EarlyStoppingCallback.__name__)
        if stopping and stopping["attributes"]["early_stopping_patience_counter"] >= spec.patience:
            trainer.args.num_train_epochs = round(state.epoch or 0)  # it had ended early: nothing is left to do
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    state = trainer.state
    losses = [float(entry["loss"]) for entry in state.log_history if "loss" in entry]
    pearsons = [float(entry["eval_pearson"]) for entry in state.log_history if "eval_pearson" in entry]
    best = state.best_global_step if pearsons and state.best_global_step else state.global_step
    if best != state.global_step:
        learner.model.load_state_dict(load_file(folder / f"checkpoint-{best}" / _WEIGHTS), strict=False)
    learner.model.eval()
    return TrainingResult(
        losses, [None if math.isnan(value) else value for value in pearsons], best * len(losses) // state.global_step,
        state.global_step, sum(len(row.ids) for row in examples.rows) * len(losses),
    )  # fmt: skip


class _Samples:
    """The examples of an epoch in order, those of a step about equally long. It is dataset and sampler in one.

    The order depends on seed and epoch alone. An epoch ends with examples of no weight (index -1), as many as give
    every device the same number of batches.
    """

    def __init__(self, learner: Learner, examples: EncodedExamples, seed: int, *, step: int, together: int) -> None:
        self._learner, self._examples, self._seed, self._step = learner, examples, seed, step
        self._length = -(-len(examples.rows) // together) * together
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch (from 0)."""
        self._epoch = epoch

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[int]:
        lengths = [len(row.ids) for row in self._examples.rows]
        generator = torch.Generator().manual_seed(Random(f"{self._seed}:{self._epoch}").getrandbits(63))
        order: list[int] = get_length_grouped_indices(lengths, self._step, generator=generator)
        yield from [*order, *[-1] * (self._length - len(order))]

    def __getitem__(self, index: int) -> tuple[TokenRow, float, float]:
        chance = Random(f"{self._seed}:{self._epoch}:{index}")
        goal = self._learner.training_target(self._examples.targets[index], chance)
        return self._examples.rows[index], goal, self._examples.weights[index] if index >= 0 else 0.0


def _batch(samples: Sequence[tuple[TokenRow, float, float]]) -> dict[str, Any]:
    rows, goals, weights = zip(*samples, strict=True)
    return {"rows": list(rows), "goals": list(goals), "weights": torch.tensor(weights)}


class _Arguments(TrainingArguments):
    """One device per process, also where several GPUs are visible (Trainer would use `nn.DataParallel`)."""

    @property
    def device(self) -> torch.device:
        _ = self._setup_devices
        return self.distributed_state.device  # pyright: ignore[reportOptionalMemberAccess, reportReturnType]

    @property
    def n_gpu(self) -> int:
        return min(1, super().n_gpu)


def _arguments(learner: Learner, spec: LearningSpec, folder: Path, *, chooses: bool, epochs: int, seed: int) -> Any:
    """The settings in Trainer's terms. Nothing is reported to any service."""
    device, processes = learner.place.device, int(os.environ.get("WORLD_SIZE", "1"))
    fitting = [size for size in range(1, spec.device_batch_size + 1) if spec.batch_size % (size * processes) == 0]
    checkpointing = spec.gradient_checkpointing and getattr(learner.model, "supports_gradient_checkpointing", False)
    if processes == 1:
        os.environ["ACCELERATE_TORCH_DEVICE"] = str(device)
    try:
        with ignore_future_warnings():
            return _Arguments(
                output_dir=str(folder), num_train_epochs=epochs, seed=seed % 2**32, use_cpu=device.type == "cpu",
                per_device_train_batch_size=fitting[-1],
                gradient_accumulation_steps=spec.batch_size // (fitting[-1] * processes),
                gradient_checkpointing=checkpointing, gradient_checkpointing_kwargs={"use_reentrant": False},
                learning_rate=spec.learning_rate, lr_scheduler_type="cosine", warmup_steps=spec.warm_up,
                weight_decay=spec.weight_decay, max_grad_norm=spec.max_grad_norm,
                optim="adamw_torch_fused" if device.type == "cuda" else "adamw_torch",
                eval_strategy="epoch" if chooses else "no", metric_for_best_model="rank", greater_is_better=True,
                save_strategy="epoch", save_total_limit=2, restore_callback_states_from_checkpoint=True,
                logging_strategy="epoch", logging_nan_inf_filter=False, log_level="error", log_level_replica="error",
                report_to=[], disable_tqdm=True, remove_unused_columns=False, dataloader_pin_memory=False,
            )  # fmt: skip
    finally:
        os.environ.pop("ACCELERATE_TORCH_DEVICE", None)


class _Trainer(Trainer):
    """Trainer with our inputs, losses and scores. The learner casts to bfloat16 itself, so that scoring stays free."""

    def __init__(
        self, learner: Learner, spec: LearningSpec, examples: EncodedExamples, choosing: EncodedExamples, folder: Path,
        *, epochs: int, seed: int, note: Callable[[str], None],
    ) -> None:  # fmt: skip
        args = _arguments(learner, spec, folder, chooses=bool(choosing.rows), epochs=epochs, seed=seed)
        self._learner, self._spec, self._choosing, self._note = learner, spec, choosing, note
        together = args.per_device_train_batch_size * args.world_size
        samples: Any = _Samples(learner, examples, seed, step=spec.batch_size, together=together)
        stopping = [EarlyStoppingCallback(spec.patience)] if choosing.rows and spec.patience is not None else []
        super().__init__(
            model=learner.model, args=args, data_collator=_batch, train_dataset=samples, eval_dataset=samples,
            callbacks=[*stopping],
        )  # fmt: skip
        self.remove_callback(PrinterCallback)
        self.model_accepts_loss_kwargs = True  # `compute_loss` divides by the weight of the whole step

    def last_checkpoint(self, key: str) -> Path | None:
        """The last complete checkpoint of a training with this `key`. Checkpoints of another one are removed."""
        folder, latest = Path(str(self.args.output_dir)), [""]
        if self.is_world_process_zero():
            file = folder / _KEY
            if not self._spec.resume or not file.is_file() or read_given_text(file) != key:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                file.write_text(key, encoding="utf-8", newline="\n")
            complete = [mark.parent for mark in folder.glob(f"checkpoint-*/{_WHOLE}")]
            latest = [str(max(complete, key=lambda path: int(path.name.partition("-")[2]), default=""))]
        broadcast_object_list(latest)
        return Path(latest[0]) if latest[0] else None

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        return train_dataset or self.train_dataset

    def get_batch_samples(self, epoch_iterator: Any, num_batches: int, device: Any) -> tuple[list[Any], Any]:
        """The batches of a step, and their weight over all devices."""
        batches, _ = super().get_batch_samples(epoch_iterator, num_batches, device)
        weight: Any = self.accelerator.gather(sum(batch["weights"].sum() for batch in batches))
        return batches, weight.sum()

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None,  # noqa: ARG002
    ) -> Any:  # fmt: skip
        """The contribution of a batch to the mean loss of its step, times the devices, over which torch averages."""
        losses = self._learner.losses(model, inputs["rows"], inputs["goals"])
        return (losses * inputs["weights"]).sum() / num_items_in_batch * self.args.world_size

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """A learning rate that falls over all epochs of the settings, even if fewer are trained."""
        steps = num_training_steps // int(self.args.num_train_epochs) * self._spec.epochs
        return super().create_scheduler(steps, optimizer)

    def _save_checkpoint(self, *args: Any, **options: Any) -> None:
        """Write a checkpoint; its last file is a mark that all others are on disk."""
        folder = Path(str(self.args.output_dir))
        with name_folder_in_write_errors(folder):
            super()._save_checkpoint(*args, **options)
            if self.is_world_process_zero():
                sync_tree(newest := folder / f"checkpoint-{self.state.global_step}")
                write_atomically(newest / _WHOLE, "")

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Write the parameters that training changes, and nothing else."""
        if self.args.should_save and output_dir is not None:
            Path(output_dir).mkdir(parents=True, exist_ok=True)
            learned = self._learner.trainable_parameters().items()
            save_file({name: value.detach().cpu().contiguous() for name, value in learned}, Path(output_dir, _WEIGHTS))

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Keep the loss of an epoch; ServiceError if it is not a number."""
        super().log(logs, start_time)
        if not math.isfinite(logs.get("loss", 0.0)):
            raise ServiceError(
                f"the training broke off in epoch {round(self.state.epoch or 0)}",
                why="the loss is no longer a number",
                next="set a lower learning_rate, a longer warm_up, or dtype: float32",
            )
        if "loss" in logs and not self._choosing.rows:
            self._note_epoch("")

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:  # noqa: ARG002
        """Score the examples that choose the epoch, on one device."""
        metrics = [self._metrics() if self.is_world_process_zero() else dict[str, float]()]
        broadcast_object_list(metrics)
        self.log(metrics[0])
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics[0])
        return metrics[0]

    def _metrics(self) -> dict[str, float]:
        predicted = score_rows(self._learner, self._choosing.rows, self._spec.device_batch_size)
        correlation = pearson(predicted, self._choosing.targets)
        constant = check_constant_predictor(predicted, self._choosing.targets) is not None
        rank = (-1.0 if math.isnan(correlation) else correlation) - CONSTANT_PENALTY * constant
        best = self.state.best_metric is not None and rank > self.state.best_metric
        self._note_epoch(
            f", Pearson on the choosing examples {'undefined' if math.isnan(correlation) else f'{correlation:.3f}'}"
            f"{' (all scores nearly equal)' if constant else ''}{', the best so far' if best else ''}"
        )
        return {"eval_pearson": correlation, "eval_rank": rank}

    def _note_epoch(self, more: str) -> None:
        loss, epochs = self.state.log_history[-1]["loss"], int(self.args.num_train_epochs)
        self._note(f"epoch {round(self.state.epoch or 0)} of {epochs}: loss {loss:.4f}{more}")
