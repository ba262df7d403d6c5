"""Settings of training a neural network: the model to start from, its training, its adapters."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from benchbuilder.config import FileRef, RuntimeOption, Spec
from benchbuilder.evaluation.judges.base import JudgeSpec

HUB_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)?$"
Positive = Annotated[int, Field(ge=1)]


class LearningSpec(Spec):
    """A model to start from, on the hub (`name`, `revision`) or in a folder (`path`), and its training.

    The learning rate rises to `learning_rate` over the proportion `warm_up` of the steps, and falls to 0 along a
    cosine by the end of `epochs`. Each step learns from `batch_size` examples, however many fit on the device at once.
    """

    name: Annotated[str | None, Field(pattern=HUB_NAME)] = None
    """A model on the hub (``ORGANISATION/MODEL``), downloaded when it is first needed. Or `path`."""
    revision: str | None = None
    """A commit of the model on the hub. Without one, it is the version on the day of training."""
    path: FileRef | None = None
    """A folder with config.json, tokenizer and weights as safetensors. Or `name`."""
    max_length: Positive | None
    """Tokens that question, paragraphs and answer may have together; ``null``: as many as the model takes."""
    epochs: Positive
    batch_size: Positive
    learning_rate: Annotated[float, Field(gt=0)]
    warm_up: Annotated[float, Field(ge=0, lt=1)]
    weight_decay: Annotated[float, Field(ge=0)]
    max_grad_norm: Annotated[float, Field(gt=0)]
    patience: Positive | None
    """If examples choose the epoch: training ends after so many epochs without a better one; ``null``: never."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """The type to compute in; ``auto``: bfloat16 on a GPU that has it, else float32."""
    device: Annotated[str, RuntimeOption()] = "auto"
    """``cuda``, ``cuda:1``, ``cpu``; ``auto`` is ``cuda`` if there is one, else ``cpu``."""
    device_batch_size: Annotated[Positive, RuntimeOption()] = 8
    """The most examples on the device at once. Gradients accumulate until a step has its `batch_size`."""
    gradient_checkpointing: Annotated[bool, RuntimeOption()] = False
    """Compute parts of the network twice instead of storing them: less memory, about a third more time."""
    resume: Annotated[bool, RuntimeOption()] = True
    """Whether an interrupted training resumes after its last complete epoch; else it starts again."""

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        if (self.name is None) == (self.path is None):
            raise ValueError("set one of `name` (ORGANISATION/MODEL on the hub) and `path` (a folder with a model)")
        if self.path is not None and self.revision is not None:
            raise ValueError("`revision` belongs to `name`; a folder has no revisions")
        return self


class NeuralSpec(JudgeSpec, LearningSpec):
    """The training of a judge."""

    choose: Literal["best", "last"]
    """Which epoch's weights are kept: ``best``, by Pearson on a part of the training side, or ``last``.

    Held-out answers choose nothing. The final training, on everything, ends after as many epochs.
    """
    choose_share: Annotated[float, Field(gt=0, lt=0.5)]
    """With ``best``: the proportion of the rated examples, by whole families, that chooses and is not learned from."""
    devices: Annotated[Positive, RuntimeOption()] = 1
    """How many GPUs train together, with one process each (with ``cpu``: how many processes). One device scores."""

    @model_validator(mode="after")
    def _equal_parts(self) -> Self:
        if self.batch_size % self.devices:
            raise ValueError("`batch_size` must be a multiple of `devices`")
        return self


class AdapterSpec(Spec):
    """Low-rank adapters (LoRA), as `DecoderSpec` explains them. Nothing else is trained."""

    rank: Positive
    alpha: Positive
    dropout: Annotated[float, Field(ge=0, lt=1)]
    rank_stabilised: bool
    targets: Literal["all-linear"] | tuple[str, ...] = "all-linear"
