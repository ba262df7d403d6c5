"""Fine-tuning jobs of the fake service: they check their files, and learn their examples by heart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from benchbuilder.testing.fake_openai.behaviour import TuningBehaviour
from benchbuilder.testing.fake_openai.files import FakeCollection, FakeFiles, FakeObject, list_page, unix_time
from benchbuilder.testing.fake_openai.responses import json_response

_ENDED = ("succeeded", "failed", "cancelled")
_MIN_EXAMPLES = 10


class FakeTuningJobs(FakeCollection):
    """Jobs on `files`; the model that one makes answers its training prompts with the replies that it learned."""

    path = "/v1/fine_tuning/jobs"
    missing = "Could not find fine tune: {id}"

    def __init__(self, files: FakeFiles) -> None:
        self.behaviour = TuningBehaviour()
        self._files = files
        super().__init__()

    def reset(self) -> None:
        """Forget all jobs and what their models learned."""
        super().reset()
        self._events: dict[str, list[FakeObject]] = {}
        self._lists = 0
        self._learned: dict[str, dict[str, str]] = {}

    def learned_reply(self, model: Any, messages: Sequence[Mapping[str, Any]]) -> str | None:
        """The reply that a fine-tuned model learned for a prompt; ``None`` for other models and other prompts."""
        learned = self._learned.get(str(model))
        return None if learned is None else learned.get(_prompt_text(messages))

    def routes(self) -> list[web.RouteDef]:
        """The paths of the fine-tuning API."""
        return [
            *super().routes(),
            web.get("/v1/fine_tuning/jobs/{id}/events", self._list_events),
            web.post("/v1/fine_tuning/jobs/{id}/cancel", self._cancel),
        ]

    async def _create(self, request: web.Request) -> web.Response:
        body: Mapping[str, Any] = await request.json()
        for name in ("training_file", "validation_file"):
            if body.get(name) is not None and body[name] not in self._files:
                raise web.HTTPBadRequest(text=f"invalid {name}: {body[name]}")
        if self.behaviour.closed:
            raise web.HTTPForbidden(text="Fine-tuning jobs can no longer be created by your organization.")
        number = len(self._objects) + 1
        job: FakeObject = {
            "id": f"ftjob-{number}", "object": "fine_tuning.job", "created_at": unix_time(), "error": None,
            "fine_tuned_model": None, "finished_at": None, "hyperparameters": _hyperparameters(body),
            "model": body.get("model"), "organization_id": "org-1", "result_files": [], "seed": body.get("seed", 0),
            "status": "validating_files", "trained_tokens": None, "training_file": body.get("training_file"),
            "validation_file": body.get("validation_file"), "integrations": [], "estimated_finish": None,
            "metadata": body.get("metadata") if self.behaviour.metadata else None, "method": body.get("method"),
            "user_provided_suffix": body.get("suffix"),
        }  # fmt: skip
        self._objects[job["id"]] = job
        self._events[job["id"]] = []
        self._add_event(job, f"Created fine-tuning job: {job['id']}")
        return json_response(job)

    async def _list(self, request: web.Request) -> web.Response:
        self._lists += 1
        return list_page([], request) if self._lists <= self.behaviour.unlisted else await super()._list(request)

    async def _list_events(self, request: web.Request) -> web.Response:
        return list_page(self._events[self._requested(request)["id"]], request)

    async def _cancel(self, request: web.Request) -> web.Response:
        job = self._requested(request)
        if job["status"] in _ENDED:
            raise web.HTTPBadRequest(text=f"Job has already {job['status']}.")
        self._end(job, "cancelled")
        return json_response(job)

    def _advance(self, item: FakeObject) -> None:
        if item["status"] in _ENDED:
            return
        job, behaviour = item, self.behaviour
        examples, error = _examples(self._files.content(job["training_file"]))
        if error:
            job["error"] = {"code": "invalid_training_file", "message": error, "param": "training_file"}
            self._end(job, "failed")
        elif self._polls[job["id"]] <= behaviour.polls:
            job["status"] = "queued" if self._polls[job["id"]] == 1 else "running"
        elif behaviour.end == "succeeded":
            suffix = job["user_provided_suffix"] or ""
            job["fine_tuned_model"] = f"ft:{job['model']}:org::{suffix}:{job['id'].rpartition('-')[2]}"
            job["trained_tokens"] = sum(len(text) for pair in examples for text in pair) * 3
            self._learned[job["fine_tuned_model"]] = dict(examples)
            self._end(job, "succeeded")
        else:
            if behaviour.end == "failed":
                job["error"] = {"code": "server_error", "message": behaviour.message, "param": None}
            self._end(job, behaviour.end)

    def _end(self, job: FakeObject, status: str) -> None:
        job.update(status=status, finished_at=unix_time())
        self._add_event(job, f"The job has {status}" if status != "cancelled" else "The job was cancelled")

    def _add_event(self, job: Mapping[str, Any], message: str) -> None:
        events = self._events[job["id"]]
        events.append(
            {"id": f"ftevent-{job['id']}-{len(events)}", "object": "fine_tuning.job.event", "created_at": unix_time(),
             "level": "info", "message": message, "type": "message", "data": {}}
        )  # fmt: skip


def _hyperparameters(body: Mapping[str, Any]) -> dict[str, Any]:
    given = ((body.get("method") or {}).get("supervised") or {}).get("hyperparameters") or body.get("hyperparameters")
    return {"n_epochs": "auto", "batch_size": "auto", "learning_rate_multiplier": "auto", **(given or {})}


def _examples(content: bytes) -> tuple[list[tuple[str, str]], str]:
    """The prompt and the reply of each line, and the first error in the file."""
    examples: list[tuple[str, str]] = []
    for number, line in enumerate(content.splitlines(), 1):
        try:
            messages = json.loads(line)["messages"]
            if messages[-1]["role"] != "assistant":
                raise ValueError("the last message is not by the assistant")
            examples.append((_prompt_text(messages[:-1]), str(messages[-1]["content"])))
        except (ValueError, LookupError, TypeError) as error:
            return [], f"Invalid file format. Line {number}: {error}"
    if len(examples) < _MIN_EXAMPLES:
        return [], f"Training file has {len(examples)} example(s), but must have at least {_MIN_EXAMPLES} examples"
    return examples, ""


def _prompt_text(messages: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps([[message.get("role"), message.get("content")] for message in messages], ensure_ascii=False)
