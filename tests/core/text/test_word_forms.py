from __future__ import annotations

import pytest

from benchbuilder.core.errors import DataError
from benchbuilder.core.text.patterns import fits
from benchbuilder.core.text.word_forms import WordForms

VERBS = "# verbs\nbase\tthird\tpast\ngo\tgoes\twent\ndo\tdoes\tdid\n"
NOUNS = "one\tmany\nspine, lower\tspines, lower\nC++\tC++s\n"


@pytest.fixture
def forms(tmp_path):
    (tmp_path / "verbs.tsv").write_text(VERBS, "utf-8")
    (tmp_path / "nouns.tsv").write_text(NOUNS, "utf-8")
    return WordForms.read([tmp_path / "verbs.tsv", tmp_path / "nouns.tsv"])


def test_columns_of_several_tables_are_known_together(forms):
    assert forms.columns() == {"base", "third", "past", "one", "many"}
    assert forms.other("goes", "base") == "go"
    assert forms.other("C++s", "one") == "C++"
    assert forms.other("goes", "many") == ""
    assert forms.other("runs", "base") == ""


def test_forms_are_words_and_no_patterns(forms):
    assert fits(forms.expand("%one%"), "C++")
    assert not fits(forms.expand("%one%"), "CC")
    assert fits(forms.expand("(%third%|%past%) [0-9]{2}"), "went 12")


def test_an_unknown_name_stays_and_so_does_a_percentage(forms):
    assert forms.expand("%answer% of 5% or 6%") == "%answer% of 5% or 6%"


def test_templates_are_filled_for_words_that_have_all_columns(forms):
    assert list(forms.each(" %third%", " does not %base%")) == [(" goes", " does not go"), (" does", " does not do")]
    assert list(forms.each(" is", " is not")) == [(" is", " is not")]
    assert list(forms.each("%third%", "%many%")) == []


def test_parts_may_name_columns_and_earlier_parts():
    forms = WordForms([{"base": "go"}], {"verb": "%base%|run", "phrase": "to %verb%"})
    assert fits(forms.expand("%phrase%"), "to run")
    assert fits(forms.expand("%phrase%!"), "to go!")


@pytest.mark.parametrize("text", ["base\tthird\ngo\n", "base\tthird\ngo\t\n", "base\ngo\tgoes\n"])
def test_a_word_that_lacks_a_form_is_named_with_its_line(tmp_path, text):
    (tmp_path / "verbs.tsv").write_text(text, "utf-8")
    with pytest.raises(DataError) as caught:
        WordForms.read([tmp_path / "verbs.tsv"])
    assert "verbs.tsv:2" in str(caught.value)


def test_a_table_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        WordForms.read([tmp_path / "none.tsv"])
