from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.core.errors import ServiceError
from benchbuilder.models.gateway.circuit_breaker import Breaker
from benchbuilder.models.gateway.rate_limit import MINUTE_S, Pace, backoff_s


def test_as_many_as_allowed_are_in_flight():
    pace = Pace(3)
    slots = [pace.send(0.0, 1) for _ in range(3)]
    assert pace.wait_s(0.0, 1) == float("inf")
    pace.end(slots[0])
    assert pace.wait_s(0.0, 1) == 0


def test_throttling_halves_once_for_all_that_were_sent_before():
    pace = Pace(64)
    slots = [pace.send(0.0, 1) for _ in range(64)]
    assert pace.throttled(1.0, slots[0])
    assert pace.allowed == 32
    assert not any(pace.throttled(1.0 + number, slot) for number, slot in enumerate(slots[1:]))
    assert pace.allowed == 32
    later = pace.send(2.0, 1)
    assert pace.throttled(3.0, later)
    assert pace.allowed == 16


def test_it_never_falls_below_one():
    pace = Pace(4)
    for now in range(10):
        slot = pace.send(now + 0.5, 1)
        pace.throttled(now + 1.0, slot)
        pace.end(slot)
    assert pace.wait_s(20.0, 1) == 0


def test_answers_bring_it_back_additively():
    pace = Pace(64)
    pace.throttled(1.0, pace.send(0.0, 1))
    pace.allowed = 16.0
    for _ in range(16):
        pace.good()
    assert 17.5 <= pace.allowed <= 18.5  # one part in 32 of 64 a round trip
    for _ in range(5000):
        pace.good()
    assert pace.allowed == 64


def test_a_pause_holds_until_it_is_over():
    pace = Pace(4)
    assert pace.pause(10.0)
    assert not pace.pause(5.0)
    assert pace.wait_s(4.0, 1) == 6
    assert pace.wait_s(10.0, 1) == 0


@given(
    requests=st.one_of(st.none(), st.integers(1, 8)),
    tokens=st.one_of(st.none(), st.integers(60, 300)),
    sizes=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60), st.floats(0, 30)), min_size=1, max_size=40),
)
def test_no_minute_has_more_than_the_limits(requests, tokens, sizes):
    pace, now, sent = Pace(1000, requests, tokens), 0.0, []
    for size, real, gap_s in sizes:
        now += gap_s
        while (wait_s := pace.wait_s(now, size)) > 0:
            now += wait_s
        slot = pace.send(now, size)
        pace.end(slot, min(real, size))  # what is given back early makes room early
        sent.append((now, min(real, size)))
    for start, _ in sent:
        inside = [part for at, part in sent if start <= at < start + MINUTE_S - 1e-6]
        assert requests is None or len(inside) <= requests
        assert tokens is None or sum(inside) <= tokens


def test_a_request_larger_than_the_limit_goes_alone():
    pace = Pace(10, tokens=100)
    assert pace.wait_s(0.0, 500) == 0
    pace.send(0.0, 500)
    assert pace.wait_s(1.0, 10) == pytest.approx(59)
    assert pace.wait_s(60.0, 10) == 0


def test_a_late_answer_changes_nothing_in_the_minute_that_it_left():
    pace = Pace(10, tokens=100)
    slot = pace.send(0.0, 90)
    assert pace.wait_s(70.0, 100) == 0
    pace.send(70.0, 100)
    pace.end(slot, 5)
    assert pace.wait_s(71.0, 1) == pytest.approx(59)


def test_backoff_doubles_with_jitter_and_has_an_end():
    rng = random.Random(1)
    waits = [[backoff_s(failures, rng.random()) for _ in range(100)] for failures in range(1, 12)]
    for failures, spread in enumerate(waits, 1):
        most = min(30.0, 0.5 * 2 ** (failures - 1))
        assert most / 2 <= min(spread) < max(spread) <= most


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_breaker_trips_when_nothing_good_came_for_long_enough():
    clock = Clock()
    breaker = Breaker("gpt", "http://x", 30.0, clock)
    clock.now += 500  # a long wait for the first answer is no failure
    assert breaker.left_s() == float("inf")
    for _ in range(29):
        breaker.failed(ValueError("429: slow down"))
        clock.now += 1
    assert breaker.left_s() == pytest.approx(1)
    clock.now += 1
    with pytest.raises(ServiceError) as told:
        breaker.failed(ValueError("503: busy"))
    assert "30.0 s" in told.value.what
    assert "30; the last one with: 503: busy" in told.value.why
    assert "give_up_s" in told.value.next


def test_a_good_answer_resets_the_breaker():
    clock = Clock()
    breaker = Breaker("gpt", "http://x", 30.0, clock)
    for _ in range(10):
        breaker.failed(ValueError("500"))
        clock.now += 29
        breaker.reset()
    breaker.check()


def test_a_pause_beyond_the_limit_trips_at_once():
    clock = Clock()
    breaker = Breaker("gpt", "http://x", 30.0, clock)
    breaker.check(3600.0)
    breaker.failed(ValueError("429"))
    breaker.check(20.0)
    with pytest.raises(ServiceError, match="asks to wait for 3600 s"):
        breaker.check(3600.0)
