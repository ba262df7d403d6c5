"""Words in a text: lists, forms, patterns and near matches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.core.errors import DataError
from benchbuilder.core.text import patterns
from benchbuilder.core.text.answers import edit_distance
from benchbuilder.core.text.patterns import check_regex, find_all, matches_whole, replace_all, word_boundaries
from benchbuilder.core.text.wordlist import WordFinder, WordForms, load_words
from benchbuilder.steps.language.answer_texts import locate_answer
from benchbuilder.steps.language.patterns import find_pattern, find_word, first_match

# --- wordlist ------------------------------------------------------------------------------------------------------


def test_comments_glosses_blanks_and_repeats_are_left_out(tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeff# 喂养\n母乳\tbreast milk\n\n 母乳 \nHELLP综合征\n  # 注\n".encode())
    assert load_words(path) == ("母乳", "HELLP综合征")


def test_a_bad_list_says_what_is_wrong(tmp_path):
    with pytest.raises(DataError, match="missing"):
        load_words(tmp_path / "none.txt")
    (tmp_path / "gb.txt").write_bytes("母乳".encode("gb18030"))
    with pytest.raises(DataError, match="not UTF-8"):
        load_words(tmp_path / "gb.txt")
    (tmp_path / "empty.txt").write_text("# only a comment\n", "utf-8")
    with pytest.raises(DataError, match="no words"):
        load_words(tmp_path / "empty.txt")


@given(st.lists(st.text(alphabet="甲乙丙", min_size=1, max_size=3)), st.text(alphabet="甲乙丙丁", max_size=15))
def test_every_word_that_occurs_is_found(words, text):
    assert WordFinder(words).find(text) == {word for word in words if word in text}


@pytest.mark.push
@given(
    st.sets(st.text(alphabet="abc", max_size=6).map(lambda end: "a" + end), min_size=40, max_size=80),
    st.text(alphabet="abcd", max_size=40),
)
def test_every_word_of_a_long_list_is_found_too(words, text):
    assert len(words) > 16, "enough for longer pieces than letters"
    assert WordFinder(words).find(text) == {word for word in words if word in text}


# --- word forms ----------------------------------------------------------------------------------------------------

VERBS = "# verbs\nbase\tthird\tpast\ngo\tgoes\twent\ndo\tdoes\tdid\n"
NOUNS = "one\tmany\nspine, lower\tspines, lower\nC++\tC++s\n"


@pytest.fixture
def forms(tmp_path):
    (tmp_path / "verbs.tsv").write_text(VERBS, "utf-8")
    (tmp_path / "nouns.tsv").write_text(NOUNS, "utf-8")
    return WordForms.read([tmp_path / "verbs.tsv", tmp_path / "nouns.tsv"])


def test_columns_of_several_tables_are_known_together(forms):
    assert forms.columns() == {"base", "third", "past", "one", "many"}
    assert forms.other_form("goes", "base") == "go"
    assert forms.other_form("C++s", "one") == "C++"
    assert forms.other_form("goes", "many") == ""
    assert forms.other_form("runs", "base") == ""


def test_forms_are_words_and_no_patterns(forms):
    assert matches_whole(forms.expand("%one%"), "C++")
    assert not matches_whole(forms.expand("%one%"), "CC")
    assert matches_whole(forms.expand("(%third%|%past%) [0-9]{2}"), "went 12")


def test_an_unknown_name_stays_and_so_does_a_percentage(forms):
    assert forms.expand("%answer% of 5% or 6%") == "%answer% of 5% or 6%"


def test_templates_are_filled_for_words_that_have_all_columns(forms):
    assert list(forms.fill_templates(" %third%", " does not %base%")) == [
        (" goes", " does not go"),
        (" does", " does not do"),
    ]
    assert list(forms.fill_templates(" is", " is not")) == [(" is", " is not")]
    assert list(forms.fill_templates("%third%", "%many%")) == []


def test_parts_may_name_columns_and_earlier_parts():
    forms = WordForms([{"base": "go"}], {"verb": "%base%|run", "phrase": "to %verb%"})
    assert matches_whole(forms.expand("%phrase%"), "to run")
    assert matches_whole(forms.expand("%phrase%!"), "to go!")


@pytest.mark.parametrize("text", ["base\tthird\ngo\n", "base\tthird\ngo\t\n", "base\ngo\tgoes\n"])
def test_a_word_that_lacks_a_form_is_named_with_its_line(tmp_path, text):
    (tmp_path / "verbs.tsv").write_text(text, "utf-8")
    with pytest.raises(DataError) as caught:
        WordForms.read([tmp_path / "verbs.tsv"])
    assert "verbs.tsv:2" in str(caught.value)


def test_a_table_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        WordForms.read([tmp_path / "none.tsv"])


# --- patterns ------------------------------------------------------------------------------------------------------


@pytest.mark.push
def test_a_long_broken_pattern_shows_the_place_only():
    with pytest.raises(ValueError, match="not a regular expression") as caught:
        check_regex("(" + "a" * 99_000 + "b" * 99 + "|" * 9)
    assert len(str(caught.value)) < 200
    assert first_match(("a{1}" * 500,), "a" * 500) == f"“{'a' * 40}”"


def test_a_broken_pattern_is_a_value_error_that_shows_it():
    with pytest.raises(ValueError, match=r"'\(' is not a regular expression"):
        check_regex("(")


@pytest.mark.full
def test_a_runaway_pattern_stops_with_a_message(monkeypatch):
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.05)
    with pytest.raises(DataError, match="took longer") as caught:
        find_all("(a|aa)+$", "a" * 60 + "b")
    assert "rewrite the pattern" in caught.value.next
    with pytest.raises(DataError, match="took longer"):
        replace_all("(a|aa)+$", "", "a" * 60 + "b")


@pytest.mark.parametrize(
    ("text", "tokens", "starts"),
    [
        ("血压正常常见", ["血压", "正常", "常见"], []),
        ("此病常发生", ["此", "病", "常", "发生"], [2]),
        ("最常 见", ["最", "常", "见"], [1]),
    ],
)
def test_a_word_is_whole_tokens(text, tokens, starts):
    assert [span.start for span in find_word("常", text, lambda _: tokens)] == starts


def test_a_word_may_be_several_tokens():
    assert len(find_word("最常见", "最常见的", lambda _: ["最", "常见", "的"])) == 1


def test_tokens_that_are_not_in_the_text_are_passed_over():
    assert word_boundaries("ab", ["a", "x", "b"]) == {0, 1, 2}


def test_a_substring_is_not_read_as_a_pattern():
    assert [span.start for span in find_pattern("a+", "aa+a", "substring")] == [1]


def test_words_without_a_tokenizer_are_refused():
    with pytest.raises(ValueError, match="needs a tokenizer"):
        find_pattern("a", "a", "word")


# --- distance ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("needle", "haystack", "found"),
    [
        ("氢化可的松", "首选药物是氢化可的松。", "氢化可的松"),
        ("氢化可的松", "首选药物是氢化可地松。", "氢化可地松"),
        ("左心室肥厚", "首先出现左室肥厚。", "左室肥厚"),
        ("肺炎", "首先出现胃癌。", None),
        ("", "甲", None),
    ],
)
def test_the_nearest_part_is_found(needle, haystack, found):
    span = locate_answer(needle, haystack, 2)
    assert (span.slice_of(haystack) if span else None) == found


def test_the_last_literal_occurrence_wins():
    assert locate_answer("肺炎", "肺炎患儿的诊断是肺炎。", 2).start == 8


@given(st.text(alphabet="abc", min_size=1, max_size=6), st.text(alphabet="abc", max_size=12), st.integers(0, 3))
def test_what_is_found_is_within_the_distance_and_nothing_nearer_was_missed(needle, haystack, limit):
    span = locate_answer(needle, haystack, limit)
    parts = [haystack[i:j] for i in range(len(haystack)) for j in range(i + 1, len(haystack) + 1)]
    nearest = min((edit_distance(needle, part) for part in parts), default=None)
    if nearest is None or nearest > min(limit, len(needle) // 2):
        assert span is None
    else:
        assert edit_distance(needle, span.slice_of(haystack)) == nearest
