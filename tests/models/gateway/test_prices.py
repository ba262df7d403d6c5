from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.core.errors import RecipeError
from benchbuilder.models.gateway.prices import Price, Prices

BUNDLED = Path(__file__).parents[3] / "recipes" / "prices" / "openai.yaml"
GOOD = """\
as_of: 2026-03-01
source: https://example.org/prices
currency: USD
per_tokens: 1000000
models:
  small: {input: 0.15, output: 0.6, cached: 0.075, batch: 0.5}
  large: {input: 2, output: 8}
  large-2024-05-13: {input: 5, output: 15}
aliases:
  big: large
"""


@pytest.fixture
def table(tmp_path):
    def written(text: str) -> Path:
        file = tmp_path / "prices.yaml"
        file.write_text(text)
        return file

    return written


def test_prices_are_read(table):
    prices = Prices.read(table(GOOD))
    assert (prices.as_of, prices.source) == ("2026-03-01", "https://example.org/prices")
    assert prices.price_for("small") == Price(0.15, 0.6, 0.075, 0.5)
    assert prices.price_for("large") == Price(2, 8, 2, 1)


def test_a_model_is_found_by_name_alias_or_without_its_date(table):
    prices = Prices.read(table(GOOD))
    assert prices.price_for("big") == prices.price_for("large") == prices.price_for("large-2025-01-31")
    assert prices.price_for("large-2024-05-13") == Price(5, 15, 5)
    for unknown in ("larg", "large-mini", "large-20240513", "LARGE", "", "small-2024-05-13-ft"):
        assert prices.price_for(unknown) is None


def test_the_cost_of_a_reply():
    price = Price(input=2.0, output=8.0, cached=0.5, batch=0.5)
    assert price.usd(1000, 500) == pytest.approx(0.006)
    assert price.usd(1000, 500, 400) == pytest.approx(0.0054)
    assert price.usd(1000, 500, 9999) == pytest.approx(0.0045)
    assert price.usd(1000, 500, 400, batched=True) == pytest.approx(0.0027)
    assert price.worst(1000, 500) >= price.usd(1000, 500, 1000)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("input: 2,", "input: '2',", "models.large.input: the price table is wrong: Input should be a valid number"),
        ("input: 2,", "input: -2,", "models.large.input: the price table is wrong: Input should be greater"),
        ("input: 2,", "input: .nan,", "models.large.input: the price table is wrong: Input should be a finite"),
        ("input: 2,", "input: true,", "models.large.input: the price table is wrong: Input should be a valid number"),
        ("{input: 2, output: 8}", "{input: 2}", "models.large.output: the price table is wrong: Field required"),
        ("{input: 2, output: 8}", "2", "models.large: the price table is wrong: Input should be a dictionary"),
        ("cached: 0.075", "cashed: 0.075", "models.small.cashed: the price table is wrong: Unexpected keyword"),
        ("2026-03-01", "lately", "allowed: a date such as 2026-03-01"),
        ("currency: USD", "currency: EUR", "currency: the price table is wrong: Input should be 'USD'"),
        ("per_tokens: 1000000", "per_tokens: 1000", "per_tokens: the price table is wrong: Input should be 1000000"),
        ("source: https://example.org/prices", "note: none", "source: the price table is wrong: Field required"),
        ("big: large", "big: larg", "aliases name models that are not in the table: big (larg)"),
    ],
)
def test_each_problem_of_a_table_is_reported_with_its_place(table, old, new, message):
    assert old in GOOD
    file = table(GOOD.replace(old, new))
    with pytest.raises(RecipeError) as error:
        Prices.read(file)
    assert message in str(error.value)
    assert str(error.value).startswith("1 problem") or "note:" in new
    assert str(file) in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "models: [", "as_of: 2026-03-01\nmodels: {}"])
def test_a_file_that_is_not_a_table_is_reported(table, text):
    with pytest.raises(RecipeError):
        Prices.read(table(text))
    with pytest.raises(RecipeError, match="1 problem"):
        Prices.read(Path("nowhere.yaml"))


def test_the_bundled_table_can_be_read():
    prices = Prices.read(BUNDLED)
    for name, price in prices.models.items():
        assert 0 < price.cached <= price.input < price.output, name
        assert 0 < price.batch <= 1, name
    assert prices.price_for("gpt-4o-mini-2024-07-18", "https://api.openai.com/v1") is not None
    assert prices.price_for("no-such-model") is None


def test_the_prices_of_an_address_apply_to_no_other(tmp_path):
    file = tmp_path / "prices.yaml"
    file.write_text(
        "as_of: 2026-01-02\nsource: https://example.org\nendpoint: https://api.example.org/v1\ncurrency: USD\n"
        "per_tokens: 1000000\nmodels: {a: {input: 1, output: 2}}\n",
        encoding="utf-8",
    )
    prices = Prices.read(file)
    assert prices.price_for("a", "https://api.example.org/v1/") == Price(1.0, 2.0, 1.0)
    assert prices.price_for("a", "http://127.0.0.1:8000/v1") is None
    assert prices.price_for("a") is None
