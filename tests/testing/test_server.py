"""The fake service behaves as its settings say: what a behaviour describes is what a client sees."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from patience import patience
from tokenizers import Tokenizer, models, pre_tokenizers

from benchbuilder.testing import FakeOpenAI, fake_openai_server
from benchbuilder.testing.fake_openai.behaviour import Behaviour


@pytest.fixture(scope="module")
def server() -> Iterator[FakeOpenAI]:
    with fake_openai_server() as started:
        yield started


@pytest.fixture(autouse=True)
def _fresh(server: FakeOpenAI) -> None:
    server.reset()
    server.configure(**Behaviour().model_dump(mode="json"))


@pytest.fixture
def client(server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="k", base_url=server.base_url, max_retries=0, timeout=patience()) as made:
        yield made


def ask(server: FakeOpenAI, *texts: str, **more: Any) -> list[tuple[int, dict[str, Any]]]:
    """Status and JSON for each text, over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=patience())
    found = []
    for text in texts:
        body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        response = connection.getresponse()
        found.append((response.status, json.loads(response.read())))
    connection.close()
    return found


def texts(answers: list[tuple[int, dict[str, Any]]]) -> list[str]:
    return [body["choices"][0]["message"]["content"] for _, body in answers]


def test_replies_come_from_plugin_table_script_or_echo(server: FakeOpenAI, tmp_path: Path):
    (tmp_path / "script.json").write_text(json.dumps({"咖啡": "少喝。"}))
    (tmp_path / "plugin.py").write_text(
        "def reply(messages, body):\n    return body['model'].upper() if '?' in messages[-1]['content'] else None\n"
    )
    server.configure(table={"茶": "可以。", "浓茶": "不可以。"}, script=str(tmp_path / "script.json"))
    assert texts(ask(server, "喝茶", "喝浓茶", "喝咖啡", "喝水")) == ["可以。", "不可以。", "少喝。", "喝水"]
    server.configure(plugin=str(tmp_path / "plugin.py"), fixed="?")
    assert texts(ask(server, "why?", "喝茶", "喝水")) == ["M", "可以。", "?"]


def test_tokens_are_counted_in_its_own_way(server: FakeOpenAI, tmp_path: Path):
    def counted() -> tuple[int, str]:
        ((_, body),) = ask(server, "一二三 abc def", max_tokens=3)
        return body["usage"]["prompt_tokens"] - 4, body["choices"][0]["message"]["content"]

    assert counted() == (6, "一二三")
    server.configure(tokens="characters")
    assert counted() == (11, "一二三")
    tokenizer = Tokenizer(models.WordLevel({"一二三": 0, "abc": 1, "def": 2, "?": 3}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    server.configure(tokens=str(tmp_path / "tokenizer.json"))
    assert counted() == (3, "一二三 abc def")
    server.configure(usage=False)
    assert "usage" not in ask(server, "x")[0][1]


def test_a_share_is_the_same_requests_each_time(server: FakeOpenAI):
    server.configure(rules=[{"when": {"share": 0.1}, "do": "server_error"}])
    asked = [f"question {number}" for number in range(400)]
    first = [status for status, _ in ask(server, *asked)]
    assert first == [status for status, _ in ask(server, *asked)]
    assert 20 <= first.count(500) <= 65
    server.configure(rules=[{"when": {"share": 0.1, "salt": "b"}, "do": "server_error"}])
    assert first != [status for status, _ in ask(server, *asked)]


def test_rules_pick_requests(server: FakeOpenAI):
    rules = [
        {"when": {"user": "never"}, "do": "unavailable", "retry_after": "3"},
        {"when": {"attempts": 2}, "do": "rate_limit"},
        {"when": {"nth": [8]}, "do": "empty"},
    ]
    server.configure(rules=rules)
    answers = ask(server, "a", "a", "a", "never", "b", "b", "b", "a", "a")
    assert [status for status, _ in answers] == [429, 429, 200, 503, 429, 429, 200, 200, 200]
    assert texts(answers[7:]) == ["", "a"]
    assert [line["attempt"] for line in server.log()] == [1, 2, 3, 1, 1, 2, 3, 4, 5]


def test_limits_are_enforced(server: FakeOpenAI):
    server.configure(requests_per_minute=1, burst=3)
    answers = ask(server, *"abcde")
    assert [status for status, _ in answers] == [200, 200, 200, 429, 429]
    server.configure(requests_per_minute=6000, burst=1)
    time.sleep(0.02)
    assert ask(server, "x")[0][0] == 200


def test_the_log_tells_what_was_asked_and_answered(server: FakeOpenAI):
    server.configure(latency_s=0.05, keep_bodies=True)
    ask(server, "喝茶", "喝水")
    first, second = server.log()
    assert [first["number"], second["number"]] == [1, 2]
    assert (first["user"], first["status"], first["sent"], first["batch"]) == ("喝茶", 200, True, None)
    assert first["hash"] != second["hash"]
    assert first["answered"] - first["received"] >= 0.045
    assert first["body"]["messages"] == [{"role": "user", "content": "喝茶"}]
    assert server.log(since=1) == [second]
    assert server.stats()["statuses"] == {"200": 2}
    server.reset()
    assert server.log() == []


def test_a_wrong_behaviour_is_refused(server: FakeOpenAI):
    with pytest.raises(ValueError, match="latency"):
        server.configure(latency_s=-1)
    with pytest.raises(ValueError, match="latenzy"):
        server.configure(latenzy_s=1)
    assert ask(server, "still here")[0][0] == 200


def test_json_is_wrapped_as_asked(server: FakeOpenAI):
    schema = {"properties": {"n": {"type": "integer"}, "text": {"type": "string"}}}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}

    def wrapped() -> dict[str, Any]:
        return json.loads(texts(ask(server, "喝茶", response_format=form))[0])

    assert wrapped() == {"text": "喝茶", "n": 0}
    server.configure(rules=[{"do": "without_field"}])
    assert "text" not in wrapped()
    server.configure(rules=[], json_replies="never")
    assert texts(ask(server, "喝茶", response_format=form)) == ["喝茶"]


# --- files and batches, by the library's own client


def jsonl(*names: str) -> bytes:
    body = {"model": "m", "messages": []}
    lines = [
        {"custom_id": name, "method": "POST", "url": "/v1/chat/completions",
         "body": {**body, "messages": [{"role": "user", "content": f"say {name}"}]}}
        for name in names
    ]  # fmt: skip
    return "\n".join(map(json.dumps, lines)).encode()


def hand_in(client: openai.OpenAI, content: bytes) -> Any:
    file = client.files.create(file=("in.jsonl", content), purpose="batch")
    assert client.files.content(file.id).read() == content
    return client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"intent": "i-1"}
    )


def lines(client: openai.OpenAI, file: str | None) -> dict[str, Any]:
    assert file is not None
    found = [json.loads(line) for line in client.files.content(file).text.splitlines()]
    return {line["custom_id"]: line for line in found}


def test_a_batch_ends_with_mixed_success(server: FakeOpenAI, client: openai.OpenAI):
    server.configure(
        rules=[{"when": {"user": "bad"}, "do": "context_length"}, {"when": {"user": "lost"}, "do": "hang"}],
        batch={"polls": 2},
    )
    batch = hand_in(client, jsonl("one", "bad", "two", "lost"))
    assert [one.metadata for one in client.batches.list()] == [{"intent": "i-1"}]
    seen = [batch.status] + [client.batches.retrieve(batch.id).status for _ in range(3)]
    assert seen == ["validating", "in_progress", "finalizing", "completed"]
    done = client.batches.retrieve(batch.id)
    assert done.request_counts is not None
    assert (done.request_counts.completed, done.request_counts.failed) == (2, 2)
    good, bad = lines(client, done.output_file_id), lines(client, done.error_file_id)
    assert set(good) == {"one", "two"}
    assert good["one"]["response"]["body"]["choices"][0]["message"]["content"] == "say one"
    assert bad["bad"]["response"]["status_code"] == 400
    assert bad["lost"]["error"]["code"] == "batch_expired"
    assert {line["batch"] for line in server.log()} == {batch.id}


@pytest.mark.parametrize("end", ["expired", "failed", "cancelled"])
def test_a_batch_may_end_otherwise(server: FakeOpenAI, client: openai.OpenAI, end: str):
    server.configure(batch={"polls": 0, "end": end, "done_share": 0.5})
    batch = hand_in(client, jsonl(*"abcdef"))
    if end == "cancelled":
        assert client.batches.cancel(batch.id).status == "cancelling"
    ended = client.batches.retrieve(batch.id)
    assert ended.status == end
    if end == "failed":
        assert ended.output_file_id is None
        assert len(server.log()) == 0
    else:
        assert len(lines(client, ended.output_file_id)) == len(lines(client, ended.error_file_id)) == 3


def test_a_batch_with_a_wrong_file_fails(server: FakeOpenAI, client: openai.OpenAI):
    ended = client.batches.retrieve(hand_in(client, jsonl("a", "a") + b"\n{").id)
    assert ended.status == "failed"
    assert ended.errors is not None
    assert [(error.line, error.code) for error in ended.errors.data or ()] == [
        (2, "duplicate_custom_id"), (3, "invalid_json_line")
    ]  # fmt: skip


def test_other_paths_have_rules_too(server: FakeOpenAI, client: openai.OpenAI):
    when = {"path": "/v1/batches", "method": "POST", "nth": [1]}
    server.configure(rules=[{"when": when, "do": "drop_after"}])
    with pytest.raises(openai.APIConnectionError):
        hand_in(client, jsonl("a"))
    assert len(list(client.batches.list())) == 1  # it was made all the same
    assert client.batches.list().data[0].metadata == {"intent": "i-1"}


def test_a_request_counts_once_all_of_it_is_here(server: FakeOpenAI):
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b"POST /v1/batches HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{")
        time.sleep(0.1)
        assert server.stats()["calls"] == {}
        connection.sendall(b"}")
        assert connection.recv(65536).startswith(b"HTTP/1.1 400")
    assert server.stats()["calls"] == {"POST /v1/batches": 1}


# --- answers that do not arrive, as a socket sees them


def raw_answer(server: FakeOpenAI) -> tuple[bytes, float]:
    """Everything that the service sends before it closes the connection, and how long it took."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x" * 200}]})
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), timeout=patience()) as connection:
        connection.sendall((head + body).encode())
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    return received, time.monotonic() - began


@pytest.mark.push
@pytest.mark.parametrize(
    ("do", "arrives"), [("drop_before", 0), ("drop_after", 0), ("drop_midway", 0.5), ("dribble", 1)]
)
def test_an_answer_may_arrive_in_part_or_slowly(server: FakeOpenAI, do: str, arrives: float):
    server.configure(rules=[{"do": do, "seconds": 0.4}])
    received, seconds = raw_answer(server)
    head, _, body = received.partition(b"\r\n\r\n")
    assert (received == b"") is (arrives == 0)
    if arrives:
        length = int(re.findall(rb"(?i)content-length: (\d+)", head)[0])
        assert len(body) == int(length * arrives)
    assert do != "dribble" or seconds >= 0.35
    (record,) = server.log()
    assert (record["effect"], record["status"]) == (do, 200 if do == "dribble" else 0)


@pytest.mark.push
def test_a_client_that_leaves_does_no_harm(server: FakeOpenAI):
    server.configure(rules=[{"when": {"nth": [1]}, "do": "dribble", "seconds": 0.2}], latency_s=0.1)
    for sent in (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 9\r\n\r\n{", b"no HTTP at all\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(sent)
    for text in "ab":
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        body = {"model": "m", "messages": [{"role": "user", "content": text}]}
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        connection.close()
    deadline = time.monotonic() + patience()
    while [record["status"] for record in server.log()] != [200, 200] and time.monotonic() < deadline:
        time.sleep(0.02)
    assert ask(server, "c")[0][0] == 200
    assert [record["sent"] for record in server.log()] == [False, False, True]


# --- the process


@pytest.mark.push
def test_it_ends_at_a_mistake_of_its_plugin(tmp_path: Path):
    (tmp_path / "plugin.py").write_text("def reply(messages, body):\n    raise LookupError\n")
    with fake_openai_server({"plugin": str(tmp_path / "plugin.py")}) as started:
        with pytest.raises((http.client.HTTPException, OSError)):
            ask(started, "x")
        assert started.process.wait(patience()) == 1


@pytest.mark.push
def test_it_ends_with_its_parent():
    code = (
        "import subprocess, sys, time\n"
        "command = [sys.executable, '-m', 'benchbuilder.testing.fake_openai.server']\n"
        "p = subprocess.Popen(command, stdout=subprocess.PIPE)\n"
        "print(p.pid, int(p.stdout.readline()), flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    pid = int(done.stdout.split()[0])
    deadline = time.monotonic() + patience()
    while time.monotonic() < deadline and _alive(pid):
        time.sleep(0.05)
    assert not _alive(pid)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"
