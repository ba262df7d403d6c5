"""What the bundled recipe `exam_any` promises: three languages, no rule, no word of a question changed."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import yaml
from bundled_builds import ENDS, built, evaluated, warnings

ROOT = Path(__file__).parents[2] / "recipes"
SAMPLE = ROOT / "recipe" / "exam_any" / "sample"
LANGUAGES = {"yo": (), "hi": ("variant=hi",), "ar": ("variant=ar",)}


@pytest.mark.push
@pytest.mark.parametrize("language", LANGUAGES)
def test_check_is_clean(language):
    assert warnings("exam_any", *LANGUAGES[language]) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_question_is_shown_as_it_is(language, tmp_path):
    made = built("exam_any", tmp_path, *LANGUAGES[language])
    assert made.loaded.recipe.language == language
    assert made.ends("exam_any") <= ENDS
    rows = list(csv.DictReader((SAMPLE / f"{language}.csv").read_text("utf-8").splitlines()))
    assert len(rows) == 20
    asked = {row["question"] for row in rows}
    items = made.rows("items")
    assert len(items) >= 30
    assert {item.form for item in items} == {"verify", "verify_among", "passed"}
    assert all(any(text in item.payload.question for text in asked) for item in items)
    assert made.rows("state_pairs") == []
    evaluation = evaluated(made, tmp_path)
    agree = [row.value for row in evaluation.rows("verdict.always_agree")]
    disagree = [row.value for row in evaluation.rows("verdict.always_disagree")]
    assert agree
    assert [a + b for a, b in zip(agree, disagree, strict=True)] == [1.0] * len(agree)


@pytest.mark.push
def test_the_sentences_of_every_language_hold_what_they_must():
    english = yaml.safe_load((ROOT / "forms" / "en.yaml").read_text("utf-8"))
    for path in (ROOT / "forms").glob("*.yaml"):
        own = yaml.safe_load(path.read_text("utf-8"))
        sentences, wanted = ({key for key, value in x.items() if isinstance(value, str)} for x in (own, english))
        # nobody could write the sentences about procedures in every language
        assert wanted - {"comes_before", "comes_next"} <= sentences <= wanted, path.stem
        assert own["options_named"], path.stem
        assert (ROOT / "writing" / path.name).is_file(), path.stem


@pytest.mark.push
def test_the_card_says_that_no_speaker_checked_the_wording():
    for file in (ROOT / "recipe" / "exam_any.yaml", *(ROOT / "variant" / "exam_any").glob("*.yaml")):
        limits = yaml.safe_load(file.read_text("utf-8"))["card"]["limitations"]
        assert "No speaker of " in limits[0], file.name
