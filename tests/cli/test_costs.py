"""What the commands say of costs: the quote before, the receipt after, and both where a build stops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from writing_server import words, writing

from benchbuilder.cli.main import main
from benchbuilder.testing.server import Running

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
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with writing(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Running) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prices.yaml").write_text(PRICES, encoding="utf-8")
    server.reset()


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What was said on both streams, a line each."""
    said = capsys.readouterr()
    return (said.out + said.err).splitlines()


def test_plan_quotes_and_asks_nobody(server: Running, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *RECIPE, *words(server)]) == 0
    told = lines(capsys)
    assert "the free steps are built, so that the quote is made from the real prompts:" in told
    (total,) = (line.split() for line in told if line.startswith("all steps"))
    assert int(total[2]) > 5
    assert float(total[5]) > 0
    assert any(line.startswith("gpt-4o-mini: tokens estimated by script; prices of 20") for line in told)
    assert any(line.startswith("no budget is set") for line in told)
    assert server.stats()["requests"] == 0


def test_plan_can_leave_the_quote_out(server: Running, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--no-quote", *RECIPE, *words(server)]) == 0
    assert not any("quote" in line for line in lines(capsys))
    assert not list(Path("builds").rglob("manifest.json"))


def test_rules_alone_are_not_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *RULES]) == 0
    assert not any("quote" in line for line in lines(capsys))


def test_a_model_without_a_price_says_so(server: Running, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *RECIPE, *words(server, "fine-9b"), "budget.tokens=10"]) == 0
    told = lines(capsys)
    assert any("no price known for fine-9b (model.prices=FILE names a table)" in line for line in told)
    assert any("the quote exceeds budget.tokens=10" in line for line in told)
    assert any(line.startswith("state_choice") and line.endswith("no price") for line in told)


def test_a_build_that_stops_tells_what_it_cost_and_the_next_plan_the_rest(
    server: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    build = [*RECIPE, *words(server), "model.concurrency=1"]
    assert main([*build, "budget.tokens=25000"]) == 4
    told = lines(capsys)
    (receipt,) = (line.strip() for line in told if "by gpt-4o-mini over all runs" in line)
    assert " USD (prices of 20" in receipt
    assert any("the budget is reached" in line for line in told)

    assert main(["plan", *build, "budget.tokens=25000"]) == 0
    told = lines(capsys)
    assert f"so far: {receipt}" in told
    assert any("from before will be used again: they cost nothing" in line for line in told)
    assert any("the quote comes close to budget.tokens=25000" in line for line in told)

    assert main(build) == 0
    told = lines(capsys)
    (whole,) = (line for line in told if "by gpt-4o-mini over all runs" in line)
    assert int(whole.split()[0]) == server.stats()["requests"], "every answered request is on the receipt, once"
    report = Path("builds/care_mi/report.html").read_text(encoding="utf-8")
    assert 'id="models"' in report
    card = Path("builds/care_mi/README.md").read_text(encoding="utf-8")
    assert "gpt-4o-mini (openai)" in card
    assert "USD" not in card

    assert main(build) == 0
    assert whole in lines(capsys)
