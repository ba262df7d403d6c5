"""The adapter against a service in another process, over real HTTP: every way in which it misbehaves."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import traceback
import tracemalloc
from collections.abc import Iterator

import openai
import pytest
from patience import patience

from benchbuilder.core.errors import ServiceError
from benchbuilder.models.base import Message, RefusedRequestError, Reply, Request, TransientError
from benchbuilder.models.providers.openai import OpenAIModel, OpenAISpec
from benchbuilder.models.providers.openai_wire import MOST_BYTES
from benchbuilder.testing import FakeOpenAI, fake_openai_server

SECRET = "sk-proj-Zq8vT3mN5xK7wR2p"
ASK = Request((Message("user", "孕妇能喝咖啡吗？"),), {"temperature": 0, "max_new_tokens": 64})
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


@pytest.fixture(scope="module")
def server() -> Iterator[FakeOpenAI]:
    with fake_openai_server() as started:
        yield started


@pytest.fixture(autouse=True)
def _fresh(server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OPENAI_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    server.reset()
    server.configure(
        rules=[],
        api_key=None,
        models=[],
        unsupported=[],
        formats=None,
        json_replies="asked",
        usage=True,
        latency_s=0,
        fixed=None,
        keep_bodies=True,
    )


def made(server: FakeOpenAI, **more) -> OpenAIModel:
    return OpenAIModel(
        OpenAISpec(**{"kind": "openai", "name": "m", "base_url": server.base_url, "timeout_s": 5, **more})
    )


def bodies(model: OpenAIModel, *requests: Request) -> list[str | BaseException]:
    async def all_of_them() -> list[str | BaseException]:
        try:
            return await asyncio.gather(*map(model.send, requests), return_exceptions=True)
        finally:
            await model.close()

    return asyncio.run(all_of_them())


def answer(server: FakeOpenAI, request: Request = ASK, **more) -> Reply:
    model = made(server, **more)
    (body,) = bodies(model, request)
    if isinstance(body, BaseException):
        raise body
    return model.read(body)


def failure(server: FakeOpenAI, do: str, request: Request = ASK, *, spec: dict | None = None, **rule) -> BaseException:
    """What `send` raises under one rule; nowhere in it is the key, nor in what is printed of it."""
    server.configure(rules=[{"do": do, **rule}])
    (error,) = bodies(made(server, **(spec or {})), request)
    assert isinstance(error, TransientError | RefusedRequestError | ServiceError), error
    chain: BaseException | None = error
    while chain is not None:
        shown = f"{chain!r}{chain}{vars(chain)}"
        if isinstance(chain, openai.APIStatusError):
            shown += f"{chain.response.text}{chain.response.headers}{chain.request.headers}{chain.body}"
        assert SECRET not in shown
        chain = chain.__cause__
    assert SECRET not in "".join(traceback.format_exception(error))
    return error


# --- answers without an end


@pytest.mark.push
@pytest.mark.parametrize("size", [300 * 2**20, None])
def test_a_flood_ends_at_a_bound_and_other_requests_go_on(server: FakeOpenAI, size: int | None):
    """What counts is how much was sent: a reader without a bound would never come back from the second."""
    server.configure(fixed="少喝。", rules=[{"do": "flood", "size": size, "when": {"user": "flood"}}])
    others = [Request((Message("user", f"question {number}"),), ASK.sampling) for number in range(8)]
    model = made(server, timeout_s=patience(), concurrency=9)
    tracemalloc.start()
    try:
        flooded, *answered = bodies(model, Request((Message("user", "flood"),), ASK.sampling), *others)
        assert tracemalloc.get_traced_memory()[1] < 3 * MOST_BYTES
    finally:
        tracemalloc.stop()
    assert isinstance(flooded, TransientError)
    assert flooded.billed
    assert str(flooded).endswith("sent more than 32 MiB as one answer")
    assert [model.read(body).text for body in answered if isinstance(body, str)] == ["少喝。"] * 8
    assert answer(server).text == "少喝。"


def test_a_long_answer_below_the_bound_is_read(server: FakeOpenAI):
    server.configure(fixed="少喝。", rules=[{"do": "flood", "size": 2**20 + 1}])
    assert answer(server).text == "少喝。"


# --- good answers


def test_a_reply_comes_with_its_tokens(server: FakeOpenAI):
    server.configure(fixed="少喝。", cached_share=0.5)
    reply = answer(server)
    assert (reply.text, reply.outcome) == ("少喝。", "complete")
    assert reply.usage is not None
    assert reply.usage.completion == 3
    assert reply.usage.cached == reply.usage.prompt // 2
    (seen,) = server.log()
    assert seen["body"] == {
        "model": "m", "messages": [{"role": "user", "content": "孕妇能喝咖啡吗？"}], "temperature": 0,
        "max_completion_tokens": 64,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("do", "outcome"),
    [
        ("truncate", "truncated"), ("empty", "empty"), ("blank", "empty"), ("refuse", "refused"),
        ("filter", "filtered"), ("filtered_request", "filtered"), ("no_usage", "complete"), ("dribble", "complete"),
    ],
)  # fmt: skip
def test_outcomes_are_told_apart(server: FakeOpenAI, do: str, outcome: str):
    server.configure(rules=[{"do": do, "seconds": 0.2}])
    reply = answer(server)
    assert reply.outcome == outcome
    if do in ("no_usage", "filtered_request"):
        assert reply.usage is None


def test_the_limit_of_tokens_is_kept(server: FakeOpenAI):
    reply = answer(server, Request(ASK.messages, {"max_new_tokens": 2}))
    assert (reply.text, reply.outcome) == ("孕妇", "truncated")


@pytest.mark.parametrize("do", ["garbage", "html", "wrong_shape", "error_body"])
def test_what_is_no_completion_is_handed_on_and_not_read(server: FakeOpenAI, do: str):
    server.configure(rules=[{"do": do}])
    with pytest.raises(ValueError, match="the answer"):
        answer(server)


@pytest.mark.parametrize("structured", ["json_schema", "json_object"])
def test_json_is_asked_for(server: FakeOpenAI, structured: str):
    server.configure(fixed="少喝。")
    reply = answer(server, Request(ASK.messages, {}, SCHEMA), structured=structured)
    assert json.loads(reply.text) == {"text": "少喝。"}


def test_connections_are_kept(server: FakeOpenAI):
    model = made(server)

    async def one_after_the_other() -> int:
        for number in range(20):
            await model.send(Request((Message("user", f"{number}"),)))
        assert model._session is not None
        pools = model._session.connector._conns.values()
        count = sum(map(len, pools))
        await model.close()
        return count

    assert asyncio.run(one_after_the_other()) == 1


def test_it_works_on_one_loop_after_the_other(server: FakeOpenAI):
    model = made(server)
    for _ in range(2):
        assert not any(isinstance(body, BaseException) for body in bodies(model, ASK, ASK))


# --- keys


def test_the_key_is_read_from_the_variable_that_the_user_names(server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch):
    server.configure(api_key="sk-another-one")
    monkeypatch.setenv("LAB_KEY", "sk-another-one\n")
    assert answer(server, api_key_env="LAB_KEY").outcome == "complete"
    error = failure(server, "answer")
    assert isinstance(error, ServiceError)
    assert "OPENAI_API_KEY" in f"{error} {error.next}"
    assert isinstance(error.__cause__, openai.AuthenticationError)


def test_a_server_of_ones_own_needs_no_key(server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    assert answer(server).outcome == "complete"
    with pytest.raises(ServiceError, match="no key") as caught:
        answer(server, api_key_env="LAB_KEY")
    assert "LAB_KEY is not set" in caught.value.why
    with pytest.raises(ServiceError, match="no key"):
        answer(server, base_url="https://api.openai.com/v1")
    monkeypatch.setenv("LAB_KEY", "sk-a\r\nX-Header: b")
    with pytest.raises(ServiceError, match="is not a key") as caught:
        answer(server, api_key_env="LAB_KEY")
    assert "sk-a" not in f"{caught.value}{vars(caught.value)}"


def test_the_key_is_in_no_representation(server: FakeOpenAI):
    model = made(server)

    async def shown() -> str:
        await model.send(ASK)
        text = f"{model!r}{model.spec!r}{model.identity()}{model.label}"
        await model.close()
        return text

    assert SECRET not in asyncio.run(shown())


# --- failures: no request to this service can succeed


@pytest.mark.parametrize(
    ("do", "cause", "says"),
    [
        ("unauthorized", openai.AuthenticationError, "OPENAI_API_KEY"),
        ("forbidden", openai.PermissionDeniedError, "OPENAI_API_KEY"),
        ("no_model", openai.NotFoundError, "no model 'm'"),
        ("quota", openai.RateLimitError, "no credit"),
        ("unsupported_parameter", openai.BadRequestError, "model.lacks=[temperature]"),
        ("redirect", openai.APIStatusError, "model.base_url"),
    ],
)
def test_a_fault_of_the_set_up_stops_everything(server: FakeOpenAI, do: str, cause: type[Exception], says: str):
    error = failure(server, do)
    assert isinstance(error, ServiceError)
    assert isinstance(error.__cause__, cause)
    assert error.where == server.base_url
    assert says in f"{error} {error.next}"
    assert error.next
    assert len(server.log()) == 1


def test_a_key_that_was_not_given_is_not_called_wrong(server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    error = failure(server, "unauthorized")
    assert isinstance(error, ServiceError)
    assert "the service wants a key, and OPENAI_API_KEY is not set" in str(error)
    assert "none" not in error.why


def test_payment_is_required(server: FakeOpenAI):
    error = failure(server, "status", status=402, message="Insufficient credits")
    assert isinstance(error, ServiceError)
    assert "no credit" in str(error)


def test_a_redirect_is_not_followed(server: FakeOpenAI):
    failure(server, "redirect", location=f"{server.base_url}/chat/completions?again=1")
    assert len(server.log()) == 1


def test_a_wrong_path_is_noticed(server: FakeOpenAI):
    with pytest.raises(ServiceError) as caught:
        answer(server, base_url=server.base_url.removesuffix("/v1"))
    assert f"{server.base_url}?" in caught.value.next


def test_a_name_for_the_limit_that_the_model_does_not_take(server: FakeOpenAI):
    server.configure(unsupported=["max_completion_tokens"])
    with pytest.raises(ServiceError) as caught:
        answer(server)
    assert "model.max_tokens_field=max_tokens" in caught.value.next
    assert answer(server, max_tokens_field="max_tokens").outcome == "complete"


def test_what_a_model_lacks_can_be_left_out(server: FakeOpenAI):
    server.configure(unsupported=["temperature"])
    assert answer(server, lacks=["temperature"], unsupported="omit").outcome == "complete"


def test_a_response_format_that_is_not_taken_is_given_up_for_the_next_one(server: FakeOpenAI):
    asked = Request(ASK.messages, {}, SCHEMA)
    for formats, sent in ((["json_object"], ["json_schema", "json_object"]), ([], ["json_schema", "json_object", ""])):
        server.configure(rules=[], formats=formats, json_replies="always")
        model = made(server, structured="json_schema")
        texts = [model.read(body).text for body in bodies(model, asked) if isinstance(body, str)]
        assert texts == ['{"text": "孕妇能喝咖啡吗？"}']
        forms = [(entry["body"].get("response_format") or {}).get("type", "") for entry in server.log()]
        assert forms == sent, "a form that failed with 500 and a validation error is not asked for again"
        remarks = model.take_remarks()
        assert len(remarks) == len(sent) - 1
        assert "does not take model.structured=json_schema" in remarks[0]
        assert not model.take_remarks()
        (body,) = bodies(model, asked)
        assert isinstance(body, str)
        assert len(server.log()) == len(sent) + 1
        server.reset()


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (
            "1 validation error:\n  {{'type': 'x', 'loc': ('body', 'temperature'), 'msg': 'x'}}",
            "model.lacks=[temperature]",
        ),
        ("1 validation error:\n  {{'loc': ('body', 'max_completion_tokens')}}", "model.max_tokens_field=max_tokens"),
    ],
)
def test_a_500_that_is_a_validation_error_is_not_asked_again(server: FakeOpenAI, message: str, says: str):
    error = failure(server, "status", message=message)
    assert isinstance(error, ServiceError)
    assert says in f"{error.what} {error.next}"
    assert isinstance(failure(server, "status", message="1 validation error: the body"), RefusedRequestError)
    assert isinstance(failure(server, "status", message="an error of validation"), TransientError)


# --- failures: this request cannot succeed


@pytest.mark.parametrize(
    ("do", "says"), [("bad_request", "400"), ("context_length", "too long"), ("status", "too long")]
)
def test_a_request_may_be_refused(server: FakeOpenAI, do: str, says: str):
    error = failure(server, do, status=413)
    assert isinstance(error, RefusedRequestError)
    assert isinstance(error.__cause__, openai.APIStatusError)
    assert says in str(error)


# --- failures: another attempt may succeed


@pytest.mark.parametrize(
    ("status", "throttled", "billed"),
    [(408, False, True), (409, False, False), (429, True, False), (500, False, False), (502, False, True),
     (503, False, False), (504, False, True), (529, True, False)],
)  # fmt: skip
def test_a_status_may_pass(server: FakeOpenAI, status: int, throttled: bool, billed: bool):
    error = failure(server, "status", status=status)
    assert isinstance(error, TransientError)
    assert isinstance(error.__cause__, openai.APIStatusError)
    assert (error.throttled, error.billed, error.retry_after_s) == (throttled, billed, None)
    assert str(status) in str(error)


@pytest.mark.parametrize(("wanted", "seconds"), [("7", 7), ("ms:2500", 2.5), ("date:40", 40)])
def test_the_service_says_when_to_come_back(server: FakeOpenAI, wanted: str, seconds: float):
    error = failure(server, "rate_limit", retry_after=wanted)
    assert isinstance(error, TransientError)
    assert isinstance(error.__cause__, openai.RateLimitError)
    assert error.throttled
    assert error.retry_after_s == pytest.approx(seconds, abs=2 if "date" in wanted else 0)


@pytest.mark.parametrize("do", ["drop_before", "drop_after", "drop_midway"])
def test_a_connection_may_break(server: FakeOpenAI, do: str):
    error = failure(server, do)
    assert isinstance(error, TransientError)
    assert isinstance(error.__cause__, openai.APIConnectionError)
    assert "broke" in str(error)
    assert error.billed


@pytest.mark.parametrize("do", ["hang", "dribble"])
def test_an_answer_may_take_too_long(server: FakeOpenAI, do: str):
    error = failure(server, do, spec={"timeout_s": 0.5}, seconds=30)
    assert isinstance(error, TransientError)
    assert isinstance(error.__cause__, openai.APITimeoutError)
    assert error.billed
    assert "0.5 s" in str(error)


def test_nobody_may_listen(server: FakeOpenAI):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    (error,) = bodies(made(server, base_url=address), ASK)
    assert isinstance(error, TransientError)
    assert isinstance(error.__cause__, openai.APIConnectionError)
    assert not error.billed
    assert "is the service running" in str(error)


@pytest.mark.push
def test_a_name_may_be_unknown(server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch):
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    (error,) = bodies(made(server, base_url="http://llm.invalid/v1"), ASK)
    assert isinstance(error, TransientError)
    assert not error.billed
    assert "'llm.invalid' cannot be found" in str(error)


@pytest.mark.push
def test_the_proxy_of_the_environment_is_used(server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.port}")
    (body,) = bodies(made(server, base_url="http://llm.invalid/v1"), ASK)
    assert isinstance(body, str), "the service at hand is the proxy, and answers in the place of the host"
    assert len(server.log()) == 1
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert answer(server).outcome == "complete"


# --- the library's own client


@pytest.mark.push
def test_the_library_has_the_same_address_and_key(server: FakeOpenAI):
    server.configure(api_key=SECRET, models=["m"])
    model = made(server)

    async def listed() -> list[str]:
        names = [one.id async for one in model.client().models.list()]
        await model.close()
        return names

    assert asyncio.run(listed()) == ["m"]
