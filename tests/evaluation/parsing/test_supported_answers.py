"""Which of two statements an answer supports."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.evaluation.parsing.supported_answers import differing_terms, support_reader

RECIPES = Path(__file__).parents[3] / "recipes"
RIGHT, WRONG = "Hypothyroidism is treated with levothyroxine.", "Hypothyroidism is treated with calcitonin."


@pytest.mark.parametrize(
    ("answer", "side"),
    [
        ("Levothyroxine.", "right"),
        ("It is treated with LEVOTHYROXINE, once a day.", "right"),
        ("Calcitonin is the drug of choice.", "wrong"),
        ("Not calcitonin but levothyroxine.", "right"),
        ("It is not treated with calcitonin.", "neither"),
        ("Calcitonin is not used here.", "neither"),
        ("It is not calcitonin. The treatment is levothyroxine.", "right"),
        ("Either levothyroxine or calcitonin.", "neither"),
        ("A thyroid hormone such as thyroxine.", "right"),
        ("Hypothyroidism is treated with surgery.", "neither"),
        ("Surgery.", "neither"),
        ("", "neither"),
    ],
)
def test_the_words_that_differ_decide_unless_they_are_denied(answer: str, side: str):
    reader = support_reader([RECIPES / "verdicts/en.yaml"], 0.04)
    assert reader.read(answer, RIGHT, WRONG)[0] == side
    mirrored = {"right": "wrong", "wrong": "right"}.get(side, side)
    assert reader.read(answer, WRONG, RIGHT)[0] == mirrored


@pytest.mark.parametrize(
    ("answer", "side"),
    [
        ("首选叶酸。", "right"),
        ("应补铁剂。", "wrong"),
        ("不是铁剂，是叶酸。", "right"),
        ("葉酸", "right"),
        ("不知道。", "neither"),
    ],
)
def test_chinese_is_read_by_its_own_negations_and_in_both_scripts(answer: str, side: str):
    reader = support_reader([RECIPES / "verdicts/zh.yaml"], 0.04)
    assert reader.read(answer, "预防畸形首选叶酸。", "预防畸形首选铁剂。")[0] == side


def test_a_short_word_takes_its_neighbour_along_and_words_are_whole():
    terms = differing_terms("It is type 1 diabetes.", "It is type 2 diabetes.")
    assert (terms.right, terms.wrong) == ("type 1", "type 2")
    assert terms.named("1. the patient has type 2 diabetes, not type 10") == [(19, "wrong")]
    longer = differing_terms("It is iron deficiency anaemia.", "It is anaemia.")
    assert (longer.right, longer.wrong) == ("iron deficiency", "")
    assert differing_terms("The same.", "The same.").named("the same") == []


@pytest.mark.parametrize(
    ("answer", "terms", "side"),
    [
        (
            "The parasite of the worst malaria is Plasmodium falciparium.",
            ("Plasmodium falciparum", "Plasmodium ovale"),
            "right",
        ),
        ("The parasite of the worst malaria is a bacterium.", ("Plasmodium falciparum", "Plasmodium ovale"), "neither"),
        ("The parasite of the worst malaria is the P one.", ("P parasite", "S parasite"), "right"),
        ("The parasite of the worst malaria is a matter of dispute.", ("a long angiogram", "a scope"), "neither"),
        ("It is the ovale Plasmodia kind.", ("Plasmodium falciparum", "Plasmodium ovale"), "wrong"),
    ],
)
def test_a_third_answer_supports_neither_however_much_of_the_sentence_it_repeats(
    answer: str, terms: tuple[str, str], side: str
):
    reader = support_reader([RECIPES / "verdicts/en.yaml"], 0.04)
    right, wrong = (f"The parasite of the worst malaria is {term}." for term in terms)
    assert reader.read(answer, right, wrong)[0] == side
