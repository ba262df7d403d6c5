"""The model kind `replay`: recorded replies, so that a recipe rebuilds without any service."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from benchbuilder.config import FileRef, KindSpec, ModelSpec, Sampling, Spec
from benchbuilder.core import DataError, open_given_file, parse_json, write_atomically
from benchbuilder.models.base import LocalModel, Message, RefusedRequestError, Reply, ReplyOutcome, Request, Usage
from benchbuilder.models.providers.weights_digest import file_sha256

_BODY = TypeAdapter(Reply)
"""A recorded reply as it is journaled."""
NEXT = "record the replies again, or answer these requests with the model itself"


class ReplaySpec(ModelSpec):
    """The file of recorded replies."""

    replies: FileRef
    """JSON Lines, one `RecordedReply` per line."""
    name: str | None = None
    """The model whose replies are used, if the file holds replies of several models."""


class RecordedReply(Spec):
    """One recorded reply: a line of the file, as a JSON object.

    ``{"messages": [{"role": "user", "content": "..."}], "sampling": {"temperature": 0.0, "max_new_tokens": 128},
    "schema": null, "sample": 0, "model": "...", "endpoint": "...", "outcome": "complete", "text": "...",
    "usage": {"prompt": 12, "completion": 7, "cached": 0}}``

    `sampling` holds the settings of the step, not those that the backend sent; a missing or null setting was not set.
    `schema` is the requested JSON Schema, `endpoint` the address of the model (for information, not compared).
    """

    messages: Annotated[tuple[Message, ...], Field(min_length=1)]
    sampling: Sampling = Sampling()
    schema_: Annotated[dict[str, JsonValue] | None, Field(alias="schema")] = None
    sample: Annotated[int, Field(ge=0)] = 0
    model: Annotated[str, Field(min_length=1)]
    endpoint: str | None = None
    outcome: ReplyOutcome
    text: str
    usage: Usage | None = None

    @classmethod
    def from_reply(cls, request: Request, reply: Reply, *, model: str, endpoint: str | None = None) -> RecordedReply:
        """Record the answer of `model` to `request`."""
        return cls(
            messages=request.messages, sampling=Sampling.model_validate(dict(request.sampling)),
            schema_=None if request.schema is None else dict(request.schema), sample=request.sample, model=model,
            endpoint=endpoint, outcome=reply.outcome, text=reply.text, usage=reply.usage,
        )  # fmt: skip

    def request(self) -> Request:
        """The request that was answered."""
        return Request(self.messages, self.sampling.explicit_settings(), self.schema_, self.sample)

    def line(self) -> str:
        """The line of the file, without the line feed."""
        data = self.model_dump(mode="json", by_alias=True) | {"sampling": self.sampling.explicit_settings()}
        if self.endpoint is None:
            del data["endpoint"]
        return json.dumps(data, ensure_ascii=False)


def request_hash(request: Request) -> str:
    """SHA-256 of messages, settings, schema and sample number, by which a recorded reply is found."""
    parts = {
        "messages": [[message.role, message.content] for message in request.messages],
        "sampling": Sampling.model_validate(dict(request.sampling)).explicit_settings(),
        "schema": request.schema,
        "sample": request.sample,
    }
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def write_replies(path: Path, replies: Iterable[RecordedReply]) -> int:
    """Write recorded replies in a stable order; duplicates are written once.

    Returns:
        The number of replies in the file.

    Raises:
        DataError: A model has two different answers to one request.
    """
    lines: dict[tuple[str, str], RecordedReply] = {}
    for reply in replies:
        key = (request_hash(reply.request()), reply.model)
        other = lines.setdefault(key, reply)
        if (other.outcome, other.text) != (reply.outcome, reply.text):
            what = f"{reply.model} has two answers to one request: {other.text[:60]!r} and {reply.text[:60]!r}"
            raise DataError(what, next="record the replies of one endpoint")
        lines[key] = min(other, reply, key=RecordedReply.line)
    write_atomically(path, "".join(f"{reply.line()}\n" for _, reply in sorted(lines.items())))
    return len(lines)


def read_replies(path: Path) -> Iterator[tuple[int, int, RecordedReply]]:
    """Number, byte offset and content of each line; DataError with file and line for an invalid line."""
    try:
        with open_given_file(path, most_bytes=None) as stream:
            offset = 0
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, offset, _recorded(line, f"{path}:{number}")
                offset += len(line)
    except OSError as error:
        why, next = error.strerror or str(error), "set model.replies to the recorded replies"
        raise DataError(f"cannot read {path}", why=why, next=next) from error


def recorded_models(path: Path) -> list[str]:
    """The names of the models in a file of replies; invalid lines are skipped."""
    names = set[str]()
    with suppress(OSError), open_given_file(path, most_bytes=None) as stream:
        for line in stream:
            with suppress(ValueError):
                found: Any = parse_json(line)
                if isinstance(found, dict) and isinstance(name := found.get("model"), str):  # pyright: ignore[reportUnknownVariableType,reportUnknownMemberType]
                    names.add(name)
    return sorted(names)


def _recorded(line: bytes, location: str) -> RecordedReply:
    try:
        return RecordedReply.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        why = f"{key}: {first['msg']}" if key else first["msg"]
        raise DataError("a recorded reply is invalid", where=location, why=why, next=NEXT) from error


class ReplayModel(LocalModel):
    """Answers with recorded replies; the row of an unrecorded request fails."""

    kind: ClassVar[str] = "replay"
    spec_class: ClassVar[type[KindSpec]] = ReplaySpec
    settings: ClassVar[frozenset[str]] = frozenset(Sampling.model_fields)
    batch_size: int = 64
    spec: ReplaySpec

    def __init__(self, spec: ReplaySpec) -> None:
        super().__init__(spec)
        self._sha256 = self._label = ""
        self._places: dict[bytes, dict[str, tuple[int, int]]] | None = None

    @property
    def label(self) -> str:
        """The name of the recorded model or models; the name of the file if it cannot be read."""
        if not self._label:
            self._label = self.spec.name or ", ".join(recorded_models(self.spec.replies.file)) or self.replies_file
        return self._label

    @property
    def replies_file(self) -> str:
        """The name of the file."""
        return Path(self.spec.replies.path).name

    def identity(self) -> Mapping[str, Any]:
        """The file by its content; DataError if it cannot be read."""
        self._sha256 = self._sha256 or file_sha256(self.spec.replies.file)
        return {"kind": self.kind, "name": self.spec.name, "sha256": self._sha256}

    def generate(self, requests: Sequence[Request]) -> list[str]:
        """The recorded reply to each request, in order; DataError if the file or a line is invalid."""
        places = self._index()
        return [self._body(places, request) for request in requests]

    def read(self, body: str) -> Reply:
        """The reply; ValueError if the body is not one of ours."""
        return _BODY.validate_json(body)

    def _index(self) -> dict[bytes, dict[str, tuple[int, int]]]:
        """Line and offset of each reply, by the hash of its request and its model."""
        if self._places is None:
            places: dict[bytes, dict[str, tuple[int, int]]] = {}
            models = set[str]()
            path = self.spec.replies.file
            for number, offset, reply in read_replies(path):
                models.add(reply.model)
                of = places.setdefault(bytes.fromhex(request_hash(reply.request())), {})
                if of.setdefault(reply.model, (number, offset)) != (number, offset):
                    first = of[reply.model][0]
                    raise DataError(
                        f"{reply.model} is recorded twice for one request",
                        where=f"{path}:{number}", why=f"the first is in line {first}", next=NEXT,
                    )  # fmt: skip
            if self.spec.name is not None and self.spec.name not in models:
                what, why = f"no reply of {self.spec.name} is recorded", ", ".join(sorted(models)) or "nothing"
                raise DataError(what, where=str(path), why=f"recorded: {why}", next="set model.name to one of them")
            self._places = places
        return self._places

    def _body(self, places: Mapping[bytes, Mapping[str, tuple[int, int]]], request: Request) -> str:
        digest = request_hash(request)
        of = places.get(bytes.fromhex(digest), {})
        path = self.spec.replies.file
        if self.spec.name is None and len(of) > 1:
            what = f"several models are recorded for one request: {', '.join(sorted(of))}"
            raise DataError(what, where=str(path), next="set model.name to one of them")
        model = self.spec.name or next(iter(of), "")
        if model not in of:
            who = f" as one of {model}" if model else ""
            text = request.messages[-1].content if request.messages else ""
            raise RefusedRequestError(
                f"the request is not in {path.name}{who}: was it recorded with the same arguments? "
                f"(ends {text[-40:]!r}, {digest[:12]})"
            )
        number, offset = of[model]
        with open_given_file(path, most_bytes=None) as stream:
            stream.seek(offset)
            reply = _recorded(stream.readline(), f"{path}:{number}")
        if request_hash(reply.request()) != digest:
            raise DataError("the recorded replies changed while they were read", where=str(path), next="run again")
        body = Reply(reply.text, reply.outcome, reply.usage)
        return _BODY.dump_json(body, exclude={"assumed", "model"}).decode()
