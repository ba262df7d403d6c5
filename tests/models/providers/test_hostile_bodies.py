"""Bodies that a careless or hostile service sends: too long, packed, nested, empty, with half surrogate pairs."""

from __future__ import annotations

import asyncio
import gzip
import json
import time

import pytest

from benchbuilder.models.base import Message, RefusedRequestError, Request, TransientError
from benchbuilder.models.providers import openai as provider
from benchbuilder.models.providers.openai import OpenAIModel, OpenAISpec
from benchbuilder.models.providers.openai_batch import OpenAIBatches
from benchbuilder.models.providers.openai_errors import ErrorResponse, hide_key

ASK = Request((Message("user", "孕妇能喝咖啡吗？"),), {"max_new_tokens": 64})
FILTERED = r'{"error": {"code": "content_filter", "message": "no \ud800"}}'


def sent(status: str, body: bytes, *headers: str) -> str:
    """What `send` returns for one response of a service in this process."""

    async def talk() -> str:
        async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
            writer.write("\r\n".join([*lines, "", ""]).encode() + body)
            writer.close()

        server = await asyncio.start_server(respond, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        model = OpenAIModel(OpenAISpec(kind="openai", name="m", base_url=f"http://127.0.0.1:{port}/v1", timeout_s=5))
        try:
            return await model.send(ASK)
        finally:
            await model.close()
            server.close()

    return asyncio.run(talk())


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_an_answer_is_bounded_after_decompression(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(provider, "MOST_BYTES", 2**20)
    packed = gzip.compress(b" " * 2**21, 1)
    with pytest.raises(TransientError, match="sent more than 1 MiB as one answer") as caught:
        sent("200 OK", packed, "Content-Encoding: gzip")
    assert caught.value.billed
    assert sent("200 OK", gzip.compress(b" " * 2**20), "Content-Encoding: gzip") == " " * 2**20


def test_a_long_error_is_cut_before_it_is_searched():
    started = time.process_time()
    with pytest.raises(RefusedRequestError, match="418"):
        sent("418 Teapot", b"x" * 5_000_000)
    hide_key("x" * 2**20, "")
    assert time.process_time() - started < 2


def test_masked_keys_are_hidden_in_every_place():
    assert hide_key("key sk-ab***yz, a***b***c, *** and x.**", "") == "key [key], [key][key], [key] and x.**"


def test_an_answer_without_a_body_is_invalid_and_no_refusal():
    body = sent("204 No Content", b"")
    with pytest.raises(ValueError, match="not JSON"):
        OpenAIModel(OpenAISpec(kind="openai", name="m")).read(body)


def test_a_filtered_request_can_be_journaled():
    body = sent("400 Bad", FILTERED.encode())
    assert body.encode()
    assert json.loads(body)["error"]["message"] == "no \ufffd"


@pytest.mark.parametrize(("status", "body"), [(200, r'{"a": "\ud800"}'), (400, FILTERED)])
def test_a_result_of_a_batch_can_be_journaled(status: int, body: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    batches = OpenAIBatches(OpenAIModel(OpenAISpec(kind="openai", name="m")))
    line = f'{{"custom_id": "k", "response": {{"status_code": {status}, "body": {body}}}}}'
    found = batches._result(line.encode())
    assert found is not None
    assert isinstance(found[1], str)
    assert "\ufffd" in found[1]
    assert batches._result(b"[" * 200_000) is None


def test_an_error_nested_too_deeply_is_a_fault_of_the_service():
    failure = ErrorResponse(500, {}, "[" * 60_000, "http://x", "KEY", "m", {})
    assert isinstance(failure.exception(), TransientError)
