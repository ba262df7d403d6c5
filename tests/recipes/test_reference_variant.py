"""Each difference between `care_mi` and `care_mi variant=reference`, on a tiny input: ours beside the scripts'."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from benchbuilder.config.load import load_recipe
from benchbuilder.config.spec.recipe import Recipe
from benchbuilder.core import registry
from benchbuilder.core.context import StepContext
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.payloads import Choice, Fact, Option, Triple
from benchbuilder.core.records.roles import Statement
from benchbuilder.core.records.row import Origin, ProducedBy, Span
from benchbuilder.pipeline.accounting.gathers import account_gather
from benchbuilder.sources.formats.files import SourceFile

FACT, TRIPLE = Fact[Choice], Fact[Triple]


def envelope(line: int, partition: str) -> dict[str, Any]:
    origin = Origin(file=f"{partition}.jsonl", line=line)
    return {"origin": origin, "produced_by": ProducedBy(rule="reader"), "language": "zh", "partition": partition}


def choice(question: str, answer: str, *wrong: str, context: str = "", line: int = 1) -> Fact[Choice]:
    """A multiple-choice fact whose first option is right."""
    options = tuple(Option(key=key, text=text) for key, text in zip("ABCDE", (answer, *wrong), strict=False))
    payload = Choice(context=context, question=question, options=options, answer_key="A", answer=answer)
    return FACT.build(payload=payload, **envelope(line, "medqa"))


def triple(head: str, relation: str, tail: str) -> Fact[Triple]:
    return TRIPLE.build(payload=Triple(head=head, relation=relation, tail=tail), **envelope(1, "cpubmed"))


def model_made(text: str, answer: str) -> Statement:
    """A statement as a model would have made it: no seam."""
    start = text.index(answer)
    answers = {"answer": Span(start=start, end=start + len(answer)), "fact": "fact-1", "of": "fact-1"}
    return Statement.build(polarity="true", text=text, joined="model", **answers, **envelope(1, "medqa"))


def kept(outcomes: Any) -> Any:
    """The row of the only outcome, which must be kept."""
    [outcome] = outcomes
    assert isinstance(outcome, Kept), outcome
    return outcome.row


@cache
def recipe(variant: str = "") -> Recipe:
    words = ["recipe=care_mi", *([f"variant={variant}"] if variant else [])]
    return load_recipe(words, cwd=Path("/nowhere"), environ={}).recipe


@cache
def stage(step: str, variant: str = "") -> Any:
    """A step of the recipe, opened, with the very spec that the recipe gives it."""
    of = recipe(variant)
    context = StepContext(of.seed, of.language, step, Path("cache"), Path("workplace"))
    made = registry.create_from_spec("step", of.steps[step], context)
    made.open({name: Table.of([], TRIPLE) for name in ("pool", "known")})
    return made


def both(step: str) -> tuple[Any, Any]:
    """The step of `care_mi` and that of the variant."""
    return stage(step), stage(step, "reference")


def stem(question: str, *, answer: str = "缩宫素", wrong: tuple[str, ...] = ("阿司匹林", "维生素")) -> Fact[Choice]:
    return choice(question, answer, *wrong)


def question_after(made: Any, question: str) -> str:
    return kept(made.map(stem(question), {})).payload.question


def screened(made: Any, *rows: Fact[Choice]) -> list[str | None]:
    return list(pa.array(made.screen(Table.of(rows, FACT)).reasons, pa.string()).to_pylist())


def gathered(made: Any, *rows: Fact[Choice]) -> list[str]:
    """For each row whether the deduplication kept it."""
    tables = {"each": Table.of(rows, FACT)}
    outcomes = account_gather(made, tables, made.gather(tables), FACT).outcomes
    return [outcome["reason"] or outcome["outcome"] for outcome in outcomes.to_pylist()]


def said(question: str, answer: str, *wrong: str) -> tuple[Fact[Choice], Statement]:
    """A fact and its true statement."""
    fact = choice(question, answer, *wrong)
    return fact, kept(stage("state_choice").map(fact, {}))


def told(made: Any, true: Statement, fact: Any = None) -> str:
    """The text that a step makes of a statement, or why it makes none."""
    [outcome] = made.map(true, {"fact": fact})
    return outcome.row.text if isinstance(outcome, Kept) else outcome.reason


# --- sources


def test_the_scripts_load_all_five_categories():
    read = {
        variant: {found.labels["category"] for found in source("mlecqa", variant).select_files()[0]}
        for variant in ("", "reference")
    }
    assert read[""] == {"Clinic", "PublicHealth", "Stomatology"}
    assert read["reference"] == read[""] | {"CWM", "TCM"}


def source(name: str, variant: str) -> Any:
    of = recipe(variant)
    return registry.create_from_spec("source", of.sources[name], name, of.language)


def test_the_scripts_keep_questions_that_need_an_image():
    values = ["如图所示，该胎儿的胎位是", "A", {"A": "枕先露", "B": "臀先露"}]
    found = SourceFile("Clinic_test.json", Path("Clinic_test.json"), {"category": "Clinic"})
    ours, theirs = (source("mlecqa", variant).make(values, found, 1) for variant in ("", "reference"))
    assert isinstance(ours, Dropped)
    assert ours.reason == "needs_image"
    assert isinstance(theirs, Fact)


# --- preparation


def test_the_scripts_remove_question_marks_after_the_option_patterns():
    ours, theirs = both("clean")
    assert question_after(ours, "产后出血应首选？") == "产后出血应首选"
    assert question_after(theirs, "产后出血应首选？") == "产后出血应首选？"
    assert question_after(stage("unmark", "reference"), "产后出血应首选？") == "产后出血应首选"
    assert "unmark" not in recipe().steps
    assert recipe("reference").step_spec("screen_questions").from_ == {"each": ("unmark",)}


def test_the_scripts_delete_numbers_anywhere_and_break_no_sentence():
    ours, theirs = both("clean")
    assert question_after(ours, "1．产后出血应首选") == "产后出血应首选"
    assert question_after(theirs, "1．产后出血应首选") == "产后出血应首选"
    assert question_after(ours, "产妇出血不止3．应首选") == "产妇出血不止。应首选"
    assert question_after(theirs, "产妇出血不止3．应首选") == "产妇出血不止应首选"
    assert question_after(ours, "新生儿体重3．5kg，属于") == "新生儿体重3．5kg，属于"
    assert question_after(theirs, "新生儿体重3．5kg，属于") == "新生儿体重5kg，属于"


def keyed(key: str, answer: str, line: int) -> Fact[Choice]:
    """The same question with its answer under another letter."""
    fact = choice("产后出血应首选", answer, line=line)
    options = (Option(key=key, text=answer), Option(key="X" if key != "X" else "Y", text="其他"))
    payload = fact.payload.model_copy(update={"options": options, "answer_key": key})
    return FACT.build(**{**fact.model_dump(exclude={"payload", "id"}), "payload": payload})


def test_the_scripts_compare_the_letter_of_the_answer():
    ours, theirs = both("unique")
    same_answer = (keyed("A", "缩宫素", 1), keyed("C", "缩宫素", 2))
    assert gathered(ours, *same_answer) == ["kept", "duplicate"]
    assert gathered(theirs, *same_answer) == ["kept", "kept"]
    same_letter = (keyed("A", "缩宫素", 1), keyed("A", "麦角新碱", 2))
    assert gathered(ours, *same_letter) == ["kept", "kept"]
    assert gathered(theirs, *same_letter) == ["kept", "duplicate"]


def test_the_scripts_split_at_the_full_width_stop_only():
    ours, theirs = both("stem")
    assert question_after(ours, "产妇出血不止.应首选") == "应首选"
    assert question_after(theirs, "产妇出血不止.应首选") == "产妇出血不止.应首选"
    assert question_after(ours, "体重3.5kg的新生儿属于") == "体重3.5kg的新生儿属于"


def test_the_scripts_look_for_option_patterns_anywhere():
    ours, theirs = both("screen_options")
    harmless = stem("产后出血应首选", wrong=("不用任何药物", "维生素"))
    assert screened(ours, harmless) == [None]
    assert screened(theirs, harmless) == ["all_or_none"]
    slipping = stem("产后出血应首选", wrong=("全都可以", "维生素"))
    assert screened(ours, slipping) == ["all_or_none"]
    assert screened(theirs, slipping) == [None]


@pytest.mark.push
def test_the_scripts_look_for_question_patterns_anywhere():
    ours, theirs = both("screen_questions")
    measured = stem("体温在35℃以下的新生儿应给予", answer="暖箱保暖")
    assert screened(ours, measured) == [None]
    assert screened(theirs, measured) == ["meta"]
    blamed = stem("孕妇禁用的抗生素类药物是", answer="四环素")
    assert screened(ours, blamed) == ["negative"]
    assert screened(theirs, blamed) == [None]


def test_the_scripts_find_weak_forms_inside_words():
    ours, theirs = both("screen_questions")
    inside = stem("正常足月新生儿的呼吸频率是", answer="40次/分")
    assert screened(ours, inside) == [None]
    assert screened(theirs, inside) == ["ambiguous"]
    superlative = stem("治疗产后出血最常用的药物是")
    assert screened(ours, superlative) == [None]
    assert screened(theirs, superlative) == ["ambiguous"]
    weak = stem("治疗产后出血常用的药物是")
    assert screened(ours, weak) == screened(theirs, weak) == ["ambiguous"]


def test_the_scripts_look_for_the_topic_in_context_and_question_only():
    ours, theirs = both("choices_on_topic")
    in_an_option = stem("应首选的检查是", answer="血常规", wrong=("胎心监护", "胸片"))
    assert screened(ours, in_an_option) == [None]
    assert screened(theirs, in_an_option) == ["off_topic"]


# --- statements


def test_the_scripts_join_every_question_that_ends_in_a_seam():
    ours, theirs = both("state_choice")
    fact = choice("产后给予缩宫素的目的", "预防出血")
    assert ours.map(fact, {})[0].reason == "needs_model"
    assert kept(theirs.map(fact, {})).text == "产后给予缩宫素的目的预防出血。"


@pytest.mark.parametrize(
    ("question", "answer", "ours", "theirs"),
    [
        ("治疗该病的激素是", "氢化可的松", "治疗该病的激素不是氢化可的松。", "治疗该病的激素是氢化不可的松。"),
        ("新生儿的头围约为", "34cm", "新生儿的头围并非约为34cm。", "新生儿的头围约不为34cm。"),
        ("最可能合并损伤的神经是", "桡神经", "最可能合并损伤的神经不是桡神经。", "不可能合并损伤的神经是桡神经。"),
        ("首先出现的反应是", "呕吐", "首先出现的反应不是呕吐。", "首先出现的反不应是呕吐。"),
        ("母乳喂养时不易发生的疾病是", "腹泻", "already_negative", "母乳喂养时不易发生的疾病不是腹泻。"),
        ("产后出血应首选", "缩宫素", "产后出血不应首选缩宫素。", "产后出血不应首选缩宫素。"),
        ("产后出血首选", "缩宫素", "产后出血首选的不是缩宫素。", "needs_model"),
    ],
)
def test_the_scripts_negate_by_searching_the_text(question, answer, ours, theirs):
    _, true = said(question, answer)
    assert (told(stage("negate_choice"), true), told(stage("negate_choice", "reference"), true)) == (ours, theirs)


def test_the_scripts_negate_triples_by_search_too():
    fact = triple("妊娠期糖尿病", "药物治疗", "胰岛素")
    true = kept(stage("state_triple").map(fact, {}))
    ours, theirs = (told(made, true, fact) for made in both("negate_triple"))
    assert stage("negate_triple").spec.method == "table"
    assert stage("negate_triple", "reference").spec.method == "search"
    assert len({true.text, ours, theirs}) >= 2
    assert theirs.replace("不", "", 1) == true.text


# --- replacement


def test_the_scripts_take_the_first_wrong_option():
    theirs = stage("replace_choice", "reference")
    facts = [said("产后出血应首选", f"缩宫素{n}号", "阿司匹林", "维生素", "青霉素") for n in range(12)]
    assert {told(theirs, true, fact).removeprefix("产后出血应首选") for fact, true in facts} == {"阿司匹林。"}
    chosen = {told(stage("replace_choice"), true, fact) for fact, true in facts}
    assert len(chosen) == 3


def test_the_scripts_take_options_that_are_right_as_well():
    fact, true = said("产后出血应首选", "缩宫素", "缩宫素静脉滴注")
    assert told(stage("replace_choice"), true, fact) == "ambiguous_option"
    assert told(stage("replace_choice", "reference"), true, fact) == "产后出血应首选缩宫素静脉滴注。"
    fact, true = said("低出生体重儿的体重低于", "2500g", "3500g", "1500g")
    assert told(stage("replace_choice"), true, fact) == "低出生体重儿的体重低于1500g。"
    assert told(stage("replace_choice", "reference"), true, fact) == "低出生体重儿的体重低于3500g。"


def test_the_scripts_rescue_no_answer_that_a_model_changed():
    fact = choice("产后出血应首选", "缩宫素静脉滴注", "阿司匹林")
    true = model_made("产后出血首选的是缩宫素经脉滴注。", "缩宫素经脉滴注")
    assert told(stage("replace_choice"), true, fact) == "产后出血首选的是阿司匹林。"
    assert told(stage("replace_choice", "reference"), true, fact) == "no_answer_span"


def test_the_scripts_negate_triples_and_exchange_nothing():
    ours, theirs = (recipe(variant).steps for variant in ("", "reference"))
    assert ours["negate_triple"].from_["each"] == ("state_triple", "swap_triple")
    assert theirs["negate_triple"].from_["each"] == ("state_triple",)
    assert set(ours) - set(theirs) == {"swap_triple", "ask_oe_triple", "ask_set_triple", "families"}


# --- questions


@pytest.mark.parametrize("step", ["ask_tf_choice", "ask_tf_triple"])
def test_the_scripts_ask_about_true_statements_only(step):
    ours, theirs = both(step)
    verdicts: dict[Any, list[str]] = {ours: [], theirs: []}
    for number in range(20):
        if "triple" in step:
            fact, state = triple("羊水过少", "病因", f"过期妊娠{number:02}"), stage("state_triple")
        else:
            fact, state = choice("产后出血应首选", f"药{number:02}"), stage("state_choice")
        true = kept(state.map(fact, {}))
        false = true.model_copy(
            update={"polarity": "false", "text": true.text.replace(f"{number:02}", "丙丁"), "id": "false"}
        )
        table = {"statements": Table.of([true, false], Statement)}
        for made in (ours, theirs):
            made.open(table)
            outcomes = [outcome for row in (true, false) for outcome in made.map(row, {"fact": fact})]
            verdicts[made] += [outcome.row.expected for outcome in outcomes if isinstance(outcome, Kept)]
    assert verdicts[theirs] == ["yes"] * 20
    assert sorted(verdicts[ours]) == ["no"] * 20 + ["yes"] * 20
    assert recipe("").steps["candidates"].wrong_tf == ("replaced",)
    assert recipe("reference").steps["candidates"].wrong_tf == ("negated", "replaced")


def test_the_scripts_ask_every_question_with_the_plain_particle():
    _, true = said("孕妇应慎用的药物是", "四环素")
    negative = Statement.build(**{**true.model_dump(), "text": "孕妇不得使用的药物是四环素。", "id": ""})
    forms = [made.spec.forms for made in both("ask_tf_choice")]
    assert [form.form for form in forms[1]] == ["{statement}吗？"]
    assert len(forms[0]) > 1
    assert kept(stage("ask_tf_choice", "reference").map(negative, {})).text == "孕妇不得使用的药物是四环素吗？"


@pytest.mark.parametrize(
    ("question", "answer", "ours", "theirs"),
    [
        ("早产儿的死亡风险率为", "15%", "早产儿的死亡风险率是多少？", "早产儿的死亡风险率为什么？"),
        ("新生儿黄疸消退的时间是", "2周", "新生儿黄疸消退的时间是多久？", "新生儿黄疸消退的时间是什么？"),
        ("因为难产，产妇应首选", "剖宫产", "因为难产，产妇应首选什么？", "因为什么？"),
        ("产后出血的首选药物是", "缩宫素", "产后出血的首选药物是什么？", "产后出血的首选药物是什么？"),
    ],
)
def test_the_scripts_ask_up_to_the_last_copula(question, answer, ours, theirs):
    _, true = said(question, answer)
    assert (told(stage("ask_oe_choice"), true), told(stage("ask_oe_choice", "reference"), true)) == (ours, theirs)


def test_the_scripts_check_no_question_for_its_answer():
    fact = choice("应首选的药物是", "缩宫素", context="产妇出血，已用缩宫素。")
    true = kept(stage("state_choice").map(fact, {}))
    assert told(stage("ask_oe_choice"), true) == "leaks_answer"
    assert told(stage("ask_oe_choice", "reference"), true) == "应首选的药物是什么？"


# --- evidence and people


def test_the_scripts_search_with_context_and_statement():
    ours, theirs = (recipe(variant).steps["evidence"].query for variant in ("", "reference"))
    assert ours == ("question", "answer")
    assert theirs == ("context", "answer")


def test_the_scripts_prefer_the_later_of_two_equal_paragraphs(tmp_path):
    best = []
    for variant in ("", "reference"):
        retriever = registry.create_from_spec("retriever", recipe(variant).retriever)
        equal = "产后出血应首选缩宫素。"
        retriever.index([equal, "母乳喂养。", equal, "早产。", "黄疸。"], tmp_path)
        best.append(retriever.search("缩宫素")[0][0])
    assert best == [0, 2]


def test_the_scripts_do_not_ask_whether_the_wrong_answer_is_wrong():
    ours, theirs = (list(recipe(variant).annotation.questions_about()) for variant in ("", "reference"))
    assert [name for name in ours if name not in theirs] == ["wrong_is_wrong"]
    assert len(theirs) == 5
