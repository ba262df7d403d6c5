"""Fine-tuning jobs of the fake service: they check their files, and learn their examples by heart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchbuilder.testing.fake_openai.behaviour import TuningBehaviour
from benchbuilder.testing.fake_openai.files import FakeFiles, error_response, list_page, unix_time
from benchbuilder.testing.fake_openai.http import HttpAnswer, HttpRequest

_ENDED = ("succeeded", "failed", "cancelled")
_LEAST = 10


class FakeTuningJobs:
    """Jobs on `files`, by id. A model that one made answers what it learned with what it was taught."""

    def __init__(self, files: FakeFiles) -> None:
        self._files = files
        self._jobs: dict[str, dict[str, Any]] = {}
        self._looks: dict[str, int] = {}
        self._events: dict[str, list[dict[str, Any]]] = {}
        self._lists = 0
        self._learned: dict[str, dict[str, str]] = {}

    def learned_reply(self, model: Any, messages: Sequence[Mapping[str, Any]]) -> str | None:
        """What a model that was made here learned to reply; ``None`` for others, and where it learned nothing."""
        learned = self._learned.get(str(model))
        return None if learned is None else learned.get(_prompt_text(messages))

    def route(self, call: HttpRequest, parts: list[str], behaviour: TuningBehaviour) -> HttpAnswer | None:
        """The answer to a request about jobs; `parts` is the path behind ``fine_tuning``."""
        if parts[:1] != ["jobs"]:
            return None
        if len(parts) == 1 and call.method == "POST":
            return self._create(json.loads(call.body), behaviour)
        if len(parts) == 1:
            self._lists += 1
            hidden = self._lists <= behaviour.unlisted
            return list_page([] if hidden else list(self._jobs.values()), call)
        job = self._jobs.get(parts[1])
        if job is None:
            return error_response(f"Could not find fine tune: {parts[1]}", 404)
        if parts[2:] == ["events"]:
            return list_page(self._events[job["id"]], call)
        if parts[2:] == ["cancel"]:
            return self._cancel(job)
        self._advance(job, behaviour)
        return HttpAnswer.json(job)

    def _create(self, request_body: Mapping[str, Any], behaviour: TuningBehaviour) -> HttpAnswer:
        for name in ("training_file", "validation_file"):
            if request_body.get(name) is not None and request_body[name] not in self._files:
                return error_response(f"invalid {name}: {request_body[name]}", 400)
        if behaviour.closed:
            return error_response("Fine-tuning jobs can no longer be created by your organization.", 403)
        number = len(self._jobs) + 1
        job: dict[str, Any] = {
            "id": f"ftjob-{number}", "object": "fine_tuning.job", "created_at": unix_time(), "error": None,
            "fine_tuned_model": None, "finished_at": None, "hyperparameters": _hyperparameters(request_body),
            "model": request_body.get("model"), "organization_id": "org-1", "result_files": [], "seed": request_body.get("seed", 0),
            "status": "validating_files", "trained_tokens": None, "training_file": request_body.get("training_file"),
            "validation_file": request_body.get("validation_file"), "integrations": [], "estimated_finish": None,
            "metadata": request_body.get("metadata") if behaviour.metadata else None, "method": request_body.get("method"),
            "user_provided_suffix": request_body.get("suffix"),
        }  # fmt: skip
        self._jobs[job["id"]] = job
        self._looks[job["id"]] = 0
        self._events[job["id"]] = []
        self._add_event(job, f"Created fine-tuning job: {job['id']}")
        return HttpAnswer.json(job)

    def _cancel(self, job: dict[str, Any]) -> HttpAnswer:
        if job["status"] in _ENDED:
            return error_response(f"Job has already {job['status']}.", 400)
        self._end(job, "cancelled")
        return HttpAnswer.json(job)

    def _advance(self, job: dict[str, Any], behaviour: TuningBehaviour) -> None:
        """What another look at a job finds."""
        if job["status"] in _ENDED:
            return
        self._looks[job["id"]] += 1
        examples, wrong = _examples(self._files.content(job["training_file"]))
        if wrong:
            job["error"] = {"code": "invalid_training_file", "message": wrong, "param": "training_file"}
            self._end(job, "failed")
        elif self._looks[job["id"]] <= behaviour.polls:
            job["status"] = "queued" if self._looks[job["id"]] == 1 else "running"
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

    def _end(self, job: dict[str, Any], status: str) -> None:
        job.update(status=status, finished_at=unix_time())
        self._add_event(job, f"The job has {status}" if status != "cancelled" else "The job was cancelled")

    def _add_event(self, job: Mapping[str, Any], message: str) -> None:
        told = self._events[job["id"]]
        told.append(
            {"id": f"ftevent-{job['id']}-{len(told)}", "object": "fine_tuning.job.event", "created_at": unix_time(),
             "level": "info", "message": message, "type": "message", "data": {}}
        )  # fmt: skip


def _hyperparameters(request_body: Mapping[str, Any]) -> dict[str, Any]:
    given = ((request_body.get("method") or {}).get("supervised") or {}).get("hyperparameters") or request_body.get(
        "hyperparameters"
    )
    return {"n_epochs": "auto", "batch_size": "auto", "learning_rate_multiplier": "auto", **(given or {})}


def _examples(content: bytes) -> tuple[list[tuple[str, str]], str]:
    """What is asked and what is replied, for each line; and what is wrong with the file."""
    found: list[tuple[str, str]] = []
    for number, line in enumerate(content.splitlines(), 1):
        try:
            messages = json.loads(line)["messages"]
            if messages[-1]["role"] != "assistant":
                raise ValueError("the last message is not by the assistant")
            found.append((_prompt_text(messages[:-1]), str(messages[-1]["content"])))
        except (ValueError, LookupError, TypeError) as error:
            return [], f"Invalid file format. Line {number}: {error}"
    if len(found) < _LEAST:
        return [], f"Training file has {len(found)} example(s), but must have at least {_LEAST} examples"
    return found, ""


def _prompt_text(messages: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps([[message.get("role"), message.get("content")] for message in messages], ensure_ascii=False)
