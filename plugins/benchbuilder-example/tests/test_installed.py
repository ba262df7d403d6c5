"""The plugin is installed: its kinds are known, and recipes find its options."""

from __future__ import annotations

import pytest

from benchbuilder.config.load import load_recipe
from benchbuilder.core import registry
from benchbuilder.testing import check_kind

KINDS = [("source", "faq"), ("tokenizer", "syllables"), ("judge", "keyword_coverage")]


@pytest.mark.parametrize(("slot", "name"), KINDS)
def test_a_kind_is_known_and_says_what_it_is(slot: str, name: str) -> None:
    kind = registry.find_kind(slot, name)
    assert kind.distribution == "benchbuilder-example"
    check_kind(slot, name, kind.load())


def test_a_recipe_takes_them() -> None:
    judge = "evaluation.judges.keywords={kind: keyword_coverage, aspect: correctness}"
    recipe = load_recipe(["recipe=care_mi", "tokenizer=syllables", judge], environ={}).recipe
    assert recipe.tokenizer.vowels == "aeiou"
    assert recipe.evaluation.judges["keywords"].tokenizer is recipe.tokenizer
