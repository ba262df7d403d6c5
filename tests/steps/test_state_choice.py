"""Statements from questions: for the answer, and for each option."""

from __future__ import annotations

import pytest
from claim_rows import RULES, choice, kept, make, reason
from pydantic import ValidationError

from benchbuilder.core.records.outcomes import NotApplicable
from benchbuilder.core.records.row import ProducedBy
from benchbuilder.steps.writer import ReplyFault

# --- state choice ----------------------------------------------------------------------------------------------------


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
        ("成人两上肢占体表面积的", "18%", "的"),
        ("这是心理治疗原则中的", "中立原则", "的"),
        ("外国合作者的投资一般不低于注册资本的", "25%", "的"),
        ("成熟的卵泡能分泌大量的", "雌激素", "的"),
        ("低氧血症常可致", "代谢性酸中毒", "可致"),
        ("为明确诊断，首选的检查是", "骨髓穿刺", "是"),
        ("与胎盘早剥关系密切的几乎总是", "高血压", "是"),
    ],
)
def test_question_answer_and_stop_are_joined_at_the_seam(stage, question, answer, seam):
    row = kept(stage.map(choice(question, answer, context="孕妇，30岁。"), {}))
    assert row.text == f"{question}{answer}。"
    assert row.answer.slice_of(row.text) == answer
    assert row.seam.slice_of(row.text) == seam
    assert (row.polarity, row.joined, row.context) == ("true", "seam", "孕妇，30岁。")


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        ("应当向产妇说明的事项是", "替代方案", "应当向产妇说明的事项包括替代方案。"),
        ("会阴侧切的适应证为", "胎儿窘迫", "会阴侧切的适应证包括胎儿窘迫。"),
        ("麦角新碱的副作用", "高血压", "麦角新碱的副作用包括高血压。"),
        ("属于缩宫药物的是", "缩宫素", "属于缩宫药物的包括缩宫素。"),
        ("由胎盘合体滋养细胞分泌的激素是", "绒毛膜促性腺激素", "由胎盘合体滋养细胞分泌的激素包括绒毛膜促性腺激素。"),
        # one answer is right
        ("子痫前期最常见的并发症是", "胎盘早剥", "子痫前期最常见的并发症是胎盘早剥。"),
        ("佝偻病的特异性表现是", "方颅", "佝偻病的特异性表现是方颅。"),
        ("肺炎可表现为", "气促", "肺炎可表现为气促。"),
        ("属于缩宫药物的首选是", "缩宫素", "属于缩宫药物的首选是缩宫素。"),
    ],
)
def test_one_of_several_answers_is_stated_as_one_of_them(stage, question, answer, text):
    assert kept(stage.map(choice(question, answer), {})).text == text


def test_a_case_has_one_sign_where_a_disease_has_several(stage):
    row = kept(stage.map(choice("目前的并发症是", "心力衰竭", context="患儿，4岁，肺炎第5天，呼吸急促。"), {}))
    assert row.text == "目前的并发症是心力衰竭。"


@pytest.mark.parametrize(
    ("question", "text"),
    [("应采取的措施是", "应采取的措施包括吸氧。"), ("首先应采取的措施是", "首先应采取的措施是吸氧。")],
)
def test_a_case_has_several_measures_unless_one_comes_first(stage, question, text):
    assert kept(stage.map(choice(question, "吸氧", context="患儿，4岁，肺炎第5天，呼吸急促。"), {})).text == text


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("新生儿黄疸加重的原因是因为", "溶血"),
        ("该患儿缺乏的因子是", "Ⅷ因子缺乏"),
        ("患儿最可能诊断诊断为", "肺炎"),
        ("产后出血最常见的是哪种？原因是", "宫缩乏力"),
        ("卵泡期的子宫内膜变化是", "增生期子宫内膜"),
        ("发现疫情后的上报时间为", "6小时内上报"),
        ("酶活性最高的温度是", "温度37℃时"),
        ("产后发热宜选用", "使用青霉素"),
        ("复种疫苗的年龄为", "7岁左右小儿"),
        ("应采取的措施是", "暂不需处理"),
        ("在肝内，参与脱氨基作用是", "谷氨酸循环"),
    ],
)
def test_a_statement_in_which_something_stands_twice_is_not_written(stage, question, answer):
    assert reason(stage.map(choice(question, answer), {})) == "needs_model"


def test_marks_around_the_answer_do_not_stay_in_the_statement(stage):
    row = kept(stage.map(choice("产后出血最常见的原因是", "宫缩乏力。"), {}))
    assert row.text == "产后出血最常见的原因是宫缩乏力。"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("新生儿脐带怎样护理", "保持干燥"),  # no seam
        ("应当以谁的意见", "病人本人"),  # an interrogative
        ("儿童病人常见的心理和行为", "恐惧"),  # 为 is half of a word
        ("治疗子痫前期的最佳选择", "硫酸镁"),  # 选择 is a noun
        ("最符合内分泌腺特征的是", "为无导管腺体"),  # the answer brings its own predicate
        ("未取得医师执业证书的", "不得进行执业活动"),
        ("控制气道炎症最有效的", "糖皮质激素"),  # what describes the answer makes no sentence of it
        ("好发于儿童的", "麻疹"),
        ("必须在卫生防疫机构的指导监督下严密消毒后处理的", "污水"),
        ("被甲类传染病病原体污染的", "污水"),
    ],
)
def test_what_no_rule_can_join_needs_a_model(stage, question, answer):
    assert reason(stage.map(choice(question, answer), {})) == "needs_model"


def test_too_long_statements_are_dropped():
    stage = make("state_choice", {**RULES["state_choice"], "max_length": 12})
    assert reason(stage.map(choice("唯一能通过胎盘的免疫球蛋白是", "IgG"), {})) == "too_long"


def judged(stage, question, answer, text, *wrong):
    return stage.judge(choice(question, answer, *wrong, context="孕妇，30岁。"), {}, text, ProducedBy(rule="model"))


@pytest.mark.parametrize(
    ("question", "answer", "text", "stated", "said"),
    [
        ("先兆流产时应怎样处理", "卧床休息", "先兆流产时应卧床休息。", "先兆流产时应卧床休息。", "卧床休息"),
        ("下肢水肿(+)", "轻度水肿", "下肢水肿(+)提示轻度水肿", "下肢水肿(+)提示轻度水肿。", "轻度水肿"),
        ("哪种激素使乳腺泌乳", "催乳素", "使乳腺泌乳的激素是催乳素．", "使乳腺泌乳的激素是催乳素。", "催乳素"),
        ("新生儿眼炎用药首选", "红霉素", "“新生儿眼炎首选用药红霉素。”", "新生儿眼炎首选用药红霉素。", "红霉素"),
        (
            "产妇何时可以下床",
            "6～12小时后",
            "产妇6-12小时后可以下床。",
            "产妇6-12小时后可以下床。",
            "6-12小时后",
        ),  # nearly
        ("三产程的分界依次为几厘米", "C++", "三产程的分界依次为C++。", "三产程的分界依次为C++。", "C++"),  # no pattern
    ],
)
def test_a_models_statement_holds_question_and_answer(stage, question, answer, text, stated, said):
    row = judged(stage, question, answer, text)
    assert not isinstance(row, ReplyFault), row
    assert (row.text, row.answer.slice_of(row.text), row.seam, row.joined) == (stated, said, None, "model")
    assert (row.polarity, row.context) == ("true", "孕妇，30岁。")
    assert ("holds_answer" in row.checks) == (said == answer)
    assert ("holds_answer_nearly" in row.checks) == (said != answer)


@pytest.mark.parametrize(
    ("question", "answer", "text", "fault"),
    [
        ("应做什么检查", "血型", "应做血型检查。还应做血常规。", "not_one_sentence"),
        ("应做什么检查", "血型", "应做血型检查。\n（答案保留原样）", "not_one_sentence"),
        ("应做什么检查", "血型", "应做什么检查？", "still_a_question"),
        ("应做什么检查", "血型", "应做什么检查是血型。", "still_a_question"),
        ("应做什么检查", "血型", "应做血型检查吗？", "still_a_question"),
        ("血型检查应做", "血型", "血型检查应做。", "still_a_question"),  # the question itself
        ("应做什么检查", "血型", "应做血压检查。", "answer_missing"),
        ("羊水量少于多少", "300ml", "羊水量少于1300ml。", "answer_missing"),  # another number
        ("羊水量少于多少", "300ml", "羊水量少于200ml。", "answer_missing"),
        ("该抗体属于哪一类", "IgG", "该抗体属于IgGA类。", "answer_missing"),
        ("妊娠期血压的变化为怎样", "舒张压升高", "妊娠期血压的变化为舒张压降高。", "answer_missing"),  # the opposite
        ("新生儿黄疸怎样消退", "消退较晚", "新生儿黄疸不消退较晚。", "polarity_changed"),
        ("产妇怎样喂养", "可以哺乳", "产妇不可以哺乳喂养。", "polarity_changed"),
        ("新生儿眼结膜炎的治疗应选用何药", "红霉素", "是红霉素。", "inconsistent"),
        ("孕28周时如何处理", "观察", "孕32周时观察处理。", "inconsistent"),
        ("产后如何处理", "观察", "产后处理是" + "仔细" * 30 + "观察。", "too_long"),
    ],
)
def test_what_a_model_writes_is_checked(stage, question, answer, text, fault):
    made = judged(stage, question, answer, text)
    assert isinstance(made, ReplyFault), made
    assert made.reason == fault


def test_an_edit_away_from_the_answer_another_option_is_not_taken_for_it(stage):
    made = judged(stage, "新生儿眼炎应使用哪种药物", "青霉素", "新生儿眼炎应使用红霉素。", "红霉素")
    assert (made.reason, made.detail) == ("answer_missing", "青霉素")
    row = judged(stage, "新生儿眼炎应使用哪种药物", "青霉素G钠", "新生儿眼炎应使用青霉素G-钠。", "红霉素")
    assert row.answer.slice_of(row.text) == "青霉素G-钠"
    # another script is no nearby spelling
    made = judged(stage, "新生儿眼炎应使用哪种药物", "青霉素钠", "新生儿眼炎应使用青霉素鈉。", "红霉素")
    assert (made.reason, made.detail) == ("answer_missing", "青霉素钠")


def test_what_the_question_does_not_say_of_its_answer_may_be_edited_by_the_recipes_leave_only():
    strict = make("state_choice", {**RULES["state_choice"], "max_edits": 0})
    assert judged(strict, "产妇何时可以下床", "6～12小时后", "产妇6-12小时后可以下床。").reason == "answer_missing"


# --- state option ----------------------------------------------------------------------------------------------------

SPEC = {
    "parts": {"these": "下列|以下", "right": "正确(?:的)?", "ask": "{these}说法{right}是"},
    "forms": {
        "claims": {"when": "(?P<before>.*，)?{ask}", "context": "{context}{before}", "option": "^.{5,}"},
        "belongs": {"when": "{these}权利中，(?P<said>属于.+?)的有", "text": "{option}{said}", "option": "^[^，]{2,9}$"},
    },
    "not_options": ["^其"],
    "marks": "。，：? ",
    "stop": "。",
    "unit": "characters",
    "max_length": 20,
    "max_context": 12,
}


def stated(question, answer, **more):
    context = more.pop("context", "")
    return make("state_option", {**SPEC, **more}).map(choice(question, answer, "别的说法也不对", context=context), {})


def test_an_option_stands_as_a_statement_behind_what_was_said_before():
    row = kept(stated("关于定金，下列说法正确的是：", "定金合同自交付时成立。", context="案情。"))
    assert (row.text, row.context, row.polarity) == ("定金合同自交付时成立。", "案情。关于定金，", "true")
    assert row.answer.slice_of(row.text) == "定金合同自交付时成立"
    assert row.seam is None
    assert row.produced_by.rule.endswith("claims")


def test_an_option_is_put_into_the_sentence_of_its_question():
    row = kept(stated("下列权利中，属于用益物权的有", "居住权"))
    assert row.text == "居住权属于用益物权。"
    assert row.answer.slice_of(row.text) == "居住权"


def test_another_question_is_none_of_this_branch():
    [outcome] = stated("定金的数额不得超过", "两成")
    assert isinstance(outcome, NotApplicable)


@pytest.mark.parametrize(
    ("question", "answer", "reason"),
    [
        ("关于定金，下列说法正确的是", "两成", "not_a_statement"),
        ("关于定金，下列说法正确的是", "其数额由当事人约定", "not_a_statement"),
        ("关于定金，下列说法正确的是", "定金的数额由当事人约定但不得超过标的额的两成", "too_long"),
        ("关于给付定金的当事人的权利和义务，下列说法正确的是", "定金合同自交付时成立", "context_too_long"),
    ],
)
def test_what_does_not_stand_is_dropped(question, answer, reason):
    [outcome] = stated(question, answer)
    assert outcome.reason == reason


def test_a_form_is_taken_away_by_null():
    [outcome] = stated("下列权利中，属于用益物权的有", "居住权", forms={**SPEC["forms"], "belongs": None})
    assert isinstance(outcome, NotApplicable)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"when": "(", "text": "{option}"}, "not a regular expression"),
        ({"when": ".*", "text": "甲"}, "is needed once"),
        ({"when": ".*", "text": "{option}{said}"}, "unknown placeholder"),
    ],
)
def test_wrong_forms_are_refused(form, message):
    with pytest.raises(ValidationError, match=message):
        make("state_option", {**SPEC, "forms": {"wrong": form}})
