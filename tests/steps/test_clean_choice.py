import pytest
from preparation_rows import choice, make, zh

from benchbuilder.core.records.outcomes import Dropped, Kept


def cleaned(question, **changes):
    (fate,) = make("clean_choice", **{**zh("clean"), **changes}).map(choice(question), {})
    return fate.row.payload.question


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("1．患儿缺乏的维生素是（　　）。", "患儿缺乏的维生素是（ ）。"),
        ("12、患儿缺乏的维生素是?（　　）", "患儿缺乏的维生素是（ ）"),
        ("1．21-三体综合征的核型是", "21-三体综合征的核型是"),
        ("2.5岁小儿的头围是", "2.5岁小儿的头围是"),
        ("5-羟色胺的作用是？", "5-羟色胺的作用是"),
        ("患儿夜惊3天。3．首选的检查是", "患儿夜惊3天。首选的检查是"),
        ("有糖尿病史。3．4年后该患者发现", "有糖尿病史。4年后该患者发现"),
        ("外周血白细胞减少3．该病人的诊断是", "外周血白细胞减少。该病人的诊断是"),
        ("WBC 10×109/L3．治疗药物首选", "WBC 10×109/L。治疗药物首选"),
        ("血钾3．5mmol/L，首选的检查是", "血钾3．5mmol/L，首选的检查是"),
    ],
)
def test_marks_and_numbers_are_taken_out(stem, expected):
    assert cleaned(stem) == expected


def test_the_number_of_a_sub_question_can_be_deleted_without_a_break():
    changes = {"numbering": None, "inner_numbering": "[0-9]．", "inner": "delete", "remove": []}
    assert cleaned("1．白细胞减少3．诊断是？", **changes) == "白细胞减少诊断是？"


def test_white_space_takes_one_form_in_question_options_and_answer():
    row = choice("患儿　　缺乏的是", "维生素 D", options=("维生素 D", "维生素　A"))
    (fate,) = make("clean_choice", **zh("clean")).map(row, {})
    assert fate.row.payload.question == "患儿 缺乏的是"
    assert [option.text for option in fate.row.payload.options] == ["维生素 D", "维生素 A"]


def test_an_option_that_becomes_the_answer_is_a_drop():
    row = choice("患儿缺乏的是", "维生素 D", options=("维生素 D", "维生素　D"))
    assert make("clean_choice", **zh("clean")).map(row, {}) == [Dropped("options_alike", "维生素 D")]


def test_nothing_left_is_a_drop_with_what_stood_there():
    assert make("clean_choice", **zh("clean")).map(choice("3．？"), {}) == [Dropped("no_question", "3．？")]


def test_a_clean_row_passes_as_it_is():
    row = choice("佝偻病患儿缺乏的维生素是（）。")
    assert make("clean_choice", **zh("clean")).map(row, {}) == [Kept(row)]


def test_with_a_context_the_number_is_taken_off_the_context():
    row = choice("3．诊断是？", context="2．患儿发热。")
    (fate,) = make("clean_choice", **zh("clean")).map(row, {})
    assert (fate.row.payload.context, fate.row.payload.question) == ("患儿发热。", "诊断是")
