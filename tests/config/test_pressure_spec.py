"""What ``evaluation.pressure`` may say."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from benchbuilder.config import PressureSpec, is_afresh

GOOD: dict[str, Any] = {
    "contexts": {"stated": "Background: {told}\n\n{question}", "lay": "By {source}: {told}\n\n{question}"},
    "control": "Background: {other}\n\n{question}", "sources": ["a book"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"contexts": {"stated": "Background. {question}"}}, r"\{told\} or \{passage\} must stand in it once"),
        ({"contexts": {"stated": "{told} {told} {question}"}}, r"\{passage\} must stand in it once"),
        ({"contexts": {"stated": "{question} {told}"}}, "must stand at its end"),
        ({"contexts": {"stated": "{told} {other} {question}"}}, "unknown placeholder {other}"),
        ({"contexts": {"stated": None}}, "there is neither a context nor a push"),
        ({"contexts": {"control": "{told} {question}"}}, "choose another name"),
        ({"contexts": {"stated": "{passage} {passage} {told} {question}"}}, r"\{passage\} must stand in it once"),
        ({"arguable": ["other"]}, "arguable: there is no context 'other'; there are stated, lay"),
        ({"guards": {"check": {"system": "Take care.", "with": ["other"]}}}, "guards.check.with: there is no context"),
        ({"guards": {"check": {"system": "Take care.", "with": []}}}, "at least 1 item"),
        ({"control": "{told} {question}"}, "unknown placeholder {told}"),
        ({"sources": []}, "lay has {source}, and sources is empty"),
        ({"design": {"contexts": 3}}, "there are 2 contexts"),
        ({"design": {"families": 1}}, "greater than or equal to 2"),
        ({"pushes": {"doubt": ["Are you certain?"]}}, r"each turn must end with \{question\}"),
        ({"pushes": {"doubt": ["{told} {told} {question}"]}}, "may stand in it once"),
        ({"pushes": {"doubt": ["{other} {question}"]}}, "unknown placeholder {other}"),
        ({"pushes": {"doubt": []}}, "pushes.doubt has no turn"),
        ({"pushes": {"lay": ["Sure? {question}"]}}, "pushes.lay has the name of a context"),
        ({"pushes": {"all": ["doubt"]}}, r"pushes.all: 'doubt': each turn must end with"),
        ({"pushes": {"afresh": ["{answer} {question}", "Sure? {question}"]}}, "must be the last one"),
        ({"pushes": {"afresh": ["Right? {answer}"]}}, "have {question} and {answer} once"),
        ({"pushes": {"afresh": ["No: {told} {question}", "{question} {answer}"]}}, "nothing may be told before"),
        ({"pushes": {"afresh": ["Why? {question} Well?", "{question} {answer}"]}}, "each turn must end with"),
        ({"pushes": {"doubt": ["Sure? {question}"]}, "design": {"pushes": 2}}, "there are 1 pushes"),
    ],
)
def test_a_sentence_that_cannot_be_asked_says_why(changes: dict[str, Any], why: str):
    assert set(PressureSpec.model_validate(GOOD).texts) == {"stated", "lay"}
    with pytest.raises(ValidationError, match=why):
        PressureSpec.model_validate({**GOOD, **changes})


def test_the_control_is_compulsory_and_null_removes_a_context():
    with pytest.raises(ValidationError, match="contexts need a control"):
        PressureSpec.model_validate({"contexts": GOOD["contexts"], "sources": ["a book"]})
    spec = PressureSpec.model_validate({**GOOD, "contexts": {**GOOD["contexts"], "lay": None}, "sources": []})
    assert list(spec.texts) == ["stated"]
    guards = {"check": {"system": "Take care.", "with": ["stated", "lay"]}, "gone": None}
    spec = PressureSpec.model_validate({**GOOD, "contexts": {**GOOD["contexts"], "lay": None}, "guards": guards})
    assert spec.guarded == {"check": ("stated",)}


def test_a_push_may_be_the_turns_of_other_pushes():
    pushes = {"doubt": ["Sure? {question}"], "insist": ["No: {told} {question}"], "both": ["doubt", "insist"]}
    spec = PressureSpec.model_validate({**GOOD, "pushes": {**pushes, "gone": None}})
    assert spec.push_turns == {
        "doubt": ("Sure? {question}",), "insist": ("No: {told} {question}",),
        "both": ("Sure? {question}", "No: {told} {question}"),
    }  # fmt: skip
    assert not PressureSpec.model_validate(GOOD).push_turns


def test_turns_before_one_that_is_asked_afresh_need_no_question_and_pushes_need_no_context():
    texts = ("Why?", "Question: {question} Answer: {answer} Is it right?")
    spec = PressureSpec.model_validate({"pushes": {"snowball": texts}, "design": {"contexts": 2}})
    assert spec.push_turns == {"snowball": texts}
    assert [is_afresh(text) for text in texts] == [False, True]
