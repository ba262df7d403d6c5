"""Edits, searches, templates and answers of the claim steps."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from benchbuilder.core.records.row import Span
from benchbuilder.core.text.answers import comparison_key, is_whole_token
from benchbuilder.core.text.normalise import to_half_width
from benchbuilder.core.text.templates import fill_template, template_faults
from benchbuilder.steps.language import columns
from benchbuilder.steps.language.answer_texts import answers_overlap, locate_answer
from benchbuilder.steps.language.columns import Scanner
from benchbuilder.steps.language.edits import (
    SearchRule,
    count_negations,
    cuts_word,
    longest_end,
    replace_span,
    search_negation,
    shift_span,
    single_edit,
)
from benchbuilder.steps.language.questions import is_one_sentence, leaks_answer
from benchbuilder.steps.language.statement_choice import is_asked_as_true

# --- claim texts -----------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.text(max_size=30), st.data(), st.text(max_size=5))
def test_a_span_outside_an_edit_keeps_its_text(text, data, new):
    cut = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=4, max_size=4)))
    edited, kept = Span(start=cut[0], end=cut[1]), Span(start=cut[2], end=cut[3])
    if data.draw(st.booleans()):
        edited, kept = kept, edited
    moved = shift_span(kept, edited, len(new))
    if moved is not None:
        assert moved.slice_of(replace_span(text, edited, new)) == kept.slice_of(text)


def test_an_edit_inside_a_span_loses_it():
    assert shift_span(Span(start=2, end=6), Span(start=4, end=4), 1) is None
    assert shift_span(None, Span(start=0, end=0), 1) is None


def test_the_longest_ending_counts():
    assert longest_end("治疗应首选", ("选", "首选", "应首选", "是")) == "应首选"
    assert longest_end("治疗", ("是", "")) == ""


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
        fill_template("{a}", {})


@given(st.text(), st.text())
def test_values_are_put_in_as_they_are(left, right):
    text, spans = fill_template("<{a}|{b}>", {"a": left, "b": right})
    assert text == f"<{left}|{right}>"
    assert (spans["a"].slice_of(text), spans["b"].slice_of(text)) == (left, right)


def test_answers_are_found_literally_last_and_then_by_likeness():
    assert locate_answer("Na+", "Na+进入，Na+外流", 0) == Span(start=6, end=9)
    assert locate_answer("硫酸亚铁", "口服硫酸亚鉄", 0) is None
    assert locate_answer("硫酸亚铁", "口服硫酸亚鉄", 2) == Span(start=2, end=6)
    assert locate_answer("", "甲", 2) is None


def test_answers_are_compared_without_width_case_and_marks():
    assert comparison_key("Ｂ超 ", "。") == comparison_key("b超。", "。")
    assert comparison_key("PPD（+）", "（）") != comparison_key("PPD（-）", "（）")
    assert answers_overlap("4小时", "4小时内")
    assert not answers_overlap("4小时", "5小时内")


def test_questions():
    assert not is_one_sentence("？", "？", "。")
    assert not is_one_sentence("是甲。是乙吗？", "？", "。？")
    assert not is_one_sentence("是甲吗", "？", "。？")
    assert leaks_answer("hCG", "ＨＣＧ是什么？", "")
    assert not leaks_answer("", "是什么？", "")
    assert {is_asked_as_true(1, f"fact-{n}") for n in range(20)} == {True, False}


# --- scanning --------------------------------------------------------------------------------------------------------

LETTERS = st.sampled_from(["甲", "乙", "a", "\n", "\U0001f600"])


@given(st.lists(st.text(LETTERS, max_size=4), max_size=8), st.lists(st.text(LETTERS, max_size=12), max_size=8))
def test_every_key_that_stands_in_a_text_is_found(keys, texts):
    rows, numbers = Scanner(keys).scan(texts)
    wanted = {(row, n) for row, text in enumerate(texts) for n, key in enumerate(keys) if key and key in text}
    assert set(zip(rows.tolist(), numbers.tolist(), strict=True)) == wanted


def test_texts_are_looked_through_block_by_block(monkeypatch):
    monkeypatch.setattr(columns, "_BLOCK", 5)
    rows, numbers = Scanner(["乙甲", "甲"]).scan(["甲乙甲", "", "乙甲乙甲乙甲乙", "乙", "甲"])
    assert set(zip(rows.tolist(), numbers.tolist(), strict=True)) == {(0, 0), (0, 1), (2, 0), (2, 1), (4, 1)}


# --- one edit --------------------------------------------------------------------------------------------------------

TEXTS = st.text("不是否有，,", max_size=8)


@given(before=TEXTS, answer=st.text("不是否有", min_size=1, max_size=4), after=TEXTS, new=TEXTS, at=st.integers(0, 16))
def test_an_edit_outside_the_answer_is_found_however_the_characters_repeat(before, answer, after, new, at):
    text = before + answer + after
    keep = Span(start=len(before), end=len(before) + len(answer))
    at = min(at, len(before)) if at < 8 else max(keep.end, min(at, len(text)))
    edited = text[:at] + new + text[at:]
    found = single_edit(text, edited, keep)
    assert found is not None
    span, put = found
    assert to_half_width(replace_span(text, span, put)) == to_half_width(edited)
    place = shift_span(keep, span, len(put))
    assert place is not None
    assert place.slice_of(replace_span(text, span, put)) == answer


@given(before=TEXTS, after=TEXTS)
def test_without_an_answer_any_change_is_one_edit(before, after):
    span, put = single_edit(before, after, None) or (None, "")
    assert span is not None
    assert to_half_width(replace_span(before, span, put)) == to_half_width(after)


def test_a_changed_answer_is_no_edit_outside_it():
    assert single_edit("首选硫酸镁。", "首选硫酸钙。", Span(start=2, end=5)) is None
    assert single_edit("首选硫酸镁。", "首选。", Span(start=2, end=5)) is None


@pytest.mark.parametrize(
    ("text", "start", "end", "alone"),
    [
        ("15ml", 1, 4, False),
        ("15ml", 0, 4, True),
        ("于5ml。", 1, 4, True),
        ("IgGA", 0, 3, False),
        ("达IgG型", 1, 4, True),
        ("2.5g", 2, 4, False),
        ("１５", 1, 2, False),
    ],
)
def test_a_number_or_word_is_not_cut(text, start, end, alone):
    assert is_whole_token(Span(start=start, end=end), text) is alone
