"""What the bundled recipe `claims_en` promises: items about claims as they are labelled, with their evidence first."""

from __future__ import annotations

from collections import Counter

from bundled_builds import ENDS, built, evaluated, warnings


def test_check_is_clean():
    assert warnings("claims_en") == []


def test_claims_become_items_with_verdicts_and_their_evidence(tmp_path):
    made = built("claims_en", tmp_path)
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


def test_false_claims_pass_the_guiding_questions(tmp_path):
    made = built("claims_en", tmp_path)
    questions = made.loaded.recipe.annotation.questions
    assert list(questions) == ["stands_alone", "label_right", "supports", "fluent"]
    assert not any("current practice" in question.text for question in questions.values())
