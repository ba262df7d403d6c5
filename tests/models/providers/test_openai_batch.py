"""Requests by the batch to a service in another process, over real HTTP: the adapter, and a gateway over it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import patience
import pytest

from benchbuilder.config.spec.model import BatchSpec
from benchbuilder.core.errors import ServiceError, WaitingForBatch
from benchbuilder.core.records.outcomes import Dropped
from benchbuilder.models import Gateway
from benchbuilder.models.base import BatchGoneError, Message, RefusedRequestError, Request, TransientError, request_key
from benchbuilder.models.providers.openai import OpenAIModel, OpenAISpec
from benchbuilder.models.providers.openai_batch import OpenAIBatches
from benchbuilder.testing import FakeOpenAI, fake_openai_server

SECRET = "sk-proj-Qm4vT9bN2xK8wR6p"
QUICK = {"poll_s": 0.02, "wait_s": 60}
NOT_NOW = {"poll_s": 0.02, "wait_s": 0}


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
        rules=[], api_key=SECRET, models=[], unsupported=[], fixed=None, keep_bodies=True, latency_s=0,
        batch={"polls": 1, "end": "completed", "done_share": 1.0},
    )  # fmt: skip


def request(text: str, sample: int = 0) -> Request:
    return Request((Message("user", text),), {"temperature": 0, "max_new_tokens": 64}, None, sample)


def spec_of(server: FakeOpenAI, **more: Any) -> OpenAISpec:
    return OpenAISpec(**{"kind": "openai", "name": "m", "base_url": server.base_url, "timeout_s": 5, **more})


def chat(number: int) -> Any:
    reply = yield request(f"第{number}行：孕妇能喝咖啡吗？\u2028请回答。")
    return [Dropped("told", reply.text)]


def told(done: dict[int, Any]) -> dict[int, str]:
    return {n: outcomes if isinstance(outcomes, str) else outcomes[0].detail for n, outcomes in done.items()}


def run(journal: Path, spec: OpenAISpec, count: int = 12, notes: list[str] | None = None) -> dict[int, str]:
    done: dict[int, Any] = {}
    with Gateway(journal, notice=(notes if notes is not None else []).append) as gateway:
        gateway.converse("s", spec, ((n, chat(n)) for n in range(count)), done.__setitem__)
    return told(done)


def with_batches(server: FakeOpenAI, work: Any) -> Any:
    """What `work` makes of the batches of a model."""

    async def all_of_it() -> Any:
        model = OpenAIModel(spec_of(server))
        batches = model.batches()
        assert isinstance(batches, OpenAIBatches)
        try:
            return await work(model, batches)
        finally:
            await model.close()

    return asyncio.run(all_of_it())


# --- the adapter


def test_a_batch_from_the_first_to_the_last_step(server: FakeOpenAI):
    asked = {
        request_key(OpenAIModel(spec_of(server)), one): one for one in (request("一"), request("二"), request("二", 1))
    }

    async def work(model: OpenAIModel, batches: OpenAIBatches) -> Any:
        ident = await batches.submit("mark-1", list(asked.items()))
        states = [await batches.poll(ident) for _ in range(3)]
        found = [await batches.find(mark) for mark in ("mark-1", "mark-2")]
        bodies = {key: body async for key, body in batches.results(ident)}
        sizes = sum(batches.size(one) for one in asked.values())
        file = await model.client().files.content("file-1")
        return ident, states, found, {key: model.read(body) for key, body in bodies.items()}, sizes, file.content

    ident, states, found, replies, sizes, file = with_batches(server, work)
    assert [state.phase for state in states] == ["running", "ended", "ended"]
    assert (states[-1].done, states[-1].total) == (3, 3)
    assert found == [ident, None]
    assert set(replies) == set(asked)
    assert {reply.outcome for reply in replies.values()} == {"complete"}
    assert sizes == len(file)
    live = OpenAIModel(spec_of(server)).body(request("一"))
    assert [entry["body"] for entry in server.log() if entry["user"] == "一"] == [live]
    assert {entry["batch"] for entry in server.log()} == {ident}


@pytest.mark.push
def test_an_older_batch_is_found_behind_many(server: FakeOpenAI):
    async def work(_: OpenAIModel, batches: OpenAIBatches) -> Any:
        idents = [await batches.submit(f"mark-{n}", [("0" * 64, request("一"))]) for n in range(105)]
        return idents, await batches.find("mark-0")

    idents, first = with_batches(server, work)
    assert first == idents[0]


def test_results_are_read_line_by_line_whatever_the_texts_hold(server: FakeOpenAI):
    server.configure(fixed="一\u2028二\x85三\r四\n五" * 2000)

    async def work(model: OpenAIModel, batches: OpenAIBatches) -> Any:
        keys = [f"{n:064d}" for n in range(50)]
        ident = await batches.submit("mark", [(key, Request((Message("user", key),))) for key in keys])
        while (await batches.poll(ident)).phase == "running":
            pass
        return {key: model.read(body).text async for key, body in batches.results(ident)}

    replies = with_batches(server, work)
    assert len(replies) == 50
    assert set(replies.values()) == {"一\u2028二\x85三\r四\n五" * 2000}


@pytest.mark.parametrize(
    ("do", "kind", "said"),
    [
        ("server_error", TransientError, "500"), ("context_length", RefusedRequestError, "too long"),
        ("no_model", ServiceError, "no model"), ("quota", ServiceError, "no credit"),
    ],
)  # fmt: skip
def test_failures_of_a_line_are_those_of_a_live_request(server: FakeOpenAI, do: str, kind: type, said: str):
    server.configure(rules=[{"do": do, "when": {"user": "二"}}])

    async def work(_: OpenAIModel, batches: OpenAIBatches) -> Any:
        ident = await batches.submit("mark", [("a", request("一")), ("b", request("二"))])
        while (await batches.poll(ident)).phase == "running":
            pass
        return {key: result async for key, result in batches.results(ident)}

    results = with_batches(server, work)
    assert isinstance(results["a"], str)
    assert isinstance(results["b"], kind)
    assert said in str(results["b"])


@pytest.mark.parametrize(
    ("rule", "kind", "said"),
    [
        ({"do": "unauthorized"}, ServiceError, "does not accept the key"),
        ({"do": "status", "status": 404}, ServiceError, "does not support batches"),
        ({"do": "bad_request"}, ServiceError, "rejects the batch"),
        ({"do": "quota"}, ServiceError, "no credit"),
        ({"do": "server_error"}, TransientError, "500"),
        ({"do": "rate_limit", "retry_after": "7"}, TransientError, "fewer requests"),
        ({"do": "drop_before"}, TransientError, "the connection broke while uploading a file"),
        ({"do": "hang"}, TransientError, "no answer in time while uploading a file"),
    ],
)
def test_what_goes_wrong_while_handing_in_is_told_without_the_key(server: FakeOpenAI, rule: Any, kind: type, said: str):
    server.configure(rules=[{**rule, "when": {"path": "/files"}, "message": rule.get("message", f"no: {SECRET}")}])

    async def work(model: OpenAIModel, batches: OpenAIBatches) -> Any:
        model.client().timeout = 0.5
        with pytest.raises(kind, match=said) as error:
            await batches.submit("mark", [("a", request("一"))])
        return error.value

    error = with_batches(server, work)
    assert SECRET not in "".join(traceback.format_exception(error))
    chain: BaseException | None = error
    while chain is not None:
        response: Any = getattr(chain, "response", None)
        sent: Any = getattr(chain, "request", None) if hasattr(chain, "_request") or response is not None else None
        shown = f"{chain!r}{vars(chain)}{response and response.text}{sent and sent.headers}"
        assert SECRET not in shown
        chain = chain.__cause__
    if "retry_after" in rule:
        assert error.retry_after_s == 7


class Nonsense(BaseHTTPRequestHandler):
    """Answers everything with what no service of this protocol answers."""

    answer: tuple[str, bytes] = ("", b"")

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", self.answer[0])
        self.send_header("Content-Length", str(len(self.answer[1])))
        self.end_headers()
        self.wfile.write(self.answer[1])

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.mark.parametrize(
    "answer",
    [
        ("text/html", b"<html>maintenance</html>"), ("application/json", b"{}"), ("application/json", b"[]"),
        ("application/json", b"garbage"), ("application/json", b'{"data": [{}]}'), ("application/json", b"null"),
    ],
)  # fmt: skip
def test_nonsense_in_place_of_an_answer_is_tried_again(answer: tuple[str, bytes]):
    Nonsense.answer = answer
    with ThreadingHTTPServer(("127.0.0.1", 0), Nonsense) as there:
        threading.Thread(target=there.serve_forever, daemon=True).start()

        async def all_of_it() -> None:
            spec = OpenAISpec(kind="openai", name="m", base_url=f"http://127.0.0.1:{there.server_port}/v1")
            model = OpenAIModel(spec)
            batches = model.batches()
            for call in (batches.submit("mark", [("a", request("一"))]), batches.poll("batch_1")):
                with pytest.raises(TransientError, match="an invalid answer"):
                    await call
            with pytest.raises(TransientError, match="an invalid answer"):  # not: there is none
                await batches.find("mark")
            with pytest.raises(TransientError, match="an invalid answer"):
                _ = [result async for result in batches.results("batch_1")]
            await model.close()

        asyncio.run(all_of_it())
        there.shutdown()


def test_a_batch_that_nobody_knows_is_gone(server: FakeOpenAI):
    async def work(_: OpenAIModel, batches: OpenAIBatches) -> Any:
        with pytest.raises(BatchGoneError, match="batch_404"):
            await batches.poll("batch_404")

    with_batches(server, work)


# --- the gateway over it


def test_the_result_is_that_of_a_live_run_and_either_serves_the_other(server: FakeOpenAI, tmp_path: Path):
    by_batch = run(tmp_path / "a.sqlite", spec_of(server, batch=QUICK))
    assert len(by_batch) == 12
    assert server.stats()["calls"]["POST /v1/batches"] == 1
    asked = len(server.log())
    assert run(tmp_path / "a.sqlite", spec_of(server)) == by_batch
    assert len(server.log()) == asked
    assert run(tmp_path / "b.sqlite", spec_of(server)) == by_batch
    assert run(tmp_path / "b.sqlite", spec_of(server, batch=QUICK)) == by_batch
    assert server.stats()["calls"]["POST /v1/batches"] == 1
    assert len(server.log()) == 2 * asked


def test_a_tenth_fails_for_ever_another_tenth_at_first(server: FakeOpenAI, tmp_path: Path):
    server.configure(
        rules=[
            {"do": "server_error", "when": {"share": 0.1, "salt": "never"}},
            {"do": "rate_limit", "when": {"share": 0.2, "salt": "at first", "attempts": 1}},
            {"do": "garbage", "when": {"share": 0.1, "salt": "nonsense", "attempts": 1}},
            {"do": "refuse", "when": {"share": 0.1, "salt": "refused"}},
        ]
    )
    notes: list[str] = []
    by_batch = run(tmp_path / "a.sqlite", spec_of(server, batch=QUICK, retries=2), 60, notes)
    failed = {n: text for n, text in by_batch.items() if "(after 3 attempts)" in text}
    assert 2 <= len(failed) <= 12
    assert all("500" in text for text in failed.values())
    assert server.stats()["calls"]["POST /v1/batches"] == 3
    attempts = Counter(entry["user"] for entry in server.log())
    assert max(attempts.values()) == 3
    good = {n: text for n, text in by_batch.items() if n not in failed}
    server.configure(rules=[{"do": "refuse", "when": {"share": 0.1, "salt": "refused"}}])
    live = run(tmp_path / "b.sqlite", spec_of(server), 60)
    assert {n: live[n] for n in good} == good


@pytest.mark.parametrize("end", ["expired", "cancelled"])
def test_of_a_batch_that_ends_early_what_is_done_is_kept(server: FakeOpenAI, tmp_path: Path, end: str):
    server.configure(batch={"polls": 0, "end": end, "done_share": 0.5})
    journal, spec = tmp_path / "a.sqlite", spec_of(server, batch=QUICK, retries=2)
    rest = run(journal, spec, 16)
    assert Counter(entry["user"] for entry in server.log()).most_common(1)[0][1] == 1
    failed = [text for text in rest.values() if f"batch_{end}" in text]
    assert len(failed) == 2  # 16, 8, 4, 2: three rounds
    server.configure(batch={"polls": 0})
    assert not any("batch_" in text for text in run(journal, spec, 16).values())
    assert len(server.log()) == 16


def test_a_failed_batch_stops_the_build_with_what_the_service_says(server: FakeOpenAI, tmp_path: Path):
    server.configure(batch={"polls": 0, "end": "failed"})
    journal = tmp_path / "a.sqlite"
    with pytest.raises(ServiceError, match="rejected batch batch_1") as error:
        run(journal, spec_of(server, batch=QUICK))
    assert error.value.why == "The batch failed."
    server.configure(batch={"polls": 0})
    assert len(run(journal, spec_of(server, batch=QUICK))) == 12
    assert len(server.log()) == 12


@pytest.mark.push
def test_several_batches_by_max_requests(server: FakeOpenAI, tmp_path: Path):
    spec = spec_of(server, batch={**QUICK, "max_requests": 5})
    assert len(run(tmp_path / "a.sqlite", spec)) == 12
    assert server.stats()["calls"]["POST /v1/batches"] == 3
    assert Counter(entry["batch"] for entry in server.log()) == {"batch_1": 5, "batch_2": 5, "batch_3": 2}


@pytest.mark.push
def test_a_build_goes_on_in_later_runs(server: FakeOpenAI, tmp_path: Path):
    server.configure(batch={"polls": 3})
    journal, spec = tmp_path / "a.sqlite", spec_of(server, batch=NOT_NOW)
    for _ in range(3):
        with pytest.raises(WaitingForBatch, match="12 replies are missing"):
            run(journal, spec)
    assert len(run(journal, spec)) == 12
    assert len(server.log()) == 12
    assert server.stats()["calls"]["POST /v1/batches"] == 1
    assert SECRET.encode() not in journal.read_bytes()


# --- kills

PROGRAM = """
import sys
from pathlib import Path
sys.path[:0] = {folders!r}
from test_openai_batch import run, OpenAISpec
print(len(run(Path({journal!r}), OpenAISpec.model_validate_json({spec!r}))))
"""


def started(journal: Path, spec: OpenAISpec) -> subprocess.Popen[str]:
    folders = [str(Path(str(file)).parent) for file in (__file__, patience.__file__)]
    program = PROGRAM.format(folders=folders, journal=str(journal), spec=spec.model_dump_json())
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)


def killed_when(server: FakeOpenAI, path: str, process: subprocess.Popen[str]) -> None:
    """Kill a build once the service heard a call."""

    def heard() -> bool:
        return any(name.startswith(path) for name in server.stats()["calls"])

    with process:
        patience.until(lambda: heard() or process.poll() is not None)
        process.kill()
    assert heard()


@pytest.mark.parametrize(
    ("path", "batches"),
    [("POST /v1/files", 1), ("POST /v1/batches", 1), ("GET /v1/batches/", 1), ("GET /v1/files/", 1)],
)
@pytest.mark.full
def test_a_kill_at_any_point_leads_to_one_batch(server: FakeOpenAI, tmp_path: Path, path: str, batches: int):
    method, _, where = path.partition(" ")
    server.configure(rules=[{"do": "hang", "when": {"path": where.removeprefix("/v1"), "method": method}}])
    journal = tmp_path / "a.sqlite"
    killed_when(server, path, started(journal, spec_of(server, batch=QUICK)))
    known = server.stats()["calls"].get("POST /v1/batches", 0)
    assert known == (0 if path == "POST /v1/files" else 1)
    server.configure(rules=[])
    done = run(journal, spec_of(server, batch=QUICK))
    assert len(done) == 12
    assert server.stats()["calls"]["POST /v1/batches"] == batches
    assert Counter(entry["user"] for entry in server.log()).most_common(1)[0][1] == 1
    assert done == run(tmp_path / "b.sqlite", spec_of(server))


@pytest.mark.push
def test_the_defaults_are_a_batch(server: FakeOpenAI):
    assert spec_of(server, batch={}).batch == BatchSpec()
