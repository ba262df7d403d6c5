"""What `check_recipe` warns of in a bundled recipe whose settings cannot come true."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.config.load import load_recipe
from benchbuilder.config.search_path import find_roots
from benchbuilder.core import RecipeError
from benchbuilder.pipeline.check import check_recipe
from benchbuilder.pipeline.other_language import judging_option, option_in_language


@pytest.mark.push
def test_more_evidence_than_is_looked_up_is_refused_before_people_judge_for_nothing(tmp_path: Path):
    """Three paragraphs each from two sources of passages, and none from no source."""

    def checked(*words: str) -> None:
        check_recipe(load_recipe(words, cwd=tmp_path, environ={}), sources=())

    checked("recipe=care_mi", "annotation.min_evidence=6")
    with pytest.raises(RecipeError, match="at most 6: 3 from each of 2 sources of passages"):
        checked("recipe=care_mi", "annotation.min_evidence=7")
    without = ("recipe=exam_any", "annotation=sheets_en")
    with pytest.raises(RecipeError, match=r"hint: +annotation\.min_evidence=0, or add sources of passages"):
        checked(*without)
    checked(*without, "annotation.min_evidence=0")


@pytest.mark.push
@pytest.mark.parametrize(
    ("recipe", "chosen", "hint"),
    [
        ("medicine_en", "app", "annotation=app_en"),
        ("medicine_en", "sheets", "annotation=sheets_en"),
        ("claims_en", "app", "annotation=app_en"),
        ("clinic_zu", "app", "annotation=app_zu"),
        ("care_mi", "app_en", "annotation=app"),
        ("care_mi", "app", ""),
        ("medicine_en", "app_en", ""),
        ("clinic_zu", "app_zu", ""),  # asks in English, of which clinicians who speak isiZulu know the letters
    ],
)
def test_people_who_are_asked_in_another_script_are_warned_of(recipe: str, chosen: str, hint: str, tmp_path: Path):
    """The option that the hint names brings no such warning."""

    def found(option: str) -> list[str]:
        loaded = load_recipe([f"recipe={recipe}", option], cwd=tmp_path, environ={})
        return [warning.hint for warning in check_recipe(loaded, sources=()) if warning.key == "annotation"]

    assert found(f"annotation={chosen}") == ([hint] if hint else [])
    if hint:
        assert found(hint) == []


def test_an_option_is_named_in_the_language_of_the_recipe_else_in_english():
    roots = find_roots(cwd=Path("/"), environ={})
    named = {code: option_in_language(roots, "app", code) for code in ("zh", "zh-Hans", "en", "zu", "pt")}
    assert named == {"zh": "app", "zh-Hans": "app", "en": "app_en", "zu": "app_zu", "pt": "app_en"}
    named = {code: option_in_language(roots, "sheets", code) for code in ("zh", "en", "zu", "de")}
    assert named == {"zh": "sheets", "en": "sheets_en", "zu": "sheets_zu", "de": "sheets_en"}


@pytest.mark.parametrize(
    ("recipe", "way", "option"),
    [
        ("claims_en", "app", "app_en_labels"),
        ("guideline_en", "sheets", "sheets_en_labels"),
        ("guideline_zh", "app", "app_zh_labels"),
        ("medicine_en", "app", "app_en"),
        ("care_mi", "sheets", "sheets"),
        ("clinic_zu", "app", "app_zu"),
    ],
)
def test_claims_that_may_be_false_are_judged_by_their_labels(recipe: str, way: str, option: str):
    loaded = load_recipe([f"recipe={recipe}"], environ={})
    assert judging_option(loaded.roots, loaded.recipe, way) == option
