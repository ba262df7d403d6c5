"""What the commands say of costs: the quote before, the receipt after, and both where a build stops."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from writing_server import words, writing

from benchbuilder.cli.dispatch import main
from benchbuilder.cli.receipts import receipt_lines
from benchbuilder.models.base import Receipt
from benchbuilder.testing import FakeOpenAI

RECIPE = ["recipe=care_mi", "source=[mlecqa,textbook]", "annotation=none", "model.prices=prices.yaml"]
RULES = RECIPE[:-1]
PRICES = """\
as_of: 2026-01-02
source: https://example.org/prices
currency: USD
per_tokens: 1000000
models: {gpt-4o-mini: {input: 0.15, cached: 0.075, output: 0.6, batch: 0.5}}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeOpenAI]:
    with writing(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: FakeOpenAI) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prices.yaml").write_text(PRICES, encoding="utf-8")
    server.reset()


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What was said on both streams, a line each."""
    said = capsys.readouterr()
    return (said.out + said.err).splitlines()


@pytest.mark.push
def test_plan_quotes_and_asks_nobody(server: FakeOpenAI, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *RECIPE, *words(server)]) == 0
    told = lines(capsys)
    assert "steps without a model are built, so that the quote uses the real prompts:" in told
    (total,) = (line.split() for line in told if line.startswith("all steps"))
    assert int(total[2]) > 5
    assert float(total[5]) > 0
    assert any(line.startswith("gpt-4o-mini: tokens estimated by script; prices of 20") for line in told)
    assert any(line.startswith("no budget is set") for line in told)
    assert server.stats()["requests"] == 0


@pytest.mark.push
def test_plan_can_leave_the_quote_out(server: FakeOpenAI, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--no-quote", *RECIPE, *words(server)]) == 0
    assert not any("quote" in line for line in lines(capsys))
    assert not list(Path("builds").rglob("manifest.json"))


@pytest.mark.push
def test_rules_alone_are_not_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *RULES]) == 0
    assert not any("quote" in line for line in lines(capsys))


@pytest.mark.push
def test_a_model_without_a_price_says_so(server: FakeOpenAI, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *RECIPE, *words(server, "fine-9b"), "budget.tokens=10000"]) == 0
    told = lines(capsys)
    assert any(
        "no price known: the table prices.yaml of 2026-01-02 has no price for 'fine-9b'" in line for line in told
    )
    assert any("the quote exceeds budget.tokens=10000" in line for line in told)
    assert any(line.startswith("state_choice") and line.endswith("no price") for line in told)


@pytest.mark.full
def test_a_build_that_stops_tells_what_it_cost_and_the_next_plan_the_rest(
    server: FakeOpenAI, capsys: pytest.CaptureFixture[str]
) -> None:
    build = [*RECIPE, *words(server), "model.concurrency=1"]
    assert main([*build, "budget.tokens=12000"]) == 4
    told = lines(capsys)
    (receipt,) = (line.strip() for line in told if "by gpt-4o-mini over all runs" in line)
    assert " USD (prices of 20" in receipt
    assert any("the budget is reached" in line for line in told)

    assert main(["plan", *build, "budget.tokens=12000"]) == 0
    told = lines(capsys)
    assert f"so far: {receipt}" in told
    assert any("from earlier runs will be used again: they cost nothing" in line for line in told)
    assert any("the quote" in line and "budget.tokens=12000" in line for line in told)

    assert main(build) == 0
    told = lines(capsys)
    (whole,) = (line for line in told if "by gpt-4o-mini over all runs" in line)
    assert int(whole.split()[0]) == server.stats()["requests"], "every answered request is on the receipt, once"
    report = Path("builds/care_mi/report.html").read_text(encoding="utf-8")
    assert 'id="models"' in report
    card = Path("builds/care_mi/tables/steps.md").read_text(encoding="utf-8")
    assert "gpt-4o-mini (openai)" in card
    assert "USD" not in card

    assert main(build) == 0
    assert whole in lines(capsys)


@pytest.mark.push
@pytest.mark.parametrize("command", ["check", "build", "plan"])
@pytest.mark.parametrize(
    ("name", "table", "says"),
    [
        ("gpt-4o-mni", PRICES, "did you mean 'gpt-4o-mini'?"),
        (
            "gpt-4o-mini",
            PRICES + "endpoint: https://api.openai.com/v1\n",
            "applies to https://api.openai.com/v1, not",
        ),
    ],
)
def test_a_cap_in_dollars_without_a_price_is_told_before_anything_is_built(
    server: FakeOpenAI, capsys: pytest.CaptureFixture[str], command: str, name: str, table: str, says: str
) -> None:
    Path("prices.yaml").write_text(table, encoding="utf-8")
    assert main([command, *RECIPE, *words(server, name), "budget.usd=1"]) == 2
    told = "\n".join(lines(capsys))
    assert says in told
    assert "budget.tokens" in told
    assert not list(Path("builds").rglob("manifest.json"))


@pytest.mark.push
@pytest.mark.parametrize("command", ["check", "build", "plan"])
def test_a_missing_library_is_told_at_the_start(
    server: FakeOpenAI, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    assert main([command, *RECIPE, *words(server)]) == (0 if command == "plan" else 2)
    assert "pip install 'benchbuilder[openai]'" in "\n".join(lines(capsys))
    assert command == "plan" or not list(Path("builds").rglob("manifest.json"))


@pytest.mark.push
def test_nobody_at_the_address_stops_the_build_with_the_reason(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    nowhere = ["model=openai", "model.name=gpt-4o-mini", "model.base_url=http://127.0.0.1:9/v1", "model.retries=0"]
    assert main([*RECIPE, *nowhere]) == 4
    told = "\n".join(lines(capsys))
    assert "no connection to 127.0.0.1:9: is the service running, and model.base_url right?" in told
    assert "attempt" not in told.partition("error:")[0]
    assert Path("builds/care_mi/ledger.tsv").exists()


@pytest.mark.full
def test_replies_of_other_words_fail_with_the_reason(server: FakeOpenAI, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RECIPE, *words(server)]) == 0
    assert main(["save-replies", *RECIPE, *words(server), "--output", "replies.jsonl"]) == 0
    replay = [*RULES, "model=replay", "model.replies=replies.jsonl", "run.dir=builds/again"]
    lines(capsys)
    assert main([*replay, "steps.state_choice.sampling.max_new_tokens=99"]) == 5
    told = "\n".join(lines(capsys))
    assert "the request is not in replies.jsonl: was it recorded with the same arguments?" in told
    assert "state_choice\tfailed\t" in Path("builds/again/ledger.tsv").read_text(encoding="utf-8")
    assert main(replay) == 0
    card = Path("builds/again/tables/steps.md").read_text(encoding="utf-8")
    assert "gpt-4o-mini, recorded replies from replies.jsonl" in card


@pytest.mark.full
def test_what_is_spent_is_held_against_the_cap(server: FakeOpenAI, capsys: pytest.CaptureFixture[str]) -> None:
    build = [*RECIPE, *words(server), "model.concurrency=1"]
    assert main([*build, "budget.usd=0.002"]) == 4
    told = "\n".join(lines(capsys))
    assert "the budget is reached at step '" in told
    assert "of 0.002 USD" in told
    assert "tokens" not in told.partition("error:")[2]
    assert main([*build, "budget.usd=0.001"]) == 4
    assert "before the first request of this run" in "\n".join(lines(capsys))
    assert main(["plan", *build, "budget.usd=0.001"]) == 0
    assert any(
        line.startswith("spent 0.00") and line.endswith("of 0.001 USD: the build stops before its first request")
        for line in lines(capsys)
    )


@pytest.mark.full
def test_another_model_is_told_in_a_word(server: FakeOpenAI, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(RULES) == 0
    lines(capsys)
    assert main(["plan", "--no-quote", *RECIPE, *words(server)]) == 0
    (line,) = (line.rstrip() for line in lines(capsys) if line.startswith("state_choice"))
    assert line.endswith("model: none -> gpt-4o-mini (openai)")


@pytest.mark.push
def test_lines_of_receipts_have_their_plurals() -> None:
    receipt = Receipt("s", "m", "http://x", 0, 0, 0, 0, 0, 0, 2, 9, None, "", {})
    assert list(receipt_lines([receipt])) == [
        "2 attempts got no answer but may be billed: the sum includes the most that this can cost"
    ]
    (_, more) = receipt_lines([replace(receipt, calls=1)])
    assert more.startswith("2 more attempts")
