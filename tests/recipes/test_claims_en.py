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
        ("claim", "yes"): 20, ("claim", "no"): 20, ("yes_no", "yes"): 4, ("yes_no", "no"): 4,
    }  # fmt: skip
    assert all(item.verdict_only and item.payload.evidence[0].found == "gold" for item in items)
    evaluation = evaluated(made, tmp_path)
    agree = [row.value for row in evaluation.rows("verdict.always_agree")]
    assert sum(agree) * 2 == len(agree) == len(items)
    assert evaluation.rows("similarity.echo") == []
