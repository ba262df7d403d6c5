"""Training with `transformers.Trainer`: weighted examples, checkpoints after every epoch, the best epoch.

Importing this module imports torch, transformers and accelerate; import it where training begins.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, cast

import torch
from accelerate.utils import broadcast_object_list
from safetensors.torch import load_file, save_file
from transformers import EarlyStoppingCallback, PrinterCallback, Trainer, TrainerState, TrainingArguments
from transformers.trainer_pt_utils import get_length_grouped_indices

from benchbuilder.core import ServiceError, check_constant_predictor, pearson
from benchbuilder.evaluation.judges.neural.inputs import TokenRow
from benchbuilder.evaluation.judges.neural.learner import EncodedExamples, Learner, score_rows
from benchbuilder.evaluation.judges.neural.spec import LearningSpec

CONSTANT = 3.0
"""Taken off the correlation of nearly constant scores (-1 to 1), so that any other epoch ranks before them."""
_KEY, _STATE, _WEIGHTS = "training.json", "trainer_state.json", "model.safetensors"


@dataclass(frozen=True)
class TrainingResult:
    """The outcome of a training.

    `losses` and `pearsons` have one entry per epoch: the mean loss of its steps, and the correlation on the examples
    that choose the epoch (`None` if it is undefined; no entries if nothing chooses). `best_epoch` is the epoch, from 1,
    whose weights the network has. `tokens` counts what the network has read in training, without padding.
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

    Args:
        learner: The network; afterwards it has the weights of the best epoch, or of the last one.
        spec: The settings.
        examples: The examples to learn from.
        choosing: The examples that choose the epoch. They are not learned from. Without any, the last epoch is kept.
        folder: Takes the checkpoints. The caller removes it when the network is stored.
        key: The digest of this training (`training_key`).
        seed: Orders the examples and draws what `Learner.training_target` draws.
        note: Takes a line per epoch.
        stop: Ends training after so many epochs, while the learning rate falls as if all epochs followed.

    Raises:
        ServiceError: If the loss is no longer a number.
    """
    epochs = stop or spec.epochs
    trainer = _Trainer(learner, spec, examples, choosing, folder, epochs=epochs, seed=seed, note=note)
    checkpoint = _resumable(trainer, folder, key, resume=spec.resume)
    if checkpoint is not None:
        state = TrainerState.load_from_json(str(checkpoint / _STATE))
        note(f"resumed after epoch {round(state.epoch or 0)} of {epochs}")
        if spec.patience is not None and choosing.rows and _waited(state) >= spec.patience:
            trainer.args.num_train_epochs = round(state.epoch or 0)  # it had ended early: nothing is left to do
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    return _fitted(trainer, learner, examples, folder)


def _resumable(trainer: _Trainer, folder: Path, key: str, *, resume: bool) -> Path | None:
    """The last complete checkpoint of a training with this `key`; checkpoints of another one are removed."""
    found = [""]
    if trainer.is_world_process_zero():
        file = folder / _KEY
        if not resume or not file.is_file() or file.read_text(encoding="utf-8") != key:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            file.write_text(key, encoding="utf-8")
        whole = [state.parent for state in folder.glob(f"checkpoint-*/{_STATE}")]  # the state is written last
        found = [str(max(whole, key=_step, default=""))]
    broadcast_object_list(found)
    return Path(found[0]) if found[0] else None


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.partition("-")[2])


def _waited(state: TrainerState) -> int:
    """For how many epochs the training had waited for a better one."""
    stored: Any = state.stateful_callbacks or {}
    return int(stored[EarlyStoppingCallback.__name__]["attributes"]["early_stopping_patience_counter"])


def _fitted(trainer: _Trainer, learner: Learner, examples: EncodedExamples, folder: Path) -> TrainingResult:
    state: TrainerState = trainer.state
    losses = [float(entry["loss"]) for entry in state.log_history if "loss" in entry]
    found = [float(entry["eval_pearson"]) for entry in state.log_history if "eval_pearson" in entry]
    kept = len(losses)
    if found:
        best = int(state.best_global_step or 0)
        kept = best * len(losses) // state.global_step
        weights = load_file(folder / f"checkpoint-{best}" / _WEIGHTS)
        with torch.no_grad():
            for name, parameter in learner.trainable_parameters().items():
                parameter.copy_(weights[name])
    learner.model.eval()
    pearsons = [None if math.isnan(value) else value for value in found]
    tokens = sum(len(row.ids) for row in examples.rows) * len(losses)
    return TrainingResult(losses, pearsons, kept, state.global_step, tokens)


class _Samples:
    """The examples in the order of an epoch, those of a step about equally long; dataset and sampler in one.

    The order depends on seed and epoch alone. At the end of an epoch it is filled up with examples without weight
    (index -1), so that every device has as many batches as the others.
    """

    def __init__(self, learner: Learner, examples: EncodedExamples, seed: int, *, step: int, together: int) -> None:
        self._learner, self._examples, self._seed, self._step = learner, examples, seed, step
        self._length = -(-len(examples.rows) // together) * together
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Trainer calls this before each epoch."""
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


def _together(samples: Sequence[tuple[TokenRow, float, float]]) -> dict[str, Any]:
    rows, goals, weights = zip(*samples, strict=True)
    return {"rows": list(rows), "goals": list(goals), "weights": torch.tensor(weights)}


class _Arguments(TrainingArguments):
    """One device per process: several visible GPUs are not used by one process (`nn.DataParallel`)."""

    @property
    def device(self) -> torch.device:
        _ = self._setup_devices
        return self.distributed_state.device  # pyright: ignore[reportOptionalMemberAccess, reportReturnType]

    @property
    def n_gpu(self) -> int:
        return min(1, super().n_gpu)


def _arguments(learner: Learner, spec: LearningSpec, folder: Path, *, choosing: bool, epochs: int, seed: int) -> Any:
    """The settings in Trainer's words; nothing is reported to anybody."""
    device, processes = learner.place.device, int(os.environ.get("WORLD_SIZE", "1"))
    fitting = [size for size in range(1, spec.device_batch_size + 1) if spec.batch_size % (size * processes) == 0]
    if processes == 1:
        os.environ["ACCELERATE_TORCH_DEVICE"] = str(device)
    try:
        return _Arguments(
            output_dir=str(folder), num_train_epochs=epochs, seed=seed % 2**32, use_cpu=device.type == "cpu",
            per_device_train_batch_size=fitting[-1],
            gradient_accumulation_steps=spec.batch_size // (fitting[-1] * processes),
            learning_rate=spec.learning_rate, lr_scheduler_type="cosine", warmup_steps=spec.warm_up,
            weight_decay=spec.weight_decay, max_grad_norm=spec.max_grad_norm,
            optim="adamw_torch_fused" if device.type == "cuda" else "adamw_torch",
            eval_strategy="epoch" if choosing else "no", metric_for_best_model="rank", greater_is_better=True,
            save_strategy="epoch", save_total_limit=2, restore_callback_states_from_checkpoint=True,
            logging_strategy="epoch", logging_nan_inf_filter=False, log_level="error", log_level_replica="error",
            report_to=[], disable_tqdm=True,
            remove_unused_columns=False, dataloader_pin_memory=False,
        )  # fmt: skip
    finally:
        os.environ.pop("ACCELERATE_TORCH_DEVICE", None)


class _Trainer(Trainer):
    """Trainer with our inputs, losses and scores. Autocast is the learner's, so that scoring is free of it."""

    def __init__(
        self, learner: Learner, spec: LearningSpec, examples: EncodedExamples, choosing: EncodedExamples, folder: Path,
        *, epochs: int, seed: int, note: Callable[[str], None],
    ) -> None:  # fmt: skip
        args = _arguments(learner, spec, folder, choosing=bool(choosing.rows), epochs=epochs, seed=seed)
        self._learner, self._spec, self._choosing, self._note = learner, spec, choosing, note
        together = args.per_device_train_batch_size * args.world_size
        samples: Any = _Samples(learner, examples, seed, step=spec.batch_size, together=together)
        self._samples, rows = samples, cast(Any, choosing.rows)
        stopping = [EarlyStoppingCallback(spec.patience)] if choosing.rows and spec.patience is not None else []
        super().__init__(
            model=learner.model, args=args, data_collator=_together, callbacks=[*stopping],
            train_dataset=samples, eval_dataset=rows,
        )  # fmt: skip
        self.remove_callback(PrinterCallback)
        self.model_accepts_loss_kwargs = True  # the loss is divided by the weight of the whole step, see below

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:  # noqa: ARG002
        return self._samples

    def get_batch_samples(self, epoch_iterator: Any, num_batches: int, device: Any) -> tuple[list[Any], Any]:
        """The batches of a step and their weight, over all devices."""
        batches, _ = super().get_batch_samples(epoch_iterator, num_batches, device)
        weight: Any = self.accelerator.gather(sum(batch["weights"].sum() for batch in batches))
        return batches, weight.sum()

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None,  # noqa: ARG002
    ) -> Any:  # fmt: skip
        """The part of a step's mean loss that a batch contributes; devices average, so it counts once for each."""
        losses = self._learner.losses(model, inputs["rows"], inputs["goals"])
        return (losses * inputs["weights"]).sum() / num_items_in_batch * self.args.world_size

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """The learning rate falls over all epochs of the settings, also if fewer are trained."""
        steps = num_training_steps // int(self.args.num_train_epochs) * self._spec.epochs
        return super().create_scheduler(steps, optimizer)

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Write the parameters that training changes, and nothing else."""
        if self.args.should_save and output_dir is not None:
            folder = Path(output_dir)
            folder.mkdir(parents=True, exist_ok=True)
            learned = self._learner.trainable_parameters().items()
            save_file({name: one.detach().cpu().contiguous() for name, one in learned}, folder / _WEIGHTS)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Keep and note the loss of an epoch; ServiceError if it is no number."""
        super().log(logs, start_time)
        if "loss" not in logs:
            return
        epoch = round(self.state.epoch or 0)
        if not math.isfinite(logs["loss"]):
            raise ServiceError(
                f"the training broke off in epoch {epoch}", why="the loss is no longer a number",
                next="set a lower learning_rate, a longer warm_up, or dtype: float32",
            )  # fmt: skip
        if not self._choosing.rows:
            self._note(f"epoch {epoch} of {self.args.num_train_epochs}: loss {logs['loss']:.4f}")

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:  # noqa: ARG002
        """Score the examples that choose the epoch, on one device."""
        found: list[dict[str, float]] = [{}]
        if self.is_world_process_zero():
            found = [self._ranked()]
        broadcast_object_list(found)
        self.log(found[0])
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, found[0])
        return found[0]

    def _ranked(self) -> dict[str, float]:
        predicted = score_rows(self._learner, self._choosing.rows, self._spec.device_batch_size)
        correlation = pearson(predicted, self._choosing.targets)
        constant = check_constant_predictor(predicted, self._choosing.targets) is not None
        rank = (-1.0 if math.isnan(correlation) else correlation) - CONSTANT * constant
        epoch, loss = round(self.state.epoch or 0), self.state.log_history[-1]["loss"]
        best = epoch > 1 and rank > (self.state.best_metric or -math.inf)
        self._note(
            f"epoch {epoch} of {self.args.num_train_epochs}: loss {loss:.4f}, Pearson on the choosing examples "
            f"{'undefined' if math.isnan(correlation) else f'{correlation:.3f}'}"
            f"{' (all scores nearly equal)' if constant else ''}{', the best so far' if best else ''}"
        )
        return {"eval_pearson": correlation, "eval_rank": rank}
