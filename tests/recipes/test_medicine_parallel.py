"""What the bundled recipe `medicine_parallel` promises: the same facts in three languages."""

from __future__ import annotations

import pytest
from bundled_builds import Built, built, warnings

LANGUAGES = ("en", "es", "zh")


@pytest.fixture(scope="module")
def builds(tmp_path_factory) -> dict[str, Built]:
    words = {"en": (), "es": ("variant=es",), "zh": ("variant=zh",)}
    return {code: built("medicine_parallel", tmp_path_factory.mktemp(code), *words[code]) for code in LANGUAGES}


@pytest.mark.parametrize("words", [(), ("variant=es",), ("variant=zh",)])
def test_check_is_clean(words):
    assert warnings("medicine_parallel", *words) == []


@pytest.mark.parametrize("code", ["es", "zh"])
def test_twenty_facts_are_translated_and_the_others_say_why_not(builds, code):
    made = builds[code]
    assert {row.language for row in made.rows("translate")} == {code}
    assert len(made.rows("translate")) == 20
    assert set(made.reasons("translate")) == {"no_translation"}


@pytest.mark.parametrize("code", ["es", "zh"])
def test_an_item_leads_to_the_fact_of_the_original_build(builds, code):
    originals = {row.id for row in builds["en"].rows("unique")}
    items = builds[code].rows("items")
    assert len(items) > 20
    for item in items:
        assert len(originals & set(item.parents)) == 1
        assert item.language == code


def test_the_answer_of_a_translated_fact_is_at_its_place(builds):
    english = {row.id: row.payload for row in builds["en"].rows("unique")}
    for code in ("es", "zh"):
        for row in builds[code].rows("translate"):
            payload, original = row.payload, english[row.of]
            assert payload.answer_key == original.answer_key
            assert payload.answer == next(one.text for one in payload.options if one.key == payload.answer_key)
            assert len({one.text for one in payload.options}) == len(original.options)
