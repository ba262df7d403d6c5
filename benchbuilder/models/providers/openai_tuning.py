"""Fine-tuning jobs of a service that speaks OpenAI's protocol, through OpenAI's own client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from benchbuilder.core import open_given_file
from benchbuilder.models.providers.openai_client import MARK, OpenAIClient
from benchbuilder.models.providers.openai_wire import body_excerpt

if TYPE_CHECKING:
    from openai.types.fine_tuning import FineTuningJob

CLOSING = (
    "OpenAI takes no new fine-tuning jobs from 2027-01-06 on (since 2026-05-07 none of organisations that had never "
    "made one, since 2026-07-02 none of those that no longer use theirs); a trained model ends with the model that it "
    "was made of, those of gpt-4o, gpt-4o-mini, gpt-4.1 and gpt-4.1-mini on 2027-01-14 "
    "(developers.openai.com/api/docs/deprecations)"
)
"""What users of OpenAI's own service must know before they pay for a job."""


@dataclass(frozen=True)
class JobOrder:
    """The settings of a job. We choose `mark` and `suffix`; either identifies the job later."""

    mark: str
    suffix: str
    model: str
    hyperparameters: Mapping[str, int | float] = field(default_factory=dict[str, "int | float"])
    seed: int | None = None
    metadata: bool = True
    """Whether the service accepts metadata."""


@dataclass(frozen=True)
class JobState:
    """The state of a job: `message` by the service, `model` is the trained model once it has succeeded."""

    ident: str
    phase: Literal["running", "succeeded", "failed", "cancelled"]
    message: str
    model: str = ""
    trained_tokens: int | None = None


class OpenAITuning(OpenAIClient):
    """Files and fine-tuning jobs.

    Every method raises TransientError if a retry may succeed and ServiceError if not. Methods about one job raise
    BatchGoneError if it does not exist.
    """

    subject: ClassVar[str] = "fine-tuning jobs"
    missing_text: ClassVar[str] = "the service has no fine-tuning jobs"
    refused_text: ClassVar[str] = "the service rejects the fine-tuning job"
    advice: ClassVar[str] = (
        "the exported files train a model at any service, or on a machine of your own (judge kinds decoder, encoder)"
    )

    async def upload(self, path: Path, name: str) -> str:
        """Upload a training file; return its id."""
        with open_given_file(path, most_bytes=None) as stream:
            call = self._model.client().files.create(file=(name, stream, "application/jsonl"), purpose="fine-tune")
            return self._require_fields(await self._call("uploading a training file", call), "id").id

    async def create(self, order: JobOrder, training: str, validation: str | None) -> str:
        """Create a job from uploaded files; return its id."""
        more: dict[str, Any] = {"suffix": order.suffix}
        if order.hyperparameters:
            settings = {"hyperparameters": dict(order.hyperparameters)}
            more["method"] = {"type": "supervised", "supervised": settings}
        if order.metadata:
            more["metadata"] = {MARK: order.mark}
        if order.seed is not None:
            more["seed"] = order.seed
        if validation is not None:
            more["validation_file"] = validation
        call = self._model.client().fine_tuning.jobs.create(model=order.model, training_file=training, **more)
        return self._require_fields(await self._call("making a fine-tuning job", call), "id").id

    async def find(self, order: JobOrder) -> str | None:
        """The id of the job of this order, or ``None``."""
        listed = self._model.client().fine_tuning.jobs.list(limit=100)
        return await self._search("listing fine-tuning jobs", listed, lambda job: _is_job_of(job, order))

    async def poll(self, ident: str) -> JobState:
        """The state of a job."""
        call = self._model.client().fine_tuning.jobs.retrieve(ident)
        return self._state(await self._call("looking at a fine-tuning job", call, gone=ident))

    async def cancel(self, ident: str) -> JobState:
        """Cancel a job; its cost so far may be billed."""
        call = self._model.client().fine_tuning.jobs.cancel(ident)
        return self._state(await self._call("ending a fine-tuning job", call, gone=ident))

    async def last_event(self, ident: str) -> str:
        """The last message of the service about a job, or ""."""
        call = self._model.client().fine_tuning.jobs.list_events(ident, limit=1)
        page = self._require_fields(await self._call("asking after a fine-tuning job", call, gone=ident), "data")
        return self._model.hide_key(str(page.data[0].message)) if page.data else ""

    def _state(self, job: FineTuningJob) -> JobState:
        message = str(self._require_fields(job, "status").status).replace("_", " ")
        if job.error is not None and job.error.message:
            message = f"{message}: {self._model.hide_key(body_excerpt(job.error.message, 400))}"
        if job.status == "succeeded":
            model = self._require_fields(job, "fine_tuned_model").fine_tuned_model or ""
            return JobState(job.id, "succeeded", message, model, job.trained_tokens)
        if job.status in ("failed", "cancelled"):
            return JobState(job.id, job.status, message)
        return JobState(job.id, "running", message)


def _is_job_of(job: FineTuningJob, order: JobOrder) -> bool:
    metadata = job.metadata or {}
    return metadata.get(MARK) == order.mark or getattr(job, "user_provided_suffix", None) == order.suffix
