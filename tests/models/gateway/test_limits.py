from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.models.gateway.rate_limit import MINUTE_S, RateLimiter


def test_as_many_as_allowed_are_in_flight():
    pace = RateLimiter(3)
    slots = [pace.acquire(0.0, 1) for _ in range(3)]
    assert pace.wait_s(0.0, 1) == float("inf")
    pace.release(slots[0])
    assert pace.wait_s(0.0, 1) == 0


def test_throttling_halves_once_for_all_that_were_sent_before():
    pace = RateLimiter(64)
    slots = [pace.acquire(0.0, 1) for _ in range(64)]
    assert pace.record_throttling(1.0, slots[0])
    assert pace.allowed == 32
    assert not any(pace.record_throttling(1.0 + number, slot) for number, slot in enumerate(slots[1:]))
    assert pace.allowed == 32
    later = pace.acquire(2.0, 1)
    assert pace.record_throttling(3.0, later)
    assert pace.allowed == 16


def test_it_never_falls_below_one():
    pace = RateLimiter(4)
    for now in range(10):
        slot = pace.acquire(now + 0.5, 1)
        pace.record_throttling(now + 1.0, slot)
        pace.release(slot)
    assert pace.wait_s(20.0, 1) == 0


def test_answers_bring_it_back_additively():
    pace = RateLimiter(64)
    pace.record_throttling(1.0, pace.acquire(0.0, 1))
    pace.allowed = 16.0
    for _ in range(16):
        pace.record_success()
    assert 17.5 <= pace.allowed <= 18.5  # one part in 32 of 64 a round trip
    for _ in range(5000):
        pace.record_success()
    assert pace.allowed == 64


@pytest.mark.push
@given(
    requests=st.one_of(st.none(), st.integers(1, 8)),
    tokens=st.one_of(st.none(), st.integers(60, 300)),
    sizes=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60), st.floats(0, 30)), min_size=1, max_size=40),
)
def test_no_minute_has_more_than_the_limits(requests, tokens, sizes):
    pace, now, sent = RateLimiter(1000, requests, tokens), 0.0, []
    for size, real, gap_s in sizes:
        now += gap_s
        while (wait_s := pace.wait_s(now, size)) > 0:
            now += wait_s
        slot = pace.acquire(now, size)
        pace.release(slot, min(real, size))  # what is given back early makes room early
        sent.append((now, min(real, size)))
    for start, _ in sent:
        inside = [part for at, part in sent if start <= at < start + MINUTE_S - 1e-6]
        assert requests is None or len(inside) <= requests
        assert tokens is None or sum(inside) <= tokens


def test_a_request_larger_than_the_limit_goes_alone():
    pace = RateLimiter(10, tokens=100)
    assert pace.wait_s(0.0, 500) == 0
    pace.acquire(0.0, 500)
    assert pace.wait_s(1.0, 10) == pytest.approx(59)
    assert pace.wait_s(60.0, 10) == 0


def test_a_late_answer_changes_nothing_in_the_minute_that_it_left():
    pace = RateLimiter(10, tokens=100)
    slot = pace.acquire(0.0, 90)
    assert pace.wait_s(70.0, 100) == 0
    pace.acquire(70.0, 100)
    pace.release(slot, 5)
    assert pace.wait_s(71.0, 1) == pytest.approx(59)
