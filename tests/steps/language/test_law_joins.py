"""Statements of questions about law: who bears something, how an act is judged, what a court does, and blanks."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from claim_rows import RECIPES, RULES, choice, kept, make, reason

from benchbuilder.steps.language.joins import AskedJoin, JoinRules, Joins

LAW: dict[str, Any] = yaml.safe_load((RECIPES / "rules" / "zh_law.yaml").read_text("utf-8"))


def merged(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """`base` with `more`, as recipes are composed."""
    both = {**base, **more}
    return {
        name: merged(base[name], more[name])
        if isinstance(base.get(name), dict) and isinstance(more.get(name), dict)
        else value
        for name, value in both.items()
    }


@pytest.fixture(scope="module")
def stage():
    return make("state_choice", merged(RULES["state_choice"], LAW["state_choice"]))


@pytest.mark.parametrize(
    ("question", "answer", "text", "rule"),
    [
        ("乙的行为应如何认定", "交通肇事罪", "乙的行为应认定为交通肇事罪。", "act_judged"),
        ("对赵某的行为如何定罪处罚", "按侵犯著作权罪处罚", "对赵某的行为应按侵犯著作权罪处罚。", "act_sentenced"),
        ("王某的行为如何认定", "正当防卫", "王某的行为属于正当防卫。", "act_is"),
        ("其妻的行为应如何处理", "不负刑事责任", "其妻不负刑事责任。", "act_answered_for"),
        ("对甲应如何处理", "抢劫罪", "对甲应以抢劫罪定罪处罚。", "person_judged"),
        ("致人伤残的，如何认定", "故意伤害罪", "致人伤残的，应认定为故意伤害罪。", "judged"),
        ("这笔费用应由谁承担", "由甲父先行垫付", "这笔费用由甲父先行垫付。", "by_whom"),
        ("由谁来偿还此笔款", "由甲承担", "此笔款由甲承担。", "pays"),
        ("医疗费应当如何承担", "某研究所", "医疗费应当由某研究所承担。", "borne_by"),
        ("张某应当以谁为被告", "装修公司", "张某应当以装修公司为被告。", "who"),
        ("谁享有该房屋的所有权", "甲", "甲享有该房屋的所有权。", "who_first"),
        ("该县政府能否提供担保", "不能", "该县政府不能提供担保。", "can_bare"),
        ("该县政府能否提供担保", "不能担保", "该县政府不能担保。", "can"),
        ("法院应如何处理", "裁定驳回起诉", "法院应裁定驳回起诉。", "rules"),
        ("法院如何确定适用的法律", "可以适用中国法律", "法院可以适用中国法律。", "does"),
        ("该案应如何确定当事人", "以甲和乙为共同被告", "该案应以甲和乙为共同被告。", "taken_as"),
        ("该合同的效力如何", "效力待定", "该合同效力待定。", "effect"),
        ("该合同的性质如何", "附期限的合同", "该合同属于附期限的合同。", "nature"),
        ("刑期应从什么时候起算", "从逃走时起算", "刑期应从逃走时起算。", "since"),
        ("赔偿责任应如何承担", "王家承担全部责任", "王家承担全部责任。", "own_sentence"),
        ("我国", "应当拒绝引渡", "我国应当拒绝引渡。", "subject"),
        ("甲具有何国国籍", "美国", "甲具有美国籍。", "country"),
        ("乙的程序应适用何国法律", "日本法", "乙的程序应适用日本法。", "law_of"),
        ("谢某的行为构成", "间谍罪", "谢某的行为构成间谍罪。", "law"),
        ("应当向（　）提起诉讼", "中级人民法院", "应当向中级人民法院提起诉讼。", "blank"),
    ],
)  # fmt: skip
def test_a_legal_question_takes_its_answer(stage, question, answer, text, rule):
    row = kept(stage.map(choice(question, answer), {}))
    assert (row.text, row.produced_by.rule) == (text, f"state_choice/join:{rule}")
    assert row.answer.slice_of(row.text) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("保证人应当承担何种责任", "对全部债务承担责任"),  # the verb would stand twice
        ("此项决议如何才能通过", "三分之二以上"),
        ("应当由谁承担责任", "商店与公司分担责任"),
    ],
)
def test_an_answer_that_brings_its_own_verb_replaces_no_word(stage, question, answer):
    assert reason(stage.map(choice(question, answer), {})) == "needs_model"


def test_a_verdict_on_an_act_is_denied_as_one(stage):
    true = kept(stage.map(choice("乙的行为应如何认定", "交通肇事罪"), {}))
    assert kept(make("negate", RULES["negate_choice"]).map(true, {})).text == "乙的行为不应认定为交通肇事罪。"


def test_a_blank_inside_stays_in_the_question_and_is_not_cut_off():
    stage = make("split_stem", yaml.safe_load((RECIPES / "rules" / "zh_preparation.yaml").read_text("utf-8"))["stem"])
    inside = "国务院授权的部门应当自受理之日起()内，依照法定条件作出予以核准或者不予核准的决定（　）。"
    payload = kept(stage.map(choice(inside, "三个月"), {})).payload
    assert (payload.context, payload.question) == ("", inside.removesuffix("（　）。"))


def test_a_verb_of_the_question_is_not_said_twice_in_any_language():
    joins = Joins(JoinRules(asked={"what": AskedJoin(words="what")}), ("pays ",), "")
    written = joins.ask("The buyer pays what", "the price")
    assert written is not None
    assert written.text == "The buyer pays the price"
    assert joins.ask("The buyer pays what", "he pays half") is None
