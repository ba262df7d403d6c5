"""The scorer `exact`: options by key or in words, and answers word by word, in several scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rated_world import answer, item

from benchbuilder.core.context import StepContext
from benchbuilder.core.records.outcomes import NotApplicable
from benchbuilder.core.records.payloads import Choice, Item, Option
from benchbuilder.evaluation.scorers.base import AspectScore
from benchbuilder.evaluation.scorers.exact import ExactScorer, ExactSpec

CONTEXT = StepContext(seed=1, language="en", step="exact.jia", cache=Path("none"), workplace=Path("none"))
ENGLISH = (r"(?i)\b(?:the )?(?:final |correct |best |right )?(?:answer|option|choice)\b(?: is|:| would be)*:?\s*",)
CHINESE = ("(?:正确|最终)?答案(?:应?[是为选])?[:：]?", "(?:应|故|因此)?选择?[:：]?(?=[A-E])")
ZULU = (r"(?i)\bimpendulo(?: elungile)?(?: ingu| yi|:)*\s*",)


def scorer(*announced: str, **changes: Any) -> ExactScorer:
    given = {"kind": "exact", "announced": announced or ENGLISH, "ignore": ".。,，!！'\"“”", "drop": ()}
    spec = {**given, "also_words": ("A", "I"), **changes}
    return ExactScorer(ExactSpec(**spec), CONTEXT)


def choice(key: str, *texts: str) -> Item[Any]:
    options = tuple(Option(key=name, text=text) for name, text in zip("ABCDEFGHI", texts, strict=False))
    right = next((option.text for option in options if option.key == key), texts[0])
    payload = Choice(question="Which planet is second?", options=options, answer_key=key, answer=right)
    base = item(1)
    return Item[Any].build(
        payload=payload, candidate="c", fact="f", reviewed=True, origin=base.origin, produced_by=base.produced_by,
        language="en", partition="p",
    )  # fmt: skip


def mark(found: ExactScorer, text: str, one: Item[Any]) -> AspectScore:
    (marks,) = found.score([(answer(one, text), one)])
    assert isinstance(marks, tuple)
    return marks[0]


PLANETS = choice("B", "Mars", "Venus", "Earth", "Venus and Mars")


@pytest.mark.parametrize(
    "text",
    ["B", "b", "(B)", "B.", "**B**", "B. Venus", "B) Venus", "B Venus", "Venus", "venus.", "Answer: B",
     "Answer: (B) Venus",
     "The correct answer is B.", "The answer is Venus", "The answer is Venus, of course.", "Answer:\n\nB",
     "Based on the evidence, it is B", "A planet near the sun, so B", "Mars is A. Earth is C. The answer is B.",
     "Answer: A. No, wait. Answer: B", "<think>A? C?</think>B", "\\boxed{B}", "Ｂ", "B. Venus\nIt is the second.",
     "The option is B, not a planet far away", "I think\nB", "B.\n\nBecause A baby could see it."],
)  # fmt: skip
def test_the_right_option(text):
    assert mark(scorer(), text, PLANETS).label == "right", text


@pytest.mark.parametrize(
    "text", ["A", "Answer: C", "Mars", "D. Venus and Mars", "The answer is Venus and Mars.", "(A) Mars"]
)
def test_another_option(text):
    assert mark(scorer(), text, PLANETS) == AspectScore("accuracy", 0.0, "wrong", mark(scorer(), text, PLANETS).detail)


@pytest.mark.parametrize(
    "text",
    ["A or B", "A and B", "Answer: A or B", "BC", "B. Mars", "A. Mars\nB. Venus\nC. Earth", "A planet.",
     "I do not know.",
     "Bees fly.", "E", "Option X", "It could be any of them", "The answer is unknown.", "<think>B", "B's moon",
     "A, B, C",
     "A. Mars\nB. Venus\n\nB", "Vitamin B is good for A baby", "Mars or Venus", "The answer is Mars or Earth."],
)  # fmt: skip
def test_no_option_is_guessed(text):
    found = mark(scorer(), text, PLANETS)
    assert (found.value, found.label) == (None, "invalid"), (text, found)


def test_several_right_options_must_all_be_chosen():
    several = choice("AC", "folate", "iodine", "iron")
    found = {
        text: mark(scorer(*CHINESE), text, several).label
        for text in ("AC", "A、C", "答案：A,C", "C A", "A", "ABC", "AB")
    }
    assert found == {"AC": "right", "A、C": "right", "答案：A,C": "right", "C A": "right", "A": "wrong", "ABC": "wrong",
                     "AB": "wrong"}  # fmt: skip


@pytest.mark.parametrize(
    ("announced", "texts"),
    [
        (CHINESE, ["答案：B", "答案是B。", "正确答案为（B）", "故选B", "综上，应选择B", "答案：Venus"]),
        (ZULU, ["Impendulo: B", "Impendulo elungile ingu B.", "impendulo yi Venus", "B. Venus"]),
    ],
)
def test_announcements_are_data(announced, texts):
    assert {mark(scorer(*announced), text, PLANETS).label for text in texts} == {"right"}


def test_keys_and_texts_of_other_scripts():
    options = tuple(Option(key=key, text=text) for key, text in (("أ", "المريخ"), ("ب", "الزهرة")))
    one = choice("A", "x").model_copy(
        update={"payload": Choice(question="?", options=options, answer_key="ب", answer="الزهرة")}
    )
    arabic = scorer("الإجابة(?: هي)?[:：]?")
    assert [mark(arabic, text, one).label for text in ("ب", "الإجابة: ب", "الزهرة", "الإجابة هي أ", "لا أعرف")] == [
        "right", "right", "right", "wrong", "invalid"
    ]  # fmt: skip


def test_written_answers_are_compared_in_one_form():
    one = item(1)
    right = one.payload.answer
    found = scorer(*CHINESE, aspect="exact_match", drop=("^约",))
    texts = (right, f" {right.rstrip('。')} ", f"答案：{right}", f"约{right}", f"**{right}**", f"{right}吗", "甲")
    assert [mark(found, text, one).value for text in texts] == [1, 1, 1, 1, 1, 0, 0]
    assert mark(found, right, one).aspect == "exact_match"
    assert mark(found, "<think>甲", one).label == "invalid"


def test_what_is_no_attempt_or_has_no_answer():
    found = scorer()
    assert mark(found, " ", PLANETS) == AspectScore("accuracy", None, "empty")
    for outcome in ("refused", "filtered", "missing"):
        one = answer(PLANETS, "B").model_copy(update={"outcome": outcome})
        assert found.score([(one, PLANETS)]) == [(AspectScore("accuracy", None, outcome),)]
    nobody = choice("Z", "Mars")
    assert found.score([(answer(nobody, "A"), nobody)]) == [NotApplicable("no_answer")]
