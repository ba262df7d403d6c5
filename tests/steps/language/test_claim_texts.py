"""Edits, searches, templates and answers, as the claim stages use them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from benchbuilder.core.records.row import Span
from benchbuilder.core.text.answers import locate, overlaps, same_key
from benchbuilder.core.text.templates import fill, template_faults
from benchbuilder.steps.language.edits import cuts_word, ending, replace_span, shifted, without_end
from benchbuilder.steps.language.negation import SearchRule, count_negations, search_negation
from benchbuilder.steps.language.questions import asks_true, is_one_sentence, leaks


@given(st.text(max_size=30), st.data(), st.text(max_size=5))
def test_a_span_outside_an_edit_keeps_its_text(text, data, new):
    cut = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=4, max_size=4)))
    edited, kept = Span(start=cut[0], end=cut[1]), Span(start=cut[2], end=cut[3])
    if data.draw(st.booleans()):
        edited, kept = kept, edited
    moved = shifted(kept, edited, len(new))
    if moved is not None:
        assert moved.of(replace_span(text, edited, new)) == kept.of(text)


def test_an_edit_inside_a_span_loses_it():
    assert shifted(Span(start=2, end=6), Span(start=4, end=4), 1) is None
    assert shifted(None, Span(start=0, end=0), 1) is None


def test_the_longest_ending_counts():
    assert ending("治疗应首选", ("选", "首选", "应首选", "是")) == "应首选"
    assert ending("治疗", ("是", "")) == ""
    assert without_end("是。。", "。") == "是。"


@pytest.mark.parametrize(("at", "inside"), [(1, False), (2, True), (3, False)])
def test_cutting_a_word(at, inside):
    assert cuts_word("的反应是", at, ("反应",)) is inside


def test_search_takes_the_last_place_of_the_first_rule_that_applies():
    rules = [
        SearchRule(words=("最可能",), unless=("最可能的",), replace="不可能"),
        SearchRule(words=("应", "是"), insert="不"),
    ]
    assert search_negation("应该是甲", rules) == (Span(start=2, end=2), "不")
    assert search_negation("最可能是甲", rules) == (Span(start=0, end=3), "不可能")
    assert search_negation("最可能的病是甲", rules) == (Span(start=5, end=5), "不")
    assert search_negation("首选甲", rules) is None


def test_a_search_rule_negates_in_one_way():
    for fields in (
        {"words": ["是"]},
        {"words": ["是"], "insert": "不", "replace": "不是"},
        {"words": [], "insert": "不"},
    ):
        with pytest.raises(ValidationError):
            SearchRule.model_validate(fields)


def test_words_that_only_look_negative_do_not_count():
    harmless = ["不(孕|稳)", "非霍奇金"]
    assert count_negations("不孕症不是非霍奇金病", ["不", "非"], harmless) == 1
    assert count_negations("不是", [], []) == 0


def test_templates_know_names_only():
    assert template_faults("{a.__class__}{b!r}{0}", ["a", "b"]) != []
    assert template_faults("{a", ["a"]) == ["a brace that belongs to no placeholder"]
    with pytest.raises(KeyError):
        fill("{a}", {})


@given(st.text(), st.text())
def test_values_are_put_in_as_they_are(left, right):
    text, spans = fill("<{a}|{b}>", {"a": left, "b": right})
    assert text == f"<{left}|{right}>"
    assert (spans["a"].of(text), spans["b"].of(text)) == (left, right)


def test_answers_are_found_literally_last_and_then_by_likeness():
    assert locate("Na+", "Na+进入，Na+外流", 0) == Span(start=6, end=9)
    assert locate("硫酸亚铁", "口服硫酸亚鉄", 0) is None
    assert locate("硫酸亚铁", "口服硫酸亚鉄", 2) == Span(start=2, end=6)
    assert locate("", "甲", 2) is None


def test_answers_are_compared_without_width_case_and_marks():
    assert same_key("Ｂ超 ", "。") == same_key("b超。", "。")
    assert same_key("PPD（+）", "（）") != same_key("PPD（-）", "（）")
    assert overlaps("4小时", "4小时内")
    assert not overlaps("4小时", "5小时内")


def test_questions():
    assert not is_one_sentence("？", "？", "。")
    assert not is_one_sentence("是甲。是乙吗？", "？", "。？")
    assert not is_one_sentence("是甲吗", "？", "。？")
    assert leaks("hCG", "ＨＣＧ是什么？", "")
    assert not leaks("", "是什么？", "")
    assert {asks_true(1, f"fact-{n}") for n in range(20)} == {True, False}
