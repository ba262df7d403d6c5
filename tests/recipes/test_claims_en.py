"""What the bundled recipe `claims_en` promises: items about claims as they are labelled, with their evidence first."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from bundled_builds import ENDS, built, evaluated, shared, warnings

from benchbuilder.config import load_recipe


def test_check_is_clean():
    assert warnings("claims_en") == []


@pytest.mark.full
def test_claims_become_items_with_verdicts_and_their_evidence(once, tmp_path):
    made = shared(once, "claims_en", tmp_path)
    assert made.ends("facts_en") <= ENDS
    assert made.reasons("facts_en") == {"label_skipped": 1}
    items = made.rows("items")
    assert Counter((item.form, item.payload.expected) for item in items) == {
        ("claim", "yes"): 18, ("claim", "no"): 18, ("yes_no", "yes"): 4, ("yes_no", "no"): 4,
    }  # fmt: skip
    assert made.reasons("items") == {"not_label_right": 4}  # the illustrative votes doubt "a good source of"
    assert all(item.verdict_only and item.payload.evidence[0].found == "gold" for item in items)
    evaluation = evaluated(made, tmp_path)
    agree = [row.value for row in evaluation.rows("verdict.always_agree")]
    assert sum(agree) * 2 == len(agree) == len(items)
    assert evaluation.rows("similarity.echo") == []


def test_no_guiding_question_asks_whether_the_claim_itself_is_true():
    for recipe, norm in (("claims_en", "current practice"), ("guideline_zh", "现行医学规范")):
        loaded = load_recipe([f"recipe={recipe}"], cwd=Path("/nowhere"), environ={})
        questions = loaded.recipe.annotation.questions
        assert list(questions)[:4] == ["stands_alone", "label_right", "supports", "fluent"]
        assert not any(norm in question.text for question in questions.values())


def test_labels_that_say_nothing_and_contradictions_are_left_out_and_a_missing_page_is_named(tmp_path):
    claims = [
        ("Sunlight lets the skin make vitamin D.", "SUPPORTS", "skin-1"),
        ("Sunlight lets the skin make vitamin C.", "REFUTES", "skin-9"),
        ("Sunlight was known to help against rickets before 1800.", "NOT ENOUGH INFO", ""),
        ("Iron is a metal.", "SUPPORTS", "skin-1"),
        ("iron is a metal", "REFUTES", "skin-1"),
    ]
    names = ("claim", "label", "evidence")
    lines = [json.dumps(dict(zip(names, claim, strict=True))) for claim in claims]
    (tmp_path / "claims.jsonl").write_text("\n".join(lines), "utf-8")
    (tmp_path / "pages.jsonl").write_text('{"id": "skin-1", "text": "The skin makes vitamin D in sunlight."}', "utf-8")
    made = built(
        "claims_en", tmp_path, "paths.facts_en=claims.jsonl", "paths.facts_pages_en=pages.jsonl",
        "sources.yes_no_en=null", "sources.facts_en.gold_in=facts_pages_en", "annotation=none",
    )  # fmt: skip
    assert made.reasons("facts_en") == {"label_skipped": 1}
    assert made.reasons("screen_claims") == {"contradicts": 2}
    assert made.reasons("evidence")["gold_missing"] == 1
    assert Counter(item.payload.expected for item in made.rows("items")) == {"yes": 1, "no": 1}
