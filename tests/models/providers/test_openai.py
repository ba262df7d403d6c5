"""What the adapter sends and reads, without a service."""

from __future__ import annotations

import json
import os
import pickle
import time
from email.utils import formatdate

import pytest
from pydantic import ValidationError

from benchbuilder.core import registry
from benchbuilder.core.errors import RecipeError
from benchbuilder.models.base import Message, Request, Usage, request_key
from benchbuilder.models.providers.openai import OFFICIAL, OpenAIModel, OpenAISpec, normalise_endpoint
from benchbuilder.models.providers.openai_errors import hide_key, retry_after

ASK = Request((Message("user", "孕妇能喝咖啡吗？"),), {"temperature": 0, "max_new_tokens": 128})
SCHEMA = {
    "title": "Reply",
    "type": "object",
    "properties": {"text": {"type": "string", "title": "Text", "default": ""}, "sure": {"$ref": "#/$defs/Sure"}},
    "$defs": {"Sure": {"type": "object", "properties": {"degree": {"type": "integer"}}}},
}


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OPENAI_")]:
        monkeypatch.delenv(name)


def model(**more) -> OpenAIModel:
    return OpenAIModel(OpenAISpec(kind="openai", name="gpt-test", **more))


def completion(content: object = "好的。", finish: str | None = "stop", **more) -> str:
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    return json.dumps({"choices": [{"message": message, "finish_reason": finish}], **more})


# --- address, identity, spec


def test_it_is_a_kind():
    assert isinstance(registry.create_from_spec("model", OpenAISpec(kind="openai", name="m")), OpenAIModel)


@pytest.mark.parametrize(
    ("address", "endpoint"),
    [
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("HTTPS://Api.Example.COM:443/v1/", "https://api.example.com/v1"),
        ("http://localhost:80", "http://localhost"),
        ("http://[::1]:8080/v1/chat/completions", "http://[::1]:8080/v1"),
        (" https://host/proxy/v1// ", "https://host/proxy/v1"),
    ],
)
def test_an_address_has_one_form(address: str, endpoint: str):
    assert normalise_endpoint(address) == endpoint


@pytest.mark.parametrize(
    "address",
    ["https://me:s3cr3t@host/v1", "https://host/v1?key=s3cr3t", "s3cr3t", "ftp://s3cr3t/v1", "http://host:s3cr3t/v1"],
)
def test_an_address_that_cannot_be_used_is_not_repeated(address: str):
    with pytest.raises(RecipeError) as caught:
        normalise_endpoint(address)
    assert "model.base_url" in str(caught.value)
    assert "s3cr3t" not in str(caught.value)


def test_the_address_is_the_recipes_users_the_environments_or_openais(monkeypatch: pytest.MonkeyPatch):
    assert model().endpoint == OFFICIAL
    monkeypatch.setenv("OPENAI_BASE_URL", "http://env:1/v1/")
    assert model().endpoint == "http://env:1/v1"
    assert model(base_url="http://given:2/v1").endpoint == "http://given:2/v1"


def test_what_shapes_a_reply_is_in_the_key_and_nothing_else():
    plain = request_key(model(), ASK)
    same = [{"concurrency": 99}, {"timeout_s": 5}, {"organization": "org"}, {"api_key_env": "X"}, {"batch": {}}]
    other = [{"base_url": "http://a:1/v1"}, {"extra_body": {"x": 1}}, {"max_tokens_field": "max_tokens"}]
    assert {request_key(model(**more), ASK) for more in same} == {plain}
    assert len({plain, *(request_key(model(**more), ASK) for more in other)}) == 4
    lacking = model(lacks=["temperature"], unsupported="omit")
    assert request_key(lacking, ASK) == request_key(lacking, Request(ASK.messages, {"max_new_tokens": 128})) != plain


def test_a_recipe_may_say_what_the_server_understands():
    further = model(understands=["top_k", "min_p"], lacks=["temperature"])
    assert {"top_k", "min_p", "seed"} <= further.known_settings()
    assert "temperature" not in further.known_settings()
    assert "top_k" not in model().known_settings()
    for wrong in ({"understands": ["topk"]}, {"lacks": ["heat"]}, {"extra_body": {"messages": []}}, {"name": " "}):
        with pytest.raises(ValidationError):
            OpenAISpec(**{"kind": "openai", "name": "m", **wrong})


def test_it_travels_before_it_is_opened():
    assert pickle.loads(pickle.dumps(model())).identity() == model().identity()


# --- reasoning


@pytest.mark.parametrize(
    ("given", "at", "sent"),
    [
        ({"effort": "low"}, OFFICIAL, {"reasoning_effort": "low"}),
        ({"effort": "low"}, "https://openrouter.ai/api/v1", {"reasoning": {"effort": "low"}}),
        ({"max_tokens": 500, "style": "openrouter"}, "http://a:1/v1", {"reasoning": {"max_tokens": 500}}),
        ({"effort": "none", "style": "vllm"}, "http://a:1/v1", {"chat_template_kwargs": {"enable_thinking": False}}),
        (
            {"effort": "high", "max_tokens": 500, "style": "vllm"}, "http://a:1/v1",
            {"chat_template_kwargs": {"enable_thinking": True}, "thinking_token_budget": 500},
        ),
        ({"max_tokens": 500}, OFFICIAL, {}),
    ],
)  # fmt: skip
def test_each_service_is_told_in_its_own_words_how_long_to_think(given: dict[str, object], at: str, sent: object):
    body = model(base_url=at, reasoning=given).body(ASK)
    plain = model(base_url=at).body(ASK)
    assert {name: value for name, value in body.items() if name not in plain} == sent


def test_the_limit_of_the_answer_is_not_eaten_by_thinking():
    limits = {
        None: 128,
        ("effort", "low"): 128 + 8192,
        ("max_tokens", 500): 628,
        ("effort", "none"): 128,
    }
    for given, limit in limits.items():
        more = {} if given is None else {"reasoning": dict([given])}
        assert model(**more).body(ASK)["max_completion_tokens"] == limit
    assert "max_completion_tokens" not in model(reasoning={"effort": "low"}).body(Request(ASK.messages))


def test_how_long_a_model_thinks_is_in_the_key():
    given = [None, {"effort": "low"}, {"effort": "high"}, {"effort": "high", "max_tokens": 500}, {"effort": "none"}]
    assert len({request_key(model(reasoning=one), ASK) for one in given}) == 5
    assert request_key(model(reasoning={"effort": "low", "retry": True}), ASK) == request_key(
        model(reasoning={"effort": "low"}), ASK
    )
    with pytest.raises(ValidationError, match="effort"):
        model(reasoning={"effort": "harder"})


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_thoughts_are_kept_apart_from_the_text(name: str):
    assert model().read(completion("ok", message={name: "let me think"})).thoughts == "let me think"
    assert model().read(completion("<think>hm</think>ok")).thoughts == "<think>hm</think>"
    assert model().read(completion("ok")).thoughts == ""


# --- bodies


def test_a_body_holds_what_is_asked_under_the_protocols_names():
    sampling = {
        "temperature": 0,
        "max_new_tokens": 128,
        "stop": ["\n"],
        "seed": 3,
        "top_k": 5,
        "no_repeat_ngram_size": 2,
    }
    asked = model(understands=["top_k"], extra_body={"chat_template_kwargs": {"enable_thinking": False}})
    assert asked.body(Request((Message("system", "s"), Message("user", "u")), sampling)) == {
        "model": "gpt-test",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        "temperature": 0, "max_completion_tokens": 128, "stop": ["\n"], "seed": 3, "top_k": 5,
        "chat_template_kwargs": {"enable_thinking": False},
    }  # fmt: skip
    assert model(max_tokens_field="max_tokens").body(ASK)["max_tokens"] == 128


def test_another_sample_has_another_seed():
    bodies = [model().body(Request(ASK.messages, {"seed": 7}, sample=sample)) for sample in (0, 1, 2)]
    assert [body["seed"] for body in bodies] == [7, 8, 9]


def test_a_schema_is_made_strict():
    form = model(structured="json_schema").body(Request(ASK.messages, schema=SCHEMA))["response_format"]
    schema = form["json_schema"]["schema"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["strict"] is True
    assert schema["required"] == ["text", "sure"]
    assert schema["additionalProperties"] is schema["$defs"]["Sure"]["additionalProperties"] is False
    assert schema["properties"]["text"] == {"type": "string"}


def test_a_property_may_have_the_name_of_a_keyword():
    schema = {"type": "object", "properties": {"title": {"type": "string"}, "default": {"type": "string"}}}
    form = model(structured="json_schema").body(Request(ASK.messages, schema=schema))["response_format"]
    assert form["json_schema"]["schema"]["required"] == ["title", "default"]


@pytest.mark.parametrize("structured", ["json_object", "prompt"])
def test_a_schema_can_be_asked_for_in_words(structured: str):
    asked = Request((Message("system", "短答。"), Message("user", "u")), schema=SCHEMA)
    body = model(structured=structured).body(asked)
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["messages"][0]["content"].startswith("短答。\n\n")
    assert '"text"' in body["messages"][0]["content"]
    assert body.get("response_format") == ({"type": "json_object"} if structured == "json_object" else None)
    alone = model(structured=structured).body(Request(ASK.messages, schema=SCHEMA))
    assert [message["role"] for message in alone["messages"]] == ["system", "user"]
    assert asked.messages[0].content == "短答。"


# --- replies


@pytest.mark.parametrize(
    ("body", "text", "outcome"),
    [
        (completion(), "好的。", "complete"),
        (completion(finish=None), "好的。", "complete"),
        (completion(finish="length"), "好的。", "truncated"),
        (completion("", finish="length"), "", "thought_out"),
        (completion(None, finish="length", message={"reasoning": "hm"}), "", "thought_out"),
        (completion(""), "", "empty"),
        (completion(" \n"), " \n", "empty"),
        (completion(None), "", "empty"),
        (completion(None, message={"refusal": "No."}), "No.", "refused"),
        (completion("half", finish="content_filter"), "half", "filtered"),
        (completion([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab", "complete"),
        (completion("ok", message={"reasoning_content": "let me think"}), "ok", "complete"),
        (completion("<think>\nhm</think>\n\n好的。"), "好的。", "complete"),
        (completion("<think>\nhm", finish="length"), "", "thought_out"),
        (completion("[THINK]hm[/THINK]好的。"), "好的。", "complete"),
        (completion("标签<think>的意思是思考。"), "标签<think>的意思是思考。", "complete"),
        (completion("a\ud800b"), "a\ufffdb", "complete"),  # half a pair, which JSON can escape
        ('{"error": {"code": "content_filter", "message": "no"}}', "", "filtered"),
        ('{"error": {"code": "400", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}', "", "filtered"),
    ],
)
def test_replies_have_an_outcome(body: str, text: str, outcome: str):
    reply = model().read(body)
    assert (reply.text, reply.outcome) == (text, outcome)


def test_tokens_are_those_of_the_service():
    counted = {"prompt_tokens": 30, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 16}}
    assert model().read(completion(usage=counted)).usage == Usage(30, 9, 16)
    assert model().read(completion(usage={"prompt_tokens": 3, "completion_tokens": 1})).usage == Usage(3, 1)
    thought = counted | {"completion_tokens_details": {"reasoning_tokens": 7}}
    assert model().read(completion(usage=thought)).usage == Usage(30, 9, 16, 7)
    assert model().read(completion(usage=counted | {"completion_tokens_details": None})).usage == Usage(30, 9, 16)
    for unknown in (None, {}, {"prompt_tokens": None}, {"prompt_tokens": True}, {"prompt_tokens": -1}, "many"):
        assert model().read(completion(usage=unknown)).usage is None


@pytest.mark.parametrize(
    "body",
    ["", "[" * 200_000,
     "<html>", '{"id": "x", "choi', "[]", "3", '{"choices": []}', '{"choices": null}', '{"choices": [{}]}',
     '{"choices": [{"message": null}]}', '{"choices": [{"message": {"content": 3}}]}', '{"error": {"code": 502}}'],
)  # fmt: skip
def test_what_is_no_completion_is_said_to_be_none(body: str):
    with pytest.raises(ValueError, match="the answer") as caught:
        model().read(body)
    assert len(str(caught.value)) < 250


# --- small parts


def test_when_to_come_back_is_read_in_each_form():
    assert retry_after({"Retry-After": "2.5"}) == 2.5
    assert retry_after({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    assert retry_after({"retry-after": formatdate(time.time() + 30, usegmt=True)}) == pytest.approx(30, abs=2)
    assert retry_after({"retry-after": formatdate(time.time() - 30, usegmt=True)}) == 0
    assert retry_after({"retry-after": "1e9"}) == 86400
    for nothing in ({}, {"retry-after": "soon"}, {"retry-after": "nan"}, {"retry-after": "inf"}, {"retry-after": ""}):
        assert retry_after(nothing) is None
    assert retry_after({"retry-after-ms": "nan", "retry-after": "9"}) == 9
    assert retry_after({"retry-after": "-5"}) == retry_after({"retry-after": "-1e300"}) == 0
    assert retry_after({"retry-after": "864000"}) == 86400


def test_a_date_to_come_back_at_is_read_by_the_clock_of_the_service():
    its_now = time.time() + 7200  # ours was set back
    headers = {"date": formatdate(its_now, usegmt=True), "retry-after": formatdate(its_now + 20, usegmt=True)}
    assert retry_after(headers) == 20


def test_keys_are_taken_out_of_what_a_service_says():
    said = hide_key("Incorrect API key provided: sk-ab12. You can, sk-proj-******yz or sk-ab12x", "sk-ab12")
    assert said == "Incorrect API key provided: [key]. You can, [key] or [key]x"


def test_the_model_that_the_service_says_it_used_is_read_and_told_once_if_it_is_another():
    asked = model()
    assert asked.read(completion()).model == ""  # as in journals of services that name none
    for same in ("gpt-test", "gpt-test-2024-08-06", "openai/gpt-test", "/srv/GPT-test.gguf", "gpt-test:latest"):
        assert asked.read(completion(model=same)).model == same
    assert asked.read(completion(model={"name": "x"})).model == ""
    assert not asked.take_remarks()
    for other in ("gpt-test-mini", "gpt-test-mini", "gpt-test.1\n"):
        asked.read(completion(model=other))
    first, second = asked.take_remarks()
    assert "gpt-test was asked for, and the service says that gpt-test-mini answered" in first
    assert "says that gpt-test.1 answered" in second
    asked.read(completion(model="gpt-test-mini"))
    assert not asked.take_remarks()
    assert "gpt-test-2024" not in str(asked.identity())
