from __future__ import annotations

import threading

import pytest
from gateway_models import Done, Fake, FakeSpec, Here, HereSpec, body, request, rows, saying

from benchbuilder.core.errors import ServiceError, StoreError
from benchbuilder.core.records.outcomes import Dropped
from benchbuilder.models import Gateway
from benchbuilder.models.base import Message, RefusedRequestError, Request, TransientError

FAST = FakeSpec(concurrency=8)


def test_conversations_are_driven_to_their_ends(gateway):
    done = Done()
    starts = [("a", saying("one", "two")), ("b", saying("three")), ("c", saying())]
    gateway.converse("s", FAST, starts, done)
    assert done == {"a": "re: one | re: two", "b": "re: three", "c": ""}


def test_no_more_than_the_concurrency_are_in_flight_and_rows_are_pulled_as_they_are_needed(gateway):
    pulled, done = [], Done()

    def starts():
        for number in range(40):
            pulled.append(number)
            assert len(pulled) - len(done) <= 8
            yield number, saying(f"row {number}")

    gateway.converse("s", FakeSpec(concurrency=8, latency_s=0.002), starts(), done)
    assert len(done) == 40
    assert Fake.peak == 8


def test_equal_requests_in_flight_are_sent_once(gateway):
    done = Done()
    spec = FakeSpec(concurrency=8, latency_s=0.01)
    gateway.converse("s", spec, ((number, saying("same")) for number in range(30)), done)
    assert len(done) == 30
    assert set(done.values()) == {"re: same"}
    assert Fake.asked == {"same": 1}


def test_equal_requests_share_a_failure(gateway):
    Fake.scripts["no"] = lambda *_: RefusedRequestError("400: the prompt is too long")
    done = Done()
    spec = FakeSpec(concurrency=4, latency_s=0.01, script="no")
    gateway.converse("s", spec, ((number, saying("same")) for number in range(4)), done)
    assert set(done.values()) == {"400: the prompt is too long"}
    assert Fake.asked == {"same": 1}


def test_samples_of_an_equal_request_are_sent_each(gateway):
    def talk():
        replies = []
        for sample in range(3):
            replies.append((yield request("same", sample=sample)))
        return [Dropped("told", str(len(replies)))]

    gateway.converse("s", FAST, [("a", talk())], Done())
    assert Fake.asked == {"same": 3}


def test_what_is_in_the_journal_is_not_asked_again(journal):
    for _ in range(3):
        done = Done()
        with Gateway(journal) as gateway:
            gateway.converse("s", FAST, rows(20), done)
            assert gateway.receipts()[0].calls == 20
        assert done[3] == "re: row 3"
    assert set(Fake.asked.values()) == {1}


def test_what_changes_a_request_is_asked_again_and_nothing_else(journal):
    other = FakeSpec(concurrency=3, timeout_s=9, retries=1, give_up_s=5, requests_per_minute=600)
    system = Request((Message("system", "be kind"), Message("user", "row 1")), {"temperature": 0})

    def systemic():
        yield system
        return []

    with Gateway(journal) as gateway:
        gateway.converse("s", FAST, rows(5), Done())
        gateway.converse("another step", other, rows(5), Done())
        assert sum(Fake.asked.values()) == 5
        for change in ({"name": "fake-2"}, {"base_url": "http://elsewhere"}):
            gateway.converse("s", FakeSpec(**change), rows(5), Done())
            gateway.converse("s", FakeSpec(**change), rows(5), Done())
        assert sum(Fake.asked.values()) == 15
        gateway.converse("s", FAST, rows(5, temperature=0, seed=1), Done())
        assert sum(Fake.asked.values()) == 20
        gateway.converse("s", FAST, [("a", systemic())], Done())
        assert sum(Fake.asked.values()) == 21
        gateway.converse("s", FAST, rows(5, temperature=0, top_k=7), Done())  # which this backend does not know
        assert sum(Fake.asked.values()) == 21


def test_complete_replies_are_kept_when_only_the_limit_is_raised(journal):
    def cut(fake, asked, _):
        short = asked.sampling["max_new_tokens"] < 100 and asked.messages[0].content == "row 1"
        return body("cut" if short else "whole", outcome="truncated" if short else "complete")

    Fake.scripts["cut"] = cut
    keeping = FakeSpec(script="cut", reuse="keep_complete")
    with Gateway(journal) as gateway:
        gateway.converse("s", keeping, rows(3, max_new_tokens=50), Done())
        done = Done()
        gateway.converse("s", keeping, rows(3, max_new_tokens=200), done)
        assert done == {0: "whole", 1: "whole", 2: "whole"}
        assert Fake.asked == {"row 0": 1, "row 1": 2, "row 2": 1}
        assert gateway.lookup(keeping, request("row 2", max_new_tokens=400)) is not None
        assert gateway.lookup(keeping, request("row 2", max_new_tokens=20)) is None
        assert gateway.lookup(FakeSpec(script="cut"), request("row 2", max_new_tokens=400)) is None
        gateway.converse("s", keeping, rows(3, max_new_tokens=20), Done())
        assert sum(Fake.asked.values()) == 7


def test_lookup_asks_and_makes_nothing(journal):
    gateway = Gateway(journal)
    assert gateway.lookup(FAST, request("row 1")) is None
    assert gateway.receipts() == ()
    gateway.close()
    assert not journal.parent.exists()
    with Gateway(journal) as gateway:
        gateway.converse("s", FAST, rows(2), Done())
    with Gateway(journal) as gateway:
        reply = gateway.lookup(FAST, request("row 1"))
    assert reply is not None
    assert (reply.text, reply.outcome) == ("re: row 1", "complete")
    assert sum(Fake.asked.values()) == 2


@pytest.mark.parametrize("outcome", ["truncated", "empty", "refused", "filtered"])
def test_every_outcome_is_an_answer_that_was_paid_for(gateway, outcome):
    Fake.scripts["so"] = lambda *_: body("", outcome=outcome)
    for _ in range(2):
        gateway.converse("s", FakeSpec(script="so"), rows(1), Done())
    assert Fake.asked == {"row 0": 1}
    assert gateway.receipts()[0].outcomes == {outcome: 1}


def test_receipts_tell_what_each_step_paid_first(gateway):
    gateway.converse("one", FAST, rows(3), Done())
    gateway.converse("two", FAST, rows(5), Done())
    Fake.scripts["mute"] = lambda *_: body("four tokens are here", usage=False)
    gateway.converse("two", FakeSpec(name="fake-2", script="mute"), rows(1), Done())
    one, two, other = gateway.receipts()
    assert (one.step, one.model, one.endpoint, one.calls) == ("one", "fake-1", "http://fake", 3)
    assert (one.prompt_tokens, one.completion_tokens, one.uncounted, one.unanswered) == (30, 15, 0, 0)
    assert (one.usd, one.prices_as_of) == (None, "")
    assert (two.step, two.model, two.calls) == ("two", "fake-1", 2)
    assert (other.model, other.uncounted) == ("fake-2", 1)
    assert 3 <= other.completion_tokens <= 6


def test_a_bug_in_a_conversation_comes_out_after_what_was_in_flight(journal):
    def broken():
        yield request("row 7")
        raise ZeroDivisionError("a bug")

    starts = [("bug", broken()), *rows(6, 100)]
    with Gateway(journal) as gateway, pytest.raises(ZeroDivisionError, match="a bug"):
        gateway.converse("s", FakeSpec(concurrency=7, latency_s=0.01), starts, Done())
    with Gateway(journal) as gateway:
        assert gateway.receipts()[0].calls == sum(Fake.asked.values()) == 7
        assert gateway.receipts()[0].unanswered == 0


def test_bugs_in_the_callback_the_rows_and_the_model_come_out_too(gateway):
    def fail(*_):
        raise ZeroDivisionError

    def starts():
        yield from rows(2)
        raise LookupError("the rows")

    Fake.scripts["bug"] = lambda *_: ZeroDivisionError("the adapter")
    with pytest.raises(ZeroDivisionError):
        gateway.converse("s", FAST, rows(3), fail)
    with pytest.raises(LookupError, match="the rows"):
        gateway.converse("s", FAST, starts(), Done())
    with pytest.raises(ZeroDivisionError, match="the adapter"):
        gateway.converse("s", FakeSpec(script="bug"), rows(3, 50), Done())
    gateway.converse("s", FAST, rows(9, 90), Done())  # and it goes on working


def test_conversations_that_are_not_finished_are_closed(gateway):
    closed = []

    def talk(number):
        try:
            yield request(f"row {number}")
        finally:
            closed.append(number)
        return []

    Fake.scripts["no"] = lambda *_: ServiceError("401: the key is wrong")
    with pytest.raises(ServiceError, match="401"):
        gateway.converse("s", FakeSpec(script="no", concurrency=4), ((n, talk(n)) for n in range(50)), Done())
    assert 1 <= len(closed) <= 5


def test_models_are_made_once_and_closed_with_the_gateway(journal):
    with Gateway(journal) as gateway:
        for step in "abc":
            gateway.converse(step, FAST, rows(2), Done())
        assert (Fake.made, Fake.closed) == (1, 0)
    assert Fake.closed == 1


def test_it_runs_outside_of_the_main_thread(journal):
    done = Done()

    def run():
        with Gateway(journal) as gateway:
            gateway.converse("s", FAST, rows(5), done)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(done) == 5


def test_a_model_that_answers_nothing_is_an_error(gateway):
    from benchbuilder.models.providers.none import NoModelSpec

    with pytest.raises(TypeError, match="cannot answer"):
        gateway.converse("s", NoModelSpec(kind="none"), rows(1), Done())


def test_a_journal_that_cannot_be_written_stops_all(journal):
    with Gateway(journal) as gateway:
        gateway.converse("s", FAST, rows(1), Done())
        gateway.journal.commit_now(lambda held: held.execute("PRAGMA max_page_count = 20").fetchall() and None)
        with pytest.raises(StoreError, match="cannot be written"):
            gateway.converse("s", FAST, rows(500, 10), Done())
        with pytest.raises(StoreError, match="cannot be written"):
            gateway.converse("s", FAST, rows(1), Done())


def test_bodies_that_a_kill_left_unread_are_settled(journal):
    with Gateway(journal) as gateway:
        gateway.converse("s", FAST, rows(3), Done())
        gateway.journal.commit_now(
            lambda held: held.execute("UPDATE replies SET outcome = NULL, prompt = 999 WHERE id = 2").rowcount
        )
        gateway.journal.commit_now(
            lambda held: (
                held.execute("UPDATE bodies SET body = 'garbage' WHERE id = 3").rowcount
                and held.execute("UPDATE replies SET outcome = NULL WHERE id = 3").rowcount
            )
        )
        assert gateway.lookup(FAST, request("row 2")) is None
    with Gateway(journal) as gateway:
        gateway.converse("s", FAST, rows(3), Done())
        (receipt,) = gateway.receipts()
    assert (receipt.calls, receipt.prompt_tokens, receipt.unanswered) == (3, 30, 1)
    assert Fake.asked == {"row 0": 1, "row 1": 1, "row 2": 2}


def test_local_models_answer_in_batches_and_are_journaled(journal):
    done = Done()
    with Gateway(journal) as gateway:
        gateway.converse("s", HereSpec(batch_size=4), rows(18), done)
        gateway.converse("s", HereSpec(batch_size=4), rows(18), Done())
        (receipt,) = gateway.receipts()
    assert done[17] == "here: row 17"
    assert [len(batch) for batch in Here.batches] == [4, 4, 4, 4, 2]
    assert (receipt.calls, receipt.uncounted, receipt.usd, receipt.endpoint) == (18, 18, 0.0, "")


def test_a_local_model_refuses_one_request_and_answers_its_company(gateway):
    Here.refuses["row 2"] = RefusedRequestError("no reply was recorded")
    done = Done()
    gateway.converse("s", HereSpec(), rows(4), done)
    assert done == {0: "here: row 0", 1: "here: row 1", 2: "no reply was recorded", 3: "here: row 3"}


@pytest.mark.parametrize("error", [ZeroDivisionError("a bug"), ServiceError("no memory"), StopIteration("odd")])
def test_a_local_model_that_breaks_stops_all(gateway, error):
    Here.refuses["row 2"] = error
    with pytest.raises((ZeroDivisionError, ServiceError, RuntimeError), match=str(error)):
        gateway.converse("s", HereSpec(), rows(40), Done())
    Here.refuses.clear()
    gateway.converse("s", HereSpec(), rows(40), done := Done())
    assert len(done) == 40


def test_a_local_batch_that_runs_when_all_stops_is_journaled_and_no_further_one_begins(journal):
    def broken():
        yield request("row 77")
        raise ZeroDivisionError("a bug")

    with Gateway(journal) as gateway:
        with pytest.raises(ZeroDivisionError):
            gateway.converse("s", HereSpec(batch_size=4), [("bug", broken()), *rows(400)], done := Done())
        assert gateway.receipts()[0].calls == sum(map(len, Here.batches)) < 400
        assert len(done) == gateway.receipts()[0].calls - 1


def test_a_local_row_fails_where_nothing_can_be_read(gateway, monkeypatch):
    def read(_, body):
        raise ValueError("odd")

    monkeypatch.setattr(Here, "read", read)
    done = Done()
    gateway.converse("s", HereSpec(), rows(2), done)
    assert set(done.values()) == {"an invalid answer: odd"}
    Here.refuses["row 0"] = TransientError("busy")
    gateway.converse("s", HereSpec(batch_size=1), rows(1), done := Done())
    assert done == {0: "busy"}
