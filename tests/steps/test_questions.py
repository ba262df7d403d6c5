"""Questions from statements: true or false, and open-ended."""

from __future__ import annotations

from collections import Counter

import pytest
from claim_rows import REFERENCE, RULES, choice, kept, make, model_made, reason, statement, tokenizer
from pydantic import ValidationError

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Kept
from benchbuilder.core.records.roles import Question, Statement
from benchbuilder.core.records.row import ProducedBy, Span
from benchbuilder.steps.writer import ReplyFault

# --- ask tf ----------------------------------------------------------------------------------------------------------

SPEC = RULES["ask_tf_choice"]
STATE = make("state_choice", RULES["state_choice"])
REPLACE = make("replace", RULES["replace_choice"])
NEGATE = make("negate", {**RULES["negate_choice"], "tokenizer": tokenizer("whitespace")})


def test_each_fact_is_asked_about_once_and_both_verdicts_occur():
    stage = make("ask_tf", {**SPEC, "polarity": "balanced"})
    verdicts = []
    for number in range(60):
        fact = choice(f"第{number}产程首选的处理是", "甲法", "乙法")
        true = kept(STATE.map(fact, {}))
        false = kept(REPLACE.map(true, {"fact": fact}))
        outcomes = [outcome for row in (true, false) for outcome in stage.map(row, {})]
        [question] = [outcome.row for outcome in outcomes if isinstance(outcome, Kept)]
        asked = true if question.expected == "yes" else false
        assert question.of == asked.id
        assert question.text == asked.text.removesuffix("。") + "吗？"
        assert [outcome.reason for outcome in outcomes if not isinstance(outcome, Kept)] == ["other_polarity"]
        verdicts.append(question.expected)
    assert 15 < verdicts.count("yes") < 45


def test_even_asks_about_as_many_false_statements_as_there_can_be():
    rows = []
    for number in range(40):
        fact = choice(f"第{number}产程首选的处理是", "甲法", "乙法")
        true = kept(STATE.map(fact, {}))
        rows += [true, kept(REPLACE.map(true, {"fact": fact}))] if number % 4 else [true]
    stage = make("ask_tf", {**SPEC, "polarity": "even"})
    stage.open({"statements": Table.of(rows, Statement)})
    asked = [outcome.row.expected for row in rows for outcome in stage.map(row, {}) if isinstance(outcome, Kept)]
    assert (asked.count("yes"), asked.count("no")) == (20, 20)
    few = [row for row in rows if row.polarity == "true" or row.fact == rows[1].fact]
    stage.open({"statements": Table.of(few, Statement)})
    asked = [outcome.row.expected for row in few for outcome in stage.map(row, {}) if isinstance(outcome, Kept)]
    assert asked.count("no") == len({row.fact for row in few if row.polarity == "false"})
    assert len(asked) == 40


def family_rows(number: int, answer: str = "甲法") -> list[Statement]:
    """The true and the false statement of a fact, and the negation of each."""
    fact = choice(f"第{number}产程首选的处理是", answer, "乙法")
    true = kept(STATE.map(fact, {}))
    pair = [true, kept(REPLACE.map(true, {"fact": fact}))]
    return [*pair, *(kept(NEGATE.map(row, {})) for row in pair)]


def asked_questions(rows: list[Statement], polarity: str = "family") -> tuple[list[Question], list[str]]:
    stage = make("ask_tf", {**SPEC, "polarity": polarity})
    stage.open({"statements": Table.of(rows, Statement)})
    outcomes = [outcome for row in rows for outcome in stage.map(row, {})]
    questions = [outcome.row for outcome in outcomes if isinstance(outcome, Kept)]
    return questions, [outcome.reason for outcome in outcomes if not isinstance(outcome, Kept)]


def test_a_family_is_asked_as_a_whole_in_a_form_that_depends_on_it_alone():
    rows = [row for number in range(40) for row in family_rows(number)]
    questions, reasons = asked_questions(rows)
    assert (len(questions), set(reasons)) == (80, {"other_form"})
    by_fact = {row.fact: [q for q in questions if q.fact == row.fact] for row in rows}
    assert all(sorted(q.expected for q in asked) == ["no", "yes"] for asked in by_fact.values())
    assert all(len({q.negated for q in asked}) == 1 for asked in by_fact.values())
    counts = Counter((q.negated, q.expected) for q in questions)
    assert all(counts[form, "yes"] == counts[form, "no"] > 10 for form in (True, False))
    fewer = asked_questions([row for row in rows if row.fact != rows[0].fact])[0]
    assert {q.id for q in fewer} == {q.id for q in questions if q.fact != rows[0].fact}
    assert {q.id for q in asked_questions(rows[::-1])[0]} == {q.id for q in questions}
    assert len(asked_questions(rows, "every")[0]) == 160


def test_a_statement_without_its_counterpart_is_not_asked():
    """A question that only a true statement could be behind gives its verdict away."""
    true, false, no_true, no_false = family_rows(1)
    assert asked_questions([true, no_true])[1] == ["no_counterpart"] * 2
    assert {q.of for q in asked_questions([true, false, no_true])[0]} == {true.id, false.id}
    assert {q.of for q in asked_questions([true, no_true, no_false])[0]} == {no_true.id, no_false.id}
    elsewhere = false.model_copy(
        update={"text": "另一句话" + false.text[false.answer.start :], "answer": Span(start=4, end=6)}
    )
    assert asked_questions([true, elsewhere])[1] == ["no_counterpart"] * 2


def test_a_family_of_two_facts_needs_both():
    first, second = ([row.model_copy(update={"family": "family-1"}) for row in family_rows(n)] for n in (1, 2))
    questions, _ = asked_questions([*first, *second])
    assert len(questions) == 4
    assert {(q.family, q.negated) for q in questions} == {("family-1", questions[0].negated)}
    assert asked_questions(first)[1] == ["family_incomplete"] * 4
    assert set(asked_questions([*first, *second[:1]])[1]) == {"no_counterpart"}


def test_the_questions_of_a_family_have_one_frame():
    """Where one answer holds a negation, the whole family is asked about the saying, and not one of its questions."""
    fact = choice("首选的处理是", "是否出血的检查", "乙法")
    true = kept(STATE.map(fact, {}))
    questions, _ = asked_questions([true, kept(REPLACE.map(true, {"fact": fact}))])
    assert [q.text.endswith("，这种说法对吗？") for q in questions] == [True, True]


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        ("Auer小体不见于", "淋巴细胞白血病", "Auer小体不见于淋巴细胞白血病，这种说法对吗？"),
        ("还应询问的病史是", "是否有盗汗", "还应询问的病史是是否有盗汗，这种说法对吗？"),
        ("不显影的结石是", "尿酸结石", "不显影的结石是尿酸结石吗？"),
        ("肝癌的血行转移并非最多见于", "脑", "肝癌的血行转移并非最多见于脑，这种说法对吗？"),
        ("低氧血症并不常见于", "产妇", "低氧血症并不常见于产妇，这种说法对吗？"),
        ("与结核瘤鉴别时不必考虑", "结节病", "与结核瘤鉴别时不必考虑结节病，这种说法对吗？"),
        ("预防静脉血栓形成不使用", "呋塞米", "预防静脉血栓形成不使用呋塞米，这种说法对吗？"),
        # words that only look like a negation
        ("链霉素最严重的不良反应是", "耳毒性", "链霉素最严重的不良反应是耳毒性吗？"),
        ("两者最根本的不同点在于", "病因", "两者最根本的不同点在于病因吗？"),
        ("患者不良反应后不应选用", "链霉素", "患者不良反应后不应选用链霉素，这种说法对吗？"),
    ],
)
def test_negative_predicates_are_not_asked_with_a_rhetorical_particle(question, answer, text):
    stage = make("ask_tf", {**SPEC, "polarity": "true_only"})
    assert kept(stage.map(statement(question, answer), {})).text == text


def test_true_only_asks_about_no_false_statement():
    stage = make("ask_tf", {**SPEC, **REFERENCE["ask_tf_choice"]})
    true = statement("产后出血最常见的原因是", "宫缩乏力", context="产妇，28岁。")
    question = kept(stage.map(true, {}))
    assert (question.type, question.expected, question.context) == ("tf", "yes", "产妇，28岁。")
    false = true.model_copy(update={"polarity": "false"})
    assert reason(stage.map(false, {})) == "other_polarity"


def test_a_question_of_two_sentences_is_dropped():
    stage = make("ask_tf", {**SPEC, "polarity": "true_only"})
    assert reason(stage.map(statement("病因不明；首选药物是", "青霉素"), {})) == "not_one_question"


@pytest.mark.parametrize("form", ["{statment}吗？", "吗？", "{statement}{吗？"])
def test_a_form_must_hold_the_statement_and_nothing_unknown(form):
    with pytest.raises(ValidationError, match="form"):
        make("ask_tf", {**SPEC, "forms": [{"form": form}]})


def test_a_fact_without_a_false_statement_is_asked_about_its_true_one():
    facts = [choice(f"第{number}产程首选的处理是", "甲法", "乙法") for number in range(20)]
    true = [kept(STATE.map(fact, {})) for fact in facts]
    false = [kept(REPLACE.map(row, {"fact": fact})) for fact, row in zip(facts[:10], true, strict=False)]
    everything = Table.of([*true, *false], Statement)
    stage = make("ask_tf", {**SPEC, "polarity": "balanced"}, lookups={"statements": everything})
    outcomes = [outcome for row in everything for outcome in stage.map(row, {})]
    asked = [outcome.row for outcome in outcomes if isinstance(outcome, Kept)]
    assert sorted(question.fact for question in asked) == sorted(fact.id for fact in facts)
    assert {question.expected for question in asked if question.fact in {f.id for f in facts[10:]}} == {"yes"}
    assert {question.expected for question in asked if question.fact in {f.id for f in facts[:10]}} == {"yes", "no"}


def judged(true, text):
    stage = make("ask_tf", {**SPEC, "polarity": "true_only"})
    return stage.judge(true, {}, text, ProducedBy(rule="model"))


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("新生儿脐带夹闭后首选的处理是保持干燥吗？", "新生儿脐带夹闭后首选的处理是保持干燥吗？"),
        ("新生儿脐带夹闭后，首选的处理会是保持干燥吗?", "新生儿脐带夹闭后，首选的处理会是保持干燥吗？"),
        (
            "新生儿脐带夹闭后首选的处理是保持干燥，这种说法对吗？",
            "新生儿脐带夹闭后首选的处理是保持干燥，这种说法对吗？",
        ),
    ],
)
def test_a_models_question_holds_the_statement(text, asked):
    row = judged(statement("新生儿脐带夹闭后首选的处理是", "保持干燥", context="男婴。"), text)
    assert not isinstance(row, ReplyFault), row
    assert (row.text, row.type, row.expected, row.context) == (asked, "tf", "yes", "男婴。")
    assert "same_negations" in row.checks


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("新生儿脐带夹闭后首选的处理是保持干燥吗？请回答。", "not_one_question"),
        ("新生儿脐带夹闭后首选的处理是保持干燥。", "not_one_question"),
        ("新生儿脐带夹闭后首选的处理是保持干燥\n吗？", "not_one_question"),
        ("新生儿脐带夹闭后首选的处理是保持干燥？", "not_true_or_false"),
        ("新生儿脐带夹闭后首选的处理不是保持干燥吗？", "polarity_changed"),
        ("新生儿脐带夹闭后首选的处理是湿敷吗？", "answer_missing"),
        ("首选保持干燥吗？", "inconsistent"),
        ("3日内新生儿脐带夹闭后首选的处理是保持干燥吗？", "inconsistent"),
        ("答案：新生儿脐带夹闭后首选的处理是保持干燥吗？", "leaks_verdict"),
        ("是的，新生儿脐带夹闭后首选的处理是保持干燥吗？", "leaks_verdict"),
        ("难道新生儿脐带夹闭后首选的处理是保持干燥吗？", "leaks_verdict"),
    ],
)
def test_what_a_model_asks_is_checked(text, fault):
    made = judged(statement("新生儿脐带夹闭后首选的处理是", "保持干燥"), text)
    assert isinstance(made, ReplyFault), made
    assert made.reason == fault


def test_a_negation_that_is_lost_would_turn_the_key():
    true = statement("Auer小体不见于", "淋巴细胞白血病")
    assert judged(true, "Auer小体见于淋巴细胞白血病吗？").reason == "polarity_changed"
    assert judged(true, "Auer小体不见于淋巴细胞白血病吗？").expected == "yes"


def test_what_the_statement_says_itself_is_no_verdict():
    true = statement("保持正确的含接姿势可预防的是", "乳头皲裂")
    assert judged(true, "保持正确的含接姿势可预防的是乳头皲裂吗？").expected == "yes"


# --- ask oe ----------------------------------------------------------------------------------------------------------

OPEN = RULES["ask_oe_choice"]


@pytest.fixture(scope="module")
def stage():
    return make("ask_oe", OPEN)


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        ("产后出血最常见的原因是", "宫缩乏力", "产后出血最常见的原因是什么？"),
        ("最可能的诊断为", "胎盘早剥", "最可能的诊断是什么？"),
        ("围生儿死亡率为", "3.5%", "围生儿死亡率是多少？"),
        ("破伤风的平均潜伏期为", "6～12天", "破伤风的平均潜伏期是多久？"),
        ("麻疹疫苗初种的年龄应是", "8个月", "麻疹疫苗初种的年龄应是多大？"),
        ("hCG分泌达高峰的时间是", "妊娠8～10周", "hCG分泌达高峰的时间是什么时候？"),
        ("儿童死亡率最高的时期是", "围生期", "儿童死亡率最高的时期是哪个时期？"),
        ("硬肿最先出现的部位是", "小腿", "硬肿最先出现的部位是哪里？"),
        ("1分钟的Apgar评分为", "4～7分", "1分钟的Apgar评分是多少？"),
        ("足月儿呼吸频率约为", "40次/分", "足月儿呼吸频率约是多少？"),
        ("只有一个开口的盲管称为", "窦道", "只有一个开口的盲管叫做什么？"),
        ("该患者应诊断为", "肝硬化", "该患者应诊断为何种疾病？"),
        ("新生儿眼炎治疗首选", "红霉素", "新生儿眼炎治疗首选什么？"),
        ("宫颈癌ⅠA期属于", "早期癌", "宫颈癌ⅠA期属于什么？"),
        ("该患者的肿瘤属于", "Ⅱ期", "该患者的肿瘤属于哪一期？"),
        ("低血糖症是指血糖低于", "2.8mmol/L", "低血糖症是指血糖低于多少？"),
        ("急性血源性骨髓炎好发于", "儿童", "急性血源性骨髓炎好发于什么人群？"),
        ("两上肢占体表面积的", "18%", "两上肢占体表面积的多少？"),
        ("其病理改变为", "纤维素性炎", "其病理改变是什么？"),
        ("羊水栓塞最多发生于", "分娩期", "羊水栓塞最多发生于什么时候？"),
        ("新生儿疾病筛查的采血部位首选", "足跟", "新生儿疾病筛查的采血部位首选哪里？"),
        ("14C检查首选的方法是", "14C尿素呼气试验", "14C检查首选的方法是什么？"),
    ],
)
def test_the_question_word_fits_the_answer(stage, question, answer, text):
    row = kept(stage.map(statement(question, answer), {}))
    assert (row.text, row.type, row.expected) == (text, "oe", "")


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        # an age, where no noun before it says so
        ("腮腺导管口平对上颌第二磨牙颊黏膜处是", "12岁", "腮腺导管口平对上颌第二磨牙颊黏膜处是在几岁？"),
        ("乳牙出齐的年龄一般为", "2.5岁", "乳牙出齐的年龄一般是多大？"),
        ("前囟闭合的时间是", "1～1.5岁", "前囟闭合的时间是什么时候？"),
        ("开始添加辅食的时间是", "6个月", "开始添加辅食的时间是什么时候？"),
        ("首次出现疼痛的持续时间是", "30分钟", "首次出现疼痛的持续时间是多久？"),
        ("抗生素的疗程至少为", "7天", "抗生素的疗程至少是多久？"),
        # people
        ("提出六经辨证的医家是", "张仲景", "提出六经辨证的医家是谁？"),
        ("最早提出该学说的学者是", "华生", "最早提出该学说的学者是谁？"),
        ("负责报告的国家是", "中国", "负责报告的国家是什么？"),
        ("提出“尽地利之教”政策的是", "李悝", "提出“尽地利之教”政策的是谁？"),
        ("唐律中的“化外人”，指的是", "外国人", "唐律中的“化外人”，指的是什么？"),
        # moments
        ("该药服用的最佳时间是", "空腹", "该药服用的最佳时间是什么时候？"),
        ("该药服用的最佳时间是", "餐中", "该药服用的最佳时间是什么时候？"),
        ("该药服用的最佳时间是", "睡前", "该药服用的最佳时间是什么时候？"),
        ("晚期产后出血的起始时间为", "分娩24小时后", "晚期产后出血的起始时间是什么时候？"),
        ("术前常规禁食的时间是", "禁食8～12小时，禁饮4小时", "术前常规禁食的时间是多久？"),
    ],
)
def test_ages_people_and_moments_have_question_words_of_their_own(stage, question, answer, text):
    assert kept(stage.map(statement(question, answer), {})).text == text


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("有腐蚀性的药品是", "甲醛"),
        ("可引起低血钾的是", "氢氯噻嗪"),
        ("属于抗凝药物的是", "低分子量肝素"),
        ("在胃液中可激活胃蛋白酶原的物质是", "盐酸"),
        ("生物转化的类型中，属于第二相反应的是", "结合反应"),
        ("由下丘脑产生的激素为", "精氨酸加压素"),
        ("可卡因的不良反应是", "成瘾"),  # stated as one of several, so there are others
        ("类风湿关节炎可表现为", "晨僵"),
    ],
)
def test_what_only_its_options_make_answerable_is_asked_true_or_false_alone(stage, question, answer):
    true = statement(question, answer)
    [outcome] = stage.map(true, {})
    stated = true.text.removesuffix("。")
    assert (outcome.reason, outcome.detail) == ("too_open", stated.replace(answer, "%answer%"))
    assert kept(make("ask_tf", {**SPEC, "polarity": "true_only"}).map(true, {})).text == f"{stated}吗？"
    assert reason(stage.map(model_made(true.text, answer), {})) == "too_open"  # nor can a model help


def test_the_reference_asks_what_only_its_options_make_answerable():
    kept(make("ask_oe", {**OPEN, **REFERENCE["ask_oe_choice"]}).map(statement("有腐蚀性的药品是", "甲醛"), {}))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("抑制胃酸分泌作用最强的是", "奥美拉唑"),
        ("给予青霉素治疗的目的是", "清除链球菌"),
        ("可以申请重新鉴定的期限是", "15日"),
        ("有机磷中毒的首选药物是", "阿托品"),
    ],
)
def test_one_of_many_that_stands_out_is_asked_for(stage, question, answer):
    assert kept(stage.map(statement(question, answer), {})).text.startswith(question[:-1])


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("成熟卵泡能分泌大量的", "雌激素"),
        ("该病的病程分为", "三期"),
        ("动脉瓣关闭见于", "等容舒张期初"),
    ],
)
def test_where_no_form_is_safe_a_model_is_needed(stage, question, answer):
    assert reason(stage.map(statement(question, answer), {})) == "needs_model"


def test_model_made_statements_have_no_seam(stage):
    assert reason(stage.map(model_made("早产的起因来自感染。", "感染"), {})) == "needs_model"


def test_the_answer_must_not_stand_in_question_or_context(stage):
    assert reason(stage.map(statement("主动转运时提供能量的膜是", "细胞膜", context="细胞膜，"), {})) == "leaks_answer"
    leak = statement("为区别Ｂ超与CT，首选的检查是", "b超")
    assert reason(stage.map(leak, {})) == "leaks_answer"


def test_no_question_reads_as_why():
    stage = make("ask_oe", {**OPEN, "rules": [{"ends": ["为"], "ask": "为什么？"}]})
    assert reason(stage.map(statement("最可能的诊断为", "胎盘早剥"), {})) == "needs_model"


def test_false_statements_are_not_asked_about(stage):
    false = statement("最可能的诊断为", "胎盘早剥").model_copy(update={"polarity": "false"})
    assert reason(stage.map(false, {})) == "false_statement"


def test_the_reference_asks_up_to_the_last_copula_anywhere():
    stage = make("ask_oe", {**OPEN, **REFERENCE["ask_oe_choice"]})
    assert kept(stage.map(statement("最可能的诊断为", "胎盘早剥"), {})).text == "最可能的诊断为什么？"
    assert kept(stage.map(statement("病人的求医方式是", "行为退缩"), {})).text == "病人的求医方式是行为什么？"
    assert reason(stage.map(statement("眼炎治疗首选", "红霉素"), {})) == "needs_model"


def test_a_rule_names_only_known_shapes_and_placeholders():
    with pytest.raises(ValidationError, match="shape 'numbr'"):
        make("ask_oe", {**OPEN, "rules": [{"ends": ["是"], "answer": "numbr", "ask": "是多少？"}]})
    with pytest.raises(ValidationError, match="unknown placeholder"):
        make("ask_oe", {**OPEN, "rules": [{"ends": ["是"], "ask": "{x}什么？"}]})


SAID = model_made("足月新生儿的脐带一般在生后1～2周脱落。", "1～2周")


@pytest.mark.parametrize("text", ["足月新生儿的脐带一般在生后多久脱落？", "足月新生儿的脐带，一般在生后几周脱落?"])
def test_a_models_question_asks_for_the_answer(stage, text):
    row = stage.judge(SAID, {}, text, ProducedBy(rule="model"))
    assert not isinstance(row, ReplyFault), row
    assert (row.text, row.type, row.expected) == (text.replace("?", "？"), "oe", "")
    assert row.checks == ("one_question", "asks", "keeps_statement", "no_leak")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("足月新生儿的脐带一般在生后多久脱落？1～2周吗？", "not_one_question"),
        ("足月新生儿的脐带一般在生后多久脱落", "not_one_question"),
        ("足月新生儿的脐带一般在生后脱落吗？", "no_question_word"),
        ("足月新生儿的脐带一般在生后１～2 周还是多久脱落？", "leaks_answer"),
        ("脐带多久脱落？", "inconsistent"),
        ("第2胎足月新生儿的脐带一般在生后多久脱落？", "inconsistent"),
        ("足月新生儿的脐带一般在生后什么时候因什么脱落？", "reads_otherwise"),
    ],
)
def test_what_a_model_asks_openly_is_checked(stage, text, fault):
    made = stage.judge(SAID, {}, text, ProducedBy(rule="model"))
    assert isinstance(made, ReplyFault), made
    assert made.reason == fault


def test_a_question_word_of_the_statement_does_not_ask(stage):
    true = model_made("如何喂养取决于月龄。", "月龄")
    assert stage.judge(true, {}, "如何喂养取决于时间？", ProducedBy(rule="model")).reason == "no_question_word"
    assert stage.judge(true, {}, "如何喂养取决于什么？", ProducedBy(rule="model")).text == "如何喂养取决于什么？"
