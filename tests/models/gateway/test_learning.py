"""What a gateway learns from the first replies: overheads of prompts, limits that are ignored, what a cap must hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gateway_models import Done, request, rows

from benchbuilder.core.errors import BudgetReached
from benchbuilder.models import Gateway, OpenAISpec
from benchbuilder.models.gateway.token_count import calibrated_counter
from benchbuilder.testing import FakeOpenAI, fake_openai_server


@pytest.fixture(scope="module")
def server() -> Iterator[FakeOpenAI]:
    with fake_openai_server({"fixed": "a long reply " * 40, "ignored": ["max_completion_tokens"]}) as started:
        yield started


def spec(server: FakeOpenAI, **more: object) -> OpenAISpec:
    return OpenAISpec.model_validate({"kind": "openai", "name": "m", "base_url": server.base_url, **more})


LIMIT = {"max_new_tokens": 40}


def test_a_service_that_ignores_the_limit_is_named_once_with_the_remedy(server: FakeOpenAI, tmp_path: Path):
    server.configure(template_tokens=0)
    told: list[str] = []
    with Gateway(tmp_path / "journal.sqlite", notice=told.append) as gateway:
        gateway.converse("s", spec(server), rows(12, **LIMIT), Done())
        (receipt,) = gateway.receipts()
        assert receipt.completion_tokens == 12 * 174, "the receipt counts what the service reports"
        assert receipt.uncounted == 0
        gateway.converse("s", spec(server, max_tokens_field="max_tokens"), rows(3, **LIMIT), Done())
    (remark,) = told
    assert "m ignores the limit of tokens: a reply has 174, and sampling.max_new_tokens is 40" in remark
    assert "model.max_tokens_field=max_tokens" in remark


@pytest.mark.push
def test_a_cap_holds_although_the_service_ignores_limits_and_adds_to_prompts(server: FakeOpenAI, tmp_path: Path):
    server.configure(template_tokens=50)
    with Gateway(tmp_path / "journal.sqlite", tokens=1000) as gateway:
        with pytest.raises(BudgetReached):
            gateway.converse("s", spec(server, concurrency=16), rows(40, **LIMIT), Done())
        (receipt,) = gateway.receipts()
    assert 500 < receipt.prompt_tokens + receipt.completion_tokens <= 1000


@pytest.mark.push
def test_the_quote_learns_the_template_from_five_replies(server: FakeOpenAI, tmp_path: Path):
    server.configure(template_tokens=50)
    journal = tmp_path / "journal.sqlite"
    with Gateway(journal) as gateway:
        gateway.converse("s", spec(server), rows(5, **LIMIT), Done())
        (receipt,) = gateway.receipts()
    counter = calibrated_counter(spec(server), journal, "m")
    assert counter.prompt(request("row 7", **LIMIT)) == pytest.approx(receipt.prompt_tokens / 5, rel=0.25)
