from __future__ import annotations

import pytest
from gateway_models import Done, Fake, FakeSpec, HereSpec, body, rows

from benchbuilder.config.spec.base import FileRef
from benchbuilder.core.errors import BudgetReached, RecipeError, StoreError
from benchbuilder.models import Gateway
from benchbuilder.models.base import TransientError
from benchbuilder.models.gateway import hosted_sender

TABLE = """\
as_of: 2026-03-01
source: https://example.org
currency: USD
per_tokens: 1000000
models:
  fake-1: {input: 1000, output: 2000}
"""
REPLY = 10 * 0.001 + 5 * 0.002
"""What a reply of the stand-in costs: 10 tokens of prompt, 5 of reply."""


@pytest.fixture
def priced(tmp_path) -> dict:
    file = tmp_path / "prices.yaml"
    file.write_text(TABLE)
    return {"prices": FileRef(path="prices.yaml", resolved_path=str(file))}


def test_no_request_is_sent_that_might_go_over_the_cap_in_tokens(journal):
    done = Done()
    with Gateway(journal, tokens=300) as gateway, pytest.raises(BudgetReached) as told:
        gateway.converse("s", FakeSpec(concurrency=8, latency_s=0.001), rows(100, max_new_tokens=20), done)
    assert told.value.exit_code == 4
    assert "budget.tokens" in told.value.next
    with Gateway(journal) as gateway:
        (receipt,) = gateway.receipts()
    assert receipt.calls == len(done) == sum(Fake.asked.values())
    spent = receipt.prompt_tokens + receipt.completion_tokens
    assert spent <= 300
    # a request may have 20 tokens of reply and one a byte of prompt: the rest must be too small for that
    assert spent + 10 + 20 + 25 > 300


def test_a_cap_goes_on_over_runs_and_can_be_raised(journal):
    spec = FakeSpec(concurrency=4)
    for _ in range(3):
        with Gateway(journal, tokens=200) as gateway, pytest.raises(BudgetReached):
            gateway.converse("s", spec, rows(100, max_new_tokens=20), Done())
    first = sum(Fake.asked.values())
    assert first * 15 <= 200
    with Gateway(journal, tokens=100_000) as gateway:
        gateway.converse("s", spec, rows(100, max_new_tokens=20), done := Done())
    assert len(done) == 100
    assert sum(Fake.asked.values()) == 100


def test_replies_from_the_journal_cost_nothing(journal):
    with Gateway(journal) as gateway:
        gateway.converse("s", FakeSpec(), rows(10), Done())
    with Gateway(journal, tokens=1) as gateway:
        gateway.converse("s", FakeSpec(), rows(10), done := Done())
        assert len(done) == 10
        with pytest.raises(BudgetReached):
            gateway.converse("s", FakeSpec(), rows(11), Done())


def test_a_cap_in_dollars_holds_and_the_receipt_agrees(journal, priced):
    spec = FakeSpec(concurrency=4, latency_s=0.001, **priced)
    with Gateway(journal, usd=0.5) as gateway, pytest.raises(BudgetReached, match="budget is reached"):
        gateway.converse("s", spec, rows(100, max_new_tokens=20), Done())
    with Gateway(journal) as gateway:
        (receipt,) = gateway.receipts()
    assert receipt.usd == pytest.approx(receipt.calls * REPLY)
    assert 0.35 < receipt.usd <= 0.5
    assert receipt.prices_as_of == "2026-03-01"


def test_a_model_without_a_price_is_refused_before_any_call(journal, priced):
    for spec in (FakeSpec(), FakeSpec(name="fake-2", **priced)):
        with Gateway(journal, usd=5) as gateway, pytest.raises(RecipeError) as told:
            gateway.converse("s", spec, rows(3), Done())
        assert "model.prices" in str(told.value)
    assert not Fake.asked
    with Gateway(journal) as gateway:
        gateway.converse("s", FakeSpec(name="fake-2", **priced), rows(3), Done())
        assert gateway.receipts()[0].usd is None


def test_local_models_cost_no_dollars_but_tokens(journal):
    with Gateway(journal, usd=0.0) as gateway:
        gateway.converse("s", HereSpec(), rows(10), done := Done())
        assert gateway.receipts()[0].usd == 0
    assert len(done) == 10
    with Gateway(journal, tokens=20) as gateway, pytest.raises(BudgetReached):
        gateway.converse("s", HereSpec(), rows(10, 20), Done())


def test_what_was_paid_before_a_price_was_known_is_charged_once_it_is(journal, priced):
    with Gateway(journal) as gateway:
        gateway.converse("s", FakeSpec(), rows(10), Done())
        assert gateway.receipts()[0].usd is None
    with Gateway(journal, usd=10 * REPLY + 0.001) as gateway:
        with pytest.raises(BudgetReached):
            gateway.converse("s", FakeSpec(**priced), rows(11, max_new_tokens=5), Done())
        assert gateway.receipts()[0].usd == pytest.approx(10 * REPLY)


def test_what_has_no_price_is_told_where_it_does_not_count(journal, priced):
    told = []
    with Gateway(journal) as gateway:
        gateway.converse("s", FakeSpec(name="fake-2"), rows(1), Done())
    with Gateway(journal, usd=1, notice=told.append) as gateway:
        gateway.converse("s", FakeSpec(**priced), rows(1, max_new_tokens=5), Done())
    assert told == ["budget.usd does not include the cost of models without a known price: fake-2"]


def test_attempts_that_may_be_billed_are_charged(journal, monkeypatch):
    monkeypatch.setattr(hosted_sender, "backoff_s", lambda failures, jitter: 0.001)
    Fake.scripts["cut"] = lambda *_: TransientError("the connection broke", billed=True)
    spec = FakeSpec(script="cut", concurrency=2, retries=50)
    with Gateway(journal, tokens=300) as gateway, pytest.raises(BudgetReached):
        gateway.converse("s", spec, rows(5, max_new_tokens=20), Done())
    sent = sum(Fake.asked.values())
    assert 2 <= sent <= 300 // 20
    with Gateway(journal, tokens=300) as gateway, pytest.raises(BudgetReached):
        gateway.converse("s", FakeSpec(), rows(5, max_new_tokens=20), Done())
    assert sum(Fake.asked.values()) == sent


def test_attempts_that_are_not_billed_are_free(journal, monkeypatch):
    monkeypatch.setattr(hosted_sender, "backoff_s", lambda failures, jitter: 0.001)
    Fake.scripts["busy"] = lambda fake, request, attempt: TransientError("503") if attempt < 20 else None
    with Gateway(journal, tokens=200) as gateway:
        gateway.converse("s", FakeSpec(script="busy", retries=50), rows(1, max_new_tokens=20), done := Done())
    assert done == {0: "re: row 0"}


def test_requests_wait_for_others_to_settle_before_the_budget_is_called_reached(journal):
    # each may have 1000 tokens and has 15: one at a time fits, twenty in all
    told, done = [], Done()
    Fake.scripts["short"] = lambda *_: body("short")
    with Gateway(journal, tokens=1400, notice=told.append) as gateway:
        gateway.converse(
            "s", FakeSpec(script="short", concurrency=8, latency_s=0.001), rows(20, max_new_tokens=1000), done
        )
    assert len(done) == 20
    assert len(told) == 1
    assert "budget" in told[0]


WRONG = {
    "negative": -5,
    "not a number": float("nan"),
    "text": "7",
    "nothing": None,
    "true": True,
    "a fraction": 7.5,
    "huge": 10**30,
    "zero": 0,
    "more than possible": 5_000,
}


@pytest.mark.parametrize("claim", WRONG)
@pytest.mark.parametrize("figure", ["prompt", "completion", "both"])
def test_no_figure_that_a_service_claims_breaks_a_cap(journal, priced, figure: str, claim: str):
    figures = {"prompt": 10, "completion": 5}
    figures.update(dict.fromkeys(figures if figure == "both" else [figure], WRONG[claim]))
    Fake.scripts["claims"] = lambda *_: body("seven words of a reply, more or less", **figures)
    spec = FakeSpec(concurrency=4, script="claims", **priced)
    with Gateway(journal, tokens=400, usd=0.6) as gateway, pytest.raises(BudgetReached):
        gateway.converse("s", spec, rows(100, max_new_tokens=20), Done())
    with Gateway(journal) as gateway:
        (receipt,) = gateway.receipts()
    assert receipt.prompt_tokens + receipt.completion_tokens <= 400
    assert 0.015 * receipt.calls <= receipt.usd <= 0.6
    assert 2 <= receipt.calls <= 30
    assert receipt.uncounted == receipt.calls


def test_a_usage_object_that_cannot_be_stored_fails_the_build_and_hangs_nobody(gateway, monkeypatch):
    monkeypatch.setattr("benchbuilder.models.gateway.reply_store.plausible_tokens", lambda *_: (2**80, False))
    with pytest.raises(StoreError, match="cannot be used"):
        gateway.converse("s", FakeSpec(), rows(100), Done())
