from __future__ import annotations

import asyncio
import random
import selectors
from types import SimpleNamespace
from typing import Any

import pytest
from gateway_models import Done, Fake, FakeSpec, rows

from benchbuilder.core.errors import BudgetReached, ServiceError
from benchbuilder.models.base import TransientError
from benchbuilder.models.gateway.budget import Budget
from benchbuilder.models.gateway.conversation_loop import ConversationLoop
from benchbuilder.models.gateway.hosted_sender import HostedSender
from benchbuilder.models.gateway.journal_tables import Cost, JournalRequest
from benchbuilder.models.gateway.send_slot import SendSlot
from benchbuilder.models.gateway.service_gate import LONGEST_BACKOFF_S, ServiceGate, backoff_s
from benchbuilder.models.gateway.token_count import TokenCounter

THROTTLED = TransientError("429: slow down", throttled=True)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class QuickSelector(selectors.DefaultSelector):
    """Waits by setting the clock forward."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def select(self, timeout: float | None = None) -> Any:
        self.clock.now += timeout or 0.0
        return super().select(0)


def made(give_up_s: float = 30.0) -> tuple[Clock, ServiceGate]:
    clock = Clock()
    gate = ServiceGate("gpt", "http://x", clock, lambda: 1.0)
    gate.begin_step(give_up_s)
    return clock, gate


def attempts_in(error: BaseException, *, seconds: float = 300.0, **settings: Any) -> tuple[int, ServiceError]:
    """How many requests a service got that always fails, until the build gave up, and the error."""
    clock = Clock()
    loop = asyncio.SelectorEventLoop(QuickSelector(clock))
    loop.time = clock  # type: ignore[method-assign]
    gate = ServiceGate("gpt", "http://x", clock, random.Random(7).random)
    journal = SimpleNamespace(commit_later=lambda work: None)
    replies: Any = SimpleNamespace(
        journal=journal, endpoint="http://x", store=None, with_learnt_cost=lambda entry: entry
    )
    spec = FakeSpec(script="fails", give_up_s=seconds, **settings)
    notices: list[str] = []
    sender = HostedSender(
        Fake(spec), replies, TokenCounter(None), Budget(None, None, notices.append), "o:1", notices.append, gate
    )
    Fake.scripts["fails"] = lambda *_: error

    async def run() -> None:
        sender.begin_step()

        async def ask(request, turn):
            key = request.messages[0].content
            entry = JournalRequest(key, None, "s", "gpt", "http://x", request, {}, 0, Cost(1, 1, None), "")
            return await sender.ask(entry, turn)

        await ConversationLoop(sender, ask, rows(100_000), Done(), lambda _: None).run()

    try:
        with pytest.raises(ServiceError) as told:
            loop.run_until_complete(run())
    finally:
        loop.close()
    assert len(notices) <= 3 + seconds / 10
    return sum(Fake.asked.values()), told.value


FAULTS = {
    "429": THROTTLED,
    "429, wait 0 s": TransientError("429", throttled=True, retry_after_s=0.0),
    "429, wait 2 s": TransientError("429", throttled=True, retry_after_s=2.0),
    "500": TransientError("500: broken"),
    "503": TransientError("503: busy", throttled=True),
    "connection broke": TransientError("the connection broke", billed=True),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("concurrency", [1, 16, 64])
def test_five_minutes_of_failures_cost_at_most_200_requests(fault: str, concurrency: int):
    count, error = attempts_in(FAULTS[fault], concurrency=concurrency)
    assert count <= 200
    assert count >= 20
    assert "gave no good answer for" in error.what
    assert "run the same command again" in error.next


def test_a_service_that_is_not_there_stops_the_build_in_seconds():
    count, error = attempts_in(TransientError("no connection to x:1", unreached=True))
    assert count <= 30
    assert "none of" in error.why


def test_a_pause_of_ten_days_stops_the_build_at_once():
    count, error = attempts_in(TransientError("429", throttled=True, retry_after_s=864_000.0))
    assert count <= 16
    assert "asks to wait for" in error.what


def test_backoff_doubles_has_full_jitter_and_an_end():
    rng = random.Random(1)
    for failures in range(1, 12):
        most = min(LONGEST_BACKOFF_S, 2.0 ** (failures - 1))
        spread = [backoff_s(failures, rng.random()) for _ in range(200)]
        assert 0 <= min(spread) < most / 10 < most * 0.9 < max(spread) <= most


def test_a_closed_gate_lets_one_probe_pass_and_a_good_answer_opens_it():
    clock, gate = made()
    old = [SendSlot(clock.now, 1) for _ in range(5)]
    for slot in old[:3]:
        assert gate.wait_s() == 0
        gate.pass_through(slot)
        gate.slow_down(slot, THROTTLED)
    assert gate.closed
    assert gate.wait_s() == 1
    gate.slow_down(old[3], THROTTLED)  # it was sent before the gate closed
    assert gate.wait_s() == 1
    clock.now += 1
    probe = SendSlot(clock.now, 1)
    gate.pass_through(probe)
    assert gate.wait_s() == float("inf")
    gate.slow_down(probe, THROTTLED)
    gate.leave(probe)
    assert gate.wait_s() == 2
    clock.now += 2
    gate.pass_through(probe := SendSlot(clock.now, 1))
    gate.record_success()
    gate.leave(probe)
    assert (gate.closed, gate.wait_s()) == (False, 0)


def test_a_probe_that_ends_without_an_answer_does_not_block_the_next():
    clock, gate = made()
    for _ in range(3):
        gate.slow_down(SendSlot(clock.now, 1), THROTTLED)
    clock.now += 1
    gate.pass_through(probe := SendSlot(clock.now, 1))
    gate.leave(probe)
    assert gate.wait_s() == 0


def test_a_few_rows_that_fail_by_themselves_do_not_close_it():
    _, gate = made()
    for _ in range(60):
        gate.slow_down(SendSlot(0.0, 1), TransientError("500"))
    assert not gate.closed


def test_a_pause_that_the_service_asks_for_holds_until_it_is_over():
    clock, gate = made()
    assert gate.slow_down(SendSlot(0.0, 1), TransientError("429", retry_after_s=10.0))
    assert not gate.slow_down(SendSlot(0.0, 1), TransientError("429", retry_after_s=5.0))
    assert gate.wait_s() == gate.asked_pause_s() == 10
    clock.now += 10
    assert gate.wait_s() == 0


def test_it_gives_up_when_nothing_good_came_for_long_enough():
    clock, gate = made()
    clock.now += 500  # a long wait for the first answer is no failure
    assert gate.seconds_left() == float("inf")
    for _ in range(29):
        gate.record_failure(ValueError("429: slow down"))
        clock.now += 1
    assert gate.seconds_left() == pytest.approx(1)
    clock.now += 1
    with pytest.raises(ServiceError) as told:
        gate.record_failure(ValueError("503: busy"))
    assert "30.0 s" in told.value.what
    assert "30; the last error: 503: busy" in told.value.why
    assert "give_up_s" in told.value.next


def test_a_good_answer_measures_anew():
    clock, gate = made()
    for _ in range(10):
        gate.record_failure(ValueError("500"))
        clock.now += 29
        gate.record_success()
    gate.check()


def test_failures_that_far_outnumber_answers_end_the_whole_build():
    clock, gate = made()

    def flap() -> None:
        for number in range(1_500):
            gate.record_failure(ValueError("500"))
            clock.now += 1
            if number % 20 == 0:
                gate.record_success()
            if number % 100 == 0:
                gate.begin_step(30.0)

    with pytest.raises(ServiceError, match="failed attempts in this build") as told:
        flap()
    assert "good answers:" in told.value.why


def test_a_pause_beyond_the_limit_ends_it_at_once():
    _, gate = made()
    gate.check(3600.0)
    gate.record_failure(ValueError("429"))
    gate.check(20.0)
    with pytest.raises(ServiceError, match="asks to wait for 3600 s"):
        gate.check(3600.0)


def test_a_cap_that_failures_alone_have_reached_names_the_service():
    _, gate = made()
    spent = BudgetReached("the budget is reached", where="spent", why="too much", next="raise budget.usd")
    assert gate.explain_budget(spent) is spent
    gate.slow_down(None, THROTTLED)
    gate.record_failure(THROTTLED)
    told = gate.explain_budget(spent)
    assert "billed: 1; the last error: 429: slow down" in told.why
    assert told.next == "look at the service http://x first; then raise budget.usd"
