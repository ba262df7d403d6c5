from __future__ import annotations

import pytest
from claim_rows import REFERENCE, RULES, choice, kept, make, model_made, reason

from benchbuilder.core.records.row import MadeBy

SPEC = RULES["replace_choice"]
STATE = make("state_choice", RULES["state_choice"])


def replaced(fact, seed=1, **spec):
    stage = make("replace", {**SPEC, **spec}, seed=seed)
    return stage.map(kept(STATE.map(fact, {})), {"fact": fact})


def test_a_wrong_option_stands_where_the_answer_stood():
    fact = choice("缩宫素的产生部位是下丘脑，储存部位是", "垂体", "甲状腺", "卵巢", "胎盘", context="背景。")
    row = kept(replaced(fact))
    option = row.answer.of(row.text)
    assert option in ("甲状腺", "卵巢", "胎盘")
    assert row.text == f"缩宫素的产生部位是下丘脑，储存部位是{option}。"
    assert (row.polarity, row.joined, row.context) == ("false", "replacement", "背景。")
    assert "option_not_accepted" in row.checks


def test_the_option_depends_on_the_seed_and_on_nothing_else():
    facts = [choice(f"第{n}项检查首选的是", "甲法", "乙法", "丙法", "丁法") for n in range(30)]
    once = [kept(replaced(fact)).text for fact in facts]
    assert once == [kept(replaced(fact)).text for fact in reversed(facts)][::-1]
    assert len({text[-3] for text in once}) == 3
    assert once != [kept(replaced(fact, seed=2)).text for fact in facts]


def test_options_equal_to_the_answer_but_for_width_case_and_marks_are_not_wrong():
    fact = choice("诊断胎位异常首选的检查是", "B超", "Ｂ超。", "b 超", "CT")
    assert kept(replaced(fact)).text == "诊断胎位异常首选的检查是CT。"
    assert reason(replaced(choice("诊断胎位异常首选的检查是", "B超", "Ｂ超。", "b 超"))) == "no_wrong_option"


def test_an_option_that_holds_the_answer_might_be_true():
    fact = choice("医院报告的时限是", "4小时", "4小时内", "24小时")
    assert reason(replaced(fact)) == "ambiguous_option"
    assert kept(replaced(choice("医院报告的时限是", "4小时", "4小时内", "12日"))).text == "医院报告的时限是12日。"


def test_numbers_of_another_unit_are_not_known_to_lie_on_the_near_side():
    fact = choice("极低出生体重儿的体重低于", "1500g", "2.5kg", "3000g")
    assert reason(replaced(fact)) == "implied_by_true"
    fact = choice("极低出生体重儿的体重低于", "1500g", "2.5kg", "1000g")
    assert kept(replaced(fact)).text == "极低出生体重儿的体重低于1000g。"


def test_an_answer_is_never_read_as_a_pattern():
    fact = choice("对抗原有记忆作用的离子是", "Na+", "K+")
    assert kept(replaced(fact)).text == "对抗原有记忆作用的离子是K+。"


@pytest.mark.parametrize(
    ("text", "false"),
    [
        ("缺铁性贫血患儿应口服硫酸亚铁，而不是停用硫酸亚铁。", "缺铁性贫血患儿应口服硫酸亚铁，而不是停用叶酸。"),
        ("缺铁性贫血患儿应口服硫酸亚鉄。", "缺铁性贫血患儿应口服叶酸。"),  # an edit away
    ],
)
def test_in_model_made_statements_the_answer_is_looked_for(text, false):
    fact = choice("缺铁性贫血患儿应口服何药", "硫酸亚铁", "叶酸")
    row = kept(make("replace", SPEC).map(model_made(text, "硫酸亚铁"), {"fact": fact}))
    assert row.text == false


def test_without_a_rescue_only_a_literal_place_counts():
    fact = choice("缺铁性贫血患儿应口服何药", "硫酸亚铁", "叶酸")
    stage = make("replace", {**SPEC, **REFERENCE["replace_choice"]})
    made = model_made("缺铁性贫血患儿应口服硫酸亚鉄。", "硫酸亚铁")
    assert reason(stage.map(made, {"fact": fact})) == "no_answer_span"


def test_the_reference_takes_the_first_wrong_option():
    fact = choice("医院报告的时限是", "4小时", "4小时内", "24小时")
    assert kept(replaced(fact, **REFERENCE["replace_choice"])).text == "医院报告的时限是4小时内。"


@pytest.mark.parametrize(
    ("text", "false"),
    [
        ("产妇产后6～12小时可以下床活动。", "产妇产后3～5日可以下床活动。"),
        ("产妇产后6-12小时可以下床活动。", "产妇产后3～5日可以下床活动。"),  # nearly the answer
        ("6～12小时后，即产后6～12小时，产妇可以下床活动。", "6～12小时后，即产后3～5日，产妇可以下床活动。"),
    ],
)
def test_the_place_that_a_models_statement_passed_with_is_the_place_that_is_replaced(text, false):
    fact = choice("产妇产后何时可以下床活动", "6～12小时", "3～5日")
    true = STATE.judge(fact, {}, text, MadeBy(rule="model"))
    if text.count("12") > 1:  # the numbers of the question are said once: such a text would not pass
        assert true.reason == "inconsistent"
        true = model_made(text, "6～12小时")
    row = kept(make("replace", SPEC).map(true, {"fact": fact}))
    assert (row.text, row.answer.of(row.text)) == (false, "3～5日")
    assert row.answer.start == true.answer.start
