"""Altered answers: by tables, numbers and turns, and what is taken of a model."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.payloads import Fact
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.models.base import Reply
from benchbuilder.steps.writer import ReplyFault
from benchbuilder.testing import check_step

import benchbuilder_cmhe
from benchbuilder_cmhe.hd.alterations import (
    NumberRule,
    StatementInversion,
    SwapTable,
    change_numbers,
    invert_statements,
)
from benchbuilder_cmhe.hd.answer_dialogue import AnswerDialogue, AnswerDialogueSpec
from benchbuilder_cmhe.hd.check_dialogue import CheckDialogue, CheckDialogueSpec
from benchbuilder_cmhe.hd.dialogue import Dialogue
from benchbuilder_cmhe.hd.tamper import Tamper, TamperSpec

ROOT = Path(benchbuilder_cmhe.__file__).parent
SAMPLE = ROOT / "recipes" / "recipe" / "cmhe" / "sample" / "hd"
MADE = ProducedBy(rule="test")


def dialogue(answer: str, question: str = "怎么办？") -> Any:
    return Fact[Dialogue].build(
        payload=Dialogue(question=question, answer=answer), origin=Origin(file="a.csv", line=2), produced_by=MADE,
        language="zh", partition="pairs",
    )  # fmt: skip


def step(folder: Path, **changes: Any) -> Tamper:
    flow = yaml.safe_load((ROOT / "recipes" / "flow" / "cmhe_hd.yaml").read_text("utf-8"))["hd_altered"]
    rules = yaml.safe_load((ROOT / "recipes" / "rules" / "cmhe_hd_tamper.yaml").read_text("utf-8"))["hd_altered"]
    for name, file in (("drug", "drugs.tsv"), ("body_part", "body_parts.tsv")):
        rules["swaps"][name]["table"] = str(SAMPLE / file)
    prompt = {"path": "zh/cmhe_hd_tamper.j2", "resolved_path": str(ROOT / "prompts" / "zh" / "cmhe_hd_tamper.j2")}
    given = {**flow, **rules, "prompt": prompt, "tokenizer": {"kind": "whitespace"}, **changes}
    given["swaps"] = {n: {**rule, "whole_words": False} for n, rule in given["swaps"].items()}
    context = StepContext(seed=3, language="zh", step="hd_altered", cache=folder, workplace=folder)
    opened_step = Tamper(TamperSpec.model_validate(given), context)
    opened_step.open({})
    return opened_step


def swaps(folder: Path, text: str = "group\tterm\na\t阿莫西林\na\t阿莫西林克拉维酸\nb\t布洛芬\n") -> SwapTable:
    (folder / "t.tsv").write_text(text, encoding="utf-8")
    return SwapTable(folder / "t.tsv")


def test_a_term_is_swapped_everywhere_for_one_of_another_group(tmp_path: Path) -> None:
    (found,) = swaps(tmp_path).alterations("可服阿莫西林，阿莫西林饭后服。", "", Random(1), None)
    assert (found.text, found.before, found.after) == ("可服布洛芬，布洛芬饭后服。", "阿莫西林", "布洛芬")


def test_the_longest_term_counts_and_what_is_mentioned_is_no_choice(tmp_path: Path) -> None:
    table = swaps(tmp_path)
    (found,) = table.alterations("可服阿莫西林克拉维酸。", "", Random(1), None)
    assert found.before == "阿莫西林克拉维酸"
    assert table.alterations("可服阿莫西林。", "我吃过布洛芬", Random(1), None) == []
    assert [one.before for one in table.alterations("可服布洛芬或阿莫西林。", "", Random(1), None)] == ["布洛芬"]
    assert table.alterations("可服阿莫西林。", "", Random(1), lambda _: {0, 2}) == []  # no whole word


def test_a_term_of_several_groups_is_swapped_for_one_of_none_of_them(tmp_path: Path) -> None:
    table = swaps(tmp_path, "group\tterm\n止痛\t阿司匹林\n止痛\t布洛芬\n抗凝\t阿司匹林\n抗凝\t华法林\n降糖\t胰岛素\n")
    assert {table.alterations("服阿司匹林。", "", Random(n), None)[0].after for n in range(9)} == {"胰岛素"}
    assert {table.alterations("服布洛芬。", "", Random(n), None)[0].after for n in range(9)} == {"华法林", "胰岛素"}


@pytest.mark.parametrize(
    ("text", "why"), [("group\tterm\na\tb\n", "two groups"), ("group\tterm\na\n", "a group and a term")]
)
def test_a_table_that_is_not_whole_is_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(DataError, match=why):
        swaps(tmp_path, text)


def test_numbers_become_others_and_stay_whole() -> None:
    rule = NumberRule(pattern="[0-9.]+毫克", factors=(0.1, 10))
    (found,) = change_numbers("每次5毫克。", rule, Random(1))
    assert (found.before, found.after, found.text) == ("5毫克", "50毫克", "每次50毫克。")
    assert change_numbers("每次很多。", rule, Random(1)) == []
    assert change_numbers("每次0毫克。", rule, Random(1)) == []


def test_statements_are_turned_one_at_a_time() -> None:
    turns = (StatementInversion(find="不可以", put="可以"), StatementInversion(find="(?<!不)可以", put="不可以"))
    found = invert_statements("可以喝水，不可以喝酒。", turns)
    assert sorted(one.text for one in found) == ["不可以喝水，不可以喝酒。", "可以喝水，可以喝酒。"]


@pytest.mark.parametrize(
    ("answer", "altered"),
    [
        ("有利于伤口的愈合。", "不利于伤口的愈合。"),
        ("能够缓解疼痛。", "不能缓解疼痛。"),
        ("建议到医院就诊。", "不要到医院就诊。"),
        ("建议采用中医治疗。", ""),  # to do without is not wrong for sure
        ("口服B1片。", ""),  # the number is part of a name
        ("争取在6―8小时内清创。", ""),  # of a range
        ("约2999。4克。", ""),
    ],
)
def test_what_the_recipe_turns_round_is_a_sentence_still(tmp_path: Path, answer: str, altered: str) -> None:
    (outcome,) = step(tmp_path, strategy="rules").map(dialogue(answer), {})
    assert (outcome.row.payload.answer if isinstance(outcome, Kept) else "") == altered


ANSWERS = (
    "不要饮酒，注意休息。", "可以口服阿莫西林。", "每次5毫克。", "建议及时就医。", "按摩膝关节。", "坚持8周。",
    "会传染。",
)  # fmt: skip


def test_rules_change_one_thing_and_say_what(tmp_path: Path) -> None:
    opened_step = step(tmp_path)
    for answer in ANSWERS:
        row = dialogue(answer)
        (outcome,) = opened_step.map(row, {})
        assert isinstance(outcome, Kept), answer
        said = outcome.row.payload
        (change,) = said.changes
        assert said.answer != answer
        assert said.answer == answer.replace(change.before, change.after), change
        assert outcome.row.produced_by.rule == f"tamper/rules/{change.rule}"
        assert outcome.row.of == row.id
    (outcome,) = opened_step.map(dialogue("祝您早日康复。"), {})
    assert outcome == Dropped("needs_model", "nothing that the tables know stands in the answer")


def test_contract_of_the_step(tmp_path: Path) -> None:
    rows = [dialogue(answer) for answer in (*ANSWERS, "祝您早日康复。")]
    spec, context = step(tmp_path).spec, step(tmp_path).context
    shard = check_step(lambda: Tamper(spec, context), {"each": Table.of(rows, Fact[Dialogue])})
    assert len(shard.rows) == len(ANSWERS)


ANSWER = "急性期应该卧床休息，抬高患肢，多喝水，不要饮酒。"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (ANSWER, "unchanged"),
        ("应该多喝酒。", "length_changed"),
        ("每天早晚各测一次血压，并且把结果都写下来带给医生看。", "form_changed"),
        ("急性期应该剧烈运动，抬高患肢，多喝水，（此处有误）饮酒。", "telltale"),
    ],
)
def test_what_is_not_taken_of_a_model(tmp_path: Path, text: str, reason: str) -> None:
    fault = step(tmp_path).judge(dialogue(ANSWER), {}, text, MADE)
    assert isinstance(fault, ReplyFault)
    assert fault.reason == reason


def test_a_model_alters_under_an_instruction(tmp_path: Path) -> None:
    model = {"kind": "openai", "name": "some", "base_url": "http://127.0.0.1:9/v1"}
    from benchbuilder.models.providers.openai import OpenAISpec

    opened_step = step(tmp_path, strategy="model", model=OpenAISpec.model_validate(model))
    talk = opened_step.converse(dialogue(ANSWER, "痛风发作，要注意什么？"), {})
    request = next(talk)
    assert "痛风发作" in request.messages[-1].content
    assert ANSWER in request.messages[-1].content
    with pytest.raises(StopIteration) as end:
        talk.send(Reply("改写后的回答：急性期应该卧床休息，抬高患肢，多喝水，适量饮酒。", "complete"))
    (outcome,) = end.value.value
    said = outcome.row.payload
    assert said.answer == "急性期应该卧床休息，抬高患肢，多喝水，适量饮酒。"
    assert [change.rule for change in said.changes] == ["model"]
    assert said.changes[0].summary() == "model: 不要 → 适量"


def test_generated_answers_are_the_models_own(tmp_path: Path) -> None:
    prompt = {"path": "zh/cmhe_hd_answer.j2", "resolved_path": str(ROOT / "prompts" / "zh" / "cmhe_hd_answer.j2")}
    spec = AnswerDialogueSpec.model_validate(
        {"kind": "answer_dialogue", "from": "x", "strategy": "rules_then_model", "prompt": prompt, "least": 5}
    )
    context = StepContext(seed=3, language="zh", step="hd_answered", cache=tmp_path, workplace=tmp_path)
    opened_step = AnswerDialogue(spec, context)
    opened_step.open({})
    row = dialogue(ANSWER)
    assert list(opened_step.map(row, {})) == [Dropped("needs_model", "")]
    assert not check_step(lambda: AnswerDialogue(spec, context), {"each": Table.of([row], Fact[Dialogue])}).rows
    made = opened_step.judge(row, {}, "多吃水果就可以。", MADE)
    assert made.payload.answer == "多吃水果就可以。"
    assert opened_step.judge(row, {}, "好。", MADE).reason == "too_short"
    assert opened_step.judge(row, {}, ANSWER, MADE).reason == "not_new"


def test_contract_of_the_question_about_a_dialogue(tmp_path: Path) -> None:
    given = {"kind": "check_dialogue", "from": "x", "expected": "yes", "partition": "tampered"}
    context = StepContext(seed=3, language="zh", step="hd_tampered", cache=tmp_path, workplace=tmp_path)
    rows = [dialogue(answer) for answer in ANSWERS]
    made = check_step(
        lambda: CheckDialogue(CheckDialogueSpec.model_validate(given), context),
        {"each": Table.of(rows, Fact[Dialogue])},
    )
    assert {(row.partition, row.payload.expected, row.fact) for row in made.rows} == {
        ("tampered", "yes", row.id) for row in rows
    }
