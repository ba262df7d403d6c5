from __future__ import annotations

import pytest
from claim_rows import REFERENCE, RULES, kept, make, model_made, reason, statement, tokenizer
from pydantic import ValidationError

from benchbuilder.core.records.row import ProducedBy, Span
from benchbuilder.steps.writer import ReplyFault

SPEC = {**RULES["negate_choice"], "tokenizer": tokenizer("jieba")}


@pytest.fixture(scope="module")
def stage():
    return make("negate", SPEC)


@pytest.fixture(scope="module")
def reference():
    return make("negate", {**RULES["negate_choice"], **REFERENCE["negate_choice"]})


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        ("唯一能通过胎盘的免疫球蛋白是", "IgG", "唯一能通过胎盘的免疫球蛋白不是IgG。"),
        ("最可能的诊断为", "胎盘早剥", "最可能的诊断不是胎盘早剥。"),
        ("5岁儿童的头围约为", "50cm", "5岁儿童的头围并非约为50cm。"),  # the adverb moves
        ("该患儿的诊断最可能是", "支气管哮喘", "该患儿的诊断最可能不是支气管哮喘。"),
        ("最可能合并损伤的神经是", "桡神经", "最可能合并损伤的神经不是桡神经。"),  # 最可能 stays
        ("首先出现的反应是", "网织红细胞增高", "首先出现的反应不是网织红细胞增高。"),  # not 反不应是
        ("其肠道病理改变为", "纤维素性炎", "其肠道病理改变不是纤维素性炎。"),  # not 改不变为
        ("痰呈铁锈色最常见于", "大叶性肺炎", "痰呈铁锈色并非最常见于大叶性肺炎。"),
        ("治疗先兆子痫应首选", "硫酸镁", "治疗先兆子痫不应首选硫酸镁。"),
        ("低氧血症常可致", "代谢性酸中毒", "低氧血症并不常导致代谢性酸中毒。"),
        ("首次哺乳应开始于", "生后半小时", "首次哺乳不应开始于生后半小时。"),
        ("婴儿手足搐搦症最常见的发作形式是", "无热惊厥", "婴儿手足搐搦症最常见的发作形式不是无热惊厥。"),
        ("对该患儿有效的紧急处理是", "氢化可的松注射", "对该患儿有效的紧急处理不是氢化可的松注射。"),
        ("羊膜腔穿刺的适宜时间应为", "妊娠16周", "羊膜腔穿刺的适宜时间不应为妊娠16周。"),
        ("非霍奇金淋巴瘤的首发症状是", "淋巴结肿大", "非霍奇金淋巴瘤的首发症状不是淋巴结肿大。"),
    ],
)
def test_the_predicate_before_the_answer_is_negated(stage, question, answer, text):
    true = statement(question, answer)
    row = kept(stage.map(true, {}))
    assert row.text == text
    assert row.polarity == "false"
    assert row.answer.slice_of(row.text) == answer
    assert row.seam.end == row.answer.start
    assert "one_negation_more" in row.checks
    assert row.fact == true.fact


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        ("正常人全血的黏滞性最主要取决于", "红细胞的数量", "正常人全血的黏滞性并非最主要取决于红细胞的数量。"),
        ("肺癌最常来源于", "支气管黏膜", "肺癌并非最常来源于支气管黏膜。"),
        ("甲状腺癌的肿块多是", "反曲状", "甲状腺癌的肿块并非多是反曲状。"),
        ("构成结核结节的细胞主要是", "上皮样细胞", "构成结核结节的细胞并非主要是上皮样细胞。"),
        ("5-羟色胺主要来源于", "肥大细胞", "5-羟色胺并非主要来源于肥大细胞。"),
        ("病人最优先的需要常常是", "安全的需要", "病人最优先的需要并不常常是安全的需要。"),
        ("该病大多见于", "儿童", "该病并非大多见于儿童。"),  # not 大并不多见于
        ("该病更多见于", "儿童", "该病并非更多见于儿童。"),
        ("这种情况可能属于", "病人角色强化", "这种情况不可能属于病人角色强化。"),  # 可能不属于 leaves it open
        ("脑转移癌最可能主要来源于", "肺癌", "脑转移癌最可能并非主要来源于肺癌。"),
        ("该药可能主要作用于", "心脏", "该药不可能主要作用于心脏。"),  # an adverb before an adverb
        ("该药直接作用于", "心脏", "该药并非直接作用于心脏。"),
        ("囊肿必须位于", "皮下", "囊肿不必位于皮下。"),
        ("异卵双生子之间移植称为", "异基因移植", "异卵双生子之间移植不称为异基因移植。"),
        ("头盆不称首选", "剖宫产", "头盆不称首选的不是剖宫产。"),  # a word that only looks negative
        # what may stand before a negation, and nouns
        ("血站每次采集血液量一般为", "200ml", "血站每次采集血液量一般不是200ml。"),
        ("新生儿的身长平均是", "50cm", "新生儿的身长平均不是50cm。"),  # not 平并非均是
        ("最高层次的需要是", "自我实现", "最高层次的需要不是自我实现。"),
        ("外周血中增多为", "淋巴细胞", "外周血中增多不是淋巴细胞。"),
        ("发生出血的最大可能是", "肝硬化", "发生出血的最大可能不是肝硬化。"),
    ],
)
def test_an_adverb_before_the_predicate_is_negated_with_it(stage, question, answer, text):
    assert kept(stage.map(statement(question, answer), {})).text == text


@pytest.mark.parametrize("question", ["该病很少见于", "该病仅位于", "该病少见于", "该病偶来源于", "红细胞数应少于"])
def test_an_adverb_that_is_half_a_negation_and_a_bound_need_a_model(stage, question):
    assert reason(stage.map(statement(question, "3岁儿童"), {})) == "needs_model"


@pytest.mark.parametrize("answer", ["24小时内", "30%以下", "≥3个月", "大于21天", "不超过3天"])
def test_a_bound_in_the_answer_needs_a_model(stage, answer):
    assert reason(stage.map(statement("报告的时间为", answer), {})) in ("needs_model", "already_negative")


def test_the_negation_of_an_adverb_names_only_its_parts():
    with pytest.raises(ValidationError, match="adverbs"):
        make("negate", {**SPEC, "adverbs": [{"adverb": "最", "negated": "并非{adverbs}"}]})


@pytest.mark.parametrize(
    ("question", "answer"),
    [("不符合萎缩的是", "心脏肥大"), ("Auer小体不见于", "淋巴细胞白血病"), ("应采取的处理措施是", "暂不处理")],
)
def test_negative_statements_are_not_negated_again(stage, question, answer):
    assert reason(stage.map(statement(question, answer), {})) == "already_negative"


@pytest.mark.parametrize(
    ("question", "answer"),
    [("消化道出血量至少大于", "5ml"), ("医学伦理学的特征之一是", "继承性"), ("乳腺癌最常发生于乳房的", "外上象限")],
)
def test_where_the_negation_would_change_its_scope_a_model_is_needed(stage, question, answer):
    assert reason(stage.map(statement(question, answer), {})) == "needs_model"


@pytest.mark.parametrize(
    ("text", "answer", "negated"),
    [
        ("患儿应首选氢化可的松。", "氢化可的松", "患儿不应首选氢化可的松。"),
        ("一般认为早产的主要原因是感染。", "感染", "一般认为早产的主要原因不是感染。"),
    ],
)
def test_model_made_statements_are_negated_at_whole_words_outside_the_answer(stage, text, answer, negated):
    assert kept(stage.map(model_made(text, answer), {})).text == negated


@pytest.mark.parametrize("text", ["医学界认为感染有害。", "婴儿的反应很快。"])
def test_parts_of_words_are_no_predicates(stage, text):
    assert reason(stage.map(model_made(text, text[-3:-1]), {})) == "needs_model"


@pytest.mark.parametrize("answer", ["骨质疏松，软组织肿胀", "是否有盗汗"])
def test_an_answer_of_which_only_a_part_would_be_negated_needs_a_model(answer):
    assert reason(make("negate", SPEC).map(statement("单纯滑膜结核的X线表现是", answer), {})) == "needs_model"
    assert kept(make("negate", SPEC).map(statement("单纯滑膜结核的X线表现是", "骨质疏松、肿胀"), {}))


def test_one_negation_more_is_checked():
    rules = [{"end": "是", "negated": "不能不是"}]
    stage = make("negate", {**SPEC, "seams": rules})
    assert reason(stage.map(statement("首选药物是", "硫酸镁"), {})) == "not_one_negation_more"


def test_the_reference_searches_blindly(reference):
    row = kept(reference.map(statement("新生儿休克首选", "氢化可的松"), {}))
    assert row.text == "新生儿休克首选氢化不可的松。"  # the flaw that the default recipe does not have
    assert row.answer is None
    assert "answer_untouched" not in row.checks


def test_the_reference_turns_most_likely_into_impossible_only_without_de(reference):
    assert kept(reference.map(statement("诊断最可能是", "肺炎"), {})).text == "诊断不可能是肺炎。"
    assert kept(reference.map(statement("最可能的诊断应是", "肺炎"), {})).text == "最可能的诊断不应是肺炎。"
    assert reason(reference.map(statement("降低颅内压首选", "甘露醇"), {})) == "needs_model"


SAID = "治疗先兆子痫应使用硫酸镁，静脉滴注。"


def judged(stage, text, true=None):
    return stage.judge(true or model_made(SAID, "硫酸镁"), {}, text, ProducedBy(rule="model"))


@pytest.mark.parametrize(
    ("text", "seam"),
    [
        ("治疗先兆子痫不应使用硫酸镁，静脉滴注。", "不"),
        ("治疗先兆子痫并不应该使用硫酸镁，静脉滴注", "并不应该"),
        ("治疗先兆子痫应使用硫酸镁，不静脉滴注。", "不"),  # behind the answer
        ("治疗先兆子痫并不应使用硫酸镁,静脉滴注。", "并不"),  # the width of the comma is no difference
    ],
)
def test_a_models_negation_is_the_true_statement_with_one_part_changed(stage, text, seam):
    row = judged(stage, text)
    assert not isinstance(row, ReplyFault), row
    assert (row.polarity, row.joined) == ("false", "negation")
    assert row.answer.slice_of(row.text) == "硫酸镁"
    assert row.seam.slice_of(row.text) == seam
    assert row.text.endswith("，静脉滴注。" if "不静" not in text else "不静脉滴注。")
    assert {"differs_from_true", "one_negation_more", "answer_untouched", "one_edit"} < set(row.checks)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (SAID, "not_one_negation_more"),
        ("治疗先兆子痫可使用硫酸镁，静脉滴注。", "not_one_negation_more"),
        ("治疗先兆子痫不能不使用硫酸镁，静脉滴注。", "not_one_negation_more"),
        ("治疗先兆子痫不应使用硫酸镁，不静脉滴注。", "changed_elsewhere"),
        ("治疗早产时不应使用硫酸镁，口服。", "changed_elsewhere"),
        ("治疗先兆子痫不应使用硫酸钙，静脉滴注。", "answer_changed"),
        ("治疗先兆子痫应使用硫不酸镁，静脉滴注。", "answer_changed"),
        ("治疗先兆子痫不应使用硫酸镁。静脉滴注。", "not_one_sentence"),
        ("治疗先兆子痫不应使用硫酸镁，静脉滴注。\n说明：已否定。", "not_one_sentence"),
        ("治疗先兆子痫不应使用硫酸镁，静脉滴注吗？", "not_one_sentence"),
    ],
)
def test_what_a_model_negates_is_checked(stage, text, fault):
    made = judged(stage, text)
    assert isinstance(made, ReplyFault), made
    assert made.reason == fault


def test_a_repeated_character_at_the_answers_edge_does_not_hide_where_the_edit_is(stage):
    true = model_made("其血压是是否升高。", "是否升高")
    row = judged(stage, "其血压并不是是否升高。", true)
    assert (row.text, row.answer.slice_of(row.text), row.seam.slice_of(row.text)) == (
        "其血压并不是是否升高。",
        "是否升高",
        "并不",
    )


def test_a_statement_without_a_known_answer_is_negated_anywhere(stage):
    true = model_made("胎盘位于宫底。", "子宫")
    assert true.answer is None
    row = judged(stage, "胎盘不位于宫底。", true)
    assert (row.text, row.answer, row.seam) == ("胎盘不位于宫底。", None, Span(start=2, end=3))
    [request] = [stage.prompt_values(true, {})]
    assert request == {"statement": "胎盘位于宫底。", "answer": ""}
