"""The conversation of every writer with a model: the step yields requests and gets replies."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from claim_rows import MODEL, PROMPTS, REFERENCE, RULES, choice, kept, make, model_made, statement, talk, tokenizer
from sample_rows import SAMPLE, sample_facts

from benchbuilder.core.records.outcomes import Dropped, Kept, NotApplicable
from benchbuilder.core.records.row import ProducedBy
from benchbuilder.core.registry import find_kind
from benchbuilder.models import prompts
from benchbuilder.models.base import Reply, ReplyOutcome
from benchbuilder.steps.writer import MODEL_REASONS, ReplyFault

STEPS = {
    "state_choice": "state_choice",
    "negate": "negate_choice",
    "ask_tf": "ask_tf_choice",
    "ask_oe": "ask_oe_choice",
}
BY_MODEL = ProducedBy(rule="model/zh/x.j2")
STATE_BY_RULE = make("state_choice", RULES["state_choice"])


def writer(kind: str, **spec: Any) -> Any:
    """A writer by the bundled rules, with a model set."""
    more: dict[str, Any] = {"strategy": "rules_then_model"}
    if kind == "negate":
        more["tokenizer"] = tokenizer("jieba")
    more |= {"polarity": "true_only"} if kind == "ask_tf" else {}
    more |= {"joins": None} if kind == "state_choice" else {}  # so that a row is left for the model
    return make(kind, {**RULES[STEPS[kind]], "model": MODEL, **more, **spec})


HOW = choice("新生儿脐带夹闭后应怎样处理", "保持干燥", "涂抹油膏")
HOW_STATED = "新生儿脐带夹闭后应保持干燥。"
CASES = [  # what no rule can do, and a reply that is taken
    ("state_choice", HOW, HOW_STATED),
    ("negate", model_made("新生儿的脐带通常在生后两周内脱落。", "两周内"), "新生儿的脐带通常并不在生后两周内脱落。"),
    ("ask_oe", model_made("新生儿的脐带通常在生后两周内脱落。", "两周内"), "新生儿的脐带通常在生后多久脱落？"),
]


@pytest.mark.parametrize(("kind", "row", "reply"), CASES)
def test_what_no_rule_can_do_is_put_to_the_model(kind, row, reply):
    [outcome], [request] = talk(writer(kind), row, reply)
    assert isinstance(outcome, Kept), outcome
    assert outcome.row.text == reply
    assert outcome.row.produced_by.rule.startswith(f"{kind}/model/zh/")
    assert [message.role for message in request.messages] == ["system", "user"]
    assert "示例" in request.messages[1].content
    assert request.sampling["max_new_tokens"] >= 128
    assert (request.sample, request.schema) == (0, None)


@pytest.mark.parametrize(("kind", "row", "reply"), CASES)
def test_rules_alone_ask_nothing(kind, row, reply):
    [outcome], requests = talk(writer(kind, strategy="rules"), row)
    assert isinstance(outcome, Dropped)
    assert (outcome.reason, requests) == ("needs_model", [])
    assert [outcome] == list(writer(kind, model=None).map(row, {}))


ROWS = {  # what the rules can do, and what a model might say
    "state_choice": (choice("产后出血最常见的原因是", "宫缩乏力", "产道裂伤"), "宫缩乏力是产后出血最常见的原因。"),
    "negate": (statement("产后出血最常见的原因是", "宫缩乏力"), "产后出血最常见的原因并非宫缩乏力。"),
    "ask_tf": (statement("产后出血最常见的原因是", "宫缩乏力"), "产后出血最常见的原因会是宫缩乏力吗？"),
    "ask_oe": (statement("产后出血最常见的原因是", "宫缩乏力"), "产后出血最常见的原因有哪些？"),
}


@pytest.mark.parametrize("kind", STEPS)
def test_the_model_is_asked_only_where_no_rule_can_or_always(kind):
    row, reply = ROWS[kind]
    [by_rule], none = talk(writer(kind), row)
    [by_model], one = talk(writer(kind, strategy="model"), row, reply)
    assert (len(none), len(one)) == (0, 1)
    assert isinstance(by_rule, Kept)
    assert isinstance(by_model, Kept), by_model
    assert by_model.row.text == reply
    assert by_model.row.id != by_rule.row.id


def test_a_reply_that_fails_a_check_is_told_so_and_asked_for_again():
    [outcome], requests = talk(writer("state_choice"), HOW, "应怎样处理？", "脐带要护理好。", HOW_STATED)
    assert isinstance(outcome, Kept)
    assert [request.sample for request in requests] == [0, 1, 2]
    assert [len(request.messages) for request in requests] == [2, 4, 4]
    told = requests[2].messages
    assert told[:2] == requests[0].messages
    assert (told[2].role, told[2].content) == ("assistant", "脐带要护理好。")
    assert "没有原样写出“保持干燥”" in told[3].content


def test_after_the_last_round_the_row_is_dropped_with_reason_and_reply():
    [outcome], requests = talk(writer("state_choice"), HOW, "甲。", "乙。", "丙。")
    assert outcome == Dropped("answer_missing", "保持干燥 | 丙。")
    assert len(requests) == 3
    [outcome], requests = talk(writer("state_choice", repair_rounds=0), HOW, "甲。")
    assert (outcome.reason, len(requests)) == ("answer_missing", 1)


def test_without_a_repair_prompt_the_same_is_asked_under_another_number():
    warm = writer("state_choice", repair=None, sampling={"temperature": 0.7})
    _, requests = talk(warm, HOW, "甲。", HOW_STATED)
    assert requests[0].messages == requests[1].messages
    assert [request.sample for request in requests] == [0, 1]


def test_at_temperature_0_the_same_is_not_asked_twice():
    [outcome], requests = talk(writer("state_choice", repair=None), HOW, "甲。")
    assert (outcome.reason, len(requests)) == ("answer_missing", 1)
    # the repair prompt quotes the last reply: the same reply once more makes the same prompt once more
    [outcome], requests = talk(writer("state_choice"), HOW, "甲。", "甲。")
    assert (outcome.reason, len(requests)) == ("answer_missing", 2)
    # an empty reply may be an accident of the service
    _, requests = talk(writer("state_choice"), HOW, Reply("", "empty"), Reply("", "empty"), HOW_STATED)
    assert len(requests) == 3


@pytest.mark.parametrize("outcome", ["refused", "filtered"])
def test_a_refusal_is_not_argued_with(outcome: ReplyOutcome):
    [row_outcome], requests = talk(writer("state_choice"), HOW, Reply("我不能回答。", outcome))
    assert (row_outcome.reason, len(requests)) == (f"reply_{outcome}", 1)
    assert "我不能回答。" in row_outcome.detail


@pytest.mark.parametrize(("outcome", "text"), [("truncated", "新生儿脐带夹闭后应保持干燥"), ("empty", "")])
def test_a_cut_or_empty_reply_is_asked_for_again(outcome: ReplyOutcome, text: str):
    [row_outcome], requests = talk(writer("state_choice"), HOW, Reply(text, outcome), HOW_STATED)
    assert isinstance(row_outcome, Kept)
    assert len(requests[1].messages) == (4 if text else 2)
    [row_outcome], _ = talk(writer("state_choice"), HOW, *[Reply(text, outcome)] * (2 if text else 3))
    assert row_outcome.reason == f"reply_{outcome}"


@pytest.mark.parametrize("said", ["", "  ", "陈述句：", "陈述句： \n"])
def test_a_reply_of_nothing_but_a_label_is_empty(said):
    [outcome], _ = talk(writer("state_choice", repair_rounds=0), HOW, said)
    assert outcome.reason == "reply_empty"


@pytest.mark.parametrize("said", [f"陈述句：{HOW_STATED}", f"“{HOW_STATED}”", f"**{HOW_STATED}**\n", HOW_STATED[:-1]])
def test_labels_quotes_and_a_missing_stop_do_not_count(said):
    [outcome], _ = talk(writer("state_choice"), HOW, said)
    assert outcome.row.text == HOW_STATED


def test_replies_as_json():
    stage = writer("state_choice", reply="json")
    good = '{"statement": "新生儿脐带夹闭后应保持干燥。"}'
    [outcome], [request] = talk(stage, HOW, f"```json\n{good}\n```")
    assert outcome.row.text == HOW_STATED
    assert request.schema is not None
    assert list(request.schema["properties"]) == ["statement"]
    assert request.expected.startswith('{"statement": ')
    [outcome], requests = talk(stage, HOW, HOW_STATED, good)
    assert isinstance(outcome, Kept)
    assert "JSON" in requests[1].messages[-1].content
    [outcome], _ = talk(stage, HOW, *['{"text": "甲"}'] * 2)
    assert outcome.reason == "reply_malformed"


def test_equal_replies_lead_to_equal_requests_and_fates():
    replies = ("甲。", Reply("", "empty"), HOW_STATED)
    assert talk(writer("state_choice"), HOW, *replies) == talk(writer("state_choice"), HOW, *replies)


def test_a_quote_goes_on_with_a_reply_that_passes():
    conversation = writer("state_choice").converse(HOW, {})
    request = next(conversation)
    with pytest.raises(StopIteration) as end:
        conversation.send(Reply(request.expected, "complete", assumed=True))
    assert isinstance(end.value.value[0], Kept)


def test_what_is_not_to_be_written_about_is_never_asked():
    negative = statement("Auer小体不见于", "淋巴细胞白血病")
    false = statement("最可能的诊断为", "胎盘早剥").model_copy(update={"polarity": "false"})
    leaking = model_made("新生儿的脐带通常在生后两周内脱落。", "两周内").model_copy(update={"context": "两周内，"})
    for kind, row, wanted in (
        ("negate", negative, Dropped("already_negative", negative.text)),
        ("ask_tf", false, NotApplicable("other_polarity")),
        ("ask_oe", false, NotApplicable("false_statement")),
        ("ask_oe", leaking, Dropped("leaks_answer", "两周内，")),
        ("ask_oe", model_made("脐带会脱落。", "两周内"), Dropped("no_answer_span", "脐带会脱落。")),
    ):
        for strategy in ("rules_then_model", "model"):
            assert talk(writer(kind, strategy=strategy), row) == ([wanted], [])


def test_the_question_is_shown_without_what_stands_before_it():
    row = choice("首先应怎样处理", "正压通气", "给氧", context="足月男婴，娩出后无哭声。")
    [_], [request] = talk(writer("state_choice"), row, "首先应正压通气。")
    assert "足月男婴" not in "".join(message.content for message in request.messages)
    asked = statement("首先应采取的措施是", "正压通气", context="足月男婴，娩出后无哭声。")
    [outcome], [request] = talk(writer("ask_tf", strategy="model"), asked, "首先应采取的措施是正压通气吗？")
    assert "背景：足月男婴" in request.messages[1].content
    assert outcome.row.context == asked.context


def test_a_writer_without_pairs_and_system_message_asks_without_examples():
    [outcome], [request] = talk(writer("negate", pairs=None, system=None), CASES[1][1], CASES[1][2])
    assert isinstance(outcome, Kept)
    [message] = request.messages
    assert (message.role, "示例" in message.content) == ("user", False)


@pytest.mark.push
@pytest.mark.parametrize("kind", STEPS)
def test_what_a_quote_expects_passes_the_checks_for_every_row_of_the_sample(kind):
    state, stage = writer("state_choice", strategy="model"), writer(kind)
    count = 0
    for fact in sample_facts():
        stated = state.judge(fact, {}, state.expected_reply(fact, {}), BY_MODEL)
        rows = [fact] if kind == "state_choice" else [stated]
        if kind != "state_choice" and isinstance(made := STATE_BY_RULE.by_rule(fact, {}), Kept):
            rows.append(made.row)
        for row in rows:
            assert not isinstance(row, ReplyFault), (fact.payload.question, row)
            if stage.exclusion(row, {}) is not None:
                continue
            text = stage.expected_reply(row, {})
            made = stage.judge(row, {}, text, BY_MODEL)
            assert not isinstance(made, ReplyFault), (row, text, made)
            count += 1
    assert count > 150


@pytest.mark.parametrize("kind", STEPS)
def test_what_the_rules_make_passes_the_checks_on_models(kind):
    stage = writer(kind)
    count = 0
    for fact in sample_facts():
        stated = STATE_BY_RULE.by_rule(fact, {})
        row = fact if kind == "state_choice" else stated.row if isinstance(stated, Kept) else None
        if row is None or stage.exclusion(row, {}) is not None:
            continue
        made = stage.by_rule(row, {})
        if isinstance(made, Kept):
            judged = stage.judge(row, {}, made.row.text, BY_MODEL)
            assert (judged.text, getattr(judged, "answer", None)) == (made.row.text, getattr(made.row, "answer", None))
            count += 1
    assert count > 100


@pytest.mark.parametrize("kind", STEPS)
def test_every_reason_that_can_be_repaired_has_its_own_sentence(kind):
    cls = find_kind("step", kind).load()
    assert set(cls.faults) < set(cls.reasons)
    repairable = set(cls.faults) | REPAIRABLE
    assert set(MODEL_REASONS) - repairable == {"needs_model", "reply_refused", "reply_filtered"}
    for language in ("zh", "en"):
        prompt = prompts.find_prompt(f"{language}/repair.j2", [PROMPTS])
        told = [prompts.render_prompt(prompt, {"fault": f, "detail": "甲", "reply": "乙"}) for f in sorted(repairable)]
        assert len(set(told)) == len(repairable)
        assert not any(fault in text for fault in repairable for text in told)  # else: names the reason


REPAIRABLE = {
    "reply_truncated",
    "reply_empty",
    "reply_malformed",
    "reply_unfinished",
    "reply_markup",
    "reply_odd_characters",
}
PAIRS = {
    "state_choice": "qa2d",
    "negate": "negate",
    "ask_tf": "ask_tf",
    "ask_oe": "ask_oe",
}


@pytest.mark.parametrize("kind", STEPS)
def test_the_bundled_pairs_pass_the_checks_themselves(kind):
    stage = writer(kind, strategy="model")
    for pair in prompts.read_few_shot_pairs(PROMPTS / "zh" / f"{PAIRS[kind]}.pairs.yaml"):
        if kind == "state_choice":
            row, reply = choice(pair["question"], pair["answer"], "甲"), pair["statement"]
        else:
            row = model_made(pair["statement"], pair.get("answer", pair["statement"][:2]))
            reply = pair["negated"] if kind == "negate" else pair["question"]
        if stage.exclusion(row, {}) is None:
            assert not isinstance(fault := stage.judge(row, {}, reply, BY_MODEL), ReplyFault), (reply, fault)


def test_the_bundled_pairs_are_no_items_of_the_sample():
    sample = "".join(path.read_text("utf-8") for path in SAMPLE.rglob("*") if path.suffix in (".json", ".jsonl"))
    for file in sorted((PROMPTS / "zh").glob("*.pairs.yaml")):
        for pair in yaml.safe_load(file.read_text("utf-8")):
            assert pair.get("question", pair["statement"]).rstrip("？") not in sample
            assert pair["statement"].rstrip("。") not in sample


def test_the_reference_takes_a_models_text_too():
    stage = writer("negate", **REFERENCE["negate_choice"])
    row = model_made("降低颅内压首选甘露醇。", "甘露醇")
    [outcome], _ = talk(stage, row, "降低颅内压不首选甘露醇。")
    assert outcome.row.text == "降低颅内压不首选甘露醇。"
    assert "one_negation_more" not in outcome.row.checks


def test_a_rule_that_negates_badly_is_left_to_the_model():
    stage = writer("negate", seams=[{"end": "是", "negated": "不能不是"}])
    row = statement("产后出血最常见的原因是", "宫缩乏力")
    [outcome], _ = talk(stage, row, "产后出血最常见的原因不是宫缩乏力。")
    assert kept([outcome]).text == "产后出血最常见的原因不是宫缩乏力。"
