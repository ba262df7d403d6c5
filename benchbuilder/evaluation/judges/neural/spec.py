"""What is said of training a neural network: which one it starts from, how it learns, what of it learns."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from benchbuilder.config import FileRef, RuntimeOption, Spec
from benchbuilder.evaluation.judges.base import JudgeSpec

HUB_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)?$"
Positive = Annotated[int, Field(ge=1)]


class LearningSpec(Spec):
    """A model to start from, on the hub (`name`, `revision`) or in a folder (`path`), and its training.

    The learning rate climbs to `learning_rate` over the share `warm_up` of the steps and falls to 0 along a cosine
    by the end of `epochs`. A step sees `batch_size` examples, however many of them fit onto the device at once.
    """

    name: Annotated[str | None, Field(pattern=HUB_NAME)] = None
    """A model on the hub (``ORGANISATION/MODEL``), downloaded when it is first needed. Or `path`."""
    revision: str | None = None
    """A commit of the model on the hub. Without one it is whatever the hub has on the day of training."""
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
    """Where something chooses the epoch: epochs without a better one after which training ends; ``null``: never."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """What is computed in; ``auto``: bfloat16 on a GPU that has it, else float32."""
    device: Annotated[str, RuntimeOption()] = "auto"
    """``cuda``, ``cuda:1``, ``cpu``; ``auto`` is ``cuda`` if there is one, else ``cpu``."""
    device_batch_size: Annotated[Positive, RuntimeOption()] = 8
    """Examples that are on the device together: gradients are collected until a step has its `batch_size`."""
    gradient_checkpointing: Annotated[bool, RuntimeOption()] = False
    """Compute what training remembers a second time: less memory, about a third more time."""
    resume: Annotated[bool, RuntimeOption()] = True
    """Whether a training that was interrupted goes on after its last whole epoch; else it begins again."""

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        if (self.name is None) == (self.path is None):
            raise ValueError("set one of `name` (ORGANISATION/MODEL on the hub) and `path` (a folder with a model)")
        if self.path is not None and self.revision is not None:
            raise ValueError("`revision` belongs to `name`; a folder is what it is")
        return self


class NeuralSpec(JudgeSpec, LearningSpec):
    """The training of a judge."""

    choose: Literal["best", "last"]
    """Which epoch's weights are kept: ``best``, by Pearson on a part of the training side, or ``last``.

    What judges are held to account on chooses nothing. The training on everything ends after as many epochs.
    """
    devices: Annotated[Positive, RuntimeOption()] = 1
    """How many GPUs train together, a process on each (with ``cpu``: processes). One device scores."""
    choose_share: Annotated[float, Field(gt=0, lt=0.5)]
    """With ``best``: the share of the rated examples, by whole families, that chooses and is not learned from."""

    @model_validator(mode="after")
    def _equal_parts(self) -> Self:
        if self.batch_size % self.devices:
            raise ValueError("`batch_size` must be a multiple of `devices`")
        return self


class AdapterSpec(Spec):
    """Low-rank adapters (LoRA), which alone are trained.

    `rank` and `alpha` are theirs, `dropout` what they leave out in training, `rank_stabilised` divides alpha by the
    root of the rank instead of the rank. They sit in the linear layers that `targets` names; ``all-linear``: in all
    but the last one.
    """

    rank: Positive
    alpha: Positive
    dropout: Annotated[float, Field(ge=0, lt=1)]
    rank_stabilised: bool
    targets: Literal["all-linear"] | tuple[str, ...] = "all-linear"
