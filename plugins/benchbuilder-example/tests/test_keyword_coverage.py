"""The judge `keyword_coverage`."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchbuilder_example.keyword_coverage import KeywordCoverage, KeywordCoverageSpec
from benchbuilder_example.syllables import SyllablesSpec

from benchbuilder.evaluation.judges.base import Case
from benchbuilder.testing import check_judge

QUESTION = "Which planet is red?"
RIGHT, WRONG = "The red planet is Mars.", "The red planet is Venus."


def made() -> KeywordCoverage:
    tokenizer = SyllablesSpec(kind="syllables", vowels="aeiou")
    return KeywordCoverage(KeywordCoverageSpec(kind="keyword_coverage", aspect="correctness", tokenizer=tokenizer))


def case(answer: str) -> Case:
    return Case(question=QUESTION, answer=answer, right=RIGHT, wrong=WRONG)


@pytest.mark.parametrize(("answer", "score"), [("It is MARS!", 1.0), ("Venus.", 0.0), ("", 0.5), ("No idea.", 0.5)])
def test_scores(answer: str, score: float) -> None:
    judge = made()
    judge.open(None)
    assert judge.score([case(answer)]) == [score]


def test_it_keeps_the_contract(tmp_path: Path) -> None:
    answers = ["Mars", "Venus", "Mars or Venus", "", "Jupiter"]
    assert len(check_judge(made, [case(answer) for answer in answers], [], tmp_path)) == len(answers)
