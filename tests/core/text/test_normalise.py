from benchbuilder.core.text.normalise import comparable, compose, narrow, tidy_space
from benchbuilder.core.text.punctuation import strip_marks, strip_marks_right
from benchbuilder.core.text.script import convert_script, script_version


def test_white_space_of_every_sort_becomes_one_space():
    assert tidy_space("\u3000患儿\u00a0\u3000发热\n") == "患儿 发热"


def test_widths_change_for_ascii_forms_only():
    assert narrow("ＩｇＧ＋（１）。，") == "IgG+(1)。,"


def test_answers_compare_without_width_case_space_and_composition():
    assert comparable("维生素 Ｄ") == comparable("维生素d")
    assert comparable("cafe\u0301") == comparable("café")
    assert comparable("IgG") != comparable("IgM")
    assert compose("e\u0301") == "é"


def test_marks_go_from_the_ends_only():
    assert strip_marks("。，诊断，是 。", "。，") == "诊断，是"
    assert strip_marks_right("。诊断。 ", "。") == "。诊断"
    assert strip_marks("。。", "。") == ""


def test_script_conversion_knows_phrases():
    assert convert_script("頭髮與發熱", "t2s") == "头发与发热"
    assert convert_script("婴儿发热", "t2s") == "婴儿发热"
    assert script_version()
