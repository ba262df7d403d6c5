"""The common part of neural judges: loading, training, storing and scoring."""

from __future__ import annotations

import gc
import os
import sys
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from benchbuilder.core import DataError, ServiceError, end_with_parent, require_extra
from benchbuilder.evaluation.judges.base import Case, Example, TrainedJudge, library_versions
from benchbuilder.evaluation.judges.neural import judge_folder
from benchbuilder.evaluation.judges.neural.base_model import BaseModelSource, resolve_base_model
from benchbuilder.evaluation.judges.neural.inputs import TokenRow
from benchbuilder.evaluation.judges.neural.learner import EncodedExamples, Learner, score_rows, split_off_choosing
from benchbuilder.evaluation.judges.neural.libraries import TRAINER, ComputePlace, computing
from benchbuilder.evaluation.judges.neural.spec import NeuralSpec
from benchbuilder.evaluation.stats.agreement import check_constant_predictor

if TYPE_CHECKING:
    from benchbuilder.evaluation.judges.base import TrainedJudge


CHECK_SAMPLE_SIZE = 256
"""Training examples that are scored to detect a constant predictor, if no examples choose the epoch."""
_SHORTENED = {
    "evidence": "lost paragraphs or parts of them",
    "question": "lost all paragraphs and the beginning of the question",
    "answer": "have an answer that is too long by itself: only its beginning and its end remain",
}


class NeuralJudge(TrainedJudge):
    """A network that learns from examples, is kept as safetensors, and scores a case alike alone and in a batch.

    `shortened` counts the cases scored so far by the part that was cut: ``evidence``, ``question``, ``answer``.
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
        """Check that all libraries are installed; InstallationError names those that are missing."""
        require_extra("judge-hf", f"the judge kind {self.kind!r}", (*self.libraries, TRAINER))

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of the libraries that score."""
        return library_versions(self.libraries)

    @abstractmethod
    def untrained_learner(self, base: BaseModelSource, place: ComputePlace) -> Learner:
        """The model to start from, ready to be trained; ServiceError if it cannot be loaded."""

    @abstractmethod
    def trained_learner(
        self, folder: Path, base: BaseModelSource, place: ComputePlace, facts: Mapping[str, Any]
    ) -> Learner:
        """The trained network in `folder`. `facts` includes the `learner_facts` of its training."""

    def learner_facts(self, learner: Learner) -> Mapping[str, Any]:  # noqa: ARG002
        """What `trained_learner` needs to know about this kind of network."""
        return {}

    def open(self, folder: Path | None) -> None:
        """Load the trained network; DataError if there is none, and ServiceError if it cannot be loaded."""
        facts = judge_folder.read_facts(folder, self.kind)
        assert folder is not None
        with computing("load the judge", self.spec.device, self.spec.dtype) as place:
            base = resolve_base_model(self.spec, facts["base"])
            self._learner = self.trained_learner(folder / judge_folder.NETWORK, base, place, facts)

    def score(self, cases: Sequence[Case]) -> list[float]:
        """A score from 0 to 1 for each case, in order."""
        learner = self._learner
        if learner is None:
            raise DataError(
                f"a judge of the kind '{self.kind}' scores nothing before it is opened", next="open it on its folder"
            )
        with computing("score", self.spec.device, self.spec.dtype):
            rows = self._rows(learner, cases)
            self.shortened.update(row.truncation for row in rows if row.truncation)
            return score_rows(learner, rows, self.spec.device_batch_size)

    def train(
        self, examples: Sequence[Example], held_out: Sequence[Example], folder: Path, seed: int,
        note: Callable[[str], None],
    ) -> Mapping[str, Any]:  # fmt: skip
        """Train, store the network in `folder`, and be open.

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
            return judge_folder.read_facts(folder, self.kind)
        gc.collect()  # former judges may still hold memory of the device
        base = resolve_base_model(self.spec)
        base.require_folder()
        sides = self._split_examples([example for example in examples if example.weight > 0], seed)
        with computing("train", self.spec.device, self.spec.dtype, seed) as place:
            learner = self.untrained_learner(base, place)
            learned, choosing = (self._encoded(learner, side) for side in sides)
            learner.centre = learned.mean()
            context = {
                "base": base.identity(learner.model.config), "seed": seed, "epoch_limit": self._epochs,
                "versions": library_versions((*self.libraries, TRAINER)), **self.learner_facts(learner),
            }  # fmt: skip
            key = judge_folder.training_key(self.spec, learned, choosing, context)
            facts = judge_folder.finished_facts(folder, key) if self.spec.resume else None
            if facts is None:
                fitted = self._fit(learner, learned, choosing, folder / judge_folder.CHECKPOINTS, key, seed, note)
                facts = {"kind": self.kind, "training": key, **context, **fitted}
                if is_main():
                    judge_folder.write_judge_folder(folder, facts, learner.save)
                self._learner = learner
        if self._learner is None:
            note("trained before: an interrupted command had got this far")
            self.open(folder)
        return facts

    def _fit(
        self, learner: Learner, learned: EncodedExamples, choosing: EncodedExamples, checkpoints: Path, key: str,
        seed: int, note: Callable[[str], None],
    ) -> dict[str, Any]:  # fmt: skip
        """Train the network of `learner`, and return facts about the training."""
        from benchbuilder.evaluation.judges.neural.training import train_network

        place, limit = learner.place, learner.max_length
        trained = sum(value.numel() for value in learner.trainable_parameters().values())
        parameters = sum(value.numel() for value in learner.model.parameters())
        computed_in = str(place.dtype).removeprefix("torch.")
        note(
            f"{trained:,} of {parameters:,} parameters learn, on {place.device} in {computed_in}, from at most {limit} "
            "tokens per example"
        )
        shortened = Counter(row.truncation for row in learned.rows if row.truncation)
        for part, effect in _SHORTENED.items():
            if part in shortened:
                note(f"{shortened[part]} of {len(learned.rows)} examples have more than {limit} tokens and {effect}")
        result = train_network(
            learner, self.spec, learned, choosing, checkpoints, key=key, seed=seed, note=note, stop=self._epochs
        )
        checked = choosing if choosing.rows else learned.every(max(1, len(learned.rows) // CHECK_SAMPLE_SIZE))
        warning = check_constant_predictor(
            score_rows(learner, checked.rows, self.spec.device_batch_size), checked.targets
        )
        if warning is not None:
            note(f"WARNING: {warning.why}; try a lower learning_rate, a longer warm_up, or more epochs")
        return {
            "trained": trained, "parameters": parameters, "max_length": limit, "steps": result.steps,
            "computed_in": f"{computed_in} on {place.device.type}", "epochs": len(result.losses),
            "epoch_kept": result.best_epoch, "epoch_chosen_by": self._chosen_by(choosing), "losses": result.losses,
            "choosing_pearson": result.pearsons, "tokens_learned": result.tokens, "shortened": dict(shortened),
            "constant_predictor": warning.why if warning is not None else None,
        }  # fmt: skip

    def apply_choices(self, facts: Mapping[str, Any]) -> None:
        """Train as many epochs as the other training found best, on all examples. None of them chooses."""
        self._epochs = int(facts["epoch_kept"])

    def _split_examples(self, examples: Sequence[Example], seed: int) -> tuple[list[Example], list[Example]]:
        if self.spec.choose == "last" or self._epochs is not None:
            return list(examples), []
        return split_off_choosing(examples, self.spec.choose_share, seed)

    def _chosen_by(self, choosing: EncodedExamples) -> str:
        if choosing.rows:
            return f"pearson on {len(choosing.rows)} examples of the training side"
        applied = self.spec.choose == "best" and self._epochs is not None
        return "the training on the training side" if applied else "the last one"

    def _rows(self, learner: Learner, cases: Sequence[Case]) -> list[TokenRow]:
        return [learner.row(case if self.spec.evidence else case.without_evidence()) for case in cases]

    def _encoded(self, learner: Learner, examples: Sequence[Example]) -> EncodedExamples:
        rows = self._rows(learner, [example.case for example in examples])
        targets, weights = [example.target for example in examples], [example.weight for example in examples]
        return EncodedExamples(rows, targets, weights)


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
