import pytest
from preparation_rows import choice, make, zh

from benchbuilder.core.records.outcomes import Dropped


def split(stem, context="", **changes):
    (fate,) = make("split_stem", **{**zh("stem"), **changes}).map(choice(stem, context=context), {})
    return fate.row.payload.context, fate.row.payload.question


@pytest.mark.parametrize(
    ("stem", "context", "question"),
    [
        ("患儿，6个月。方颅，夜惊。最可能的诊断是（　　）。", "患儿，6个月。方颅，夜惊。", "最可能的诊断是"),
        ("患儿夜惊3天.首选的检查是( )", "患儿夜惊3天.", "首选的检查是"),
        ("血红蛋白6.5g/L的患儿诊断为（）。", "", "血红蛋白6.5g/L的患儿诊断为"),
        ("E.coli引起的新生儿疾病是", "", "E.coli引起的新生儿疾病是"),
        ("感染S. aureus的新生儿首选", "", "感染S. aureus的新生儿首选"),
        ("患儿最可能的诊断是（）。。", "", "患儿最可能的诊断是"),
        (
            "足月新生儿出生后第二天出现皮肤黄染并逐渐加重，首选的检查是（）。",
            "足月新生儿出生后第二天出现皮肤黄染并逐渐加重，",
            "首选的检查是",
        ),
    ],
)
def test_the_last_sentence_is_the_question(stem, context, question):
    assert split(stem) == (context, question)


def test_a_question_of_just_the_limit_is_not_cut():
    question = "甲" * 10 + "，" + "乙" * 9
    assert split(question) == ("", question)
    assert split(question + "丙") == ("甲" * 10 + "，", "乙" * 9 + "丙")


def test_a_long_question_without_clauses_stays():
    assert split("甲" * 30) == ("", "甲" * 30)


def test_a_context_that_stands_already_is_kept_before():
    assert split("发热3天。诊断是", context="患儿。") == ("患儿。发热3天。", "诊断是")


def test_half_width_stops_can_be_left_alone():
    assert split("夜惊3天.首选的检查是", soft_stops=[]) == ("", "夜惊3天.首选的检查是")


def test_a_stem_without_a_question_is_a_drop():
    assert make("split_stem", **zh("stem")).map(choice("（　　）。"), {}) == [Dropped("no_question", "（　　）。")]
