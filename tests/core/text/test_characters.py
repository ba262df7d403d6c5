"""Characters: forms that look the same, marks, scripts, sentences, names and cells."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchbuilder.core.text.names import public_path, recipe_name
from benchbuilder.core.text.normalise import (
    comparison_form,
    compose_characters,
    convert_script,
    normalise_space,
    script_version,
    to_half_width,
)
from benchbuilder.core.text.punctuation import Casing
from benchbuilder.core.text.sentences import sentence_spans, split_sentences
from benchbuilder.core.text.tables import escape_cell, unescape_cell
from benchbuilder.steps.language.punctuation import strip_marks, strip_marks_right

# --- normalise -----------------------------------------------------------------------------------------------------


def test_white_space_of_every_sort_becomes_one_space():
    assert normalise_space("\u3000患儿\u00a0\u3000发热\n") == "患儿 发热"


def test_widths_change_for_ascii_forms_only():
    assert to_half_width("ＩｇＧ＋（１）。，") == "IgG+(1)。,"


def test_answers_compare_without_width_case_space_and_composition():
    assert comparison_form("维生素 Ｄ") == comparison_form("维生素d")
    assert comparison_form("cafe\u0301") == comparison_form("café")
    assert comparison_form("IgG") != comparison_form("IgM")
    assert compose_characters("e\u0301") == "é"


def test_marks_go_from_the_ends_only():
    assert strip_marks("。，诊断，是 。", "。，") == "诊断，是"
    assert strip_marks_right("。诊断。 ", "。") == "。诊断"
    assert strip_marks("。。", "。") == ""


def test_script_conversion_knows_phrases():
    assert convert_script("頭髮與發熱", "t2s") == "头发与发热"
    assert convert_script("婴儿发热", "t2s") == "婴儿发热"
    assert script_version()


# --- casing --------------------------------------------------------------------------------------------------------

CASING = Casing(["Crohn", "Staphylococcus"], [r"\p{L}+?[\p{Lu}\d]", r"\p{Lu}\W", r"(?-i:Down) syndrome"])


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("Iron deficiency", "iron deficiency"),
        ("Crohn disease", "Crohn disease"),
        ("Crohn-like changes", "Crohn-like changes"),
        ("Staphylococcus aureus", "Staphylococcus aureus"),
        ("IgA", "IgA"),
        ("mRNA", "mRNA"),
        ("T-cell count", "T-cell count"),
        ("Down syndrome", "Down syndrome"),
        ("Down-regulation", "down-regulation"),
        ("Élan", "élan"),
        ("12 mg", "12 mg"),
        ("", ""),
        ("ßeta", "ßeta"),
        ("İstanbul", "İstanbul"),  # its small letter is two characters
        ("维生素", "维生素"),
    ],
)
def test_inside_a_sentence(text, inside):
    assert CASING.lower_first(text) == inside


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("iron is", "Iron is"),
        ("pH 7 is", "pH 7 is"),
        ("élan", "Élan"),
        ("ßeta", "ßeta"),
        ("", ""),
        ("90% of", "90% of"),
    ],
)
def test_at_the_beginning_of_a_sentence(text, first):
    assert CASING.raise_first(text) == first


def test_spans_stay_where_they_are():
    for text in ("İstanbul", "ßeta", "ŉa", "Iron"):
        assert len(CASING.lower_first(text)) == len(CASING.raise_first(text)) == len(text)


# --- sentences -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("患儿发热。诊断是", ["患儿发热。", "诊断是"]),
        ("夜惊3天.首选", ["夜惊3天.", "首选"]),
        ("体温38.5℃.脉搏快", ["体温38.5℃.", "脉搏快"]),
        ("根据F.Crick中心法则", ["根据F.Crick中心法则"]),
        ("1.患儿发热", ["1.患儿发热"]),
        ("Given vs. placebo. Then", ["Given vs. placebo.", "Then"]),
        ("诊断是.", ["诊断是."]),
        ("", []),
    ],
)
def test_full_and_half_width_stops(text, expected):
    assert split_sentences(text, "。", ".", ["VS"]) == expected


def test_what_closes_behind_a_stop_belongs_to_its_sentence():
    text = "他说“热。”（三天。）然后"
    assert split_sentences(text, "。") == ["他说“热。”", "（三天。）", "然后"]
    assert split_sentences('他来了。"你好"是他说的。', "。") == ["他来了。", '"你好"是他说的。']
    assert split_sentences('They "rest." Then [they go.] They', "", ".") == ['They "rest."', "Then [they go.]", "They"]


def test_soft_stops_are_off_unless_named():
    assert split_sentences("夜惊3天.首选", "。") == ["夜惊3天.首选"]


@given(st.text(alphabet="甲1a.。 　", max_size=30))
def test_nothing_but_white_space_is_lost(text):
    spans = sentence_spans(text, "。", ".")
    assert "".join("".join(s.slice_of(text) for s in spans).split()) == "".join(text.split())
    assert all(left.end <= right.start for left, right in pairwise(spans))


@given(st.text())
@example("'=1")
@example("\\n is not a line break\n")
@example("''")
def test_every_text_comes_back(text):
    assert unescape_cell(escape_cell(text)) == text


@given(st.text(alphabet="=+-@＝\t\r\n'\\ab。"))
def test_no_cell_breaks_a_line_or_starts_a_formula(text):
    cell = escape_cell(text)
    assert not set(cell) & set("\t\r\n")
    assert not cell.startswith(("=", "+", "-", "@", "＝"))


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("-3 ℃", "'-3 ℃"),
        ("+", "'+"),
        ("@a", "'@a"),
        ("\t=1", "\\t=1"),
        ("\r=1", "\\r=1"),
        ("第一段\n第二段", "第一段\\n第二段"),
        ("a\\b", "a\\\\b"),
        ("母乳喂养", "母乳喂养"),
    ],
)
def test_cells(text, cell):
    assert escape_cell(text) == cell


# --- model names ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "name"), [("Qwen/Qwen2-7B", "qwen_qwen2_7b"), ("GPT 4", "gpt_4"), ("4o mini", "m_4o_mini")]
)
def test_names_in_ascii_are_plain(label, name):
    assert recipe_name(label) == name


def test_names_in_other_letters_differ():
    labels = ["文心一言", "通义千问", "文心4.0", "通义4.0", "Größe", "Grüße", "!", "?"]
    assert len({recipe_name(label) for label in labels}) == len(labels)


@given(st.text(min_size=1))
def test_a_name_is_a_name_and_its_own_name(label):
    name = recipe_name(label)
    assert re.fullmatch("[a-z][a-z0-9_]*", name)
    assert recipe_name(name) == name


# --- paths ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("care_mi/sample/medqa", "care_mi/sample/medqa"),
        ("sample/bios/", "sample/bios"),
        ("/home/me/data/medqa.jsonl", "medqa.jsonl"),
        ("../../elsewhere/bios", "bios"),
        ("~/data/x.tsv", "x.tsv"),
    ],
)
def test_places_on_this_machine_are_not_told(path: str, shown: str) -> None:
    assert public_path(path) == shown
