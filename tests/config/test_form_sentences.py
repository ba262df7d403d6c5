"""What a recipe says whose sentences lack a place, or are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.config import load_recipe
from benchbuilder.core import RecipeError


def problems(*overrides: str) -> list[tuple[str, str]]:
    with pytest.raises(RecipeError) as caught:
        load_recipe(["recipe=exam_any", *overrides], cwd=Path("/nowhere"), environ={})
    return [(problem.key, problem.message) for problem in caught.value.problems]


def test_a_sentence_without_its_place_is_reported_once_where_it_was_written() -> None:
    assert problems("forms.verify='Is {answer} right'") == [("forms.verify", "{question} must stand in it once")]


def test_an_unknown_place_is_named() -> None:
    ((key, message),) = problems("forms.cloze='{left} {right} {middle}?'")
    assert key == "forms.cloze"
    assert "unknown placeholder {middle}" in message
