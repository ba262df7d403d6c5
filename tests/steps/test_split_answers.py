from __future__ import annotations

import pytest
from claim_rows import make

from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.payloads import Fact, Option, SeveralChoice
from benchbuilder.core.records.row import MadeBy, Origin

TURNED = [{"find": "不正确(?=的是$)", "put": "正确"}]


def several(question, right, *options):
    payload = SeveralChoice(
        context="案情。",
        question=question,
        options=tuple(Option(key=key, text=text) for key, text in zip("ABCDE", options, strict=False)),
        answer_keys=tuple(right),
        category="ca",
    )
    envelope = {"origin": Origin(file="q.jsonl", line=1), "made_by": MadeBy(rule="test"), "language": "zh"}
    return Fact[SeveralChoice].build(payload=payload, partition="exam", **envelope)


def split(row, how="split"):
    return list(make("split_answers", {"several": how, "turned": TURNED}).map(row, {}))


def test_a_question_becomes_a_fact_for_each_right_option():
    fates = split(several("属于用益物权的是", "AB", "居住权", "地役权", "抵押权", "留置权"))
    assert [fate.slot for fate in fates] == ["A", "B"]
    facts = [fate.row.payload for fate in fates]
    assert [fact.answer for fact in facts] == ["居住权", "地役权"]
    assert {fact.context + fact.category for fact in facts} == {"案情。ca"}
    assert len({fate.row.id for fate in fates}) == 2


def test_another_right_option_is_never_a_wrong_answer():
    for fate in split(several("属于用益物权的是", "ABD", "居住权", "地役权", "抵押权", "宅基地使用权")):
        assert [option.text for option in fate.row.payload.wrong_options()] == ["抵押权"]


def test_questions_with_several_are_dropped_where_the_recipe_says_so():
    [fate] = split(several("属于用益物权的是", "AB", "居住权", "地役权", "抵押权"), "drop")
    assert (fate.reason, fate.detail) == ("several_answers", "A B")
    [fate] = split(several("属于担保物权的是", "C", "居住权", "地役权", "抵押权"), "drop")
    assert isinstance(fate, Kept)
    assert fate.slot == ""


@pytest.mark.parametrize("how", ["split", "drop"])
def test_a_question_for_what_is_not_so_is_turned(how):
    fates = split(several("关于定金，不正确的是", "BC", "甲说", "乙说", "丙说"), how)
    assert [fate.row.payload.answer for fate in fates] == ["甲说"]
    fact = fates[0].row
    assert fact.payload.question == "关于定金，正确的是"
    assert [option.text for option in fact.payload.wrong_options()] == ["乙说", "丙说"]
    assert fact.made_by.rule.endswith("turned")


def test_where_every_option_is_wrong_nothing_is_right():
    [fate] = split(several("关于定金，不正确的是", "ABC", "甲说", "乙说", "丙说"))
    assert isinstance(fate, Dropped)
    assert fate.reason == "none_right"
