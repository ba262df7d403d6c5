"""Where wrong answers come from, and what bars one."""

from __future__ import annotations

from typing import Any

import pytest
from claim_rows import MODEL, talk
from preparation_rows import page
from pydantic import ValidationError
from question_rows import question, wrong_rules, wrong_step

from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.steps.wrong_answers import WrongAnswers

INSULIN = question("Which organ makes insulin?", "the pancreas", gold=("The pancreas makes insulin.",), line=1)
BILE = question("Which organ makes bile?", "the liver", gold=("The liver makes bile.",), line=2)
URINE = question("Which organ makes urine?", "the kidney", gold=("The kidney makes urine.",), line=3)
BONES = question("How many bones has an adult?", "206", gold=("An adult has 206 bones.",), line=4)
ALIKE = {"rows": {**wrong_rules()["rows"], "max_question_similarity": 1.0}}


def wrong(step: Any, row: Any) -> tuple[str, str]:
    """What a row is given: the wrong answer and its source, or the detail and the reason of its drop."""
    [outcome] = step.map(row, {})
    if isinstance(outcome, Dropped):
        return outcome.detail, outcome.reason
    payload = outcome.row.payload
    return payload.wrong[0], payload.wrong_from


def test_what_the_source_lists_comes_first(tmp_path):
    listed = INSULIN.model_copy(update={"payload": INSULIN.payload.model_copy(update={"wrong": ("a", "b")})})
    [outcome] = wrong_step(tmp_path, [listed, BILE]).map(listed, {})
    assert (outcome.row.payload.wrong, outcome.row.payload.wrong_from) == (("a", "b"), "listed")


SAYS_RIGHT = [
    ("Paris", "paris."), ("Jupiter", "It is Jupiter, the gas giant."), ("mercury", "The mercury"), ("206", "206 bones"),
    ("William Shakespeare", "Shakespeare"), ("60%", "60 %"), ("100 \u00b0C", "100 \u2103"),
    ("Reykjav\u00edk", "Reykja\u00advi\u0301k"), ("Paris", "P\u0430ris"), ("\u7f3a\u94c1", "\u7f3a\u94c1\u5f15\u8d77"),
]  # fmt: skip
SAYS_ANOTHER = [
    ("8", "18"), ("1.5", "15"), ("-5", "+5"), ("< 90 mmHg", "> 90 mmHg"), ("iron", "environment"),
    ("1\u4e2a\u6708", "11\u4e2a\u6708"), ("Clostridium tetani", "Clostridium botulinum"), ("vitamin B1", "vitamin B12"),
]  # fmt: skip


@pytest.mark.parametrize(("right", "listed"), SAYS_RIGHT)
def test_a_listed_wrong_answer_that_says_the_right_one_is_none(tmp_path, right, listed):
    row = question("Which one?", right, wrong=(listed,))
    assert wrong(wrong_step(tmp_path, [row, BILE], order=["listed"]), row) == (listed, "known_answer")
    also = question("Which one?", "something else", right, wrong=(listed, "neither"))
    kept, left_out = wrong_step(tmp_path, [also, BILE], order=["listed"]).map(also, {})
    assert kept.row.payload.wrong == ("neither",)
    assert (left_out.reason, left_out.detail) == ("listed_is_right", listed)


@pytest.mark.parametrize(("right", "listed"), SAYS_ANOTHER)
def test_a_listed_wrong_answer_may_be_like_the_right_one(tmp_path, right, listed):
    row = question("Which one?", right, wrong=(listed,))
    assert wrong(wrong_step(tmp_path, [row, BILE], order=["listed"]), row) == (listed, "listed")


def test_rows_lend_each_other_answers_of_one_type_and_shape(tmp_path):
    rows = [INSULIN, BILE, URINE, question("Which city is large?", "the harbour", line=5)]
    step = wrong_step(tmp_path, rows, **ALIKE)
    found = {row.payload.answers[0]: wrong(step, row) for row in rows}
    assert found.pop("the harbour")[1] == "none_left"
    assert {source for _, source in found.values()} == {"rows"}
    texts = [text for text, _ in found.values()]
    assert sorted(texts) == ["the kidney", "the liver", "the pancreas"], "each answer is lent once"
    assert all(text != right for right, (text, _) in found.items())


def test_the_order_of_rows_and_the_process_make_no_difference(tmp_path):
    rows = [INSULIN, BILE, URINE, BONES]
    first = wrong_step(tmp_path / "a", rows, **ALIKE)
    second = wrong_step(tmp_path / "b", rows[::-1], **ALIKE)
    assert [wrong(first, row) for row in rows] == [wrong(second, row) for row in rows]


def test_a_number_is_changed_and_not_lent(tmp_path):
    step = wrong_step(tmp_path, [BONES, INSULIN, question("How many teeth has an adult?", "32", line=6)])
    text, source = wrong(step, BONES)
    assert source == "number"
    assert text != "206"
    assert text.isdigit()


BARS = [
    ("known_answer", [INSULIN, question("Which organ makes milk?", "pancreas", line=7)]),
    ("known_answer", [INSULIN, BILE, question("Which organ makes insulin ?", "liver", "the liver", line=8)]),
    ("in_gold", [INSULIN.model_copy(update={"payload": INSULIN.payload.model_copy(
        update={"gold": ("The pancreas, not the liver, makes insulin.",)})}), BILE]),
    ("in_question", [question("Which organ makes insulin near the liver?", "the pancreas", line=9), BILE]),
    ("answer_is_list", [question("Which organ makes hormones?", "thyroid, pancreas", line=10), BILE]),
    ("answer_too_long", [question("Which organ makes insulin?", "the long pale gland " * 4, line=11), BILE]),
    ("vague_number", [question("How many bones are there?", "about 206", line=12), BILE]),
    ("no_type", [question("Why is insulin made?", "for sugar", line=13), BILE]),
    ("none_left", [INSULIN, question("Which organ makes bile?", "Liver", line=14)]),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "rows"), BARS, ids=[reason for reason, _ in BARS])
def test_what_bars_a_wrong_answer_is_a_reason(tmp_path, reason, rows):
    assert wrong(wrong_step(tmp_path, rows, **ALIKE), rows[0])[1] == reason


def test_rows_of_one_document_lend_each_other_nothing(tmp_path):
    rows = [question(f"Which organ makes {what}?", answer, gold=("page-1",), line=line)
            for line, (what, answer) in enumerate([("bile", "the liver"), ("insulin", "the pancreas")])]  # fmt: skip
    assert wrong(wrong_step(tmp_path, rows, **ALIKE), rows[0])[1] == "none_left"


def test_questions_that_may_be_the_same_lend_nothing(tmp_path):
    rows = [INSULIN, question("Which organ makes insulins?", "the liver", line=15)]
    assert wrong(wrong_step(tmp_path, rows), INSULIN)[1] == "question_too_alike"


def test_evidence_is_read_by_key_or_by_text(tmp_path):
    row = question("Which organ makes insulin?", "the pancreas", gold=("atlas",))
    passage = page("The pancreas and the liver are glands.").model_copy(update={"document": "atlas"})
    assert wrong(wrong_step(tmp_path, [row, BILE], [passage], **ALIKE), row)[1] == "in_gold"


def test_the_pool_must_have_the_row(tmp_path):
    with pytest.raises(Exception, match="is not in the port `pool`"):
        wrong_step(tmp_path, [BILE]).map(INSULIN, {})


LONELY = question("Which organ makes insulin?", "the pancreas", gold=("The pancreas is beside the spleen.",))


def test_a_model_writes_what_rules_do_not_find(tmp_path):
    step = wrong_step(tmp_path, [LONELY], model=MODEL)
    replies = ["1. the spleen\n2. Pancreas\n3. the liver\n4. the kidney", "Yes.", "No."]
    [outcome], requests = talk(step, LONELY, *replies)
    assert isinstance(outcome, Kept)
    payload = outcome.row.payload
    assert (payload.wrong, payload.wrong_from) == (("the kidney",), "model")
    assert "the pancreas" in requests[0].messages[-1].content
    for request, proposal in zip(requests[1:], ("the liver", "the kidney"), strict=True):
        assert proposal in request.messages[-1].content
        assert "pancreas" not in request.messages[-1].content, "the second question is blind to the right answer"


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        (["the liver", "Perhaps."], "all_called_right"),
        (["the spleen\nThe pancreas"], "none_fits"),
        ([""], "reply_empty"),
        (["<think>hm"], "reply_unfinished"),
    ],
)
def test_what_a_model_writes_in_vain_is_a_reason(tmp_path, replies, reason):
    [outcome], _ = talk(wrong_step(tmp_path, [LONELY], model=MODEL), LONELY, *replies)
    assert (type(outcome), outcome.reason) == (Dropped, reason)


def test_a_model_that_comes_first_leaves_the_rest_to_rules(tmp_path):
    rows = [INSULIN, BILE]
    step = wrong_step(tmp_path, rows, order=["model", "rows"], model=MODEL, **ALIKE)
    [outcome], _ = talk(step, INSULIN, "the spleen", "Yes")
    assert outcome.row.payload.wrong_from == "rows"
    [outcome], _ = talk(step, INSULIN, "the spleen", "No")
    assert outcome.row.payload.wrong_from == "model"


def test_without_rows_in_the_order_a_model_is_needed(tmp_path):
    assert wrong(wrong_step(tmp_path, [INSULIN], order=["listed", "model"]), INSULIN)[1] == "needs_model"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"rows": {}, "number_types": []}, "rows.question_words is empty"),
        ({"order": ["rows", "rows"]}, "stands in it once"),
        ({"check": None}, "order names `model`: it needs prompt, check, denies and denial"),
        ({"number_types": ["colour"]}, "colour is no type of rows.question_words"),
    ],
)
def test_a_spec_without_its_data_is_refused(spec, message):
    with pytest.raises(ValidationError, match=message):
        WrongAnswers.spec_class.model_validate({"kind": "wrong_answers", "from": "rows", **wrong_rules(), **spec})
