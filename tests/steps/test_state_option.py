from __future__ import annotations

import pytest
from claim_rows import choice, kept, make
from pydantic import ValidationError

from benchbuilder.core.records.outcomes import NotApplicable

SPEC = {
    "parts": {"these": "下列|以下", "right": "正确(?:的)?", "ask": "{these}说法{right}是"},
    "forms": {
        "claims": {"when": "(?P<before>.*，)?{ask}", "context": "{context}{before}", "option": "^.{5,}"},
        "belongs": {"when": "{these}权利中，(?P<said>属于.+?)的有", "text": "{option}{said}", "option": "^[^，]{2,9}$"},
    },
    "not_options": ["^其"],
    "marks": "。，：? ",
    "stop": "。",
    "unit": "characters",
    "max_length": 20,
    "max_context": 12,
}


def stated(question, answer, **more):
    context = more.pop("context", "")
    return make("state_option", {**SPEC, **more}).map(choice(question, answer, "别的说法也不对", context=context), {})


def test_an_option_stands_as_a_statement_behind_what_was_said_before():
    row = kept(stated("关于定金，下列说法正确的是：", "定金合同自交付时成立。", context="案情。"))
    assert (row.text, row.context, row.polarity) == ("定金合同自交付时成立。", "案情。关于定金，", "true")
    assert row.answer.of(row.text) == "定金合同自交付时成立"
    assert row.seam is None
    assert row.made_by.rule.endswith("claims")


def test_an_option_is_put_into_the_sentence_of_its_question():
    row = kept(stated("下列权利中，属于用益物权的有", "居住权"))
    assert row.text == "居住权属于用益物权。"
    assert row.answer.of(row.text) == "居住权"


def test_another_question_is_none_of_this_branch():
    [fate] = stated("定金的数额不得超过", "两成")
    assert isinstance(fate, NotApplicable)


@pytest.mark.parametrize(
    ("question", "answer", "reason"),
    [
        ("关于定金，下列说法正确的是", "两成", "not_a_statement"),
        ("关于定金，下列说法正确的是", "其数额由当事人约定", "not_a_statement"),
        ("关于定金，下列说法正确的是", "定金的数额由当事人约定但不得超过标的额的两成", "too_long"),
        ("关于给付定金的当事人的权利和义务，下列说法正确的是", "定金合同自交付时成立", "context_too_long"),
    ],
)
def test_what_does_not_stand_is_dropped(question, answer, reason):
    [fate] = stated(question, answer)
    assert fate.reason == reason


def test_a_form_is_taken_away_by_null():
    [fate] = stated("下列权利中，属于用益物权的有", "居住权", forms={**SPEC["forms"], "belongs": None})
    assert isinstance(fate, NotApplicable)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"when": "(", "text": "{option}"}, "not a regular expression"),
        ({"when": ".*", "text": "甲"}, "must stand in it once"),
        ({"when": ".*", "text": "{option}{said}"}, "unknown placeholder"),
    ],
)
def test_wrong_forms_are_refused(form, message):
    with pytest.raises(ValidationError, match=message):
        make("state_option", {**SPEC, "forms": {"wrong": form}})
