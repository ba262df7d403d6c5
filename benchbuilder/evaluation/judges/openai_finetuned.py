"""The judge kind `openai_finetuned`: a chat model that a service fine-tunes on rated answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from benchbuilder.config import KindSpec, RuntimeOption, Slot, Spec
from benchbuilder.core import DataError, read_json, write_atomically
from benchbuilder.evaluation.judges.asking import ChatJudge, ChatJudgeSpec
from benchbuilder.evaluation.judges.base import Example, JudgeSpec
from benchbuilder.models import Message

MODEL = "model.json"
"""The file in a judge's folder that names the fine-tuned model."""


class TrainingPrice(Spec):
    """The price of training: US dollars per million trained tokens, and the date of this price."""

    usd: Annotated[float, Field(ge=0)]
    as_of: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]


class TuningSpec(Spec):
    """How the service trains; it chooses settings that are ``null``."""

    epochs: Annotated[int, Field(ge=1, le=50)]
    batch_size: Annotated[int | None, Field(ge=1)] = None
    learning_rate_multiplier: Annotated[float | None, Field(gt=0)] = None
    suffix: Annotated[str, Field(pattern=r"^[a-z0-9-]{0,24}$")] = ""
    """Part of the fine-tuned model's name; by default the judge's name."""
    least_examples: Annotated[int, Field(ge=1), RuntimeOption()] = 10
    """Minimum number of examples of the service."""
    most_tokens: Annotated[int, Field(ge=1), RuntimeOption()] = 65_536
    """Maximum tokens per example of the service."""
    metadata: Annotated[bool, RuntimeOption()] = True
    """Whether the service accepts metadata with a job; without it, a job is found again by its suffix."""
    price: Annotated[TrainingPrice | None, RuntimeOption()] = None
    """The price of training; ``null`` is reported as unknown."""


class OpenAIFinetunedSpec(ChatJudgeSpec):
    """The model to fine-tune, and the format of its replies."""

    reply: Literal["json", "number"] = "number"
    decimals: Annotated[int, Field(ge=1, le=3)]
    """Decimals of the training scores."""
    tuning: TuningSpec
    model: Annotated[KindSpec | None, Slot("model")] = None
    """The base model, of the kind `openai`, at any service with fine-tuning jobs like OpenAI's."""

    @model_validator(mode="after")
    def _plain_number(self) -> OpenAIFinetunedSpec:
        if self.reply != "number":
            raise ValueError("reply: a fine-tuned judge writes the bare number")
        return self


class OpenAIFinetunedJudge(ChatJudge):
    """Asks a fine-tuned model with the same messages that it was trained on.

    `open` reads the model's name from the folder in which `benchbuild finetune status` left it; before that there is no
    model.
    """

    kind: ClassVar[str] = "openai_finetuned"
    spec_class: ClassVar[type[JudgeSpec]] = OpenAIFinetunedSpec
    trains: ClassVar[bool] = True

    spec: OpenAIFinetunedSpec  # pyright: ignore[reportIncompatibleVariableOverride]
    _tuned: str = ""

    @property
    def model_spec(self) -> KindSpec | None:
        """The fine-tuned model, at the address of the base model."""
        base = self.spec.model
        return base.model_copy(update={"name": self._tuned}) if self._tuned and base is not None else None

    def open(self, folder: Path | None) -> None:
        """Read prompts, and the name of the fine-tuned model if there is one."""
        super().open(folder)
        self._tuned = "" if folder is None else read_finetuned_model(folder)

    def training_line(self, example: Example) -> dict[str, Any]:
        """One example of a training file: the messages of a request and the score as the reply."""
        target = Message("assistant", f"{example.target:.{self.spec.decimals}f}")
        messages = (*self.messages(example.case), target)
        return {"messages": [{"role": message.role, "content": message.content} for message in messages]}


def read_finetuned_model(folder: Path) -> str:
    """The name of the fine-tuned model in `folder`, or ""; DataError if the file is damaged."""
    path = folder / MODEL
    try:
        data: Any = read_json(path)
        return str(data["model"])
    except FileNotFoundError:
        return ""
    except (ValueError, LookupError, TypeError) as error:
        raise DataError(
            f"{path} does not name a model", why=str(error), next="benchbuild finetune status writes it again"
        ) from error


def write_finetuned_model(folder: Path, model: str, about: Mapping[str, Any]) -> None:
    """Write the name of the fine-tuned model into `folder`, with facts `about` its job."""
    write_atomically(folder / MODEL, json.dumps({"model": model, **about}, ensure_ascii=False, indent=2) + "\n")
