from __future__ import annotations

import asyncio
import time

import pytest
from gateway_models import Done, Fake, FakeSpec, body, rows

from benchbuilder.core.errors import BenchbuilderError, InstallationError, ServiceError
from benchbuilder.models import Gateway
from benchbuilder.models.base import RefusedRequestError, TransientError
from benchbuilder.models.gateway import hosted_sender, service_gate


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Retries wait a thousandth of the time."""
    for module in (hosted_sender, service_gate):
        monkeypatch.setattr(module, "backoff_s", lambda failures, jitter: 0.001 * failures)


def first(times: int, error: BaseException):
    """Fail so many times for each row, then answer."""
    return lambda fake, request, attempt: error if attempt <= times else None


def test_what_may_succeed_is_tried_again(gateway):
    Fake.scripts["busy"] = first(3, TransientError("503: busy"))
    done = Done()
    gateway.converse("s", FakeSpec(script="busy"), rows(10), done)
    assert done[7] == "re: row 7"
    assert set(Fake.asked.values()) == {4}
    assert gateway.receipts()[0].unanswered == 0


def test_a_row_fails_when_its_retries_are_used_up_and_the_others_go_on(gateway):
    def script(fake, request, attempt):
        return TransientError("500: broken") if request.messages[0].content.endswith("0") else None

    Fake.scripts["some"] = script
    done = Done()
    gateway.converse("s", FakeSpec(script="some", retries=2, concurrency=2), rows(100), done)
    assert {item for item, told in done.items() if told == "500: broken (after 3 attempts)"} == set(range(0, 100, 10))
    assert gateway.receipts()[0].calls == 90
    before = sum(Fake.asked.values())
    gateway.converse("s", FakeSpec(script="some", retries=0), rows(100), done := Done())
    assert done[10] == "500: broken (after 1 attempt)"
    assert sum(Fake.asked.values()) == before + 10


def test_rows_that_wait_for_a_retry_do_not_keep_others_from_being_sent(gateway, monkeypatch):
    monkeypatch.setattr(hosted_sender, "backoff_s", lambda failures, jitter: 0.6)
    finished = []

    def script(fake, request, attempt):
        return TransientError("500") if request.messages[0].content in {"row 0", "row 1"} and attempt == 1 else None

    Fake.scripts["slow"] = script
    gateway.converse(
        "s", FakeSpec(script="slow", concurrency=2), rows(20), lambda item, outcomes: finished.append(item)
    )
    assert set(finished[-2:]) == {0, 1}


def test_what_is_refused_fails_its_row_at_once(gateway):
    Fake.scripts["no"] = lambda *_: RefusedRequestError("400: content policy")
    done = Done()
    gateway.converse("s", FakeSpec(script="no"), rows(3), done)
    assert set(done.values()) == {"400: content policy"}
    assert set(Fake.asked.values()) == {1}
    assert gateway.receipts() == ()


def test_a_wrong_key_stops_all_at_once(gateway):
    Fake.scripts["key"] = lambda *_: ServiceError("the service refuses the key")
    with pytest.raises(ServiceError, match="refuses the key"):
        gateway.converse("s", FakeSpec(script="key", concurrency=4), rows(1000), Done())
    assert sum(Fake.asked.values()) <= 4
    assert gateway.receipts() == ()


def test_what_is_in_flight_when_all_stops_is_answered_and_journaled(gateway):
    async def script(fake, request, attempt):
        if request.messages[0].content == "row 0":
            await asyncio.sleep(0.01)
            return ServiceError("404: no such model")
        await asyncio.sleep(0.1)
        return None

    Fake.scripts["mixed"] = script
    done = Done()
    with pytest.raises(ServiceError, match="404"):
        gateway.converse("s", FakeSpec(script="mixed", concurrency=5), rows(100), done)
    assert gateway.receipts()[0].calls == 4
    assert gateway.receipts()[0].unanswered == 0
    assert sorted(done) == [1, 2, 3, 4]
    assert sum(Fake.asked.values()) == 5


def test_garbage_is_tried_again_then_fails_its_row_and_is_kept(gateway):
    Fake.scripts["odd"] = lambda fake, request, attempt: "<html>" if attempt == 1 else None
    done = Done()
    gateway.converse("s", FakeSpec(script="odd"), rows(2), done)
    assert set(done.values()) == {"re: row 0", "re: row 1"}
    assert gateway.receipts()[0].unanswered == 2
    Fake.scripts["odd"] = lambda *_: "<html>"
    gateway.converse("s", FakeSpec(script="odd", retries=1), rows(1, 7), done)
    assert done[7].startswith("an invalid answer")
    assert gateway.receipts()[0].unanswered == 4
    assert gateway.journal.rows("SELECT DISTINCT body FROM attempts") == [("<html>",)]


def test_attempts_that_may_be_billed_are_counted(gateway):
    Fake.scripts["cut"] = first(2, TransientError("the connection broke", billed=True))
    gateway.converse("s", FakeSpec(script="cut"), rows(3), Done())
    (receipt,) = gateway.receipts()
    assert (receipt.calls, receipt.unanswered) == (3, 6)
    assert receipt.unanswered_tokens > 6 * 4096
    assert gateway.journal.rows("SELECT DISTINCT outcome FROM attempts") == [("the connection broke",)]


def test_a_slow_answer_is_given_up_and_may_be_billed(gateway):
    async def script(fake, request, attempt):
        if attempt == 1:
            await asyncio.sleep(3600)

    Fake.scripts["slow"] = script
    done = Done()
    gateway.converse("s", FakeSpec(script="slow", timeout_s=0.05), rows(2), done)
    assert done[1] == "re: row 1"
    assert gateway.receipts()[0].unanswered == 2


def test_throttling_lowers_what_is_in_flight_and_costs_no_retries(journal):
    told = []

    def script(fake, request, attempt):
        return TransientError("429", throttled=True) if Fake.now > 4 else None

    Fake.scripts["crowded"] = script
    done = Done()
    with Gateway(journal, notice=told.append) as gateway:
        gateway.converse("s", FakeSpec(script="crowded", concurrency=16, latency_s=0.005, retries=0), rows(200), done)
    assert set(done.values()) == {f"re: row {number}" for number in range(200)}
    assert Fake.peak == 16
    assert any("too many requests, now at most" in text for text in told)
    assert len(told) <= 3


def test_a_pause_that_the_service_asks_for_holds_for_all(journal):
    told, sent = [], []

    def script(fake, request, attempt):
        sent.append(asyncio.get_running_loop().time())
        return TransientError("429", throttled=True, retry_after_s=1.5) if len(sent) == 1 else None

    Fake.scripts["pause"] = script
    with Gateway(journal, notice=told.append) as gateway:
        gateway.converse("s", FakeSpec(script="pause", concurrency=1), rows(5), Done())
    assert len(sent) == 6
    assert sent[1] - sent[0] >= 1.49
    assert [text.partition(": ")[2] for text in told] == ["paused for 2 s at the request of the service"]


def test_always_throttled_stops_within_the_configured_time(gateway):
    Fake.scripts["never"] = lambda *_: TransientError("429: rate limit", throttled=True)
    spec = FakeSpec(script="never", give_up_s=0.3, concurrency=8)
    done = Done()
    with pytest.raises(ServiceError, match="gave no good answer for") as told:
        gateway.converse("s", spec, rows(1000), done)
    assert "429: rate limit" in told.value.why
    assert not done
    assert gateway.receipts() == ()


def test_a_pause_longer_than_the_configured_time_stops_at_once(gateway):
    Fake.scripts["later"] = lambda *_: TransientError("429", throttled=True, retry_after_s=86_400)
    with pytest.raises(ServiceError, match="asks to wait for 86400 s"):
        gateway.converse("s", FakeSpec(script="later", give_up_s=60, concurrency=8), rows(1000), Done())
    assert sum(Fake.asked.values()) <= 8


def test_failures_of_an_earlier_step_are_forgotten(gateway):
    Fake.scripts["no"] = lambda *_: TransientError("500")
    spec = FakeSpec(script="no", retries=0, give_up_s=0.05)
    gateway.converse("one", spec, rows(1), Done())
    time.sleep(0.1)
    gateway.converse("two", spec, rows(1), done := Done())
    assert done == {0: "500 (after 1 attempt)"}


def test_requests_a_minute_are_kept(gateway, monkeypatch):
    from benchbuilder.models.gateway import rate_limit

    monkeypatch.setattr(rate_limit, "MINUTE_S", 0.2)
    sent = []

    def script(fake, request, attempt):
        sent.append(asyncio.get_running_loop().time())
        return body("ok")

    Fake.scripts["note"] = script
    start = time.monotonic()
    gateway.converse("s", FakeSpec(script="note", requests_per_minute=5, concurrency=8), rows(16), Done())
    assert len(sent) == 16
    assert all(at - start >= 0.2 * (number // 5) - 0.001 for number, at in enumerate(sent))


def test_nobody_there_from_the_start_stops_after_a_few_attempts(gateway):
    Fake.scripts["gone"] = lambda *_: TransientError("no connection to x:1", unreached=True)
    with pytest.raises(ServiceError, match="no connection to x:1") as told:
        gateway.converse("s", FakeSpec(script="gone", retries=2, concurrency=4), rows(1000), done := Done())
    assert not done
    assert "reached the service" in told.value.why
    assert 3 <= sum(Fake.asked.values()) <= 4 + 3
    assert gateway.receipts() == ()


def test_a_service_that_was_there_once_fails_rows_alone(gateway):
    def script(fake, request, attempt):
        return None if request.messages[0].content == "row 0" else TransientError("gone", unreached=True)

    Fake.scripts["once"] = script
    gateway.converse("s", FakeSpec(script="once", retries=1, concurrency=1), rows(3), done := Done())
    assert done == {0: "re: row 0", 1: "gone (after 2 attempts)", 2: "gone (after 2 attempts)"}


def test_nothing_counts_as_sent_before_the_model_is_open(gateway, monkeypatch):
    async def closed(self):
        raise InstallationError("a library is missing")

    monkeypatch.setattr(Fake, "open", closed)
    with pytest.raises(InstallationError):
        gateway.converse("s", FakeSpec(), rows(30), Done())
    assert not Fake.asked
    assert gateway.receipts() == ()


def test_a_running_loop_is_told(gateway):
    async def notebook():
        gateway.converse("s", FakeSpec(), rows(1), Done())

    with pytest.raises(BenchbuilderError, match="from inside a running event loop") as told:
        asyncio.run(notebook())
    assert "asyncio.to_thread" in told.value.next
    gateway.converse("s", FakeSpec(), rows(1), done := Done())
    assert done == {0: "re: row 0"}
