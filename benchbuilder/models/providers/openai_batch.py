"""Files and batches of a service that speaks OpenAI's protocol, through OpenAI's own client."""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from benchbuilder.core import ServiceError, parse_json
from benchbuilder.models.base import BatchService, BatchState, RefusedRequestError, Request, TransientError
from benchbuilder.models.providers.openai_client import MARK, OpenAIClient
from benchbuilder.models.providers.openai_wire import body_excerpt, valid_text

if TYPE_CHECKING:
    from openai.types import Batch

_PATH: Literal["/v1/chat/completions"] = "/v1/chat/completions"
"""The path in each line of a batch; it is the same at every address."""
_KEY = "0" * 64
_IN_MEMORY = 8 * 1024 * 1024
_SHOWN = 5
"""Most error messages of a batch that are shown."""


class OpenAIBatches(OpenAIClient, BatchService):
    """Batches of chat completions."""

    subject: ClassVar[str] = "batches"
    missing_text: ClassVar[str] = "the service does not support batches"
    refused_text: ClassVar[str] = "the service rejects the batch"
    advice: ClassVar[str] = "model.batch=null sends requests live"
    smaller_advice: ClassVar[str] = "smaller batches may work (model.batch.max_requests)"

    most_requests: ClassVar[int] = 50_000
    most_bytes: ClassVar[int] = 200_000_000

    def size(self, request: Request) -> int:
        """The length of its line in bytes."""
        return len(self._line(_KEY, request))

    async def submit(self, mark: str, requests: Sequence[tuple[str, Request]]) -> str:
        """Upload the requests as a file and create a batch."""
        client = self._model.client()
        with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as lines:
            for key, request in requests:
                lines.write(self._line(key, request))
            lines.seek(0)
            name = f"{mark}.jsonl"
            upload = client.files.create(file=(name, lines, "application/jsonl"), purpose="batch")  # pyright: ignore[reportArgumentType]
            file = self._require_fields(await self._call("uploading a file", upload), "id")
        made = client.batches.create(
            completion_window="24h", endpoint=_PATH, input_file_id=file.id, metadata={MARK: mark}
        )
        return self._require_fields(await self._call("creating a batch", made), "id").id

    async def find(self, mark: str) -> str | None:
        """Search the batches of the account."""
        listed = self._model.client().batches.list(limit=100)
        return await self._search("listing batches", listed, lambda batch: _has_mark(batch, mark))

    async def poll(self, ident: str) -> BatchState:
        """Whether it runs, has ended (completed, expired or cancelled) or was rejected."""
        batch = await self._batch(ident)
        counts = batch.request_counts
        done, total = (counts.completed + counts.failed, counts.total) if counts is not None else (0, 0)
        if batch.status == "failed":
            return BatchState("failed", self._messages(batch), done, total)
        phase = "ended" if batch.status in ("completed", "expired", "cancelled") else "running"
        return BatchState(phase, batch.status.replace("_", " "), done, total)

    async def results(self, ident: str) -> AsyncIterator[tuple[str, str | Exception]]:
        """The lines of the output file, then those of the error file."""
        batch = await self._batch(ident)
        for file in (batch.output_file_id, batch.error_file_id):
            if file:
                async for line in self._lines(file):
                    if (result := self._result(line)) is not None:
                        yield result

    async def _batch(self, ident: str) -> Batch:
        call = self._model.client().batches.retrieve(ident)
        return self._require_fields(await self._call("polling a batch", call, gone=ident), "id", "status")

    # --- lines

    def _line(self, key: str, request: Request) -> bytes:
        line = {"custom_id": key, "method": "POST", "url": _PATH, "body": self._model.body(request)}
        return json.dumps(line, ensure_ascii=False).encode() + b"\n"

    async def _lines(self, file: str) -> AsyncIterator[bytes]:
        """Stream the lines of a file; only a line feed ends a line, whatever other separators a text holds."""
        stream = self._model.client().files.with_streaming_response.content(file)
        response = await self._call("reading results", stream.__aenter__(), gone=file)
        try:
            parts = response.iter_bytes().__aiter__()
            rest: list[bytes] = []
            while (part := await self._call("reading results", anext(parts, None), gone=file)) is not None:
                first, *more = part.split(b"\n")
                rest.append(first)
                for line in more:
                    yield b"".join(rest)
                    rest = [line]
            yield b"".join(rest)
        finally:
            await stream.__aexit__(None, None, None)

    def _result(self, line: bytes) -> tuple[str, str | Exception] | None:
        """Key and result of a line; ``None`` if it cannot be read: its request counts as having no result."""
        try:
            found: Any = parse_json(line)
            key, response, error = str(found["custom_id"]), found.get("response"), found.get("error")
        except (ValueError, LookupError, TypeError, AttributeError):
            return None
        if isinstance(response, Mapping):
            body: Any = response.get("body")  # pyright: ignore[reportUnknownMemberType]
            text = valid_text(json.dumps(body, ensure_ascii=False))
            status: Any = response.get("status_code")  # pyright: ignore[reportUnknownMemberType]
            if isinstance(status, int) and 200 <= status < 300:
                return key, text
            try:
                return key, self._model.check_response(status if isinstance(status, int) else 500, {}, text)
            except (TransientError, RefusedRequestError, ServiceError) as failure:
                return key, failure
        why: Mapping[str, Any] = error if isinstance(error, dict) else {"code": "no result", "message": ""}
        shown = f"{why.get('code')}: {body_excerpt(str(why.get('message')), 240)}"
        return key, TransientError(self._model.hide_key(f"{self._at} gave no result ({shown})"))

    def _messages(self, batch: Batch) -> str:
        """The messages of the service about a rejected batch."""
        errors = (batch.errors.data if batch.errors is not None else None) or []
        shown = [
            f"{'' if error.line is None else f'line {error.line}: '}{error.message or error.code or 'no reason'}"
            for error in errors[:_SHOWN]
        ]
        more = [f"and {len(errors) - _SHOWN} more"] if len(errors) > _SHOWN else []
        return self._model.hide_key("; ".join([*shown, *more])) or "no reason was given"


def _has_mark(batch: Batch, mark: str) -> bool:
    return (batch.metadata or {}).get(MARK) == mark
