"""Rules from pairs: what they make, that they ask nothing, and that no rule is used which nobody accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import DataError, RecipeError
from benchbuilder.core.records.outcomes import Kept, NotApplicable
from benchbuilder.core.records.payloads import Choice, Fact, Option
from benchbuilder.core.records.roles import Statement
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.core.text.punctuation import Casing, case_letters
from benchbuilder.steps.pairs.rules import StatementPair, induce_rule
from benchbuilder.steps.state_pairs import PairRules, StatePairs, StatePairsSpec, read_pairs

SHAPES = {
    "¿Qué órgano {}?": ("El {}", "{1} {0}.", ["filtra la sangre:riñón", "produce la bilis:hígado",
                        "bombea la sangre por el cuerpo:corazón", "guarda la orina:saco"]),
    "El síntoma más frecuente de {} es": ("la {}", "El síntoma más frecuente de {0} es {1}.",
                        ["la gripe:fiebre", "la bronquitis:tos", "la anemia:palidez", "el asma:disnea"]),
    "¿Cuál es la causa de {}?": ("{}", "La causa de {0} es {1}.", ["la malaria:un parásito", "la gripe:un virus",
                        "la tuberculosis:una bacteria", "la tiña:un hongo"]),
    "La deficiencia de {} causa ____.": ("{}", "La deficiencia de {0} causa {1}.", ["vitamina C:escorbuto",
                        "vitamina D:raquitismo", "yodo:bocio", "hierro:anemia"]),
}  # fmt: skip


def pairs_of(*numbers: int) -> list[StatementPair]:
    made: list[StatementPair] = []
    for question, (answer, statement, fillings) in SHAPES.items():
        for number in numbers:
            filling, _, word = fillings[number].partition(":")
            text = answer.format(word)
            made.append(StatementPair(question.format(filling), text, statement.format(filling, text), len(made) + 2))
    return made


def test_two_pairs_of_four_shapes_reproduce_each_other_and_the_other_questions() -> None:
    rules = PairRules(pairs_of(0, 1), "words", None)
    assert list(rules.not_reproduced()) == []  # 8 of 8 that were held out
    for held in pairs_of(2, 3):
        made = rules.apply(held.question, held.answer)
        assert made is not None
        assert made.text.casefold() == held.statement.rstrip(".").casefold()
        assert made.answer.slice_of(made.text) == held.answer


@pytest.mark.parametrize(
    ("question", "answer", "statement", "unit", "asked", "other", "made"),
    [
        ("किस विटामिन की कमी से स्कर्वी होता है?", "विटामिन सी", "विटामिन सी की कमी से स्कर्वी होता है।", "words",
         "किस विटामिन की कमी से रतौंधी होती है?", "विटामिन ए", "विटामिन ए की कमी से रतौंधी होती है"),
        ("Izinso zihluza:", "igazi", "Izinso zihluza: igazi.", "words", "Amaphaphu adonsa:", "umoya",
         "Amaphaphu adonsa: umoya"),
        ("缺乏维生素C会引起的疾病是什么？", "坏血病", "缺乏维生素C会引起的疾病是坏血病。", "characters",
         "缺乏碘会引起的疾病是什么？", "甲状腺肿", "缺乏碘会引起的疾病是甲状腺肿"),
    ],
)  # fmt: skip
def test_a_rule_from_one_pair(
    question: str, answer: str, statement: str, unit: str, asked: str, other: str, made: str
) -> None:
    rule = induce_rule(StatementPair(question, answer, statement), unit)  # pyright: ignore[reportArgumentType]
    assert rule is not None
    stated = rule.apply(asked, other, unit, None)  # pyright: ignore[reportArgumentType]
    assert stated is not None
    assert stated[0] == made


def test_dropped_words_that_differ_become_any_word() -> None:
    pairs = [
        StatementPair("¿Cuál de las siguientes hormonas sube?", "La insulina", "La insulina sube."),
        StatementPair("¿Cuál de las siguientes vitaminas sube?", "La A", "La A sube."),
    ]
    (rule,) = PairRules(pairs, "words", None).rules
    assert rule.shape == "¿ cuál de las siguientes <1 word> … ?"


def test_a_statement_that_still_asks_is_not_taken() -> None:
    pair = StatementPair("Which organ makes bile?", "The liver", "The liver makes bile.")
    asked = "Which organ makes bile and which stores it?"
    assert PairRules([pair], "words", None).apply(asked, "The liver") is None
    # unless options hold the word as well: then it is a word like others
    common = PairRules([pair], "words", None, questions=["which organ"], options=["which", "organ"])
    assert common.apply(asked, "The liver") is not None


def test_the_answer_must_stand_in_the_statement(tmp_path: Path) -> None:
    file = tmp_path / "x.tsv"
    file.write_text("question\tanswer\tstatement\n# shape 1\nQ is\tA\t\nDonde\tEn el hígado\tEl hígado.\n")
    with pytest.raises(RecipeError) as caught:
        read_pairs(file, "words")
    (problem,) = caught.value.problems
    assert problem.message == 'the answer "En el hígado" does not stand in the statement'
    assert problem.where == f"{file}:4"
    file.write_text("question;answer;statement\n")
    with pytest.raises(DataError, match="no column 'question'"):
        read_pairs(file, "words")


def step_of(tmp_path: Path, accepted: str = "", **more: object) -> StatePairs:
    pairs = tmp_path / "pairs.tsv"
    rows = [f"{pair.question}\t{pair.answer}\t{pair.statement}" for pair in pairs_of(0, 1)]
    pairs.write_text("\n".join(["question\tanswer\tstatement", *rows]) + "\n")
    (tmp_path / "accepted.tsv").write_text(f"rule\tshape\tfirst\tsecond\tthird\n{accepted}")
    given = {"kind": "state_pairs", "from": "f", "unit": "words", "stop": ".", **more}
    files = {"pairs": str(pairs), "accepted": str(tmp_path / "accepted.tsv")}
    step = StatePairs(StatePairsSpec.model_validate({**given, **files}),
                      StepContext(seed=1, language="es", step="s", cache=tmp_path, workplace=tmp_path))  # fmt: skip
    step.open({})
    return step


def fact(question: str, answer: str) -> Fact[Choice]:
    options = (Option(key="A", text=answer), Option(key="B", text="otro"))
    choice = Choice(question=question, answer_key="A", answer=answer, options=options)
    return Fact[Choice](id="fact-1", origin=Origin(file="a.csv", line=1), produced_by=ProducedBy(rule="r"),
                        language="es", partition="a", payload=choice)  # fmt: skip


def test_no_rule_is_used_that_nobody_accepted(tmp_path: Path) -> None:
    asked = fact("¿Cuál es la causa de la tiña?", "Un hongo")
    step = step_of(tmp_path)
    assert [outcome.reason for outcome in step.map(asked, {}) if isinstance(outcome, NotApplicable)] == ["not_accepted"]
    remarks = [issue.message for issue in step.remarks()]
    assert remarks[0].endswith("pairs.tsv was accepted, so it makes no statement")
    assert any("leaves words of the question out" in text and "--accept 2)" in text for text in remarks)
    rule = next(rule for rule in PairRules(pairs_of(0, 1), "words", None).rules if rule.shape == "¿ cuál es … ?")
    (outcome,) = step_of(tmp_path, accepted=f"{rule.digest}\tx\t\t\t\n").map(asked, {})
    assert isinstance(outcome, Kept)
    assert isinstance(outcome.row, Statement)
    assert outcome.row.text == "La causa de la tiña es Un hongo."  # names keep their letters, and so do others
    assert outcome.row.joined == "induced"
    (outcome,) = step_of(tmp_path, accepted=f"{rule.digest}\tx\t\t\t\n", max_length=4).map(asked, {})
    assert outcome == NotApplicable("too_long")


def test_one_question_in_two_ways_is_remarked(tmp_path: Path) -> None:
    step = step_of(tmp_path)
    file = tmp_path / "pairs.tsv"
    file.write_text(file.read_text() + "¿Cuál es la causa de la malaria?\tun parásito\tUn parásito causa la malaria.\n")
    messages = [issue.message for issue in step.remarks()]
    assert any(":6 and :10 write the same question in two ways; the first counts" in text for text in messages)


@pytest.mark.parametrize(
    ("language", "capital", "small"),
    [("tr", "İlaç", "ilaç"), ("az", "Işıq", "ışıq"), ("nl", "IJzer", "ijzer"), ("en", "Iron", "iron")],
)
def test_letters_of_a_language(language: str, capital: str, small: str) -> None:
    casing = Casing(letters=case_letters(language))
    assert casing.lower_first(capital) == small
    assert casing.raise_first(small) == capital
    assert Casing(lowers=False).lower_first(capital) == capital
