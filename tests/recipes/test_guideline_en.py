"""What the bundled recipe `guideline_en` promises: claims without a model, each with a false one that is false."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from bundled_builds import ENDS, shared, warnings

from benchbuilder.core.text.patterns import has_match, match_groups
from benchbuilder.steps.language.patterns import first_match


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


def test_the_report_counts_the_sections_of_the_document(made):
    page = (made.store.folder / "report.html").read_text(encoding="utf-8")
    assert re.search(r"· [1-9]\d* source units in 1 source ·", page)
    assert "source unit in 0" not in page


@pytest.mark.parametrize(
    ("sentence", "head"),
    [
        ("Ferritin is a protein that stores iron in the cells of the liver.", "Ferritin"),
        ("Iron deficiency anaemia is a state in which too little iron is at hand.", "Iron deficiency anaemia"),
        ("Transferrin is the plasma protein that carries iron in the blood.", "Transferrin"),
        ("A dry larder is a room that has no pipes or drains in it.", "A dry larder"),
        ("Type 2 diabetes is a disease that makes the blood sweet for long.", "Type 2 diabetes"),
        ("Not every larder is a room that has no pipes or drains in it.", None),
        ("However the spatula is a tool that is made of steel or wood.", None),
        ("It is a disease that is seen in many countries.", None),
        ("This is the first step that leads to a safe kitchen.", None),
        ("A first-flush diverter is a device that turns the first rain away.", "A first-flush diverter"),
        ("Anaemia is the most frequent disorder of the blood in women.", None),
    ],
)
def test_a_definition_needs_no_article(sentence, head):
    file = Path(__file__).parents[2] / "recipes/rules/en_guideline.yaml"
    kind = yaml.safe_load(file.read_text(encoding="utf-8"))["find_claims"]["patterns"]["kind"]
    found = match_groups(kind["match"], sentence)
    left_out = any(has_match(pattern, sentence) for pattern in kind["unless"])
    assert (found["head"] if found and not left_out else None) == head


@pytest.mark.parametrize("rules", ["en_documents", "en_guideline"])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Test the residual chlorine, i.e. free chlorine, twice a day.", False),
        ("Measure the pH at the same time of day.", False),
        ("The dose should be the same as in adults.", False),
        ("Patients with type I diabetes need insulin.", False),
        ("When I swim, I wear goggles.", True),
        ("The same applies to children.", True),
        ("Use the same filter for pools.", True),
    ],
)
def test_a_pronoun_is_more_than_its_letters(rules: str, text: str, found: bool) -> None:
    read = yaml.safe_load((Path(__file__).parents[2] / f"recipes/rules/{rules}.yaml").read_text("utf-8"))
    pronouns = read["read_claims" if rules == "en_documents" else "find_claims"]["rules"]["pronouns"]
    assert (first_match(tuple(pronouns), text) is not None) == found
