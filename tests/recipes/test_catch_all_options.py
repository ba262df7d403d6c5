"""Options that speak of other options, or say that nobody knows, in the languages that have sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from benchbuilder.steps.language.patterns import first_match

FORMS = Path(__file__).parents[2] / "recipes/forms"
SPEAK_OF_OPTIONS = {
    "en": ["Two of the above", "1 and 2 only", "A only", "Options A and C", "neither", "I don't know", "All of these.",
           "A, B and D", "(a) and (c) are correct", "i and iii only", "None of the above", "B & C", "Not sure"],
    "es": ["Todas las anteriores", "A y C", "Respuestas B, C y D", "Ambas", "No sé", "Ninguna de las anteriores"],
    "fr": ["Toutes ces réponses", "A et C", "Les deux", "Je ne sais pas", "Réponses A, B et D"],
    "zh": ["以上都是", "A和C", "A、B、D", "不知道", "均正确"],
}  # fmt: skip
ARE_ANSWERS = {
    "en": ["Vitamins A and C", "1 and 2", "AB", "Neither artery is blocked", "Hepatitis B only", "two of the valves",
           "A bone", "I", "V", "20 only", "both kidneys", "an antibody", "Type A or type B"],
    "es": ["Vitamina A y vitamina C", "ambas orejas", "AB", "A veces", "todas las venas"],
    "fr": ["Vitamines A et C", "les deux reins", "AB", "aucune veine"],
    "zh": ["维生素A和维生素C", "AB", "AB型", "以色列", "不知道疼痛"],
}  # fmt: skip


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
