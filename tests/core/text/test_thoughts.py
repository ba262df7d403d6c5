"""The reasoning that a reply begins with is left out, in every form; a mark inside the answer is text."""

from __future__ import annotations

import time

import pytest

from benchbuilder.core import split_reasoning, strip_reasoning

THOUGHTS, ANSWER = "不是甲吗？应该是乙。等等，yes, no.", "是乙。"
FORMS = {
    "think": f"<think>{THOUGHTS}</think>{ANSWER}",
    "thinking": f" \n<thinking>\n{THOUGHTS}\n</thinking>\n\n{ANSWER}</s>",
    "nested": f"<think>a<think>b</think>{THOUGHTS}</think>{ANSWER}",
    "one too many": f"<think>a<think>{THOUGHTS}</think>{ANSWER}",
    "twice": f"<think>a</think>\n<think>{THOUGHTS}</think>{ANSWER}",
    "closing mark alone": f"{THOUGHTS}</think>{ANSWER}",
    "Magistral": f"[THINK]{THOUGHTS}[/THINK]{ANSWER}",
    "Kimi": f"◁think▷{THOUGHTS}◁/think▷{ANSWER}",
    "Seed": f"<seed:think>{THOUGHTS}</seed:think>{ANSWER}",
    "thought words": (
        f"<|begin_of_thought|>{THOUGHTS}<|end_of_thought|>\n<|begin_of_solution|>{ANSWER}<|end_of_solution|>"
    ),
    "Gemma": f"<|channel>thought\n{THOUGHTS}<channel|>{ANSWER}",
    "Command": f"<|START_THINKING|>{THOUGHTS}<|END_THINKING|><|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>",
    "answer in tags": f"<think>{THOUGHTS}</think><answer>\n{ANSWER}\n</answer>",
    "Harmony": (
        f"<|channel|>analysis<|message|>{THOUGHTS}<|end|><|start|>assistant"
        f"<|channel|>final<|message|>{ANSWER}<|return|>"
    ),
    "Harmony with a call": (
        f"<|start|>assistant<|channel|>analysis<|message|>{THOUGHTS}<|end|><|start|>assistant<|channel|>commentary "
        f"<|constrain|>json<|message|>{{}}<|call|><|channel|>final <|constrain|>text<|message|>{ANSWER}<|return|>"
    ),
    "Harmony without marks": f"analysis{THOUGHTS}assistantfinal{ANSWER}",
    "Granite": f"Here is my thought process: {THOUGHTS} Here is my response: {ANSWER}",
    "Apriel": f"Here are my reasoning steps:\n{THOUGHTS}\n[BEGIN FINAL RESPONSE]{ANSWER}",
}  # fmt: skip
UNFINISHED = [
    "<think>",
    f"<think>{THOUGHTS}",
    f"<think>a</think><think>{THOUGHTS}",
    f"[THINK]{THOUGHTS}",
    f"<|channel|>analysis<|message|>{THOUGHTS}<|end|>",
    "analysisWe must decide.",
    f"Here's my thought process: {THOUGHTS}",
]
TEXT = [
    ANSWER,
    "A <think> begins thoughts.",
    "Models write <think>a</think> before they answer.",
    "It ends in `</think>`.",
    "最后是“</think>”。",
    "analysis of the milk shows lactose",
    "Analysis: yes",
    "analysis",
    "Here is my response: yes.",
    "The assistantfinal is a word.",
    "[BEGIN FINAL RESPONSE] yes",
]


@pytest.mark.parametrize("form", FORMS)
def test_the_answer_follows_the_thoughts(form):
    thoughts, answer = split_reasoning(FORMS[form])
    assert answer == ANSWER
    assert THOUGHTS in thoughts
    assert strip_reasoning(answer) == ANSWER


@pytest.mark.parametrize("text", UNFINISHED)
def test_thoughts_without_an_end_have_no_answer(text):
    assert split_reasoning(text) == (text, None)


@pytest.mark.parametrize("text", TEXT)
@pytest.mark.parametrize("thoughts", ["", "<think>嗯</think>", "◁think▷嗯◁/think▷"])
def test_a_mark_inside_the_answer_is_text(text, thoughts):
    assert strip_reasoning(thoughts + text) == text


def test_a_closing_mark_alone_counts_once():
    assert strip_reasoning("嗯</think>The tag </think> ends thoughts.") == "The tag </think> ends thoughts."


@pytest.mark.parametrize(
    "piece",
    ["<think>", "</think>", "<think>a</think>", " ", "analysisx", "analysisAassistantfinal", "<|channel|>final"],
)
def test_a_long_reply_takes_no_time(piece):
    start = time.process_time()
    strip_reasoning(piece * 100_000)
    assert time.process_time() - start < 5
