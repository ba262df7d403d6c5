"""The steps that write triples: statements, negations and questions by relation tables."""

from __future__ import annotations

from itertools import product

import pytest
from claim_rows import CARE_MI, REFERENCE, RULES, TABLES, kept, make, reason, triple

from benchbuilder.core.errors import RecipeError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Kept
from benchbuilder.core.records.payloads import Fact, Triple
from benchbuilder.core.records.roles import Statement
from benchbuilder.core.records.row import Span
from benchbuilder.steps.language.edits import altered_statement, answer_text
from benchbuilder.steps.language.relations import RelationTables

RELATIONS = {"relations": TABLES}
# fmt: off
NAMES_42 = [
    "发病部位", "就诊科室", "转移部位", "发病年龄", "发病率", "死亡率", "发病性别倾向",
    "预后生存率", "多发地区", "多发群体", "发病机制", "外侵部位", "多发季节", "风险评估因素",
    "高危因素", "病因", "病史", "辅助治疗", "药物治疗", "手术治疗", "放射治疗",
    "病理分型", "临床表现", "并发症", "治疗后症状", "化疗", "病理生理", "阶段",
    "遗传因素", "内窥镜检查", "影像学检查", "实验室检查", "组织学检查", "筛查", "辅助检查",
    "预防", "传播途径", "相关（导致）", "相关（转化）", "相关（症状）", "鉴别诊断", "预后状况",
]
# fmt: on


@pytest.fixture(scope="module")
def state():
    return make("state_triple", RELATIONS)


@pytest.fixture(scope="module")
def negate():
    return make("negate_triple", {**RULES["negate_triple"], **RELATIONS})


def test_every_relation_of_the_source_has_a_row(state):
    assert len(NAMES_42) == 42
    for name in NAMES_42:
        row = kept(state.map(triple("子痫前期", name, "良好" if name == "预后状况" else "男性"), {}))
        assert "{" not in row.text
        assert row.text.endswith("。")


@pytest.mark.parametrize(
    ("relation", "partition", "text", "answer"),
    [
        ("并发症", "cpubmed", "甲的并发症包括乙。", "乙"),
        ("预防", "cpubmed", "乙有助于预防甲。", "甲"),
        ("传播途径", "cpubmed", "乙是甲的传播途径。", "甲"),
        ("可导致（反向）", "bios", "乙可导致甲。", "甲"),
        ("位于", "bios", "甲位于乙。", "乙"),  # any other relation: head, relation, tail
    ],
)
def test_the_template_puts_ends_and_answer_in_their_places(state, relation, partition, text, answer):
    row = kept(state.map(triple("甲", relation, "乙", partition=partition), {}))
    assert (row.text, row.answer.slice_of(row.text), row.joined) == (text, answer, "template")


def test_the_answer_is_known_by_construction_not_by_search(state):
    row = kept(state.map(triple("妊娠期高血压{tail}", "并发症", "高血压"), {}))
    assert row.text == "妊娠期高血压{tail}的并发症包括高血压。"
    assert row.answer.start == len("妊娠期高血压{tail}的并发症包括")


def test_a_relation_without_a_row_names_itself(state):
    [outcome] = state.map(triple("甲", "亲属", "乙"), {})
    assert (outcome.reason, outcome.detail) == ("unknown_relation", "亲属")


def test_the_negated_sentence_keeps_the_answer(state, negate):
    fact = triple("胎盘早剥", "并发症", "产后出血")
    row = kept(negate.map(kept(state.map(fact, {})), {"fact": fact}))
    assert row.text == "胎盘早剥的并发症不包括产后出血。"
    assert (row.polarity, row.answer.slice_of(row.text)) == ("false", "产后出血")


def test_head_and_tail_that_a_conversion_made_the_same_are_dropped(state):
    assert reason(state.map(triple("产后出血", "相关（导致）", "产后出血"), {})) == "head_equals_tail"


def test_a_negated_sentence_holds_one_negation_more(state, tmp_path):
    header = "relation\tstatement\tnegated\ttf\toe\tanswer_end"
    rows = [
        "病因\t{head}由{tail}引起。\t{head}与{tail}各自发生。\t{head}由{tail}引起吗？\t\ttail",
        "症状\t{head}可有{tail}。\t{head}不会没有{tail}。\t{head}可有{tail}吗？\t\ttail",
        "并发症\t{head}可并发{tail}。\t{head}不会并发{tail}。\t{head}可并发{tail}吗？\t\ttail",
    ]
    file = tmp_path / "relations.tsv"
    file.write_text("\n".join([header, *rows]), encoding="utf-8")
    spec = {"relations": {"default": str(file)}}
    true, negate = make("state_triple", spec), make("negate_triple", {**RULES["negate_triple"], **spec})

    def negated(relation, tail):
        fact = triple("羊水过少", relation, tail)
        return negate.map(kept(true.map(fact, {})), {"fact": fact})

    assert reason(negated("病因", "过期妊娠")) == "not_one_negation_more"
    assert reason(negated("症状", "胎动减少")) == "not_one_negation_more"
    row = kept(negated("并发症", "宫缩不良、无力"))  # words that only look like a negation
    assert row.text == "羊水过少不会并发宫缩不良、无力。"
    assert row.checks == ("differs_from_true", "one_negation_more", "answer_untouched")


@pytest.mark.parametrize(
    ("tail", "fault"),
    [
        ("无传染性", "already_negative"),
        ("3-6个月，长期复查", "unclear_scope"),
        ("是否复发", "unclear_scope"),
        ("14天以内", "unclear_scope"),
    ],
)
def test_an_end_that_a_negation_would_not_deny_as_a_whole_is_not_negated(tmp_path, tail, fault):
    file = tmp_path / "relations.tsv"
    header = "relation\tstatement\tnegated\ttf\toe\tanswer_end"
    file.write_text(
        f"{header}\n*\t{{head}}的{{relation}}是{{tail}}。\t{{head}}的{{relation}}不是{{tail}}。\t{{head}}的{{relation}}是{{tail}}吗？\t\ttail\n"
    )
    spec = {"relations": {"default": str(file)}}
    true, negate = make("state_triple", spec), make("negate_triple", {**RULES["negate_triple"], **spec})
    fact = triple("结核性胸膜炎", "治疗周期", tail)
    assert reason(negate.map(kept(true.map(fact, {})), {"fact": fact})) == fault
    reference = make("negate_triple", {**RULES["negate_triple"], **spec, **REFERENCE["negate_triple"]})
    assert "不是" in kept(reference.map(kept(true.map(fact, {})), {"fact": fact})).text


def test_every_bundled_relation_has_one_negation_more(state, negate):
    for partition, names in (
        ("cpubmed", NAMES_42),
        ("bios", ["可导致", "可治疗（反向）", "禁忌用药", "有相互作用", "位于"]),
    ):
        for name in names:
            fact = triple("子痫前期", name, "良好" if name == "预后状况" else "男性", partition=partition)
            assert "one_negation_more" in kept(negate.map(kept(state.map(fact, {})), {"fact": fact})).checks


def test_the_reference_negates_every_relation_sentence_by_search(state):
    stage = make("negate_triple", {**RULES["negate_triple"], **RELATIONS, **REFERENCE["negate_triple"]})
    for name in NAMES_42:
        fact = triple("甲", name, "良好" if name == "预后状况" else "乙")
        outcomes = list(stage.map(kept(state.map(fact, {})), {"fact": fact}))
        if name not in ("预后状况",):
            assert kept(outcomes).text.count("不") == 1, name


def test_a_family_of_triples_is_asked_in_one_form(state, negate):
    """Two facts with each other's answers: all four questions have one form, and all quote the statement."""
    facts = [triple("病甲", "并发症", "产后出血"), triple("病乙", "并发症", "贫血")]
    true = [kept(state.map(fact, {})) for fact in facts]
    swapped = [
        altered_statement(row, row.produced_by, row.text.replace(answer_text(row), answer_text(other)), "replacement",
                          (), Span(start=row.answer.start, end=row.answer.start + len(answer_text(other))))
        .model_copy(update={"family": "family-1"})
        for row, other in zip(true, reversed(true), strict=True)
    ]  # fmt: skip
    pairs = list(zip([*true, *swapped], [*facts, *facts], strict=True))
    pairs += [(kept(negate.map(row, {"fact": fact})), fact) for row, fact in pairs]
    statements = Table.of([row for row, _ in pairs], Statement)
    assert {(row.polarity, row.negated) for row in statements} == set(product(("true", "false"), (False, True)))
    stage = make("ask_tf_triple", {**RULES["ask_tf_triple"], **RELATIONS}, lookups={"statements": statements})
    outcomes = [outcome for row, fact in pairs for outcome in stage.map(row, {"fact": fact})]
    questions = [outcome.row for outcome in outcomes if isinstance(outcome, Kept)]
    assert sorted(question.expected for question in questions) == ["no", "no", "yes", "yes"]
    assert len({question.negated for question in questions}) == 1
    assert {question.family for question in questions} == {"family-1"}
    quoted = [question.text.endswith("，这种说法对吗？") for question in questions]
    assert quoted == [question.negated for question in questions]
    assert all(question.text.endswith("吗？") for question in questions)


def test_tf_asks_with_the_relation_of_the_true_one_and_a_general_form_of_the_false_one(state, negate):
    stage = make("ask_tf_triple", {**RULES["ask_tf_triple"], **RELATIONS, "polarity": "balanced"})
    seen = {}
    for number in range(40):
        fact = triple(f"病{number}", "并发症", "产后出血")
        true = kept(state.map(fact, {}))
        false = kept(negate.map(true, {"fact": fact}))
        outcomes = [outcome for row in (true, false) for outcome in stage.map(row, {"fact": fact})]
        [question] = [outcome.row for outcome in outcomes if isinstance(outcome, Kept)]
        seen[question.expected] = question.text.replace(f"病{number}", "病")
    assert seen == {"yes": "病的并发症包括产后出血吗？", "no": "病的并发症不包括产后出血，这种说法对吗？"}


def test_a_fact_without_a_false_statement_is_asked_about_its_true_one(state):
    facts = [triple(f"病{number}", "并发症", "产后出血") for number in range(12)]
    true = Table.of([kept(state.map(fact, {})) for fact in facts], Statement)
    spec = {**RULES["ask_tf_triple"], **RELATIONS, "polarity": "balanced"}
    stage = make("ask_tf_triple", spec, lookups={"statements": true})
    questions = [kept(stage.map(row, {"fact": fact})) for row, fact in zip(true, facts, strict=True)]
    assert {question.expected for question in questions} == {"yes"}


def test_both_polarities_can_be_asked_in_one_form(state):
    form = "{statement}，这种说法对吗？"
    stage = make("ask_tf_triple", {**RULES["ask_tf_triple"], **RELATIONS, "polarity": "true_only", "true_form": form})
    fact = triple("胎盘早剥", "并发症", "产后出血")
    question = kept(stage.map(kept(state.map(fact, {})), {"fact": fact}))
    assert (question.text, question.expected) == ("胎盘早剥的并发症包括产后出血，这种说法对吗？", "yes")


def test_oe_is_a_switch_and_never_holds_its_answer(state):
    spec = {**RELATIONS, "mark": "？", "ends": "。！？", "ignore": "，"}
    fact = triple("川崎病", "多发季节", "春季")
    true = kept(state.map(fact, {}))
    assert reason(make("ask_oe_triple", {**spec, "enabled": False}).map(true, {"fact": fact})) == "switched_off"
    stage = make("ask_oe_triple", {**spec, "enabled": True})
    assert kept(stage.map(true, {"fact": fact})).text == "川崎病多发于什么季节？"
    leak = triple("春季结膜炎", "多发季节", "春季")
    assert reason(stage.map(kept(state.map(leak, {})), {"fact": leak})) == "leaks_answer"
    several = triple("胎盘早剥", "并发症", "产后出血")
    assert reason(stage.map(kept(state.map(several, {})), {"fact": several})) == "no_template"


REPLACE_TRIPLE = {
    "enabled": False, "entity": "same_type", "unknown_only": True, "any_relation": True, "inverse_suffix": "（反向）",
    "ignore": "，。（） ",
}  # fmt: skip


def table(*facts):
    return Table.of(facts, Fact[Triple])


def test_a_replaced_end_is_of_the_same_type_and_known_nowhere(state):
    disease = {"head_type": "疾病", "tail_type": "疾病"}
    fact = triple("子痫前期", "并发症", "胎盘早剥", **disease, head_terms=("子痫前期", "先兆子痫"))
    others = [
        triple("羊水过多", "并发症", "早产", **disease),
        triple("贫血", "药物治疗", "硫酸亚铁", head_type="疾病", tail_type="药物"),
        triple("先兆子痫", "并发症", "肾衰竭", **disease),  # known through a synonym
        triple("肾衰竭", "病因", "早产", **disease),
        triple("早产", "并发症", "肺不张", **disease, head_terms=("早产",)),
        triple("子痫前期", "并发症", "贫血", **disease),
    ]
    stage = make(
        "replace_triple",
        {**REPLACE_TRIPLE, "enabled": True},
        lookups={"pool": table(fact, *others), "known": table(fact, *others)},
    )
    true = kept(state.map(fact, {}))
    row = kept(stage.map(true, {"fact": fact}))
    assert row.answer.slice_of(row.text) in ("羊水过多", "早产", "肺不张")
    everything = [triple("子痫前期", "并发症", x, **disease, line=9) for x in ("羊水过多", "早产", "肺不张")]
    closed = make(
        "replace_triple",
        {**REPLACE_TRIPLE, "enabled": True},
        lookups={"pool": table(fact, *others), "known": table(fact, *others, *everything)},
    )
    assert reason(closed.map(true, {"fact": fact})) == "no_wrong_entity"


def test_a_reversed_relation_is_the_same_knowledge(state):
    typed = {"head_type": "疾病", "tail_type": "疾病", "partition": "bios"}
    fact = triple("胎膜早破", "可导致", "早产", **typed)
    known = triple("宫内感染", "可导致（反向）", "胎膜早破", **typed)  # 胎膜早破可导致宫内感染
    pool = table(fact, known)
    stage = make("replace_triple", {**REPLACE_TRIPLE, "enabled": True}, lookups={"pool": pool, "known": pool})
    assert reason(stage.map(kept(state.map(fact, {})), {"fact": fact})) == "no_wrong_entity"


def test_what_another_source_knows_under_another_relation_is_not_wrong(state):
    typed = {"head_type": "疾病", "tail_type": "药物"}
    fact = triple("宫缩乏力", "药物治疗", "麦角新碱", **typed)
    known = triple("缩宫素", "可治疗", "子宫收缩乏力", partition="bios", head_type="药物", tail_type="疾病",
                   tail_terms=("子宫收缩乏力", "宫缩乏力"))  # fmt: skip
    pool = table(fact, known)
    true = kept(state.map(fact, {}))

    def replaced(**spec):
        spec = {**REPLACE_TRIPLE, "enabled": True, **spec}
        return make("replace_triple", spec, lookups={"pool": pool, "known": pool}).map(true, {"fact": fact})

    assert reason(replaced()) == "no_wrong_entity"
    assert kept(replaced(any_relation=False)).text == "宫缩乏力的治疗药物包括缩宫素。"


def test_replacing_is_off_by_default(state):
    fact = triple("胎盘早剥", "并发症", "产后出血")
    stage = make("replace_triple", REPLACE_TRIPLE)
    assert reason(stage.map(kept(state.map(fact, {})), {"fact": fact})) == "switched_off"


def test_faults_of_a_table_come_all_at_once_with_their_lines(tmp_path):
    header = "relation\tstatement\tnegated\ttf\toe\tanswer_end\twhen_head\twhen_tail"
    rows = [
        "病因\t{head}的病因是{tial}。\t{head}不是{tail}。\t{head}{tail}吗？\t{head}是什么？\ttail",
        "并发症\t{head}有{tail}。\t{head}无{tail}.\t{head}有{tail}吗？\t{head}有{tail}吗？\ttail",
        "预防\t{head}{tail}。\t{head}不{tail}。\t{head}{tail}吗？\t\tmiddle\t(\t",
    ]
    file = tmp_path / "relations.tsv"
    file.write_text("\n".join(["# note", header, *rows]), encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        RelationTables.read({"default": file})
    text = str(caught.value)
    assert "relations.tsv:3" in text
    assert "unknown placeholder {tial}" in text
    assert "relations.tsv:4" in text
    assert "would give the key away" in text
    assert "it contains its own answer" in text
    assert "allowed are head and tail" in text
    assert "when_head: '(' is not a regular expression" in text


@pytest.mark.parametrize("name", ["relations_cpubmed.tsv", "relations_bios.tsv", "relations_cmeie.tsv"])
def test_the_bundled_tables_have_no_faults(name):
    RelationTables.read({"default": CARE_MI / name})


def test_rows_are_chosen_by_what_the_ends_look_like(state):
    rate = kept(state.map(triple("早产", "发病率", "5%～15%"), {}))
    assert rate.text == "早产的发病率是5%～15%。"
    assert kept(state.map(triple("早产", "发病率", "较高"), {})).text == "早产的发病率较高。"
