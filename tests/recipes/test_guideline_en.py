"""What the bundled recipe `guideline_en` promises: claims without a model, each with a false one that is false."""

from __future__ import annotations

from collections import Counter

import pytest
from bundled_builds import ENDS, shared, warnings


@pytest.fixture(scope="module")
def made(once, tmp_path_factory):
    return shared(once, "guideline_en", tmp_path_factory.mktemp("guideline"))


def test_check_is_clean():
    assert warnings("guideline_en") == []


def test_every_unit_ends_somewhere(made):
    assert made.ends("guideline_en") <= ENDS
    assert "item" in made.ends("guideline_en")


def test_each_claim_stands_in_its_paragraph_and_has_one_false_counterpart(made):
    paragraphs = {row.id: row for row in made.rows("paragraphs")}
    claims = made.rows("claims")
    assert {row.produced_by.rule.partition("/")[2] for row in claims} >= {
        "glossary",
        "means",
        "kind",
        "cell",
        "measure",
    }
    for claim in claims:
        assert claim.payload.quote in paragraphs[claim.of].text
    asked = Counter(row.payload.expected for row in made.rows("items"))
    assert asked["yes"] == asked["no"] > 25


def test_no_false_claim_is_a_claim_of_the_document(made):
    true = {row.payload.text for row in made.rows("claims")}
    false = {row.payload.text for row in made.rows("false_claims")}
    assert len(false) > 25
    assert not true & false


def test_sentences_that_allow_other_numbers_are_in_no_item(made):
    asked = " ".join(row.payload.question for row in made.rows("items"))
    for part in ("If a dish falls below 63 °C", "Do not leave cooked rice", "48 hours", "Freezers should run"):
        assert part not in asked


def test_questions_name_the_document_and_the_section(made):
    assert {row.payload.question.partition("”")[0].partition(" > ")[0] for row in made.rows("items")} == {
        "According to “Food safety in small canteens"
    }
