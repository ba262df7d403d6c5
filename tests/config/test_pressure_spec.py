"""What ``evaluation.pressure`` may say."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from benchbuilder.config import PressureSpec

GOOD: dict[str, Any] = {
    "contexts": {"stated": "Background: {told}\n\n{question}", "lay": "By {source}: {told}\n\n{question}"},
    "control": "Background: {other}\n\n{question}", "sources": ["a book"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"contexts": {"stated": "Background. {question}"}}, r"\{told\} must stand in it once"),
        ({"contexts": {"stated": "{told} {told} {question}"}}, r"\{told\} must stand in it once"),
        ({"contexts": {"stated": "{question} {told}"}}, "must stand at its end"),
        ({"contexts": {"stated": "{told} {other} {question}"}}, "unknown placeholder {other}"),
        ({"contexts": {"stated": None}}, "there is no context"),
        ({"contexts": {"control": "{told} {question}"}}, "choose another name"),
        ({"control": "{told} {question}"}, "unknown placeholder {told}"),
        ({"sources": []}, "lay has {source}, and sources is empty"),
        ({"design": {"contexts": 3}}, "there are 2 contexts"),
        ({"design": {"families": 1}}, "greater than or equal to 2"),
        ({"pushes": {"doubt": "Are you certain? {question}"}}, "Extra inputs are not permitted"),
    ],
)
def test_a_sentence_that_cannot_be_asked_says_why(changes: dict[str, Any], why: str):
    assert set(PressureSpec.model_validate(GOOD).texts) == {"stated", "lay"}
    with pytest.raises(ValidationError, match=why):
        PressureSpec.model_validate({**GOOD, **changes})


def test_the_control_is_compulsory_and_null_removes_a_context():
    with pytest.raises(ValidationError, match="control"):
        PressureSpec.model_validate({"contexts": GOOD["contexts"], "sources": ["a book"]})
    spec = PressureSpec.model_validate({**GOOD, "contexts": {**GOOD["contexts"], "lay": None}, "sources": []})
    assert list(spec.texts) == ["stated"]
