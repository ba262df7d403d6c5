"""Replies as models write them: claims in other words, hedges, echoes, lists, and ends that a limit cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.evaluation.parsing.verdicts import YesNoQuestion, verdict_reader

TABLES = Path(__file__).parents[3] / "recipes" / "verdicts"
READ = [TABLES / "zh.yaml", TABLES / "en.yaml"]
QUESTIONS = {
    "asked": YesNoQuestion(
        "Is metformin the first drug for type 2 diabetes?",
        "Metformin is the first drug for type 2 diabetes.", "Insulin is the first drug for type 2 diabetes.",
    ),
    "unknown": YesNoQuestion("A man has anaemia. Is it true that the best test for this patient is serum ferritin?"),
    "denied": YesNoQuestion(
        "Is it true that folic acid does not prevent spina bifida?",
        "Folic acid does not prevent spina bifida.", "Folic acid prevents spina bifida.",
    ),
    "declared": YesNoQuestion("The causes of scurvy include a lack of vitamin C: true or false?"),
    "coffee": YesNoQuestion("孕妇可以喝咖啡吗？", "孕妇可以喝咖啡。", "孕妇不可以喝咖啡。"),
    "teeth": YesNoQuestion("新生儿出生时有牙齿吗？", "新生儿出生时有牙齿。", "新生儿出生时没有牙齿。"),
    "declared_zh": YesNoQuestion("判断下列说法是否正确：母乳喂养不能降低过敏风险。"),
}  # fmt: skip
WHOLE = [
    ("asked", "yes", "Yes. It can be triggered by infection."),
    ("asked", "yes", "Metformin is indeed the first drug for type 2 diabetes."),
    ("asked", "yes", "Metformin (a biguanide) is actually a first drug for type 2 diabetes. However, others exist."),
    ("asked", "no", "Metformin isn't the first drug for type 2 diabetes, but rather insulin."),
    ("asked", "no", "No, I would not say that metformin is the first drug for type 2 diabetes."),
    ("asked", "no", "I'm afraid I do not agree."),
    ("asked", "", "Metformin is not the only first drug for type 2 diabetes."),
    ("asked", "", "Metformin is not always the first drug for type 2 diabetes."),
    ("asked", "", "Metformin is the first drug for type 2 diabetes in adults only."),
    ("asked", "", "Insulin is not the first drug for type 2 diabetes."),
    ("asked", "", "It may well be."),
    ("asked", "", "That could be true in some cases."),
    ("unknown", "yes", "The best test for a 60-year-old man with anemia is serum ferritin."),
    ("unknown", "no", "The best test for this patient is not serum ferritin."),
    ("unknown", "", "The best test that is not invasive for this patient is serum ferritin."),
    ("denied", "no", "Folic acid does prevent spina bifida."),
    ("denied", "yes", "Folic acid doesn't prevent spina bifida."),
    ("declared", "no", "False. The causes of scurvy include a lack of vitamin C, which is a nutrient."),
    ("declared", "yes", "The causes of scurvy include a lack of vitamin C: true."),
    ("declared", "yes", "The causes of scurvy include a lack of vitamin C, which is a nutrient."),
    ("declared", "", "True. The causes of scurvy do not include a lack of vitamin C."),
    ("declared", "yes", "True. There are some myths:\n\n1. False: Scurvy can be ignored."),
    ("declared", "", "1. True: it is one cause.\n2. False: there are more."),
    ("coffee", "no", "孕妇并不可以喝咖啡。"),
    ("coffee", "yes", "孕妇（尤其是孕晚期）其实可以喝咖啡，但要适量。"),
    ("coffee", "", "孕妇不是不可以喝咖啡。"),
    ("coffee", "", "孕妇不一定可以喝咖啡。"),
    ("coffee", "no", "没有。孕妇可以喝咖啡。"),
    ("teeth", "no", "没有。新生儿出生时有牙齿。"),
    ("teeth", "no", "没有的，新生儿出生时没有牙齿。"),
    ("teeth", "", "没有证据。"),
    ("declared_zh", "no", "错误。母乳喂养不能降低过敏风险。"),
    ("declared_zh", "", "正确。母乳喂养能降低过敏风险。"),
]
CUT = [
    ("declared", "no", "No. The causes of scurvy include a lack of vitamin C. However, there are"),
    ("declared", "no", "False. Scurvy has many causes. It is true"),
    ("asked", "", "Metformin is the first drug for type 2 diabetes, this statem"),
    ("asked", "", "Metformin is the first drug for type 2 diabetes, but this is not"),
    ("asked", "", "Metformin is the first drug for type 2 diabetes"),
    ("asked", "yes", "Metformin is the first drug for type 2 diabetes, a chronic"),
    ("asked", "yes", "Yes"),
    ("coffee", "", "孕妇可以喝咖啡，这种说"),
    ("coffee", "yes", "是的，因为咖啡"),
    ("coffee", "no", "不"),
]


@pytest.mark.parametrize(("question", "wanted", "reply"), WHOLE)
def test_whole_replies(question, wanted, reply):
    assert verdict_reader(READ).read(reply, QUESTIONS[question]).verdict == wanted


@pytest.mark.parametrize(("question", "wanted", "reply"), CUT)
def test_the_end_of_a_reply_that_was_cut_does_not_count(question, wanted, reply):
    assert verdict_reader(READ).read(reply, QUESTIONS[question], is_cut=True).verdict == wanted


def test_without_knowing_that_it_was_cut_an_open_remark_takes_back_nothing():
    assert verdict_reader(READ).read("No. Scurvy is rare. However, there are", QUESTIONS["declared"]).verdict == "no"


def test_claims_that_differ_only_in_removed_words_are_not_restated():
    question = YesNoQuestion("Is pain usually mild?", "Pain is usually mild after birth.", "Pain is mild after birth.")
    assert verdict_reader(READ).read("The pain is generally mild after birth.", question).verdict == ""
