from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from batch_models import BROKEN, PostSpec, Service
from gateway_models import GATEWAY_KINDS, Done, Fake, FakeSpec, body, request, rows, saying

from benchbuilder.config.spec.base import FileRef
from benchbuilder.config.spec.model import BatchSpec
from benchbuilder.core import registry
from benchbuilder.core.errors import BudgetReached, RecipeError, ServiceError, WaitingForBatch
from benchbuilder.models import Gateway
from benchbuilder.models.base import RefusedRequestError, TransientError
from benchbuilder.models.gateway import batch_jobs, service_gate

QUICK = BatchSpec(poll_s=0.001, wait_s=30)
NOT_NOW = BatchSpec(poll_s=0.001, wait_s=0)
BATCH, LATER, LIVE = PostSpec(batch=QUICK), PostSpec(batch=NOT_NOW), PostSpec()
EVERYTHING = {number: f"re: row {number}" for number in range(20)}


@pytest.fixture(autouse=True)
def post(monkeypatch):
    monkeypatch.setattr(
        registry, "BUILT_IN_KINDS", {**registry.BUILT_IN_KINDS, "model": {**GATEWAY_KINDS, "post": "batch_models:Post"}}
    )
    monkeypatch.setattr(batch_jobs, "CERTAIN_AFTER_S", 0.0)
    monkeypatch.setattr(service_gate, "backoff_s", lambda failures, jitter: 0.001)
    registry.kinds_of_slot.cache_clear()
    Service.forget()
    yield
    registry.kinds_of_slot.cache_clear()


@pytest.fixture
def prices(tmp_path):
    file = tmp_path / "prices.yaml"
    table = "as_of: 2026-01-01\nsource: here\ncurrency: USD\nper_tokens: 1000000\n"
    file.write_text(f"{table}models:\n  fake-1: {{input: 1.0, output: 10.0, batch: 0.5}}\n")
    return FileRef(path=str(file))


def drive(journal, spec, *, count=20, told=None, usd=None, **sampling):
    """What one run makes of some rows, and its receipt."""
    done = Done()
    with Gateway(journal, notice=(told if told is not None else []).append, usd=usd) as gateway:
        gateway.converse("s", spec, rows(count, **sampling), done)
        return dict(done), next(iter(gateway.receipts()), None)


def test_what_all_conversations_wait_for_is_one_batch(journal):
    told = []
    done, receipt = drive(journal, BATCH, told=told)
    assert done == EVERYTHING
    assert Service.sizes() == [20]
    assert not Fake.asked
    assert (receipt.calls, receipt.batched, receipt.unanswered) == (20, 20, 0)
    assert told == ["fake-1: submitted batch batch_1 with 20 requests", "fake-1: batch batch_1: ended, 20 of 20 done"]


def test_every_round_of_the_conversations_is_a_batch(journal):
    def chats():
        for number in range(10):
            yield number, saying(*(f"{number}.{turn}" for turn in range(1 + number % 3)))

    done = Done()
    with Gateway(journal) as gateway:
        gateway.converse("s", BATCH, chats(), done)
    assert done[5] == "re: 5.0 | re: 5.1 | re: 5.2"
    assert Service.sizes() == [10, 6, 3]


def test_rows_that_need_no_model_hold_up_nothing(journal):
    def chats():
        for number in range(3000):
            yield number, saying(f"row {number}") if number % 100 == 0 else saying()

    done = Done()
    with Gateway(journal) as gateway:
        gateway.converse("s", BATCH, chats(), done)
    assert len(done) == 3000
    assert Service.sizes() == [30]


def test_equal_requests_are_in_a_batch_once(journal):
    done = Done()
    with Gateway(journal) as gateway:
        gateway.converse("s", BATCH, ((number, saying("same", f"row {number}")) for number in range(200)), done)
    assert len(done) == 200
    assert Service.sizes() == [1, 200]


def test_no_more_than_max_requests_are_open_or_handed_in(journal):
    pulled, done = [], Done()

    def starts():
        for number in range(10):
            pulled.append(number)
            assert len(pulled) - len(done) <= 4
            yield number, saying(f"row {number}")

    spec = PostSpec(batch=BatchSpec(poll_s=0.001, wait_s=30, max_requests=4))
    with Gateway(journal) as gateway:
        gateway.converse("s", spec, starts(), done)
    assert len(done) == 10
    assert Service.sizes() == [4, 4, 2]


def test_what_is_too_large_for_one_file_is_several_batches_at_once(journal):
    Service.most_bytes = 107 * 8
    done, _ = drive(journal, BATCH)
    assert done == EVERYTHING
    assert sorted(Service.sizes()) == [4, 8, 8]


def test_batch_and_live_share_replies(journal, tmp_path):
    by_batch, _ = drive(journal, BATCH)
    live, receipt = drive(journal, LIVE)
    assert live == by_batch == EVERYTHING
    assert not Fake.asked
    assert (receipt.calls, receipt.batched) == (20, 20)
    other = tmp_path / "other.sqlite"
    drive(other, LIVE)
    Service.forget()
    again, receipt = drive(other, BATCH)
    assert again == EVERYTHING
    assert not Service.handed_in
    assert (receipt.calls, receipt.batched) == (20, 0)


def test_the_time_to_wait_is_over_and_the_same_command_goes_on(journal):
    Service.polls = 2
    for looks in (1, 2):
        with pytest.raises(WaitingForBatch, match="20 replies are missing") as waiting:
            drive(journal, LATER)
        assert waiting.value.missing == {"replies": 20}
        assert "batch_1 (in progress, 0 of 20 done)" in waiting.value.why
        assert Service.looks == {"batch_1": looks}
    done, receipt = drive(journal, LATER)
    assert done == EVERYTHING
    assert Service.sizes() == [20]
    assert (receipt.calls, receipt.unanswered) == (20, 0)


def test_a_later_round_waits_for_a_later_run(journal):
    Service.polls = 1

    def run():
        done = Done()
        with Gateway(journal) as gateway:
            gateway.converse("s", LATER, ((n, saying(f"{n}.0", f"{n}.1")) for n in range(5)), done)
        return done

    for _ in range(2):
        with pytest.raises(WaitingForBatch):
            run()
    assert run() == {n: f"re: {n}.0 | re: {n}.1" for n in range(5)}
    assert Service.sizes() == [5, 5]


def test_polls_go_on_until_the_time_is_over(journal):
    Service.polls = 10**9
    spec = PostSpec(batch=BatchSpec(poll_s=0.01, wait_s=0.1))
    begun = time.monotonic()
    with pytest.raises(WaitingForBatch):
        drive(journal, spec)
    assert time.monotonic() - begun >= 0.1
    assert 1 <= Service.looks["batch_1"] <= 12


def test_what_is_in_an_open_batch_is_not_asked_live(journal):
    Service.polls = 1
    with pytest.raises(WaitingForBatch):
        drive(journal, LATER, count=5)
    Service.polls = 2
    with pytest.raises(WaitingForBatch, match="5 replies are missing") as waiting:
        drive(journal, LIVE)
    assert "cancel the batch" in waiting.value.next
    assert sum(Fake.asked.values()) == 15  # the others need not wait
    done, receipt = drive(journal, LIVE)
    assert done == EVERYTHING
    assert sum(Fake.asked.values()) == 15
    assert (receipt.calls, receipt.batched) == (20, 5)


def test_after_a_cancelled_batch_the_rest_is_asked_live(journal):
    Service.polls = 1
    with pytest.raises(WaitingForBatch):
        drive(journal, LATER)
    Service.ends = "cancelled"
    Service.result = lambda text, times: body(f"re: {text}") if text < "row 2" else None
    done, receipt = drive(journal, LIVE)
    assert done == EVERYTHING
    assert sum(Fake.asked.values()) == 8
    assert (receipt.calls, receipt.batched, receipt.unanswered) == (20, 12, 0)


def test_failures_that_may_pass_are_handed_in_again_and_others_fail_their_row(journal):
    def result(text, times):
        if text == "row 3":
            return RefusedRequestError("400: the prompt is too long")
        if text == "row 4":
            return TransientError("500: a fault")
        if text == "row 5" and times == 1:
            return TransientError("500: a fault")
        if text == "row 6" and times == 1:
            return "garbage"
        return body(f"re: {text}")

    Service.result = result
    spec = PostSpec(batch=QUICK, retries=2)
    done, receipt = drive(journal, spec)
    assert done == EVERYTHING | {3: "400: the prompt is too long", 4: "500: a fault (after 3 attempts)"}
    assert Service.sizes() == [20, 3, 1]
    assert (receipt.calls, receipt.unanswered) == (18, 1)  # garbage is paid for
    done, _ = drive(journal, spec)  # another run tries again, as with live requests
    assert done[3] == "400: the prompt is too long"
    assert Service.sizes()[3:] == [2, 1, 1]


def test_retries_are_counted_over_runs(journal):
    Service.polls, Service.result = 1, lambda text, times: TransientError("500: a fault")
    spec = PostSpec(batch=NOT_NOW, retries=2)
    for _ in range(3):
        with pytest.raises(WaitingForBatch):
            drive(journal, spec, count=1)
    done, _ = drive(journal, spec, count=1)
    assert done == {0: "500: a fault (after 3 attempts)"}
    assert Service.sizes() == [1, 1, 1]


def test_of_an_expired_batch_what_is_done_is_kept_and_the_rest_handed_in_again(journal):
    Service.ends = "expired"
    Service.result = lambda text, times: body(f"re: {text}") if times > 1 or text < "row 2" else None
    done, receipt = drive(journal, BATCH)
    assert done == EVERYTHING
    assert Service.sizes() == [20, 8]
    assert (receipt.calls, receipt.unanswered) == (20, 0)


def test_a_batch_that_is_not_taken_stops_the_build_and_its_requests_are_free(journal):
    Service.ends = "failed"
    with pytest.raises(ServiceError, match="rejected batch batch_1") as told:
        drive(journal, BATCH)
    assert told.value.why == "line 1: too many tokens are waiting"
    assert "model.batch.max_requests" in told.value.next
    Service.ends = "ended"
    done, receipt = drive(journal, BATCH)
    assert done == EVERYTHING
    assert (receipt.calls, receipt.unanswered) == (20, 0)


def test_what_is_wrong_with_all_requests_stops_the_build_after_what_is_good_is_kept(journal):
    wrong = ServiceError("the service has no such model")
    Service.result = lambda text, times: wrong if text == "row 7" and times == 1 else body(f"re: {text}")
    with pytest.raises(ServiceError, match="no such model"):
        drive(journal, BATCH)
    done, _ = drive(journal, BATCH)
    assert done == EVERYTHING
    assert Service.sizes() == [20, 1]


def test_a_service_that_refuses_batches_stops_the_build(journal):
    Service.troubles = {"submit": [ServiceError("the service does not support batches")]}
    with pytest.raises(ServiceError, match="does not support batches"):
        drive(journal, BATCH)
    assert drive(journal, LIVE)[0] == EVERYTHING
    assert sum(Fake.asked.values()) == 20


def test_a_model_without_batches_is_a_wrong_recipe(journal):
    with pytest.raises(RecipeError) as told:
        drive(journal, FakeSpec(batch=QUICK))
    assert told.value.problems[0].key == "model.batch"


@pytest.mark.parametrize("heard", [True, False])
def test_a_connection_that_breaks_while_a_batch_is_handed_in_hands_it_in_once(journal, heard):
    Service.heard = heard
    Service.troubles = {"submit": [BROKEN], "find": [BROKEN]}
    done, _ = drive(journal, BATCH)
    assert done == EVERYTHING
    assert Service.sizes() == [20]


def test_trouble_while_looking_and_reading_is_waited_out(journal):
    Service.troubles = {"look": [BROKEN, BROKEN], "result row 9": [BROKEN]}
    done, receipt = drive(journal, BATCH)
    assert done == EVERYTHING
    assert Service.sizes() == [20]
    assert receipt.calls == 20


def test_a_service_that_stays_away_is_given_up_and_nothing_is_lost(journal):
    Service.troubles = {"look": [BROKEN] * 10_000}
    with pytest.raises(ServiceError, match="gave no good answer"):
        drive(journal, PostSpec(batch=QUICK, give_up_s=0.1))
    Service.troubles = {}
    assert drive(journal, BATCH)[0] == EVERYTHING
    assert Service.sizes() == [20]


def test_a_batch_that_is_not_to_be_found_is_not_paid_again_before_its_time(journal, monkeypatch):
    Service.polls = 1
    with pytest.raises(WaitingForBatch):
        drive(journal, LATER)
    lost, Service.handed_in = Service.handed_in, {}
    for spec in (BATCH, LIVE):
        with pytest.raises(ServiceError, match="does not know batch batch_1"):
            drive(journal, spec)
    assert not Service.handed_in
    assert not Fake.asked
    monkeypatch.setattr(batch_jobs, "SERVICE_KEEPS_S", -1.0)
    done, receipt = drive(journal, BATCH)
    assert done == EVERYTHING
    assert (receipt.calls, receipt.unanswered) == (20, 20)
    assert lost


def test_a_batch_costs_its_share(journal, prices):
    told = []
    _, receipt = drive(journal, PostSpec(batch=QUICK, prices=prices), told=told)
    assert receipt.usd == pytest.approx(20 * (10 * 1.0 + 5 * 10.0) * 0.5 / 1e6)
    assert (receipt.prompt_tokens, receipt.completion_tokens) == (200, 100)


def test_what_is_in_a_batch_is_charged_at_its_worst_until_it_is_through(journal, prices):
    Service.polls = 2
    spec = PostSpec(batch=NOT_NOW, prices=prices)
    with pytest.raises(WaitingForBatch):
        drive(journal, spec, max_new_tokens=100)
    with Gateway(journal) as gateway:
        (receipt,) = gateway.receipts()
        assert (receipt.calls, receipt.unanswered, receipt.pending) == (0, 20, 20)
        assert receipt.unanswered_tokens > 20 * 100
        assert receipt.usd >= 20 * 100 * 10.0 * 0.5 / 1e6
    with Gateway(journal, usd=receipt.usd) as gateway, pytest.raises(WaitingForBatch):  # there may be room later
        gateway.converse("t", spec, rows(1, first=100, max_new_tokens=100), Done())
    assert Service.sizes() == [20]
    done, receipt = drive(journal, spec, max_new_tokens=100)
    assert done == EVERYTHING
    assert receipt.unanswered == 0


def test_of_a_small_budget_what_fits_is_handed_in(journal, prices):
    told = []
    spec = PostSpec(batch=QUICK, prices=prices)
    Service.result = lambda text, times: body(f"re: {text}", completion=100, prompt=20)
    cap = 7.5 * 100 * 10.0 * 0.5 / 1e6
    with pytest.raises(BudgetReached):
        drive(journal, spec, told=told, usd=cap, max_new_tokens=100)
    assert 5 <= sum(Service.sizes()) <= 7
    assert any("the budget leaves room for" in text for text in told)
    with Gateway(journal) as gateway:
        (receipt,) = gateway.receipts()
    assert receipt.usd <= cap
    assert receipt.unanswered == 0
    done, _ = drive(journal, spec, max_new_tokens=100)
    assert done == EVERYTHING
    assert sum(Service.sizes()) == 20


def test_results_make_room_in_the_budget(journal, prices):
    spec = PostSpec(batch=QUICK, prices=prices)
    done, _ = drive(journal, spec, usd=7.5 * 100 * 10.0 * 0.5 / 1e6, max_new_tokens=100)
    assert done == EVERYTHING
    assert len(Service.sizes()) > 1


def test_an_interruption_while_waiting_stops_at_once(journal):
    Service.polls = 10**9
    spec = PostSpec(batch=BatchSpec(poll_s=30, wait_s=3600))

    def interrupt():
        while not Service.looks:
            time.sleep(0.01)
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        drive(journal, spec)
    thread.join()
    Service.polls = 0
    assert drive(journal, BATCH)[0] == EVERYTHING
    assert Service.sizes() == [20]


def test_two_steps_each_hand_in_what_they_can(journal):
    Service.polls = 2
    with Gateway(journal) as gateway:
        for step, first in (("one", 0), ("two", 5)):
            with pytest.raises(WaitingForBatch):
                gateway.converse(step, LATER, rows(5, first), Done())
        done = Done()
        gateway.converse("one", BATCH, rows(5), done)
        gateway.converse("two", BATCH, rows(5, 5), done)
    assert len(done) == 10
    assert Service.sizes() == [5, 5]


def test_an_exception_of_a_conversation_is_raised(journal):
    def bad():
        yield request("row 1")
        raise ZeroDivisionError

    with Gateway(journal) as gateway, pytest.raises(ZeroDivisionError):
        gateway.converse("s", BATCH, [(0, bad()), (1, saying("row 2"))], Done())


@pytest.mark.push
def test_many_requests_are_one_batch(journal):
    done, _ = drive(journal, BATCH, count=3000)
    assert len(done) == 3000
    assert Service.sizes() == [3000]
