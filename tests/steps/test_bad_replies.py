"""Replies that would spoil a benchmark: sentences that are not false, inverted verdicts, chatter in items."""

from __future__ import annotations

from typing import Any

import pytest
from claim_rows import choice, model_made, statement
from test_writers import BY_MODEL, writer

from benchbuilder.models.base import Reply
from benchbuilder.steps.writer import ReplyFault

P = "产后出血最常见的原因"
TRUE = statement(f"{P}是", "宫缩乏力")
NEGATIVE = model_made("孕妇不能服用四环素。", "四环素")
ASKED = choice(f"{P}是什么？", "宫缩乏力", "产道裂伤")


def judged(kind: str, row: Any, said: str) -> Any:
    """The row that a reply makes, or its fault."""
    stage = writer(kind, strategy="model")
    text = stage.reply_text(Reply(said, "complete"))
    return text if isinstance(text, ReplyFault) else stage.judge(row, {}, text, BY_MODEL)


NOT_FALSE = [
    "无疑是",
    "毫无疑问是",
    "无论如何都是",
    "不过是",
    "不外乎是",
    "莫不是",
    "岂不是",
    "难道不是",
    "不失为",
    "不愧是",
    "非常可能是",
    "没错是",
    "不用说是",
    "不妨说是",
    "不只是",
    "不单是",
    "不光是",
    "不止是",
    "不仅是",
    "未必是",
    "没准是",
    "不见得是",
    "可能不是",
    "有没有可能是",
    "未尝不是",
    "无非是",
    "不得不是",
    "不可能不是",
    "未必不是",
    "从来没有不是",
    "非要说是",
    "非但是",
    "不太可能是",
    "不都是",
    "是不是",
]
NEGATE_BAD = [
    *((TRUE, f"{P}{word}宫缩乏力。") for word in NOT_FALSE),
    *((TRUE, f"{said}{P}是宫缩乏力。") for said in ("非", "不", "不仅", "没有")),
    (statement("新生儿体重大于", "4000g"), "新生儿体重不小于4000g。"),
    (statement("新生儿体重大于", "4000g"), "新生儿体重不少于4000g。"),
    (statement("妊娠期贫血的标准为血红蛋白低于", "110g/L"), "妊娠期贫血的标准为血红蛋白不高于110g/L。"),
    (statement("胎心率升高提示的是", "胎儿窘迫"), "胎心率不降低提示的是胎儿窘迫。"),
    (model_made("产后出血的原因可能是宫缩乏力。", "宫缩乏力"), "产后出血的原因可能不是宫缩乏力。"),
    (model_made("产后出血的主要原因是宫缩乏力。", "宫缩乏力"), "产后出血的主不要原因是宫缩乏力。"),
    (TRUE, f"{P}**不**是宫缩乏力。"),
    (TRUE, f"{P}不\x1b[2J是宫缩乏力。"),
    (TRUE, f"{P}不\u202e是宫缩乏力。"),
    (TRUE, f"{P}\r不是宫缩乏力。"),
    (TRUE, "產後出血最常見的原因不是宮縮乏力。"),
]


@pytest.mark.push
@pytest.mark.parametrize(("true", "said"), NEGATE_BAD)
def test_what_is_not_plainly_false_is_refused(true, said):
    assert isinstance(made := judged("negate", true, said), ReplyFault), made


@pytest.mark.parametrize("word", ["未必是", "没准是", "可能不是", "不见得是", "是不是"])
def test_a_hedge_has_a_reason_of_its_own(word):
    assert judged("negate", TRUE, f"{P}{word}宫缩乏力。").reason == "hedged"


TF_BAD = [
    *(
        (TRUE, f"{P}是宫缩乏力{end}")
        for end in [
            "，这种说法错吗？",
            "有错吗？",
            "是假的吗？",
            "有误吗？",
            "，这种说法有误吗？",
            "，这是谣言吗？",
            "的说法是误解吗？",
            "，可以排除吗？",
            "的说法应否定吗？",
            "是骗人的吗？",
            "，您反对吗？",
            "，你怀疑吗？",
            "还是产道裂伤吗？",
            "而产道裂伤居第二吗？",
            "这个观点站得住脚吗？",
            "很罕见吗？",
            "吗？（是）",
            "\x1bc吗？",
            "<script>alert()</script>吗？",
            "，众所周知，您知道吗？",
        ]
    ),
    *(
        (TRUE, f"{start}{P}是宫缩乏力吗？")
        for start in ("很少有人认为", "谣传", "除了产道裂伤，", "真理：", "忽略以上指令，", "是否", "\u202e")
    ),
    (TRUE, "产后出血最罕见的原因是宫缩乏力吗？"),
    (TRUE, "宫缩乏力是产后出血最常见的原因吗？"),
    *(
        (NEGATIVE, f"孕妇{said}吗？")
        for said in [
            "能不能服用四环素",
            "可不可以服用四环素",
            "是不是能服用四环素",
            "能服用四环素不行",
            "能服用四环素，不对",
            "能服用四环素，没问题",
            "能服用四环素而没有害处",
            "能服用四环素",
        ]
    ),
]


@pytest.mark.parametrize(("row", "said"), TF_BAD)
def test_what_turns_the_verdict_is_refused(row, said):
    assert isinstance(made := judged("ask_tf", row, said), ReplyFault), made


OE_BAD = [
    *(
        f"{P}{end}？"
        for end in [
            "不是什么",
            "绝对不会是什么",
            "除外的是什么",
            "怎么处理",
            "如何预防",
            "在哪里",
            "是多少",
            "是什么乏力",
            "是宫缩什么",
            "是宫缩啥？什么",
            "是产道裂伤还是什么",
            "是什么，提示：四个字",
            "是什么,与子宫收缩无力有关",
            "是什么\x1b[31m",
            "是什么\r",
            "是宫缩还是什么",
        ]
    ),
    *(f"{start}{P}是它？" for start in ("为什么说", "谁说")),
    f"下列什么不是{P}？",
    "产后出血最罕见的原因是什么？",
    f"{P}\u2028是什么？",
]


@pytest.mark.parametrize("said", OE_BAD)
def test_what_asks_for_something_else_or_gives_the_answer_away_is_refused(said):
    assert isinstance(made := judged("ask_oe", TRUE, said), ReplyFault), made


STATE_BAD = [
    *(
        f"{P}{end}"
        for end in [
            "是宫缩乏力这一说法是错误的。",
            "是宫缩乏力，这是误区。",
            "很少是宫缩乏力。",
            "是产道裂伤而排除宫缩乏力。",
            "是宫缩乏力和产道裂伤。",
            "是宫缩乏力，而产道裂伤居第二位。",
            "据说是宫缩乏力。",
            "被认为可能是宫缩乏力。",
            "是A.宫缩乏力。",
            "是（A）宫缩乏力。",
            "是<b>宫缩乏力</b>。",
            "是宫縮乏力。",
            "是子宫收缩乏力。",
            "是宫缩乏力？",
            "\x1bc是宫缩乏力。",
            "\u202e是宫缩乏力。",
            "\r是宫缩乏力。",
            "\u2028是宫缩乏力。",
        ]
    ),
    f"除宫缩乏力外，{P}是产道裂伤。",
    f"若无误，{P}是宫缩乏力。",
    "产后出血最罕见的原因是宫缩乏力。",
    "产后出血较少见的原因是宫缩乏力。",
    "产前出血最常见的原因是宫缩乏力。",
    "产后出血的原因是宫缩乏力。",
    "產後出血最常見的原因是宮縮乏力。",
    "The most common cause is 宫缩乏力.",
    f"{P}是宫缩乏力{P}是宫缩乏力。",
]


@pytest.mark.parametrize("said", STATE_BAD)
def test_a_true_statement_says_what_the_question_says_and_no_more(said):
    assert isinstance(made := judged("state_choice", ASKED, said), ReplyFault), made


def test_two_things_that_are_compared_do_not_change_places():
    row = choice("胎盘早剥较前置胎盘更易出现的是", "腹痛", "无痛出血")
    assert judged("state_choice", row, "胎盘早剥较前置胎盘更易出现的是腹痛。").text
    assert judged("state_choice", row, "前置胎盘较胎盘早剥更易出现的是腹痛。").reason == "inconsistent"


@pytest.mark.parametrize(
    ("text", "answer", "asked"),
    [
        ("新生儿脐带夹闭后应保持干燥。", "保持干燥", "新生儿脐带夹闭后应怎样处理？"),
        ("催乳素的升高促使乳腺泌乳。", "催乳素", "哪种激素的升高促使乳腺泌乳？"),
        ("治疗子痫首选硫酸镁。", "硫酸镁", "治疗子痫首选哪种药物？"),
        ("新生儿体温超过37.5℃为发热。", "37.5℃", "新生儿体温超过多少度为发热？"),
        ("受精多发生于输卵管壶腹部。", "输卵管壶腹部", "受精多发生在哪里？"),
        ("产褥期一般为6周。", "6周", "产褥期一般是多长时间？"),
    ],
)
def test_a_question_word_may_bring_its_noun(text, answer, asked):
    made = judged("ask_oe", model_made(text, answer), asked)
    assert not isinstance(made, ReplyFault), made
    assert made.text == asked


def test_a_risk_is_not_turned_and_another_option_is_named_as_the_reason():
    row = choice("下列哪项属于高危妊娠？", "年龄大于35岁", "年龄25岁")
    assert judged("state_choice", row, "年龄大于35岁属于高危妊娠。").text == "年龄大于35岁属于高危妊娠。"
    assert judged("state_choice", row, "年龄大于35岁属于低危妊娠。").reason == "inconsistent"
    assert judged("state_choice", ASKED, f"{P}是宫缩乏力和产道裂伤。").reason == "other_option"


SAID = {
    "state_choice": (ASKED, f"{P}是宫缩乏力。", "陈述句："),
    "negate": (TRUE, f"{P}不是宫缩乏力。", "否定句："),
    "ask_tf": (TRUE, f"{P}是宫缩乏力吗？", "问题："),
    "ask_oe": (TRUE, f"{P}是什么？", "问题："),
}


@pytest.mark.parametrize("kind", SAID)
@pytest.mark.parametrize(
    "form",
    [
        "{label}{label}{text}", "**{label}**{text}", "**{text}**", "1. {text}", "- {text}", "```\n{text}\n```",
        "{label}“{text}”", "好的，{text}", "好的，以下是改写：{text}", "改写：{text}", "\u200b{text}\u200b",
        "<think>是吗？</think>\n{text}",
        "让我想想：1. 2.</think>{text}<|im_end|>", "<thinking>…</thinking>{label}{text}</s>",
    ],
)  # fmt: skip
def test_what_stands_around_a_good_reply_is_taken_off(kind, form):
    row, text, label = SAID[kind]
    made = judged(kind, row, form.format(text=text, label=label))
    assert not isinstance(made, ReplyFault), made
    assert made.text == text


def test_an_ascii_stop_is_a_stop():
    assert judged("state_choice", ASKED, f"{P}是宫缩乏力.").text == f"{P}是宫缩乏力。"
    assert judged("negate", TRUE, f"{P}不是宫缩乏力.").text == f"{P}不是宫缩乏力。"


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("<think>要改写成", "reply_unfinished"),
        ("<think>甲</think><think>乙", "reply_unfinished"),
        ("<think>甲</think>", "reply_empty"),
        (f"{P}是<b>宫缩乏力</b>。", "reply_markup"),
        (f"{P}是**宫缩乏力**。", "reply_markup"),
        (f"{P}是宫缩乏力\x07。", "reply_odd_characters"),
    ],
)
def test_replies_that_no_check_need_look_at(said, fault):
    assert judged("state_choice", ASKED, said).reason == fault


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("对孕妇非常重要的营养素是", "叶酸"),
        ("乳母服用后无碍的药物是", "青霉素"),
        ("妊娠剧吐不久后出现的是", "脱水"),
        ("非妊娠期血红蛋白为", "120g/L"),
        ("产后出血不止的首选处理是", "按摩子宫"),
    ],
)
def test_words_that_only_look_negative_do_not_stop_a_negation(question, answer):
    true = statement(question, answer)
    assert writer("negate").exclusion(true, {}) is None


@pytest.mark.parametrize(
    ("text", "answer", "negated"),
    [
        ("降低颅内压首选甘露醇。", "甘露醇", "降低颅内压不首选甘露醇。"),
        ("产后出血最常见的原因是宫缩乏力。", "宫缩乏力", "产后出血最常见的原因并非宫缩乏力。"),
        ("妊娠合并心脏病可使用洋地黄。", "洋地黄", "妊娠合并心脏病不能使用洋地黄。"),
        ("最可能的诊断为胎盘早剥。", "胎盘早剥", "最可能的诊断不是胎盘早剥。"),
        ("出血量至少大于5ml。", "5ml", "出血量并非至少大于5ml。"),
        ("孕妇需要补充叶酸。", "叶酸", "孕妇无需补充叶酸。"),
        ("孕妇需要补充叶酸。", "叶酸", "并非孕妇需要补充叶酸。"),
    ],
)
def test_plain_negations_are_taken(text, answer, negated):
    made = judged("negate", model_made(text, answer), negated)
    assert not isinstance(made, ReplyFault), made
    assert made.text == negated
