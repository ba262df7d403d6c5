"""Altered answers: what is taken of a model; generated answers; the question about a dialogue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from benchbuilder.core.context import StepContext
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped
from benchbuilder.core.records.payloads import Fact
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.models.base import Reply
from benchbuilder.steps.writer import ReplyFault
from benchbuilder.testing import check_step

import benchbuilder_cmhe
from benchbuilder_cmhe.hd.answer_dialogue import AnswerDialogue, AnswerDialogueSpec
from benchbuilder_cmhe.hd.check_dialogue import CheckDialogue, CheckDialogueSpec
from benchbuilder_cmhe.hd.dialogue import AnswerChange, Dialogue
from benchbuilder_cmhe.hd.tamper import Tamper, TamperSpec

ROOT = Path(benchbuilder_cmhe.__file__).parent
MADE = ProducedBy(rule="test")


def dialogue(answer: str, question: str = "怎么办？", **more: Any) -> Any:
    return Fact[Dialogue].build(
        payload=Dialogue(question=question, answer=answer, **more), origin=Origin(file="a.csv", line=2),
        produced_by=MADE, language="zh", partition="pairs",
    )  # fmt: skip


def step(folder: Path, **changes: Any) -> Tamper:
    variant = yaml.safe_load((ROOT / "recipes" / "variant" / "cmhe" / "reference.yaml").read_text("utf-8"))
    prompt = {"path": "zh/cmhe_hd_tamper.j2", "resolved_path": str(ROOT / "prompts" / "zh" / "cmhe_hd_tamper.j2")}
    given = {**variant["steps"]["hd_altered"], "prompt": prompt, **changes}
    context = StepContext(seed=3, language="zh", step="hd_altered", cache=folder, workplace=folder)
    opened_step = Tamper(TamperSpec.model_validate(given), context)
    opened_step.open({})
    return opened_step


def test_without_a_model_nothing_is_tampered_with(tmp_path: Path) -> None:
    opened_step = step(tmp_path, strategy="rules_then_model")
    spec, context, rows = opened_step.spec, opened_step.context, [dialogue("不要饮酒。")]
    assert list(opened_step.map(rows[0], {})) == [Dropped("needs_model", "")]
    assert not check_step(lambda: Tamper(spec, context), {"each": Table.of(rows, Fact[Dialogue])}).rows


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


def check(folder: Path, rows: list[Any], **given: Any) -> list[Any]:
    context = StepContext(seed=3, language="zh", step="hd_checked", cache=folder, workplace=folder)
    spec = CheckDialogueSpec.model_validate({"kind": "check_dialogue", "from": "x", **given})
    shard = check_step(lambda: CheckDialogue(spec, context), {"each": Table.of(rows, Fact[Dialogue])})
    return list(shard.rows)


def test_contract_of_the_question_about_a_dialogue(tmp_path: Path) -> None:
    rows = [dialogue("不要饮酒。"), dialogue("每天三次。")]
    made = check(tmp_path, rows, expected="yes", partition="tampered")
    assert [(row.partition, row.payload.expected, row.fact, row.family) for row in made] == [
        ("tampered", "yes", row.id, row.id) for row in rows
    ]


def test_what_was_changed_is_untrue_and_what_was_not_is_not(tmp_path: Path) -> None:
    change = AnswerChange(rule="advice", before="不要", after="可以")
    rows = [dialogue("不要饮酒。", partner="z"), dialogue("可以饮酒。", partner="z", changes=(change,))]
    made = check(tmp_path, rows, expected="as_changed", partition="tampered", unchanged="correct")
    assert [(row.partition, row.payload.expected, row.payload.partner) for row in made] == [
        ("correct", "no", "z"), ("tampered", "yes", "z"),
    ]  # fmt: skip
    assert [row.family for row in made] == [f"{row.id}+z" for row in rows]


def test_both_partitions_are_named_or_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unchanged"):
        check(tmp_path, [], expected="as_changed", partition="tampered")
    with pytest.raises(ValueError, match="unchanged"):
        check(tmp_path, [], expected="yes", partition="tampered", unchanged="correct")
