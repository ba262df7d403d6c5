"""What neural judges have in common: loading, training, keeping and scoring."""

from __future__ import annotations

import gc
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchbuilder.core import DataError, check_constant_predictor
from benchbuilder.evaluation.judges.base import Case, Example, TrainedJudge
from benchbuilder.evaluation.judges.neural import checkpoint
from benchbuilder.evaluation.judges.neural.base_model import BaseModelSource, resolve_base_model
from benchbuilder.evaluation.judges.neural.early_stopping import split_off_choosing
from benchbuilder.evaluation.judges.neural.inputs import TokenRow
from benchbuilder.evaluation.judges.neural.learner import ComputePlace, EncodedExamples, Learner, score_rows
from benchbuilder.evaluation.judges.neural.libraries import (
    TRAINER,
    deterministic,
    explain_out_of_memory,
    ignore_future_warnings,
    library_versions,
    require_libraries,
    resolve_device,
    resolve_dtype,
    silence_transformers,
    torch_and_transformers,
)
from benchbuilder.evaluation.judges.neural.processes import is_main, launched, train_together
from benchbuilder.evaluation.judges.neural.spec import NeuralSpec

CHECK_SAMPLE_SIZE = 256
"""Training examples that are scored for the constant predictor check if nothing chooses the epoch."""


class NeuralJudge(TrainedJudge):
    """A network that is trained on examples, kept as safetensors, and scores a case the same in whatever company.

    `shortened` counts the cases scored so far by what had to be shortened: ``evidence``, ``question``, ``answer``.
    """

    resumes: ClassVar[bool] = True
    libraries: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    spec: NeuralSpec

    def __init__(self, spec: NeuralSpec) -> None:
        super().__init__(spec)
        self.shortened: Counter[str] = Counter()
        self._learner: Learner | None = None
        self._epochs: int | None = None

    def ready(self) -> None:
        """InstallationError without torch, transformers and what else the kind needs."""
        require_libraries((*self.libraries, TRAINER), self.kind)

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of the libraries."""
        return library_versions(self.libraries)

    @abstractmethod
    def untrained_learner(self, base: BaseModelSource, place: ComputePlace) -> Learner:
        """The model to start from, ready to be trained; ServiceError if it cannot be had."""

    @abstractmethod
    def trained_learner(
        self, folder: Path, base: BaseModelSource, place: ComputePlace, facts: Mapping[str, Any]
    ) -> Learner:
        """The trained network in `folder`; `facts` is what `learner_facts` said when it was trained, and more."""

    def learner_facts(self, learner: Learner) -> Mapping[str, Any]:  # noqa: ARG002
        """What `trained_learner` needs to know besides what every network has."""
        return {}

    def open(self, folder: Path | None) -> None:
        """Load the trained network; DataError if there is none, ServiceError if it cannot be loaded."""
        facts = checkpoint.read_checkpoint(folder, self.kind)
        assert folder is not None
        torch, transformers = torch_and_transformers()
        with silence_transformers(transformers), explain_out_of_memory(torch, "load the judge"):
            place = self._place(torch)
            self._learner = self.trained_learner(
                folder / checkpoint.NETWORK, resolve_base_model(self.spec, facts["base"]), place, facts
            )

    def score(self, cases: Sequence[Case]) -> list[float]:
        """A score from 0 to 1 for each case, in order."""
        learner = self._learner
        if learner is None:
            raise DataError(
                f"a judge of the kind '{self.kind}' scores nothing before it is opened", next="open it on its folder"
            )
        torch, transformers = torch_and_transformers()
        with (
            silence_transformers(transformers),
            explain_out_of_memory(torch, "score"),
            deterministic(torch, 0, learner.place.device),
        ):
            rows = self._rows(learner, cases)
            self.shortened.update(row.truncation for row in rows if row.truncation)
            return score_rows(learner, rows, self.spec.device_batch_size)

    def train(
        self, examples: Sequence[Example], held_out: Sequence[Example], folder: Path, seed: int,
        note: Callable[[str], None],
    ) -> Mapping[str, Any]:  # fmt: skip
        """Train, keep the network in `folder` and be open.

        If the same training was interrupted there, it resumes after its last complete epoch. If it had ended, its
        judge is opened. With `choose: best` a part of `examples` chooses the epoch, unless another training did
        (`apply_choices`). On the processor the same arguments give the same judge bit for bit, resumed or not. On a
        GPU this holds as far as the libraries are deterministic.
        """
        self._learner = None
        if sum(example.weight for example in examples) <= 0:
            raise DataError("there is nothing to train a judge on", why=f"{len(examples)} examples, of no weight")
        if self.spec.devices > 1 and not launched():
            train_together(self, (examples, held_out, folder, seed), self.spec.devices)
            self.open(folder)
            return checkpoint.read_checkpoint(folder, self.kind)
        torch, transformers = torch_and_transformers()
        place, base = self._place(torch), resolve_base_model(self.spec)
        base.require_folder()
        sides = self._split_examples([example for example in examples if example.weight > 0], seed)
        with (
            silence_transformers(transformers),
            explain_out_of_memory(torch, "train"),
            deterministic(torch, seed, place.device),
        ):
            learner = self.untrained_learner(base, place)
            learned, choosing = (self._examples(learner, side) for side in sides)
            learner.centre = learned.mean()
            context = {
                "base": base.identity(learner.model.config), "seed": seed, "epoch_limit": self._epochs,
                "versions": library_versions((*self.libraries, TRAINER)), **self.learner_facts(learner),
            }  # fmt: skip
            key = checkpoint.training_key(self.spec, learned, choosing, context)
            if self.spec.resume and (facts := checkpoint.finished_facts(folder, key)) is not None:
                note("trained before: an interrupted command had got this far")
                del learner
                self.open(folder)
                return facts
            facts = self._fit(learner, learned, choosing, folder / checkpoint.CHECKPOINTS, key, context, note)
            if is_main():
                checkpoint.write_checkpoint(folder, facts, learner.save)
        self._learner = learner
        return facts

    def _fit(
        self, learner: Learner, learned: EncodedExamples, choosing: EncodedExamples, work: Path, key: str,
        context: Mapping[str, Any], note: Callable[[str], None],
    ) -> dict[str, Any]:  # fmt: skip
        """Train the network of `learner` and return the facts that are kept beside it."""
        from benchbuilder.evaluation.judges.neural.training import train_network

        place, sizes = learner.place, self._size(learner)
        computed_in = _dtype_name(place.dtype)
        note(
            f"{context['base']['name']}: {sizes['trained']:,} of {sizes['parameters']:,} parameters learn, on "
            f"{place.device} in {computed_in}, at most {learner.max_length} tokens"
        )
        shortened = Counter(row.truncation for row in learned.rows if row.truncation)
        _note_shortened(shortened, len(learned.rows), learner.max_length, note)
        if self.spec.gradient_checkpointing:
            _enable_checkpointing(learner.model, note)
        fitted = train_network(
            learner, self.spec, learned, choosing, work, key=key, seed=context["seed"], note=note, stop=self._epochs
        )
        looked_at = choosing if choosing.rows else learned.every(max(1, len(learned.rows) // CHECK_SAMPLE_SIZE))
        warning = check_constant_predictor(
            score_rows(learner, looked_at.rows, self.spec.device_batch_size), looked_at.targets
        )
        if warning is not None:
            note(f"WARNING: {warning.why}; try a lower learning_rate, a longer warm_up, or more epochs")
        return {
            "kind": self.kind, **context, **sizes, "max_length": learner.max_length, "training": key,
            "computed_in": f"{computed_in} on {place.device.type}", "steps": fitted.steps,
            "epochs": len(fitted.losses), "epoch_kept": fitted.best_epoch, "epoch_chosen_by": self._chosen_by(choosing),
            "losses": fitted.losses, "choosing_pearson": fitted.pearsons, "tokens_learned": fitted.tokens,
            "shortened": dict(shortened), "constant_predictor": warning.why if warning is not None else None,
        }  # fmt: skip

    def apply_choices(self, facts: Mapping[str, Any]) -> None:
        """Train as many epochs as the other training found best, on all examples; none is put aside to choose."""
        self._epochs = int(facts["epoch_kept"])

    def _split_examples(self, examples: Sequence[Example], seed: int) -> tuple[list[Example], list[Example]]:
        """What is learned from, and what chooses the epoch."""
        if self.spec.choose == "last" or self._epochs is not None:
            return list(examples), []
        return split_off_choosing(examples, self.spec.choose_share, seed)

    def _chosen_by(self, choosing: EncodedExamples) -> str:
        if choosing.rows:
            return f"pearson on {len(choosing.rows)} examples of the training side"
        settled = self.spec.choose == "best" and self._epochs is not None
        return "the training that is held to account" if settled else "the last one"

    def _place(self, torch: Any) -> ComputePlace:
        device = resolve_device(torch, self.spec.device)
        if device.type == "cuda":  # judges trained before may still hold memory there
            gc.collect()
            torch.cuda.empty_cache()
        return ComputePlace(torch, device, resolve_dtype(torch, self.spec.dtype, device))

    def _rows(self, learner: Learner, cases: Sequence[Case]) -> list[TokenRow]:
        return [learner.row(case if self.spec.evidence else case.without_evidence()) for case in cases]

    def _examples(self, learner: Learner, examples: Sequence[Example]) -> EncodedExamples:
        rows = self._rows(learner, [example.case for example in examples])
        return EncodedExamples(rows, [one.target for one in examples], [one.weight for one in examples])

    def _size(self, learner: Learner) -> dict[str, int]:
        trained = sum(one.numel() for one in learner.trainable_parameters().values())
        return {"trained": trained, "parameters": sum(one.numel() for one in learner.model.parameters())}


def _enable_checkpointing(model: Any, note: Callable[[str], None]) -> None:
    if getattr(model, "supports_gradient_checkpointing", False):
        with ignore_future_warnings():
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    else:
        note("gradient_checkpointing: this model knows none")


def _note_shortened(shortened: Mapping[str, int], rows: int, limit: int, note: Callable[[str], None]) -> None:
    told = {
        "evidence": "lost paragraphs or parts of them",
        "question": "lost all paragraphs and the beginning of the question",
        "answer": "have an answer that is too long by itself: its beginning and end stay, and nothing else",
    }
    for part, words in told.items():
        if shortened.get(part):
            note(f"{shortened[part]} of {rows} examples have more than {limit} tokens and {words}")


def _dtype_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
