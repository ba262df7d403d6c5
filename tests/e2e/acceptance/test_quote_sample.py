"""Quotes of the sample recipe beside the receipts of its builds, the service counting with a tokenizer of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from acceptance_bench import ASKING, Sample
from rich.console import Console

from benchbuilder.authoring.dry_run.estimate_cost import Quote, quote_plan
from benchbuilder.config.load import load_recipe
from benchbuilder.pipeline.plan import make_plan
from benchbuilder.pipeline.progress import LineProgress
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Store

RECIPES = Path(__file__).parents[3] / "recipes"
VOCABULARY = 8_000
"""A small vocabulary, trained on the sample itself, for a large one. From 4,000 to 16,000 the quote holds as well."""
PRICES = """as_of: 2026-01-02
source: https://example.org/prices
currency: USD
per_tokens: 1000000
models:
  fake-1: {input: 2.0, output: 8.0}
"""
Make = Callable[..., Sample]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A byte-level BPE trained on the sources of the sample, as the vocabularies of hosted models are made."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    pieces = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"
    made: Any = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence([  # type: ignore[attr-defined]
        pre_tokenizers.Split(Regex(pieces), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, initial_alphabet=alphabet, show_progress=False)
    files = [path for path in sorted((RECIPES / "recipe/care_mi/sample").rglob("*.json*")) if path.is_file()]
    made.train_from_iterator((line for file in files for line in file.read_text("utf-8").splitlines()), trainer)
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    made.save(str(path))
    return str(path)


@pytest.fixture
def prices(tmp_path: Path) -> str:
    file = tmp_path / "prices.yaml"
    file.write_text(PRICES, encoding="utf-8")
    return f"model.prices={file}"


def quoted(sample: Sample, *further: str) -> Quote:
    """The quote as `benchbuild plan` makes it."""
    loaded = load_recipe(sample.words(*further), recipes=None)
    store = Store(sample.folder)
    checksums = Checksums(store.checksums)
    plan = make_plan(loaded.recipe, store, checksums.sha256_of)
    checksums.save()
    found = quote_plan(plan, store, LineProgress(Console(quiet=True)))
    assert found is not None
    return found


def receipts(sample: Sample) -> dict[str, dict[str, Any]]:
    """The receipts of all runs so far, by step."""
    last = (sample.folder / "run.jsonl").read_text(encoding="utf-8").splitlines()[-1]
    return {receipt["step"]: receipt for receipt in json.loads(last)["receipts"]}


def total(found: dict[str, dict[str, Any]], name: str) -> float:
    return sum(receipt[name] for receipt in found.values())


def near(expected: float, real: float) -> bool:
    return abs(expected - real) <= 0.2 * real


@pytest.mark.full
def test_an_estimate_by_script_is_within_a_fifth_of_the_receipt(sample: Make, tokenizer: str, prices: str) -> None:
    made = replace(sample("build", prices), sources="medqa,mlecqa,textbook")
    made.server.configure(tokens=tokenizer)
    found = quoted(made)
    assert made.requests() == 0
    assert {step.counting_method for step in found.steps} == {"estimated by script"}
    assert made.build().code == 0
    paid = receipts(made)
    assert near(found.calls.expected, total(paid, "calls"))
    assert near(
        found.prompt_tokens.expected + found.completion_tokens.expected,
        total(paid, "prompt_tokens") + total(paid, "completion_tokens"),
    )
    assert found.usd is not None
    assert found.usd.at_most is not None
    assert near(found.usd.expected, total(paid, "usd"))
    assert total(paid, "usd") <= found.usd.at_most
    for step in found.steps:
        receipt = paid[step.step]
        assert step.calls.at_most is not None
        assert near(step.calls.expected, receipt["calls"])
        assert receipt["calls"] <= step.calls.at_most


@pytest.mark.full
def test_replies_correct_the_estimate(sample: Make, prices: str) -> None:
    """The service has a token for three bytes: a third more than is estimated for Chinese."""
    made = replace(sample("build", prices), sources="medqa,mlecqa,textbook")
    assert made.build("budget.tokens=60000").code == 4
    before = receipts(made)
    found = quoted(made)
    assert "corrected by" in found.steps[0].counting_method
    assert sum(step.answered for step in found.steps) > 0
    assert made.build().code == 0
    after = receipts(made)
    usd = total(after, "usd") - total(before, "usd")
    assert found.usd is not None
    assert near(found.usd.expected, usd)
    assert set(after) == set(ASKING)
