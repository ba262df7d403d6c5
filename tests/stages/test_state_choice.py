from __future__ import annotations

import pytest
from claim_rows import RULES, choice, kept, make, reason


@pytest.fixture(scope="module")
def stage():
    return make("state_choice", RULES["state_choice"])


@pytest.mark.parametrize(
    ("question", "answer", "seam"),
    [
        ("唯一能通过胎盘的免疫球蛋白是", "IgG", "是"),
        ("新生儿衣原体眼结膜炎治疗首选", "红霉素", "首选"),
        ("羊水栓塞属于", "分娩期并发症", "属于"),
        ("体温调节的重要中枢位于", "下丘脑", "于"),
        ("乳腺癌最常发生于乳房的", "外上象限", "的"),
        ("低氧血症常可致", "代谢性酸中毒", "可致"),
        ("为明确诊断，首选的检查是", "骨髓穿刺", "是"),
        ("与胎盘早剥关系密切的几乎总是", "高血压", "是"),
    ],
)
def test_question_answer_and_stop_are_joined_at_the_seam(stage, question, answer, seam):
    row = kept(stage.map(choice(question, answer, context="孕妇，30岁。"), {}))
    assert row.text == f"{question}{answer}。"
    assert row.answer.of(row.text) == answer
    assert row.seam.of(row.text) == seam
    assert (row.polarity, row.joined, row.context) == ("true", "seam", "孕妇，30岁。")


def test_marks_around_the_answer_do_not_stay_in_the_statement(stage):
    row = kept(stage.map(choice("产后出血最常见的原因是", "宫缩乏力。"), {}))
    assert row.text == "产后出血最常见的原因是宫缩乏力。"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("新生儿应做什么检查", "血型"),  # no seam
        ("情绪是由哪三个要素相互作用而形成的", "情景、认知、生理"),  # an interrogative
        ("儿童病人常见的心理和行为", "恐惧"),  # 为 is half of a word
        ("治疗子痫前期的最佳选择", "硫酸镁"),  # 选择 is a noun
        ("且长期固定存在的情况最常见于", "支气管扩张"),  # hangs on what stands before it
        ("最符合内分泌腺特征的是", "为无导管腺体"),  # the answer brings its own predicate
        ("未取得医师执业证书的", "不得进行执业活动"),
        ("胎儿窘迫（急性是", "缺氧"),  # a bracket was cut
    ],
)
def test_what_no_rule_can_join_needs_a_model(stage, question, answer):
    assert reason(stage.map(choice(question, answer), {})) == "needs_model"


def test_too_long_statements_are_dropped():
    stage = make("state_choice", {**RULES["state_choice"], "max_length": 12})
    assert reason(stage.map(choice("唯一能通过胎盘的免疫球蛋白是", "IgG"), {})) == "too_long"
