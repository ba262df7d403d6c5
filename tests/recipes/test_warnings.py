"""What `check_recipe` warns of in a bundled recipe whose settings cannot come true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchbuilder.config.load import load_recipe
from benchbuilder.config.search_path import find_roots
from benchbuilder.core import RecipeError
from benchbuilder.pipeline.check import check_recipe
from benchbuilder.pipeline.other_language import guess_language, judging_option, option_in_language


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
    named = {code: option_in_language(roots, "app", code) for code in ("zh", "zh-Hans", "en", "zu", "pt-BR", "it")}
    assert named == {"zh": "app", "zh-Hans": "app", "en": "app_en", "zu": "app_zu", "pt-BR": "app_pt", "it": "app_en"}
    named = {code: option_in_language(roots, "sheets", code) for code in ("zh", "en", "zu", "de", "it")}
    assert named == {"zh": "sheets", "en": "sheets_en", "zu": "sheets_zu", "de": "sheets_de", "it": "sheets_en"}


@pytest.mark.push
@pytest.mark.parametrize("code", ["de", "es", "fr", "pt"])
def test_people_are_asked_the_same_in_their_own_language(code: str, tmp_path: Path):
    """Each text is in that language, and nothing that counts votes differs from the English way."""

    def asked(option: str) -> Any:
        words = ["recipe=exam_any", f"annotation={option}", "annotation.min_evidence=0"]
        return load_recipe(words, cwd=tmp_path, environ={}).recipe.annotation

    for way in ("app", "sheets"):
        for kind in ("", "_labels"):
            own, english = asked(f"{way}_{code}{kind}"), asked(f"{way}_en{kind}")
            assert list(own.questions) == list(english.questions)
            assert guess_language([question.text for question in own.questions.values()])[0] == code
            for name, question in own.questions.items():
                assert question.text != english.questions[name].text
                assert question.label != english.questions[name].label
                rest = {"text": "", "label": ""}
                assert question.model_copy(update=rest) == english.questions[name].model_copy(update=rest)
            shown = [*own.labels.model_dump().values()] if way == "sheets" else [own.title, *own.fields.values()]
            told = (
                [*english.labels.model_dump().values()]
                if way == "sheets"
                else [english.title, *english.fields.values()]
            )
            assert not set(map(str, shown)) & set(map(str, told)) - {"Question", "Votes"}, "French has these words"
            assert own.keep == english.keep
            if way == "app":
                text = Path(own.guideline.resolved_path).read_text("utf-8")
                assert guess_language([text])[0] == code


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
