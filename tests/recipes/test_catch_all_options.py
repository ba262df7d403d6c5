"""Options that speak of other options, or say that nobody knows, in the languages that have sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from benchbuilder.steps.language.patterns import first_match

FORMS = Path(__file__).parents[2] / "recipes/forms"
TEXTS: dict[str, dict[str, list[str]]] = yaml.safe_load(
    (Path(__file__).parent / "catch_all_options.yaml").read_text("utf-8")
)
SPEAK_OF_OPTIONS, ARE_ANSWERS = TEXTS["speak_of_options"], TEXTS["are_answers"]


def patterns(language: str) -> tuple[str, ...]:
    return tuple(yaml.safe_load((FORMS / f"{language}.yaml").read_text("utf-8"))["catch_all"])


@pytest.mark.parametrize(
    ("language", "text"), [(code, text) for code, texts in SPEAK_OF_OPTIONS.items() for text in texts]
)
def test_such_an_option_is_neither_a_right_nor_a_wrong_answer(language: str, text: str) -> None:
    assert first_match(patterns(language), text) is not None


@pytest.mark.parametrize(("language", "text"), [(code, text) for code, texts in ARE_ANSWERS.items() for text in texts])
def test_answers_stay(language: str, text: str) -> None:
    assert first_match(patterns(language), text) is None
