"""How answers are cut into clauses: exact places, and the traps of lists, tables, marks and languages."""

from __future__ import annotations

import pytest
from claim_cases import word_list
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbuilder.evaluation.claims.clauses import split_clauses
from benchbuilder.evaluation.claims.words import ClaimWords


def clauses(answer: str, language: str) -> list[str]:
    return [clause.text(answer) for clause in split_clauses(answer, word_list(language))]


TRAPS = [
    ("zh", "患者发热；咳嗽无痰，夜间加重。", ["患者发热", "咳嗽无痰", "夜间加重"]),
    ("zh", "1. 先切断电源。\n2、再呼救！\n（3）做心肺复苏", ["先切断电源", "再呼救", "做心肺复苏"]),
    ("en", "1. Give 2.5 mg of S. aureus toxin.\n- Wait 3 days.", ["Give 2.5 mg of S. aureus toxin", "Wait 3 days"]),
    ("en", "| Drug | Dose |\n|---|---|\n| A | 5 mg |\n| **B** | 7 mg |", ["A | 5 mg", "B** | 7 mg"]),
    ("zh", "**每日少于5克**，*其余*如常。", ["每日少于5克", "其余*如常"]),
    ("zh", "省会不是北岭市，而是临江市。", ["省会不是北岭市", "而是临江市"]),
    ("zh", "如果过敏，改用红霉素。", ["如果过敏，改用红霉素"]),
    ("zh", "一般来说，疗程十天，否则会复发。", ["一般来说，疗程十天，否则会复发"]),
    ("en", "If she is allergic, give erythromycin.", ["If she is allergic, give erythromycin"]),
    ("en", "Some say A is best, but that is wrong. B is.", ["Some say A is best, but that is wrong", "B is"]),
    ("en", "It is iron. Wait, no: it is zinc.", ["It is iron", "Wait, no", "it is zinc"]),
    ("en", "The cause is not A but B.", ["The cause is not A", "but B"]),
    ("en", "It is vitamin D. Lack of it softens bone.", ["It is vitamin D", "Lack of it softens bone"]),
    ("en", "The pulse is fast and the skin is cold.", ["The pulse is fast", "and the skin is cold"]),
    ("en", "```\nIt is A.\n```\n~~~\nIt is B.\n~~~", ["It is A", "It is B"]),
    ("en", "No.", ["No"]),
    ("zh", "十", ["十"]),
    ("en", "# The answer\n\nIt is A (the first).", ["The answer", "It is A (the first)"]),
    ("en", "…\n---\n***\n| --- |", []),
]


@pytest.mark.parametrize(("language", "answer", "wanted"), TRAPS)
def test_an_answer_is_cut_where_its_language_pauses(language: str, answer: str, wanted: list[str]):
    assert clauses(answer, language) == wanted


def test_a_heading_is_marked_and_a_row_of_a_table_is_whole():
    heading, row = split_clauses("## Doses\n| A, the first | 5 mg |", word_list("en"))
    assert (heading.heading, row.heading) == (True, False)
    assert row.end - row.start == len("A, the first | 5 mg")


def test_without_a_word_list_stops_cut_alone():
    answer = "Es ist so, nicht anders. यह ठीक है। 好。"
    assert [one.text(answer) for one in split_clauses(answer, ClaimWords())] == [
        "Es ist so, nicht anders",
        "यह ठीक है",
        "好",
    ]


@pytest.mark.parametrize("language", ["zh", "en"])
@settings(max_examples=200, deadline=None)
@given(pieces=st.lists(st.sampled_from([*"ab不是而，。,.;:?!| -*#1\n\r\u2028😀אب(（)", "if ", "如果", "but ", "```"])))
def test_clauses_are_in_order_disjoint_not_blank_and_exact(language: str, pieces: list[str]):
    text, at = "".join(pieces), 0
    for clause in split_clauses(text, word_list(language)):
        assert at <= clause.start < clause.end <= len(text)
        assert clause.left <= clause.start
        assert any(mark.isalnum() for mark in clause.text(text))
        at = clause.end


def test_the_work_grows_with_the_length_of_an_answer(monkeypatch: pytest.MonkeyPatch):
    counted = [0]
    from benchbuilder.evaluation.claims import clauses as module

    original = module.find_all

    def counting(pattern: str, text: str):
        counted[0] += len(text)
        return original(pattern, text)

    monkeypatch.setattr(module, "find_all", counting)
    work: list[int] = []
    for times in (500, 1000):
        counted[0] = 0
        answer = "最常见的原因是胎盘功能减退，应及时处理。" * times
        assert len(split_clauses(answer, word_list("zh"))) == 2 * times
        work.append(counted[0])
    assert work[1] == 2 * work[0]
