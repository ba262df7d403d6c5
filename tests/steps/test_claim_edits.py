"""Claims are edited by replacements, split into answers, and denied."""

from __future__ import annotations

import pytest
from claim_rows import REFERENCE, RULES, choice, kept, make, model_made, reason
from gathered_rows import run_gather
from pydantic import ValidationError

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.payloads import Fact, MultipleAnswerChoice, Option
from benchbuilder.core.records.roles import Question, Statement
from benchbuilder.core.records.row import Origin, ProducedBy

# --- replace ---------------------------------------------------------------------------------------------------------

SPEC = RULES["replace_choice"]
STATE = make("state_choice", RULES["state_choice"])


def replaced(fact, seed=1, **spec):
    stage = make("replace", {**SPEC, **spec}, seed=seed)
    return stage.map(kept(STATE.map(fact, {})), {"fact": fact})


def test_a_wrong_option_stands_where_the_answer_stood():
    fact = choice("缩宫素的产生部位是下丘脑，储存部位是", "垂体", "甲状腺", "卵巢", "胎盘", context="背景。")
    row = kept(replaced(fact))
    option = row.answer.slice_of(row.text)
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


def test_numbers_of_another_unit_are_compared_if_the_recipe_knows_it():
    fact = choice("极低出生体重儿的体重低于", "1500g", "2.5kg", "3000g")
    assert reason(replaced(fact)) == "implied_by_true"
    fact = choice("极低出生体重儿的体重低于", "1500g", "2.5kg", "1000g")
    assert kept(replaced(fact)).text == "极低出生体重儿的体重低于1000g。"
    fact = choice("极低出生体重儿的体重低于", "1500g", "0.9kg")
    assert kept(replaced(fact)).text == "极低出生体重儿的体重低于0.9kg。"
    assert reason(replaced(fact, units=[])) == "implied_by_true"


@pytest.mark.parametrize(
    ("question", "answer", "implied", "wrong"),
    [
        # a bound in the predicate; a negated one has the other side
        ("生活饮用水的余氯应不低于", "0.8", "0.2", "1.2"),
        ("每次监测的间隔应不少于", "3天", "2天", "5天"),
        ("产后出血量不应小于", "500ml", "400ml", "900ml"),
        ("首次产检不得早于", "12周", "8周", "16周"),
        ("每日食盐量不应超过", "6g", "8g", "4g"),
        ("该菌潜伏期未达到", "7天", "9天", "3天"),
        ("患儿年龄不满", "3岁", "5岁", "1岁"),
        ("该患者血压控制目标至少是", "130/80mmHg", "120/80mmHg", "150/90mmHg"),
        ("出现休克，表明至少已丢失全身总血量的", "20%", "15%", "50%"),
        ("每年体检至少为", "2次", "1次", "4次"),
        ("每日至少需要睡眠", "8小时", "6小时", "10小时"),
        ("每次输液至多", "500ml", "1000ml", "200ml"),
        ("每次输液最多是", "500ml", "1000ml", "200ml"),
        ("尿量最少应为", "30ml", "20ml", "90ml"),
        # a bound in the answer
        ("报告疫情的时间为", "2小时内", "8小时内", "3小时后"),
        ("报告疫情的时间为", "2小时内", "1小时内", "3小时后"),
        ("胆碱酯酶活力应为", "30%以下", "60%以下", "40%以上"),
        ("慢性腹泻的病程是", "≥2个月", "≥1个月", "≥3个月"),
        ("观察的时间为", "不超过3天", "不超过1天", "5天以上"),
        ("疗程应该是", "大于21天", "大于14天", "小于5天"),  # which cannot be true as well
        ("报告的期限是", "三天内", "五天内", "口头"),  # a spelled number is never certain
        # units of one kind are compared
        ("开始时间为", "生后6小时内", "生后1天内", "生后2周"),
        ("重点保健的时间是", "生后1周内", "生后3天内", "生后2周后"),
        ("出血的起始时间为", "分娩24小时后", "分娩30分钟后", "分娩3天后"),
        # a bound or a range that holds the exact number
        ("胸廓畸形出现的月龄是", "12个月", "6个月以上", "3个月以下"),
        ("正常孕妇尿液的pH为", "5.5～6.5", "4.5～7.5", "＜4.5"),
        ("疗程是", "1～3个月", "1～2个月", "2～4个月"),
    ],
)
def test_a_number_that_the_true_bound_implies_is_not_wrong(question, answer, implied, wrong):
    stage, true = make("replace", SPEC), model_made(f"{question}{answer}。", answer)
    assert reason(stage.map(true, {"fact": choice(question, answer, implied)})) == "implied_by_true"
    assert kept(stage.map(true, {"fact": choice(question, answer, implied, wrong)})).text == f"{question}{wrong}。"


@pytest.mark.parametrize(
    ("question", "answer", "wrong"),
    [
        ("大量蛋白尿应为", "尿蛋白>0.05g", "尿红细胞>3个/HP"),  # another quantity
        ("可以诊断胆管细胞癌的是", "AFP＜20ug/L", "血管造影"),
        ("痰中带血最多见的年龄是", "60岁", "40岁"),  # no bound
        ("受损的部位是", "一侧颅内", "双侧颅内"),
        ("适于胎龄儿的出生体重是", "第10～90百分位", "第10百分位以下"),  # 百 is no number here
        ("锋电位的超射顶端接近于", "Na+平衡电位", "Ca2+内流"),  # 接近于 is no bound
    ],
)
def test_what_no_bound_compares_may_be_wrong(question, answer, wrong):
    assert kept(replaced(choice(question, answer, wrong))).answer.slice_of(f"{question}{wrong}。") == wrong


@pytest.mark.parametrize(
    ("question", "answer", "wrong", "fault"),
    [
        ("其治法是", "健胃理气，利湿和中", "行气化湿，健脾和胃", "paraphrase"),
        ("最主要的临床表现是", "水肿，少尿，血尿，高血压", "血尿，少尿，水肿，蛋白尿", "paraphrase"),
        ("其治法是", "疏肝理气，和胃止痛", "疏肝泄热，和胃止痛", ""),  # another word in one place
        ("好发部位依次是", "胰头、胰体、胰尾", "胰尾、胰体、胰头", ""),  # a sequence
        ("诊断为", "炎性乳腺癌", "急性乳腺炎", ""),  # too short to tell
        ("碱基互补配对规律是", "A-T，G-C", "A-C，G-T", ""),
    ],
)
def test_a_wrong_option_that_rewords_the_answer_is_not_taken(question, answer, wrong, fault):
    if fault:
        assert reason(replaced(choice(question, answer, wrong), alike={})) == fault
    row = kept(replaced(choice(question, answer, wrong, "补气养血"), option="first", near=None, alike={}))
    assert row.text == f"{question}{'补气养血' if fault else wrong}。"
    assert "no_paraphrase" in row.checks
    assert kept(replaced(choice(question, answer, wrong), rewording=None)).text == f"{question}{wrong}。"


@pytest.mark.parametrize(
    ("answer", "wrong", "near"),
    [
        ("疏风散寒，宣肺止咳", "祛风散寒，宣肺止咳", True),
        ("温补肾阳，化气行水", "温补肾阴，化气行水", False),  # an opposite
        ("疏风散寒，宣肺止咳", "活血化瘀，宣肺止咳", False),  # nothing shared
        ("疏风散寒，宣肺止咳", "祛风散寒", False),  # fewer parts
        ("疏风散寒", "祛风散寒", False),  # one part
    ],
)
def test_an_option_near_the_answer_comes_after_all_others(answer, wrong, near):
    fact = choice("其治法是", answer, wrong, "补气养血，固表")
    assert kept(replaced(fact, option="first")).text == f"其治法是{'补气养血，固表' if near else wrong}。"
    alone = kept(replaced(choice("其治法是", answer, wrong), option="first"))
    assert alone.text == f"其治法是{wrong}。"
    assert alone.tags == (("near_answer",) if near else ())


def test_words_that_say_the_same_are_data():
    fact = choice("其治法是", "健脾行气，化湿和胃", "理气健胃，和中利湿")
    same = {"shared": 1.0, "moved": 1.0, "least": 6}
    assert kept(replaced(fact, rewording=same)).polarity == "false"
    same["same"] = [["健脾", "健胃"], ["行气", "理气"], ["化湿", "利湿"], ["和胃", "和中"]]
    assert reason(replaced(fact, rewording=same)) == "paraphrase"


@pytest.mark.parametrize("bound", [{"wrong": "lower"}, {"wrong": "lower", "before": "a", "answer": "b"}])
def test_a_bound_is_written_in_one_place(bound):
    with pytest.raises(ValidationError, match="before or answer"):
        replaced(choice("甲是", "乙", "丙"), bounds=[bound])


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
    true = STATE.judge(fact, {}, text, ProducedBy(rule="model"))
    if text.count("12") > 1:  # the numbers of the question are said once: such a text would not pass
        assert true.reason == "inconsistent"
        true = model_made(text, "6～12小时")
    row = kept(make("replace", SPEC).map(true, {"fact": fact}))
    assert (row.text, row.answer.slice_of(row.text)) == (false, "3～5日")
    assert row.answer.start == true.answer.start


# --- split answers ---------------------------------------------------------------------------------------------------

TURNED = [{"find": "不正确(?=的是$)", "put": "正确"}]


def several(question, right, *options):
    payload = MultipleAnswerChoice(
        context="案情。",
        question=question,
        options=tuple(Option(key=key, text=text) for key, text in zip("ABCDE", options, strict=False)),
        answer_keys=tuple(right),
        category="ca",
    )
    envelope = {"origin": Origin(file="q.jsonl", line=1), "produced_by": ProducedBy(rule="test"), "language": "zh"}
    return Fact[MultipleAnswerChoice].build(payload=payload, partition="exam", **envelope)


def split(row, how="split"):
    return list(make("split_answers", {"several": how, "turned": TURNED}).map(row, {}))


def test_a_question_becomes_a_fact_for_each_right_option():
    outcomes = split(several("属于用益物权的是", "AB", "居住权", "地役权", "抵押权", "留置权"))
    assert [outcome.slot for outcome in outcomes] == ["A", "B"]
    facts = [outcome.row.payload for outcome in outcomes]
    assert [fact.answer for fact in facts] == ["居住权", "地役权"]
    assert {fact.context + fact.category for fact in facts} == {"案情。ca"}
    assert len({outcome.row.id for outcome in outcomes}) == 2


def test_another_right_option_is_never_a_wrong_answer():
    for outcome in split(several("属于用益物权的是", "ABD", "居住权", "地役权", "抵押权", "宅基地使用权")):
        assert [option.text for option in outcome.row.payload.wrong_options()] == ["抵押权"]


def test_questions_with_several_are_dropped_where_the_recipe_says_so():
    [outcome] = split(several("属于用益物权的是", "AB", "居住权", "地役权", "抵押权"), "drop")
    assert (outcome.reason, outcome.detail) == ("several_answers", "A B")
    [outcome] = split(several("属于担保物权的是", "C", "居住权", "地役权", "抵押权"), "drop")
    assert isinstance(outcome, Kept)
    assert outcome.slot == ""


@pytest.mark.parametrize("how", ["split", "drop"])
def test_a_question_for_what_is_not_so_is_turned(how):
    outcomes = split(several("关于定金，不正确的是", "BC", "甲说", "乙说", "丙说"), how)
    assert [outcome.row.payload.answer for outcome in outcomes] == ["甲说"]
    fact = outcomes[0].row
    assert fact.payload.question == "关于定金，正确的是"
    assert [option.text for option in fact.payload.wrong_options()] == ["乙说", "丙说"]
    assert fact.produced_by.rule.endswith("turned")


def test_where_every_option_is_wrong_nothing_is_right():
    [outcome] = split(several("关于定金，不正确的是", "ABC", "甲说", "乙说", "丙说"))
    assert isinstance(outcome, Dropped)
    assert outcome.reason == "none_right"


# --- deny ------------------------------------------------------------------------------------------------------------

REPLACE = make("replace", RULES["replace_choice"])
DENY = {"form": "{statement}，这种说法不正确。", "stop": "。", "lowered": False}
FACTS = [choice(f"第{n}组患儿首选的药物是", "甲药", "乙药", "丙药", context="背景。") for n in range(20)]


def pair(fact):
    true = kept(STATE.map(fact, {}))
    return true, kept(REPLACE.map(true, {"fact": fact}))


def test_a_true_statement_becomes_a_false_one_and_a_false_one_a_true_one():
    true, false = pair(FACTS[0])
    denials = [kept(make("deny", DENY).map(row, {})) for row in (true, false)]
    assert [denial.polarity for denial in denials] == ["false", "true"]
    assert denials[0].text == "第0组患儿首选的药物是甲药，这种说法不正确。"
    assert denials[0].answer.slice_of(denials[0].text) == "甲药"
    assert (denials[0].of, denials[0].fact, denials[0].context) == (true.id, true.fact, "背景。")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Izinso zihluza igazi.", "Akulona iqiniso ukuthi izinso zihluza igazi."),
        ("ATP iyadingeka.", "Akulona iqiniso ukuthi ATP iyadingeka."),
    ],
)
def test_a_statement_inside_a_sentence_begins_with_a_small_letter(said, text):
    spec = {"form": "Akulona iqiniso ukuthi {statement}.", "stop": ".", "lowered": True}
    row = pair(FACTS[0])[0].model_copy(update={"text": said, "answer": None})
    denial = kept(make("deny", {**spec, "keep_capitals": [r"\p{Lu}{2}"]}).map(row, {}))
    assert denial.text == text


def test_a_form_without_the_statement_is_refused():
    with pytest.raises(ValidationError, match="is needed once"):
        make("deny", {**DENY, "form": "不对。"})


def assembled(denied):
    asked, tables = (
        make("ask_tf", {**RULES["ask_tf_choice"], "polarity": "balanced"}),
        {"stated": [], "replaced": [], "negated": []},
    )
    questions = []
    for fact in FACTS:
        true, false = pair(fact)
        tables["stated"].append(true)
        tables["replaced"].append(false)
        questions += [
            outcome.row for row in (true, false) for outcome in asked.map(row, {}) if isinstance(outcome, Kept)
        ]
    every = [*tables["stated"], *tables["replaced"]]
    rows = {port: Table.of(found, Statement) for port, found in tables.items()}
    if denied:
        rows["denied"] = Table.of([kept(make("deny", DENY).map(row, {})) for row in every], Statement)
    gathered = run_gather(make("assemble", RULES["candidates"]), {"each": Table.of(questions, Question), **rows})
    return (
        [outcome.row for _, outcomes in gathered.outcomes for outcome in outcomes if isinstance(outcome, Kept)],
        gathered,
        rows,
    )


def test_a_claim_of_its_own_is_answered_by_itself_or_by_its_denial():
    rows, gathered, tables = assembled(denied=True)
    assert {row.expected for row in rows} == {"yes", "no"}
    for row in rows:
        asked = row.question.removesuffix("吗？")
        denial = f"{asked}，这种说法不正确。"
        both = (row.answer, row.answer_wrong)
        assert both == ((f"{asked}。", denial) if row.expected == "yes" else (denial, f"{asked}。"))
    used = {parent for row in rows for parent in row.parents}
    for port in ("stated", "replaced", "denied"):
        ids = set(tables[port].ids())
        assert set(gathered.unused[port]) == ids - used


def test_without_denials_nothing_changes():
    rows, gathered, _ = assembled(denied=False)
    assert all(row.answer.endswith("是甲药。") for row in rows)
    assert "denied" not in gathered.unused


def test_a_wrong_option_is_no_longer_than_a_right_answer_may_be():
    fact = choice("最可能的诊断是", "苯丙酮尿症", "先天性甲状腺功能减低症", "唐氏综合征")
    assert kept(replaced(fact, option="first")).text == "最可能的诊断是唐氏综合征。"
    assert kept(replaced(fact, option="first", alike={"longer": None})).text == "最可能的诊断是先天性甲状腺功能减低症。"
