"""What the bundled recipe `reading_en` promises: wrong answers without options, and the page of each question."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bundled_builds import ENDS, evaluated, shared, warnings

SAMPLE = Path(__file__).parents[2] / "recipes" / "recipe" / "reading_en" / "sample"


def test_check_is_clean():
    assert warnings("reading_en") == []


@pytest.mark.full
def test_wrong_answers_come_from_numbers_and_rows_and_evidence_from_the_page(once, tmp_path):
    made = shared(once, "reading_en", tmp_path)
    assert made.ends("reader_en") <= ENDS
    lines = (SAMPLE / "questions.jsonl").read_text("utf-8").splitlines()
    known = {row["question"]: row for row in map(json.loads, lines)}
    assert len(known) == 40
    items = made.rows("items")
    assert len(items) >= 50
    assert {item.form for item in items} == {"verify", "passed"}
    assert {item.wrong_from for item in items} == {"rows", "number"}
    for item in items:
        payload = item.payload
        row = next(row for question, row in known.items() if question in payload.question)
        assert payload.answer == row["answers"][0]
        assert payload.answer_wrong not in row["answers"]
        first = payload.evidence[0]
        assert (first.found, first.document) == ("gold", row["page"])
        assert payload.answer.casefold() in first.text.casefold()
    evaluation = evaluated(made, tmp_path)
    agree = [row.value for row in evaluation.rows("verdict.always_agree")]
    assert 0 < sum(agree) < len(agree)
