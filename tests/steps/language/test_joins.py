"""Joins: questions that end in no seam, and the reasons for which the rest is dropped."""

from __future__ import annotations

import pytest
from claim_rows import RULES, choice, kept, make, reason, statement
from pydantic import ValidationError

from benchbuilder.core.records.outcomes import Dropped
from benchbuilder.steps.language.joins import AskedJoin, EndJoin, HeadJoin, JoinRules, Joins, Refusal


@pytest.fixture(scope="module")
def stage():
    return make("state_choice", RULES["state_choice"])


@pytest.mark.parametrize(
    ("question", "answer", "text", "rule", "seam"),
    [
        ("腹部手术一般采用", "低半坐卧位", "腹部手术一般采用低半坐卧位。", "uses", "采用"),
        ("为促使胎儿肺成熟，应给予", "倍他米松", "为促使胎儿肺成熟，应给予倍他米松。", "uses", "给予"),
        ("Babinski征（+）提示", "皮质脊髓束损害", "Babinski征（+）提示皮质脊髓束损害。", "names", "提示"),
        ("血液的氧离曲线左移发生在", "肺毛细血管", "血液的氧离曲线左移发生在肺毛细血管。", "where", "在"),
        ("初产妇总产程不超过", "24小时", "初产妇总产程不超过24小时。", "amount", "不超过"),
        ("受精卵着床时间是受精后", "6～7天", "受精卵着床时间是受精后6～7天。", "number", "后"),
        ("这种调节方式称", "自身调节", "这种调节方式称为自身调节。", "as", "称为"),
        ("急性胰腺炎的首发症状", "急性剧烈腹痛", "急性胰腺炎的首发症状是急性剧烈腹痛。", "head", "是"),
        ("最主要的死因是什么", "呼吸衰竭", "最主要的死因是呼吸衰竭。", "thing", "是"),
        ("新生儿应做什么检查", "血常规", "新生儿应做血常规检查。", "thing", None),
        ("新生儿应做什么检查", "血清铁蛋白测定", "新生儿应做血清铁蛋白测定。", "test", "应做"),
        ("这是心理治疗的什么原则", "中立原则", "这是心理治疗的中立原则。", "thing", None),
        ("猩红热多在发热后多久出现皮疹", "12～48小时", "猩红热多在发热后12～48小时出现皮疹。", "thing", None),
        ("五聚体IgM一般有几个结合点可结合抗原", "5", "五聚体IgM一般有5个结合点可结合抗原。", "thing", None),
        ("应在发病几天内用药", "2周", "应在发病2周内用药。", "thing", None),
        ("张某的行为构成何罪", "盗窃罪", "张某的行为构成盗窃罪。", "thing", None),
        ("此时法院应如何处理", "中止审理", "此时法院应中止审理。", "handling", "应"),
    ],
)
def test_a_question_without_a_seam_takes_its_answer(stage, question, answer, text, rule, seam):
    row = kept(stage.map(choice(question, answer), {}))
    assert (row.text, row.produced_by.rule) == (text, f"state_choice/join:{rule}")
    assert row.answer.slice_of(row.text) == answer
    if seam is not None:
        assert row.seam.slice_of(row.text).endswith(seam)


def test_a_row_that_a_seam_joins_is_joined_by_it_still(stage):
    row = kept(stage.map(choice("低氧血症常可致", "代谢性酸中毒"), {}))
    assert row.produced_by.rule == "state_choice/seam"


@pytest.mark.parametrize(
    "question",
    ["阿托品的副作用", "机体的排斥反应", "血浆的主要成分", "该病的主要病因", "糖尿病的典型症状", "合同的性质与不同",
     "疼痛最早的体征", "该细菌的密度", "支配前臂的神经", "患者来院的月经", "属于保险合同", "血液的有形组分"],
)  # fmt: skip
def test_an_end_does_not_begin_inside_a_word(stage, question):
    """作用 is no 用, 反应 no 应, 成分 no 分, 病因 no 因, 神经 no 经, 合同 no 同."""
    outcomes = list(stage.map(choice(question, "甲乙丙"), {}))
    rows = [outcome.row for outcome in outcomes if not isinstance(outcome, Dropped)]
    assert all(
        row.produced_by.rule == "state_choice/join:head" or row.text == f"{question}包括甲乙丙。" for row in rows
    )


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("糖尿病首选的检查是", "两者均不可", "catch_all_answer"),
        ("糖尿病首选的检查是", "A＋B", "catch_all_answer"),
        ("胎儿窘迫（急性", "缺氧", "cut_bracket"),
        ("肺炎", "肺炎", "echo"),
        ("且长期固定存在的情况最常见于", "支气管扩张", "fragment"),
        ("取得医师资格者可以", "能申请注册", "double_modal"),
        ("抑制细菌蛋白质合成", "依替米星", "no_subject"),
        ("爱国心是一种", "道德感", "has_copula"),
        ("青霉素____治疗____", "用于", "blank"),
        ("流行性脑脊髓膜炎", "化脓性炎", "needs_model"),
    ],
)
def test_what_no_rule_joins_is_dropped_with_its_own_reason(stage, question, answer, expected):
    assert reason(stage.map(choice(question, answer), {})) == expected


def test_a_word_that_leans_on_the_context_goes_only_behind_one(stage):
    assert kept(stage.map(choice("则首选的检查是", "CT", context="男，8岁。"), {})).text == "首选的检查是CT。"
    assert reason(stage.map(choice("则首选的检查是", "CT"), {})) == "fragment"


@pytest.mark.parametrize(
    "question", ["医师应当以谁的意见为准", "被告何某的住所", "为什么发生水肿", "有几年龄组", "什么药治疗什么病"]
)
def test_what_asks_otherwise_is_left_to_a_model(stage, question):
    assert reason(stage.map(choice(question, "甲乙"), {})) in {"needs_model", "has_copula"}


def test_a_recipe_without_joins_joins_at_seams_alone():
    stage = make("state_choice", {**RULES["state_choice"], "joins": None, "refused": {}})
    assert reason(stage.map(choice("腹部手术一般采用", "低半坐卧位"), {})) == "needs_model"


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        ("The drug of choice", "iron", "The drug of choice is iron"),
        ("It treats", "anaemia", "It treats anaemia"),
        ("It takes how many weeks to heal", "6 weeks", "It takes 6 weeks to heal"),
    ],
)
def test_the_rules_are_data_of_any_language(question, answer, text):
    rules = JoinRules(
        ends={"verbs": EndJoin(ends=("treats",))},
        head=HeadJoin(insert="is", nouns=("choice",)),
        asked={
            "count": AskedJoin(
                words="how many", counting="^how", number=r"\d", bare_number=r"^\d+$",
                units=(" weeks",),
            )
        },
    )  # fmt: skip
    joins = Joins(rules, (), " ")
    written = joins.ask(question, answer) or joins.follow(question, answer)
    assert written is not None
    assert (written.text, written.answer.slice_of(written.text)) == (text, answer)


def test_an_empty_refusal_is_refused():
    with pytest.raises(ValidationError, match="a pattern of the question or of the answer"):
        Refusal()


# --- negation and questions of joined statements --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        ("早产儿视网膜病的筛查应采用", "眼底检查", "早产儿视网膜病的筛查不应采用眼底检查。"),
        ("Babinski征（+）提示", "皮质脊髓束损害", "Babinski征（+）不提示皮质脊髓束损害。"),
        ("新生儿惊厥应首先考虑", "低血糖", "新生儿惊厥不应首先考虑低血糖。"),
        ("成人甲状腺功能低下会引起", "黏液性水肿", "成人甲状腺功能低下不会引起黏液性水肿。"),
        # adverbs go behind the negation
        ("此病的病因多是", "感染", "此病的病因并非多是感染。"),
        ("药效最主要取决于", "剂量", "药效并非最主要取决于剂量。"),
        ("此病最常来源于", "血管", "此病并非最常来源于血管。"),
        ("疗效更取决于", "剂量", "疗效并非更取决于剂量。"),
        ("致病菌均是", "链球菌", "致病菌并非均是链球菌。"),
        ("致病菌都是", "链球菌", "致病菌并非都是链球菌。"),
        ("病程约为", "6周", "病程并非约为6周。"),
        ("此病主要见于", "儿童", "此病并不主要见于儿童。"),
        ("首先出现于", "面部", "并非首先出现于面部。"),
        ("血肿常位于", "颞叶", "血肿并不常位于颞叶。"),
    ],
)
def test_ends_and_adverbs_are_negated_as_one(question, answer, text):
    assert kept(make("negate", RULES["negate_choice"]).map(statement(question, answer), {})).text == text


@pytest.mark.parametrize(
    ("question", "answer", "tags"),
    [
        ("内痔的早期检查方法是", "肛门镜", ("list_like",)),
        ("为明确诊断应进行的检查是", "胸部CT", ("list_like",)),
        ("内痔最常见的症状是", "便血", ()),
        ("骨折的专有体征是", "畸形", ()),
        ("右肾损伤的病理类型是", "肾挫伤", ()),
        ("心脏的起搏点是", "窦房结", ()),
    ],
)
def test_a_question_with_more_than_one_answer_has_a_tag(question, answer, tags):
    asked = kept(make("ask_oe", RULES["ask_oe_choice"]).map(statement(question, answer), {}))
    assert asked.tags == tags


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        ("早产儿视网膜病的筛查应采用", "眼底检查", "早产儿视网膜病的筛查应采用什么？"),
        ("初产妇总产程不超过", "24小时", "初产妇总产程不超过多久？"),
        ("受精卵着床时间是受精后", "6天", "受精卵着床时间是受精后多久？"),
        ("首创温病学说的医师是", "吴又可", "首创温病学说的医师是谁？"),
        ("最佳给药时间是", "绝经后", "最佳给药时间是什么时候？"),
    ],
)
def test_ends_of_joins_ask_for_their_answers(question, answer, text):
    assert kept(make("ask_oe", RULES["ask_oe_choice"]).map(statement(question, answer), {})).text == text
